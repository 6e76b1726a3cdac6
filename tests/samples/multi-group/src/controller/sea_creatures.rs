// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of sea-creatures.example.org.

pub mod humpback_whale_migration_observation;
// +kubebuilder:scaffold:modules
