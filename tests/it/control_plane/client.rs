//! What authors ask of the server through the manager of a project, on a real API server: `tests/client`.

use std::path::Path;
use std::time::Duration;

use crate::control_plane::{ControlPlane, Process, free_ports};
use crate::{generated, wait};

const LIMIT: Duration = Duration::from_secs(600);

#[test]
fn what_authors_ask_for_is_what_the_server_does() {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("client");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/main.rs");
    std::fs::create_dir_all(package.join("src")).unwrap();
    std::fs::copy(generated::lock(), package.join("Cargo.lock")).unwrap();
    std::fs::copy(source, package.join("src/main.rs")).unwrap();
    std::fs::write(package.join("Cargo.toml"), generated::manifest("client").to_string()).unwrap();
    let output = generated::cargo(&package, &["build"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let mut plane = ControlPlane::start();
    let dir = plane.dir().join("client");
    std::fs::create_dir(&dir).unwrap();
    let kubeconfig = format!("--kubeconfig={}", plane.admin.kubeconfig().display());
    let [port] = free_ports();
    let probes = [format!("--health-probe-bind-address=127.0.0.1:{port}"), format!("--probes={port}")];
    let args = [&kubeconfig, "--log-level=warn"].map(str::to_owned).into_iter().chain(probes).collect::<Vec<_>>();
    let process = Process::start(&dir, &generated::target().join("debug/client"), &args, &[]);
    plane.admin.show_log(process.log());
    let said = wait::until(LIMIT, || {
        let text = process.log_text();
        let ended = text.lines().any(|line| line == "all is well" || line.starts_with("Error: "));
        if ended { Ok(text) } else { Err(format!("it has not ended:\n{text}")) }
    });
    let said = said.unwrap();
    assert!(said.lines().any(|line| line == "all is well"), "{said}");
}
