// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of ship.example.org.

pub mod v1beta1;
// +kubebuilder:scaffold:modules
