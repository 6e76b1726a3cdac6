//! Form of generated text: no template syntax, one newline at the end.

use crate::sandbox::{OFFLINE, Sandbox};

#[test]
fn scaffolded_text_is_tidy() {
    for flags in ["", "--namespaced", "--multigroup --license none"] {
        let sandbox = Sandbox::project(flags);
        sandbox.run("create api --group cache --version v1alpha1 --kind Memcached --image memcached").success();
        sandbox.run("create api --group apps --version v1 --kind Deployment --resource=false").success();
        for (path, text) in sandbox.files() {
            let leftover = ["{%", "%}", "{#"].iter().find(|delimiter| text.contains(**delimiter));
            assert_eq!(leftover, None, "{path}\n{text}");
            assert_eq!(text.len() - text.trim_end().len(), 1, "{path} does not end in one newline");
            assert!(!text.contains('\r') && text.lines().all(|line| line == line.trim_end()), "{path}\n{text}");
        }
    }
}

#[test]
fn without_rustfmt_there_is_a_warning() {
    let sandbox = Sandbox::new();
    let output = sandbox.command(&format!("init --project-name demo {OFFLINE}")).env("PATH", "").output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("warning[unformatted]"));
}
