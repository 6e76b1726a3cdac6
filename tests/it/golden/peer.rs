//! Go programs whose output is compared with ours.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the module `tests/NAME`. Returns `None` without a Go toolchain, which fails if the run forbids skipped tests.
pub(super) fn program(name: &str, test: &str) -> Option<PathBuf> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{test}"));
    match Command::new("go").arg("build").arg("-o").arg(&program).arg(".").current_dir(module).status() {
        Ok(status) => {
            assert!(status.success(), "`go build` in tests/{name} failed");
            Some(program)
        }
        Err(error) => {
            assert!(std::env::var_os("REQUIRE_CLUSTER").is_none(), "`go` is needed here: {error}");
            eprintln!("SKIPPED {test}: no `go` ({error})");
            None
        }
    }
}

pub(super) fn run(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
