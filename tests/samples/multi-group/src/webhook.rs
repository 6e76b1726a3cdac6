// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of this operator.

pub mod ship;
// +kubebuilder:scaffold:modules
