//! The programs in `tests/NAME/main.rs`: operators that use the manager on a real API server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml_edit::DocumentMut;

use super::{ControlPlane, Process};
use crate::{generated, wait};

pub(crate) struct Program {
    pub(super) name: &'static str,
    /// Changes the sample's manifest for this program.
    pub(super) change: fn(&mut DocumentMut),
    pub(super) args: Vec<String>,
    pub(super) limit: Duration,
    /// The last line of a successful run.
    pub(super) success: &'static str,
}

impl Program {
    pub(crate) fn build(&self) -> PathBuf {
        let name = self.name;
        let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}/main.rs"));
        std::fs::create_dir_all(package.join("src")).unwrap();
        std::fs::copy(generated::lock(), package.join("Cargo.lock")).unwrap();
        std::fs::copy(source, package.join("src/main.rs")).unwrap();
        let mut manifest = generated::manifest(name);
        (self.change)(&mut manifest);
        std::fs::write(package.join("Cargo.toml"), manifest.to_string()).unwrap();
        let output = generated::cargo(&package, &["build"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        generated::target().join("debug").join(name)
    }

    /// Runs it as the cluster's admin. Returns its output.
    pub(super) fn run(&self) -> String {
        let (name, binary) = (self.name, self.build());
        let mut plane = ControlPlane::start();
        let dir = plane.dir().join(name);
        std::fs::create_dir(&dir).unwrap();
        let env = [("KUBECONFIG".to_owned(), plane.admin.kubeconfig().display().to_string())];
        let args = [&["--log-level=warn".to_owned()], self.args.as_slice()].concat();
        let mut process = Process::start(&dir, &binary, &args, &env);
        plane.admin.show_log(process.log());
        let is_success = |line: &str| line == self.success;
        let output = wait::until(self.limit, || {
            let running = process.running();
            let text = process.log_text();
            let ended = !running || text.lines().any(is_success);
            if ended { Ok(text) } else { Err(format!("it has not ended:\n{text}")) }
        });
        let output = output.unwrap();
        assert!(output.lines().any(is_success), "{output}");
        output
    }
}
