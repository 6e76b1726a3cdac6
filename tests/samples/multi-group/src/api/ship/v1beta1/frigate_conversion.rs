// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! This version of the Frigate is the hub: the others are converted to it and from it.

use manager::webhook::Hub;

use super::frigate::Frigate;

impl Hub for Frigate {}
