// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of the version v1beta1.

pub mod frigate;
// +kubebuilder:scaffold:modules
