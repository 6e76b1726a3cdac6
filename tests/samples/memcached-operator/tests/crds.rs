//! The CRDs in `config/crd/bases` are those that the compiler derives from the types.

use kube::CustomResourceExt;
use manager::testing::assert_crd_files;

/// Wanted differences, such as those of `generate --fix`, as the test prints them: CRD, version, JSON pointer.
const PERMITTED: &[&str] = &[];

#[test]
fn files_equal_types() {
    let types = [
        memcached_operator::api::v1alpha1::memcached::Memcached::crd(),
        // +kubebuilder:scaffold:crds
    ];
    assert_crd_files(&types, PERMITTED);
}
