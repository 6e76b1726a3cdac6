//! What others change of the objects that an operator applies, field by field, on a real API server: `tests/drift`.

use std::path::Path;
use std::time::Duration;

use crate::control_plane::{ControlPlane, Process};
use crate::{generated, wait};

/// Each of the edits is given a minute; all of them take one on two idle cores.
const LIMIT: Duration = Duration::from_secs(1200);

fn program() -> std::path::PathBuf {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drift");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drift/main.rs");
    std::fs::create_dir_all(package.join("src")).unwrap();
    std::fs::copy(generated::lock(), package.join("Cargo.lock")).unwrap();
    std::fs::copy(source, package.join("src/main.rs")).unwrap();
    let mut manifest = generated::manifest("drift");
    let http = manifest["dev-dependencies"]["http"].clone();
    manifest["dependencies"]["http"] = http;
    std::fs::write(package.join("Cargo.toml"), manifest.to_string()).unwrap();
    let output = generated::cargo(&package, &["build"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    generated::target().join("debug/drift")
}

#[test]
fn what_others_change_is_what_an_apply_makes_of_it() {
    let program = program();
    let mut plane = ControlPlane::start();
    let dir = plane.dir().join("drift");
    std::fs::create_dir(&dir).unwrap();
    let env = [("KUBECONFIG".to_owned(), plane.admin.kubeconfig().display().to_string())];
    let args = ["--health-probe-bind-address=0", "--log-level=warn"].map(str::to_owned);
    let process = Process::start(&dir, &program, &args, &env);
    plane.admin.show_log(process.log());
    let said = wait::until(LIMIT, || {
        let text = process.log_text();
        let end = |line: &str| ["all is", "there are", "Error: "].iter().any(|word| line.starts_with(word));
        let ended = text.lines().any(end);
        if ended { Ok(text) } else { Err("it has not ended".to_owned()) }
    });
    let said = said.unwrap();
    println!("{said}");
    assert!(said.contains("all is as it would be"), "{said}");
    for wanted in ["generated once", "readiness is told", "status of one version"] {
        assert!(said.lines().any(|line| line == wanted), "{said}");
    }
    let summaries: Vec<Vec<&str>> = said
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .filter(|words| words.get(1) == Some(&"repaired"))
        .collect();
    let number = |words: &[&str], at: usize| words[at].parse::<u64>().unwrap();
    assert_eq!(summaries.len(), 6, "{said}");
    assert!(summaries.iter().all(|words| number(words, 2) >= 5), "{said}");
    assert!(summaries.iter().map(|words| number(words, 2)).sum::<u64>() >= 100, "{said}");
    // The port of the Service, and that of the container.
    assert!(summaries.iter().map(|words| number(words, 4)).sum::<u64>() >= 2, "{said}");
    // Half of them within a second, whatever else the machine does.
    assert!(summaries.iter().all(|words| number(words, 8) < 1000), "{said}");
}
