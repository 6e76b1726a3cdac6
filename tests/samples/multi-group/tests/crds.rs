// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The CRDs in `config/crd/bases` are those that the compiler derives from the types.

use kube::CustomResourceExt;
use manager::testing::assert_crd_files;

/// Wanted differences, such as those of `generate --fix`, as the test prints them: CRD, version, JSON pointer.
const PERMITTED: &[&str] = &[];

#[test]
fn files_equal_types() {
    let types = [
        multi_group::api::ship::v1beta1::frigate::Frigate::crd(),
        multi_group::api::ship::v1::frigate::Frigate::crd(),
        multi_group::api::sea_creatures::v1alpha1::humpback_whale_migration_observation::HumpbackWhaleMigrationObservation::crd(),
        // +kubebuilder:scaffold:crds
    ];
    assert_crd_files(&types, PERMITTED);
}
