//! `update` brings the scaffold of an earlier version to this one, and the author's changes stay.
//!
//! The earlier versions are made up: templates of this version with other lines, files that exist no longer, and without
//! files that are newer.

use std::path::Path;
use std::process::Command;

use snapbox::str;

use super::delete::assert_same;
use crate::sandbox::{OFFLINE, Run, Sandbox};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Texts of templates in earlier versions: version, template, the text of this version, the earlier text.
const OLDER: [(&str, &str, &str, &str); 7] = [
    ("0.0.3", "init/Makefile.tera", "TIMEOUT ?= 5m\n", "TIMEOUT ?= 3m\n"),
    ("0.0.2", "init/Makefile.tera", "TIMEOUT ?= 5m\n", "TIMEOUT ?= 2m\n"),
    ("0.0.2", "init/src/main.rs.tera", "//! Runs the operator", "//! Starts the operator"),
    ("0.0.1", "init/Makefile.tera", "CONTAINER_TOOL ?= docker\n", "CONTAINER_TOOL ?= podman\nBUILD_ARGS ?=\n"),
    ("0.0.1", "init/config/manager/manager.yaml.tera", "replicas: 1\n", "replicas: 2\n"),
    (
        "0.0.1",
        "api/src/api/{api_dir}/{kind_snake}.rs.tera",
        "    /// An example field. Replace it with your own fields and run `make manifests`.\n",
        "    /// An example field.\n",
    ),
    ("0.0.1", "init/README.md.tera", "## Run it\n", "## Start it\n"),
];

/// A project, and the templates of the made-up versions.
struct Older {
    sandbox: Sandbox,
}

impl Older {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
        for (version, template, now, then) in OLDER {
            let kept = format!("history/{version}/{template}");
            let text = std::fs::read_to_string(templates.join(template)).unwrap();
            assert!(text.contains(now), "{template} has no {now:?}");
            sandbox.file(&kept, &text.replacen(now, then, 1));
        }
        // A file that is newer than 0.0.1, and one that 0.0.2 was the last to have.
        sandbox.file("history/0.0.1/init/clippy.toml.tera.absent", "");
        sandbox.file("history/0.0.2/init/OLD.md.tera", "The project {{ project_name }} is old.\n");
        let init = format!("init --domain example.com --project-name demo --manager registry {OFFLINE} project");
        sandbox.run(&init).success();
        let older = Self { sandbox };
        older.run("project", "create api --group cache --version v1 --kind Memcached --make=false").success();
        // Generated files are no part of the scaffold.
        std::fs::remove_file(older.sandbox.path("project/config/rbac/role.yaml")).unwrap();
        older
    }

    fn run(&self, folder: &str, arguments: &str) -> Run {
        let mut command: Command = self.sandbox.command(arguments);
        command.current_dir(self.sandbox.path(folder)).env("MEMCACHED_SDK_HISTORY", self.sandbox.path("history"));
        self.sandbox.finish(arguments, &mut command)
    }

    /// The project as a version scaffolded it, in a folder of its name.
    fn of(&self, version: &str) {
        let record = self.sandbox.read("project/PROJECT");
        let record = record.replace(&format!("cliVersion: {VERSION}"), &format!("cliVersion: {version}"));
        self.sandbox.file("input/PROJECT", &record);
        self.run(".", &format!("alpha generate --input-dir input --output-dir {version}")).success();
    }

    fn files(&self, folder: &str) -> std::collections::BTreeMap<String, String> {
        crate::sandbox::files(&self.sandbox.path(folder))
    }
}

#[test]
fn a_project_of_any_version_becomes_one_of_this_version() {
    let older = Older::new();
    older.of(VERSION);
    assert_same("scaffolded again", &older.files(VERSION), &older.files("project"));
    for version in ["0.0.1", "0.0.2", "0.0.3"] {
        older.of(version);
        assert_ne!(older.files(version), older.files("project"), "{version}");
        older.run(version, "update").success();
        assert_same(version, &older.files(version), &older.files("project"));
        older.run(version, "update").success().stdout("");
        older.run(version, "update --check").success();
    }
}

/// Changes of an author in a project of 0.0.1.
fn edit(older: &Older) {
    let sandbox = &older.sandbox;
    // Beside lines that change, and lines that follow them.
    sandbox.replace("0.0.1/Makefile", "KUBECTL ?= kubectl\n", "KUBECTL ?= kubectl\nMINE ?= yes\n");
    sandbox.replace("0.0.1/Cargo.toml", "[dependencies]\n", "[dependencies]\nanyhow = \"1\" # mine\n");
    sandbox.replace(
        "0.0.1/src/api/v1/memcached.rs",
        "    pub foo: Option<String>,\n",
        "    pub foo: Option<String>,\n    pub mine: i32,\n",
    );
    sandbox.replace(
        "0.0.1/src/main.rs",
        "    args.manager.init_logging();\n",
        "    // Mine.\n    args.manager.init_logging();\n",
    );
    sandbox.file("0.0.1/src/mine.rs", "fn mine() {}\n");
    // Deleted, moved, and edited where no version has it any more.
    std::fs::remove_file(sandbox.path("0.0.1/Dockerfile")).unwrap();
    std::fs::rename(sandbox.path("0.0.1/README.md"), sandbox.path("0.0.1/ABOUT.md")).unwrap();
    sandbox.replace("0.0.1/OLD.md", "old.\n", "old, and mine.\n");
}

