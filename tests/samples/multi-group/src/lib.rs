// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The APIs of multi-group, and the controllers that act on them.

pub mod api;
pub mod controller;
pub mod webhook;
