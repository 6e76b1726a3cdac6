// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of apps.

pub mod replica_set;
// +kubebuilder:scaffold:modules