#[test]
fn changes_of_the_author_stay() {
    let older = Older::new();
    older.of("0.0.1");
    edit(&older);
    let run = older.run("0.0.1", "update").success();
    snapbox::assert_data_eq!(
        run.out() + &run.err(),
        str![[r#"
update    Makefile
update    PROJECT
create    clippy.toml
update    config/manager/manager.yaml
update    src/api/v1/memcached.rs
update    src/main.rs
warning[edit-kept]: `OLD.md` is no longer part of the scaffold and stays, since you have changed it
help: remove it if you don't need it
1 created, 5 updated, 1 unchanged

"#]]
    );
    let (files, fresh) = (older.files("0.0.1"), older.files("project"));
    let changes: String = files
        .iter()
        .filter(|(path, text)| fresh.get(*path) != Some(*text) && *path != "ABOUT.md")
        .map(|(path, text)| {
            let fresh = fresh.get(path).map_or("", String::as_str);
            format!("{path}\n{}", similar::TextDiff::from_lines(fresh, text).unified_diff().context_radius(0))
        })
        .collect();
    snapbox::assert_data_eq!(
        changes,
        str![[r#"
Cargo.toml
@@ -11,0 +12 @@
+anyhow = "1" # mine
Makefile
@@ -6,0 +7 @@
+MINE ?= yes
OLD.md
@@ -0,0 +1 @@
+The project demo is old, and mine.
src/api/v1/memcached.rs
@@ -24,0 +25 @@
+    pub mine: i32,
src/main.rs
@@ -17,0 +18 @@
+    // Mine.
src/mine.rs
@@ -0,0 +1 @@
+fn mine() {}

"#]]
    );
    assert!(!files.contains_key("Dockerfile") && !files.contains_key("README.md"));
    older.run("0.0.1", "update").success().stdout("");
}

#[test]
fn lines_of_both_are_decided_by_a_flag() {
    let older = Older::new();
    older.of("0.0.2");
    older.sandbox.replace("0.0.2/Makefile", "TIMEOUT ?= 2m\n", "TIMEOUT ?= 9m\n");
    let before = older.files("0.0.2");
    let run = older.run("0.0.2", "update").code(1);
    snapbox::assert_data_eq!(
        run.out() + &run.err(),
        str![[r#"
error[edit-conflict]: `Makefile:24` conflicts: you have changed lines that this command changes
  --> Makefile:24:1
   |
24 | TIMEOUT ?= 9m
   | ^^^^^^^^^^^^^
   |
   = help: write there, and run the command again:
           TIMEOUT ?= 5m

"#]]
    );
    assert_same("refused", &older.files("0.0.2"), &before);
    let mut shown = String::new();
    for choice in ["ours", "theirs", "markers"] {
        older.sandbox.file("0.0.2/Makefile", &before["Makefile"]);
        older.sandbox.file("0.0.2/PROJECT", &before["PROJECT"]);
        let run = older.run("0.0.2", &format!("update --conflicts={choice}")).success();
        let made = older.sandbox.read("0.0.2/Makefile");
        let diff = similar::TextDiff::from_lines(older.sandbox.read("project/Makefile").as_str(), &made)
            .unified_diff()
            .context_radius(1)
            .to_string();
        shown += &format!("== {choice}\n{}{diff}", run.err());
    }
    snapbox::assert_data_eq!(
        shown,
        str![[r#"
== ours
warning[conflict-resolved]: `Makefile` conflicted with your changes: your lines stay
  --> Makefile:24:1
   |
24 | TIMEOUT ?= 9m
   | ^^^^^^^^^^^^^
3 updated, 1 removed, 1 unchanged
@@ -23,3 +23,3 @@
 # The timeout of deploy for its rollout, and of delete-resources for the finalizers.
-TIMEOUT ?= 5m
+TIMEOUT ?= 9m
 # keep: deploy does not change the number of replicas in the cluster, for an autoscaler or `kubectl scale`.
== theirs
warning[conflict-resolved]: `Makefile` conflicted with your changes: the lines of the scaffold replace yours
  --> Makefile:24:1
   |
24 | TIMEOUT ?= 9m
   | ^^^^^^^^^^^^^
2 updated, 2 unchanged
== markers
warning[conflict-resolved]: `Makefile` conflicted with your changes: both are between conflict markers
  --> Makefile:24:1
   |
24 | TIMEOUT ?= 9m
   | ^^^^^^^^^^^^^
2 updated, 2 unchanged
@@ -23,3 +23,7 @@
 # The timeout of deploy for its rollout, and of delete-resources for the finalizers.
+<<<<<<< yours
+TIMEOUT ?= 9m
+=======
 TIMEOUT ?= 5m
+>>>>>>> scaffold
 # keep: deploy does not change the number of replicas in the cluster, for an autoscaler or `kubectl scale`.

"#]]
    );
    // Markers have to be resolved first.
    older.run("0.0.2", "edit --prometheus").success();
    older.run("0.0.2", "create api --group cache --version v1 --kind Other --make=false").success();
}
