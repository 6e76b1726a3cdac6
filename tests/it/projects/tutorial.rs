//! Runs the tutorial with its builds: the final operator compiles, passes its tests and has no warnings.

use crate::golden::docs::runs;

#[test]
fn builds_and_tests() {
    let home = tempfile::tempdir().unwrap();
    let not_run = runs("docs/tutorial.md", home.path(), &["build"]);
    assert!(not_run.iter().all(|command| command.starts_with("cluster: ")), "{not_run:?}");
}
