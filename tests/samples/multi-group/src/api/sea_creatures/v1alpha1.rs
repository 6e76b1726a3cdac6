// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The kinds of sea-creatures.example.org/v1alpha1.

pub mod humpback_whale_migration_observation;
// +kubebuilder:scaffold:modules
