// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The APIs of this operator.

pub mod sea_creatures;
pub mod ship;
// +kubebuilder:scaffold:modules
