// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of ship.example.org.

pub mod frigate;
pub mod frigate_backup;
// +kubebuilder:scaffold:modules
