//! The manager of the generated projects as a crate of its own, against a mock API server: `tests/manager`.

use std::path::Path;

#[test]
fn against_a_mock_api_server() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate::projects::test_with_the_lock_file(&root.join("tests/manager"));
}
