//! Edits of user files agree with the tools that read those files.

use std::io::Write as _;
use std::process::{Command, Stdio};

use memcached_sdk::edit::scaffold_marker;

fn rustfmt(text: &str) -> String {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt is installed");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn modules_inserted_in_any_order_are_as_rustfmt_wants_them() {
    let names =
        ["v1", "v10", "v2", "v1alpha1", "v1beta1", "a_b", "ab", "a", "type_", "_3scale", "memcached", "b1", "b01"];
    // Each rotation starts and ends with another name.
    for start in 0..names.len() {
        let mut text = "//! Versions.\n\n// +kubebuilder:scaffold:modules\n".to_owned();
        for name in names.iter().cycle().skip(start).step_by(5).take(names.len()) {
            text = scaffold_marker::insert_module(&text, &format!("pub mod {name};")).unwrap();
        }
        assert_eq!(text.matches("pub mod").count(), names.len());
        assert_eq!(rustfmt(&text), text);
    }
}
