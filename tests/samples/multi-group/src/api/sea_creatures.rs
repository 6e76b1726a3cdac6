// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The versions of sea-creatures.example.org.

pub mod v1alpha1;
// +kubebuilder:scaffold:modules
