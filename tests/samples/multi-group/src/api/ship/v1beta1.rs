// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The kinds of ship.example.org/v1beta1.

pub mod frigate;
pub mod frigate_conversion;
// +kubebuilder:scaffold:modules
