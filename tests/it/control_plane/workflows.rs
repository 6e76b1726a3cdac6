//! actionlint on the workflows of projects and of this repository. It needs Go, so it runs at this level.

use std::path::Path;
use std::process::Command;

use crate::control_plane::tool::tool;
use crate::sandbox::{Sandbox, files};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn findings(root: &Path) -> String {
    let folder = root.join(".github/workflows");
    let workflows: Vec<_> = files(&folder).into_keys().map(|path| folder.join(path)).collect();
    assert!(!workflows.is_empty(), "{}", folder.display());
    // Installed shellcheck or pyflakes would add findings.
    let flags = ["-no-color", "-oneline", "-shellcheck=", "-pyflakes="];
    let output = Command::new(tool("workflows", "github.com/rhysd/actionlint/cmd/actionlint"))
        .args(flags)
        .args(workflows)
        .current_dir(root)
        .output()
        .unwrap();
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
}

#[test]
fn workflows_have_no_findings() {
    assert_eq!(findings(repository()), "");
    let project = Sandbox::project("--plugins helm");
    assert_eq!(findings(project.root()), "");
    for (path, text) in files(&project.path(".github/workflows")) {
        assert!(text.contains("\npermissions: {}\n"), "{path}: permissions are given to each job");
    }

    project.replace(".github/workflows/test.yml", "runs-on: ubuntu-latest", "runs-on: ubuntu");
    project.replace(".github/workflows/image.yml", "github.ref_type", "github.ref_typ");
    let found = findings(project.root());
    assert!(found.contains("label \"ubuntu\" is unknown") && found.contains("\"ref_typ\" is not defined"), "{found}");
}
