//! `update` brings the scaffold of an earlier version to this one, and the author's changes stay.
//!
//! The earlier versions are made up: templates of this version with other lines, files that exist no longer, and without
//! files that are newer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use snapbox::str;

use super::delete::assert_same;
use crate::sandbox::{OFFLINE, Run, Sandbox};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Texts of templates in earlier versions: version, template, the text of this version, the earlier text.
const OLDER: [(&str, &str, &str, &str); 12] = [
    ("0.0.3", "init/Makefile.tera", "TIMEOUT ?= 5m\n", "TIMEOUT ?= 3m\n"),
    ("0.0.3", "init/Cargo.toml.tera", "\"ring\", \"runtime\", \"rustls-tls\"", "\"openssl-tls\", \"runtime\""),
    ("0.0.3", "init/config/default/kustomization.yaml.tera", "- metrics_service.yaml\n", "- service.yaml\n"),
    ("0.0.3", "init/src/main.rs.tera", "\"the operator can't run\"", "\"failed\""),
    ("0.0.3", "init/tests/e2e.rs.tera", "//! ", "//! E2E: "),
    ("0.0.2", "init/Makefile.tera", "TIMEOUT ?= 5m\n", "TIMEOUT ?= 2m\n"),
    ("0.0.2", "init/src/main.rs.tera", "//! Runs the operator", "//! Starts the operator"),
    ("0.0.1", "init/Makefile.tera", "CONTAINER_TOOL ?= docker\n", "CONTAINER_TOOL ?= podman\nBUILD_ARGS ?=\n"),
    ("0.0.1", "init/config/manager/manager.yaml.tera", "replicas: 1\n", "replicas: 2\n"),
    (
        "0.0.2",
        "api/src/api/{api_dir}/{kind_snake}.rs.tera",
        "    /// The conditions of the object, one entry per type.\n",
        "    /// The conditions.\n",
    ),
    (
        "0.0.1",
        "api/src/api/{api_dir}/{kind_snake}.rs.tera",
        "    /// An example field. Replace it with your own fields and run",
        "    /// An example field. Put your own fields here, and run",
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

    /// The differences of a folder from its earlier files.
    fn changes(&self, folder: &str, before: &BTreeMap<String, String>) -> String {
        let after = self.files(folder);
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let text = |files: &BTreeMap<String, String>, path: &str| files.get(path).cloned().unwrap_or_default();
        let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
        changed
            .map(|path| {
                let [before, after] = [text(before, path), text(&after, path)];
                let diff = similar::TextDiff::from_lines(&before, &after);
                format!("{path}\n{}", diff.unified_diff().context_radius(1))
            })
            .collect()
    }

    fn files(&self, folder: &str) -> BTreeMap<String, String> {
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
update    Cargo.toml
update    Makefile
update    PROJECT
create    clippy.toml
update    config/default/kustomization.yaml
update    config/manager/manager.yaml
update    src/api/v1/memcached.rs
update    src/main.rs
update    tests/e2e.rs
warning[edit-kept]: `OLD.md` is no longer part of the scaffold and stays, since you have changed it
help: remove it if you don't need it
1 created, 8 updated

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

/// Changes of layout and order, with those of an author between them.
fn restyle(older: &Older, version: &str) {
    let sandbox = &older.sandbox;
    let path = |path: &str| format!("{version}/{path}");
    // Items in another order.
    for (file, first) in [("src/main.rs", "async fn run("), ("src/api/v1/memcached.rs", "/// The observed state.\n")] {
        let text = sandbox.read(&path(file));
        let (before, item) = text.split_at(text.find(first).unwrap());
        let at = before.find("\n#[derive(").unwrap() + 1;
        let at = before[..at].trim_end().rfind("\n\n").map_or(at, |blank| blank + 2).min(at);
        sandbox.file(&path(file), &format!("{}{item}\n{}", &before[..at], before[at..].trim_end()));
    }
    sandbox.replace(
        &path("src/main.rs"),
        "    let args = Args::parse();\n",
        "    // Mine.\n    let args = mine(Args::parse());\n",
    );
    sandbox.replace(&path("src/main.rs"), "use std::process::ExitCode;\n", "use std::process::{ExitCode, Mine};\n");
    sandbox.replace(&path("src/main.rs"), "        .run()\n", "        .with(mine)\n        .run()\n");
    sandbox.replace(
        &path("src/api/v1/memcached.rs"),
        "    pub foo: Option<String>,\n",
        "    pub foo: Option<String>,\n    /// Mine.\n    pub mine: BTreeMap<String, Mine>,\n",
    );
    // Another width, and tabs.
    for file in ["src/main.rs", "src/api/v1/memcached.rs", "tests/e2e.rs"] {
        let config = "max_width=60,hard_tabs=true,use_small_heuristics=Off,imports_layout=Vertical";
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--edition", "2024", "--config", config]).arg(sandbox.path(&path(file)));
        assert!(rustfmt.status().unwrap().success());
    }
    // Tables in another order, one of them for a dependency.
    let manifest = sandbox.read(&path("Cargo.toml"));
    let (before, rest) = manifest.split_at(manifest.find("[dependencies]\n").unwrap());
    let (dependencies, rest) = rest.split_at(rest.find("[dev-dependencies]\n").unwrap());
    let kube = dependencies.lines().find(|line| line.starts_with("kube = ")).unwrap();
    let features = kube.rsplit_once("features = ").unwrap().1.trim_end_matches(" }");
    let features = features.trim_matches(['[', ']']).split(", ").collect::<Vec<_>>();
    let features: String = features.iter().rev().map(|feature| format!("    {feature},\n")).collect();
    let table = format!(
        "[dependencies.kube]\n# Mine.\nfeatures = [\n    \"ws\", # mine\n{features}]\ndefault-features = false\nversion = \"5\"\n\n"
    );
    let dependencies = dependencies.replace(&format!("{kube}\n"), "anyhow = \"1\" # mine\n");
    sandbox.file(&path("Cargo.toml"), &format!("{before}{rest}\n{dependencies}{table}"));
    // Lists with indentation, in another order.
    let kustomization = sandbox.read(&path("config/default/kustomization.yaml"));
    let entries = kustomization
        .replace("- ../manager\n", "")
        .replace("- ../crd\n", "- ../manager\n- mine.yaml # Mine.\n- ../crd\n");
    let entries = entries.replace("\n- ", "\n  - ").replace("\n  target:\n    kind", "\n    target:\n      kind");
    sandbox.file(&path("config/default/kustomization.yaml"), &entries);
    let manager = sandbox.read(&path("config/manager/manager.yaml"));
    let replicas = manager.lines().find(|line| line.contains("replicas: ")).unwrap();
    let moved = manager
        .replace(&format!("{replicas}\n"), "")
        .replace("spec:\n  selector:", &format!("spec:\n  # Mine.\n{replicas}\n  selector:"));
    sandbox.file(&path("config/manager/manager.yaml"), &moved);
}

#[test]
fn files_that_the_author_has_reordered_and_reformatted_are_merged() {
    let older = Older::new();
    let mut shown = String::new();
    for version in ["0.0.1", "0.0.2", "0.0.3"] {
        older.of(version);
        let scaffold = older.files(version);
        restyle(&older, version);
        let before = older.files(version);
        let run = older.run(version, "update").success();
        shown += &format!("== {version}\n{}{}{}", run.out(), run.err(), older.changes(version, &before));
        // Words that only the author has written.
        let (after, fresh) = (older.files(version), older.files("project"));
        for (path, text) in &before {
            let Some(after) = after.get(path) else { continue };
            let words = |text: &str| {
                let mut words = BTreeMap::<String, usize>::new();
                for word in text.split(|char: char| !char.is_alphanumeric()) {
                    *words.entry(word.to_owned()).or_default() += 1;
                }
                words
            };
            let [old, new] = [&scaffold, &fresh].map(|files| words(files.get(path).map_or("", String::as_str)));
            let after = words(after);
            for (word, count) in words(text).into_iter().filter(|(word, _)| !word.is_empty()) {
                let count_in = |words: &BTreeMap<String, usize>| words.get(&word).copied().unwrap_or_default();
                let removed = count_in(&old).saturating_sub(count_in(&new));
                assert!(count_in(&after) + removed >= count, "{version} {path}: {word}");
            }
        }
        older.run(version, "update").success().stdout("");
    }
    snapbox::assert_data_eq!(
        shown,
        str![[r#"
== 0.0.1
update    Cargo.toml
update    Makefile
remove    OLD.md
update    PROJECT
update    README.md
create    clippy.toml
update    config/default/kustomization.yaml
update    config/manager/manager.yaml
update    src/api/v1/memcached.rs
update    src/main.rs
update    tests/e2e.rs
1 created, 9 updated, 1 removed
Cargo.toml
@@ -57,5 +57,6 @@
     "runtime",
-    "openssl-tls",
     "derive",
     "client",
+    "ring",
+    "rustls-tls",
 ]
Makefile
@@ -4,4 +4,3 @@
 CARGO ?= cargo
-CONTAINER_TOOL ?= podman
-BUILD_ARGS ?=
+CONTAINER_TOOL ?= docker
 KUBECTL ?= kubectl
@@ -9,3 +8,3 @@
 # The source for `cargo install`: also `--git URL` or `--path FOLDER`.
-MEMCACHED_SDK_SOURCE ?= memcached-sdk --version 0.0.1
+MEMCACHED_SDK_SOURCE ?= memcached-sdk --version 0.1.0
 
OLD.md
@@ -1 +0,0 @@
-The project demo is old.
PROJECT
@@ -2,3 +2,3 @@
 # fields of other tools and comments are kept.
-cliVersion: 0.0.1
+cliVersion: 0.1.0
 domain: example.com
README.md
@@ -4,3 +4,3 @@
 
-## Start it
+## Run it
 
clippy.toml
@@ -0,0 +1 @@
+allow-unwrap-in-tests = true
config/default/kustomization.yaml
@@ -14,2 +14,8 @@
   - ../manager
+  # [WEBHOOK] Admission and conversion webhooks are added below this line.
+  # [CERTMANAGER] Certificates are added below this line.
+  # [PROMETHEUS] Uncomment to let a Prometheus operator scrape the metrics.
+  #- ../prometheus
+  # [METRICS] The Service in front of the metrics endpoint.
+  - metrics_service.yaml
   - mine.yaml # Mine.
@@ -17,8 +23,2 @@
   - ../rbac
-# [WEBHOOK] Admission and conversion webhooks are added below this line.
-# [CERTMANAGER] Certificates are added below this line.
-# [PROMETHEUS] Uncomment to let a Prometheus operator scrape the metrics.
-#- ../prometheus
-# [METRICS] The Service in front of the metrics endpoint.
-  - service.yaml
 # [NETWORK POLICY] Uncomment to let only namespaces with the label `metrics: enabled` reach the metrics endpoint.
config/manager/manager.yaml
@@ -20,3 +20,3 @@
   # Mine.
-  replicas: 2
+  replicas: 1
   selector:
src/api/v1/memcached.rs
@@ -54,3 +54,3 @@
 pub struct MemcachedSpec {
-	/// An example field. Put your own fields here, and run `make manifests`.
+    /// An example field. Replace it with your own fields and run `make manifests`.
 	#[serde(skip_serializing_if = "Option::is_none")]
src/main.rs
@@ -1,2 +1,2 @@
-//! Starts the operator until SIGTERM or Ctrl-C.
+//! Runs the operator until SIGTERM or Ctrl-C.
 
tests/e2e.rs
@@ -1,2 +1,2 @@
-//! E2E: The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG there, and removes it.
+//! The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG there, and removes it.
 
== 0.0.2
update    Cargo.toml
update    Makefile
remove    OLD.md
update    PROJECT
update    config/default/kustomization.yaml
update    src/api/v1/memcached.rs
update    src/main.rs
update    tests/e2e.rs
7 updated, 1 removed
Cargo.toml
@@ -57,5 +57,6 @@
     "runtime",
-    "openssl-tls",
     "derive",
     "client",
+    "ring",
+    "rustls-tls",
 ]
Makefile
@@ -8,3 +8,3 @@
 # The source for `cargo install`: also `--git URL` or `--path FOLDER`.
-MEMCACHED_SDK_SOURCE ?= memcached-sdk --version 0.0.2
+MEMCACHED_SDK_SOURCE ?= memcached-sdk --version 0.1.0
 
@@ -27,3 +27,3 @@
 # The timeout of deploy for its rollout, and of delete-resources for the finalizers.
-TIMEOUT ?= 2m
+TIMEOUT ?= 5m
 # keep: deploy does not change the number of replicas in the cluster, for an autoscaler or `kubectl scale`.
OLD.md
@@ -1 +0,0 @@
-The project demo is old.
PROJECT
@@ -2,3 +2,3 @@
 # fields of other tools and comments are kept.
-cliVersion: 0.0.2
+cliVersion: 0.1.0
 domain: example.com
config/default/kustomization.yaml
@@ -14,2 +14,8 @@
   - ../manager
+  # [WEBHOOK] Admission and conversion webhooks are added below this line.
+  # [CERTMANAGER] Certificates are added below this line.
+  # [PROMETHEUS] Uncomment to let a Prometheus operator scrape the metrics.
+  #- ../prometheus
+  # [METRICS] The Service in front of the metrics endpoint.
+  - metrics_service.yaml
   - mine.yaml # Mine.
@@ -17,8 +23,2 @@
   - ../rbac
-# [WEBHOOK] Admission and conversion webhooks are added below this line.
-# [CERTMANAGER] Certificates are added below this line.
-# [PROMETHEUS] Uncomment to let a Prometheus operator scrape the metrics.
-#- ../prometheus
-# [METRICS] The Service in front of the metrics endpoint.
-  - service.yaml
 # [NETWORK POLICY] Uncomment to let only namespaces with the label `metrics: enabled` reach the metrics endpoint.
src/api/v1/memcached.rs
@@ -22,3 +22,3 @@
 pub struct MemcachedStatus {
-	/// The conditions.
+    /// The conditions of the object, one entry per type.
 	#[serde(
src/main.rs
@@ -1,2 +1,2 @@
-//! Starts the operator until SIGTERM or Ctrl-C.
+//! Runs the operator until SIGTERM or Ctrl-C.
 
tests/e2e.rs
@@ -1,2 +1,2 @@
-//! E2E: The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG there, and removes it.
+//! The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG there, and removes it.
 
== 0.0.3
update    Cargo.toml
update    Makefile
update    PROJECT
update    config/default/kustomization.yaml
update    src/main.rs
update    tests/e2e.rs
6 updated
Cargo.toml
@@ -57,5 +57,6 @@
     "runtime",
-    "openssl-tls",
     "derive",
     "client",
+    "ring",
+    "rustls-tls",
 ]
Makefile
@@ -8,3 +8,3 @@
 # The source for `cargo install`: also `--git URL` or `--path FOLDER`.
-MEMCACHED_SDK_SOURCE ?= memcached-sdk --version 0.0.3
+MEMCACHED_SDK_SOURCE ?= memcached-sdk --version 0.1.0
 
@@ -27,3 +27,3 @@
 # The timeout of deploy for its rollout, and of delete-resources for the finalizers.
-TIMEOUT ?= 3m
+TIMEOUT ?= 5m
 # keep: deploy does not change the number of replicas in the cluster, for an autoscaler or `kubectl scale`.
PROJECT
@@ -2,3 +2,3 @@
 # fields of other tools and comments are kept.
-cliVersion: 0.0.3
+cliVersion: 0.1.0
 domain: example.com
config/default/kustomization.yaml
@@ -14,2 +14,8 @@
   - ../manager
+  # [WEBHOOK] Admission and conversion webhooks are added below this line.
+  # [CERTMANAGER] Certificates are added below this line.
+  # [PROMETHEUS] Uncomment to let a Prometheus operator scrape the metrics.
+  #- ../prometheus
+  # [METRICS] The Service in front of the metrics endpoint.
+  - metrics_service.yaml
   - mine.yaml # Mine.
@@ -17,8 +23,2 @@
   - ../rbac
-# [WEBHOOK] Admission and conversion webhooks are added below this line.
-# [CERTMANAGER] Certificates are added below this line.
-# [PROMETHEUS] Uncomment to let a Prometheus operator scrape the metrics.
-#- ../prometheus
-# [METRICS] The Service in front of the metrics endpoint.
-  - service.yaml
 # [NETWORK POLICY] Uncomment to let only namespaces with the label `metrics: enabled` reach the metrics endpoint.
src/main.rs
@@ -41,3 +41,3 @@
 		Err(error) => {
-			tracing::error!(%error, "failed");
+            tracing::error!(%error, "the operator can't run");
 			ExitCode::FAILURE
tests/e2e.rs
@@ -1,2 +1,2 @@
-//! E2E: The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG there, and removes it.
+//! The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG there, and removes it.
 

"#]]
    );
}

#[test]
fn a_project_in_a_subfolder_or_workspace_is_updated_alone() {
    let older = Older::new();
    older.of("0.0.1");
    let sandbox = &older.sandbox;
    let git = |arguments: &str| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments.split(' '));
        let output = git.current_dir(sandbox.root()).output().unwrap();
        assert!(output.status.success(), "git {arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let before = older.files("0.0.1");
    // A folder of a git repository.
    sandbox.file("Makefile", "TIMEOUT ?= 2m\n").file("README.md", "## Start it\n");
    git("init -q");
    git("add -A");
    git("commit -qm one");
    let run = older.run("0.0.1/config/manager", "update").success();
    let changed = git("status --short");
    assert!(changed.lines().all(|line| line.contains(" 0.0.1/")), "{changed}");
    assert_same("subfolder", &older.files("0.0.1"), &older.files("project"));
    git("add -A");
    git("commit -qm two");
    older.run("0.0.1", "update --check").success();
    older.run("0.0.1", "undo").success();
    assert_same("undone", &older.files("0.0.1"), &before);
    // A member of a cargo workspace.
    sandbox.file("space/Cargo.toml", "[workspace]\nmembers = [\"operators/*\"]\nresolver = \"3\"\n");
    std::fs::create_dir_all(sandbox.path("space/operators/op")).unwrap();
    let init = format!("init --domain example.com --project-name demo --manager registry {OFFLINE}");
    older.run("space/operators/op", &init).success();
    let fresh = older.files("space");
    for (path, now, then) in [
        ("Makefile", "TIMEOUT ?= 5m\n", "TIMEOUT ?= 2m\n"),
        ("src/main.rs", "//! Runs the operator", "//! Starts the operator"),
        ("Cargo.toml", "\"ring\", \"runtime\", \"rustls-tls\"", "\"openssl-tls\", \"runtime\""),
        ("PROJECT", &format!("cliVersion: {VERSION}"), "cliVersion: 0.0.2"),
    ] {
        sandbox.replace(&format!("space/operators/op/{path}"), now, then);
    }
    let member = older.run("space/operators/op", "update").success();
    let expected = ["Makefile", "src/main.rs", "Cargo.toml", "PROJECT"];
    for path in expected {
        let path = format!("operators/op/{path}");
        assert_eq!(older.files("space")[&path], fresh[&path], "{path}");
    }
    assert_eq!(older.files("space")["Cargo.toml"], fresh["Cargo.toml"]);
    snapbox::assert_data_eq!(
        format!("{}{}== workspace\n{}{}", run.out(), run.err(), member.out(), member.err()),
        str![[r#"
update    Cargo.toml
update    Makefile
remove    OLD.md
update    PROJECT
update    README.md
create    clippy.toml
update    config/default/kustomization.yaml
update    config/manager/manager.yaml
update    src/api/v1/memcached.rs
update    src/main.rs
update    tests/e2e.rs
1 created, 9 updated, 1 removed
== workspace
update    Cargo.toml
update    Makefile
update    PROJECT
update    src/main.rs
4 updated, 2 unchanged

"#]]
    );
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
error[edit-conflict]: `Makefile:28` conflicts: you have changed lines that this command changes
  --> Makefile:28:1
   |
28 | TIMEOUT ?= 9m
   | ^^^^^^^^^^^^^
   |
   = help: write there, and run the command again:
           TIMEOUT ?= 5m
           or pass `--conflicts=markers`, `ours` or `theirs`

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
  --> Makefile:28:1
   |
28 | TIMEOUT ?= 9m
   | ^^^^^^^^^^^^^
7 updated, 1 removed
@@ -27,3 +27,3 @@
 # The timeout of deploy for its rollout, and of delete-resources for the finalizers.
-TIMEOUT ?= 5m
+TIMEOUT ?= 9m
 # keep: deploy does not change the number of replicas in the cluster, for an autoscaler or `kubectl scale`.
== theirs
warning[conflict-resolved]: `Makefile` conflicted with your changes: the lines of the scaffold replace yours
  --> Makefile:28:1
   |
28 | TIMEOUT ?= 9m
   | ^^^^^^^^^^^^^
2 updated, 5 unchanged
== markers
warning[conflict-resolved]: `Makefile` conflicted with your changes: both are between conflict markers
  --> Makefile:28:1
   |
28 | TIMEOUT ?= 9m
   | ^^^^^^^^^^^^^
2 updated, 5 unchanged
@@ -27,3 +27,7 @@
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
