//! Go programs from the modules in `tests`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Builds a program of the Go module `tests/MODULE`. A first build may take minutes; later builds use Go's cache.
pub(super) fn tool(module: &'static str, package: &str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let build = || {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(module).join("program");
        let mut go = Command::new("go");
        // The service discovery of Prometheus is half of the build of promtool.
        go.args([
            "build",
            "-mod=readonly",
            "-buildvcs=false",
            "-trimpath",
            "-ldflags=-s -w",
            "-tags=remove_all_sd",
            "-o",
        ]);
        go.arg(&program).arg(package).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(module));
        let output = go.output().unwrap();
        assert!(output.status.success(), "{module} is not built: {}", String::from_utf8_lossy(&output.stderr));
        program
    };
    built.entry(module).or_insert_with(build).clone()
}
