//! `rename` gives the project that would have been created with the new names, and the author's lines stay.

use snapbox::str;

use super::delete::{assert_same, generate};
use super::samples::is_of_library;
use crate::sandbox::{OFFLINE, Sandbox};

/// A name that can change: what it is, the commands that create a project, the command that renames, its inverse, and the
/// words of the commands with their new ones.
type Name =
    (&'static str, &'static [&'static str], &'static str, &'static str, &'static [(&'static str, &'static str)]);

const NAMES: [Name; 14] = [
    (
        "a kind",
        &["create api --group cache --version v1 --kind Memcached"],
        "rename api --kind Memcached --to-kind Store",
        "rename api --kind Store --to-kind Memcached",
        &[("Memcached", "Store")],
    ),
    (
        "a kind of several words, beside others",
        &[
            "create api --group cache --version v1 --kind Alpha",
            "create api --group cache --version v1 --kind Memcached",
            "create api --group cache --version v1 --kind Zeta",
        ],
        "rename api --group cache --kind Memcached --to-kind ZooKeeper",
        "rename api --group cache --kind ZooKeeper --to-kind Memcached",
        &[("Memcached", "ZooKeeper")],
    ),
    (
        "a kind that runs an image",
        &["create api --group cache --version v1 --kind Memcached --image nginx:1 --image-container-port 80"],
        "rename api --kind Memcached --to-kind MemoryStore",
        "rename api --kind MemoryStore --to-kind Memcached",
        &[("Memcached", "MemoryStore")],
    ),
    (
        "a kind whose plural is chosen, with several controllers",
        &[
            "create api --group cache --version v1 --kind Memcached --plural caches --short-name mc",
            "create api --group cache --version v1 --kind Memcached --resource=false --controller --controller-name second",
        ],
        "rename api --kind Memcached --to-kind Store",
        "rename api --kind Store --to-kind Memcached",
        &[("Memcached", "Store")],
    ),
    (
        "a kind with all webhooks",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create api --group cache --version v2 --kind Memcached --controller=false",
            "create webhook --version v2 --kind Memcached --conversion --spoke v1 --defaulting --programmatic-validation",
        ],
        "rename api --kind Memcached --to-kind Store",
        "rename api --kind Store --to-kind Memcached",
        &[("Memcached", "Store")],
    ),
    (
        "a plural",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create api --group cache --version v1 --kind Other",
        ],
        "rename api --kind Memcached --to-plural caches",
        "rename api --kind Memcached --to-plural memcacheds",
        &[("--kind Memcached", "--kind Memcached --plural caches")],
    ),
    (
        "short names",
        &["create api --group cache --version v1 --kind Memcached --short-name mc"],
        "rename api --kind Memcached --to-short-name cc,ccc",
        "rename api --kind Memcached --to-short-name mc",
        &[("--short-name mc", "--short-name cc --short-name ccc")],
    ),
    (
        "a group with all its kinds",
        &[
            "create api --group cache --version v1 --kind Memcached --namespaced=false",
            "create api --group cache --version v1beta1 --kind Other",
            "create webhook --version v1 --kind Memcached --defaulting",
        ],
        "rename api --group cache --to-group store",
        "rename api --group store --to-group cache",
        &[("--group cache", "--group store")],
    ),
    (
        "a version",
        &[
            "create api --group cache --version v1alpha1 --kind Memcached",
            "create webhook --version v1alpha1 --kind Memcached --programmatic-validation",
        ],
        "rename api --kind Memcached --version v1alpha1 --to-version v1",
        "rename api --kind Memcached --version v1 --to-version v1alpha1",
        &[("v1alpha1", "v1")],
    ),
    (
        "a version of one of two kinds",
        &[
            "create api --group cache --version v1alpha1 --kind Memcached",
            "create api --group cache --version v1alpha2 --kind Other",
        ],
        "rename api --kind Memcached --version v1alpha1 --to-version v1alpha2",
        "rename api --kind Memcached --version v1alpha2 --to-version v1alpha1",
        &[("v1alpha1", "v1alpha2")],
    ),
    (
        "a version that converts to another one",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create api --group cache --version v2 --kind Memcached --controller=false",
            "create webhook --version v2 --kind Memcached --conversion --spoke v1",
        ],
        "rename api --kind Memcached --version v1 --to-version v1beta1",
        "rename api --kind Memcached --version v1beta1 --to-version v1",
        &[("version v1 ", "version v1beta1 "), ("spoke v1", "spoke v1beta1")],
    ),
    (
        "the project",
        &[
            "create api --group cache --version v1 --kind Memcached",
            "create webhook --version v1 --kind Memcached --defaulting",
            "generate kustomize manifests --display-name Cache --description Cache. --keywords cache",
        ],
        "rename project cache-operator",
        "rename project demo",
        &[("demo", "cache-operator")],
    ),
    (
        "the domain",
        &[
            "create api --group cache --version v1 --kind Memcached --image nginx:1",
            "create webhook --version v1 --kind Memcached --defaulting",
            "create api --group apps --version v1 --kind Deployment",
        ],
        "edit --domain acme.org",
        "edit --domain example.com",
        &[("example.com", "acme.org")],
    ),
    (
        "the repository",
        &["create api --group cache --version v1 --kind Memcached"],
        "edit --repo https://github.com/acme/cache",
        "edit --repo https://github.com/example/operator",
        &[("github.com/example/operator", "github.com/acme/cache")],
    ),
];

/// A project of these commands, with words replaced.
fn project(flags: &str, commands: &[&str], words: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    let init = format!(
        "init --domain example.com --project-name demo --repo https://github.com/example/operator {OFFLINE} {flags}"
    );
    for command in [&[init.as_str()], commands].concat() {
        let command = words.iter().fold(command.to_owned(), |command, (old, new)| command.replace(old, new));
        sandbox.run(&command).success();
    }
    sandbox
}

fn assert_renamed(flags: &str, cases: &[&Name]) {
    for (name, commands, there, back, words) in cases {
        let name = format!("{name}, init {flags}");
        let sandbox = project(flags, commands, &[]);
        let before = sandbox.files();
        sandbox.run(there).success();
        assert_same(&format!("{name}, renamed"), &sandbox.files(), &project(flags, commands, words).files());
        sandbox.run(back).success();
        assert_same(&format!("{name}, renamed and back"), &sandbox.files(), &before);
    }
}

#[test]
fn renaming_gives_the_project_of_the_new_names() {
    assert_renamed("", &NAMES.iter().collect::<Vec<_>>());
}

#[test]
fn renaming_in_a_project_of_several_groups() {
    // The parts whose paths have a group.
    let names = ["all webhooks", "with all its kinds", "one of two kinds", "several controllers"];
    let cases: Vec<_> = NAMES.iter().filter(|case| names.iter().any(|name| case.0.contains(name))).collect();
    assert_eq!(cases.len(), names.len());
    assert_renamed("--multigroup --namespaced", &cases);
}

/// A project with code of its author: a module with a function, a type beside the kind, a test, and edited scaffolded files.
fn authored() -> Sandbox {
    let sandbox = project("", &["create api --group cache --version v1 --kind Memcached"], &[]);
    sandbox.replace("src/lib.rs", "pub mod controller;\n", "pub mod controller;\npub mod report;\n");
    sandbox.file(
        "src/report.rs",
        r#"//! Reports on every Memcached.

use crate::api::v1::memcached;
use crate::api::v1::memcached::{Memcached, MemcachedSpec};

/// Describes a Memcached.
pub fn report(memcached: &Memcached) -> String {
    let MemcachedSpec { foo } = &memcached.spec;
    let other: memcached::MemcachedSpec = MemcachedSpec { foo: foo.clone() };
    format!("{memcached:?} of memcacheds.cache.example.com: {other:?}")
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds;memcacheds/scale,verbs=get
// +kubebuilder:rbac:groups=cache.example.com;apps,resources=memcacheds;deployments,verbs=get

#[cfg(test)]
mod tests {
    use super::memcached::MemcachedStatus;

    #[test]
    fn none() {
        assert!(MemcachedStatus::default().conditions.is_empty());
    }
}
"#,
    );
    sandbox.file(
        "tests/mine.rs",
        "use demo::api::v1::memcached::Memcached;\nuse demo::report::report;\n\n#[test]\nfn memcached() {\n    let one = \
         Memcached::new(\"one\", Default::default());\n    assert!(report(&one).contains(\"Memcached\"));\n}\n",
    );
    sandbox.replace(
        "src/api/v1/memcached.rs",
        "pub struct MemcachedSpec {\n",
        "pub struct MemcachedSpec {\n    /// The phase of a Memcached.\n    #[serde(default)]\n    pub phase: MemcachedPhase,\n",
    );
    sandbox.replace(
        "src/api/v1/memcached.rs",
        "    plural = \"memcacheds\",\n",
        "    plural = \"memcacheds\", category = \"all\",\n",
    );
    let types = sandbox.read("src/api/v1/memcached.rs");
    let phase = "\n/// A phase.\n#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]\npub enum \
                 MemcachedPhase {\n    /// New\n    #[default]\n    New,\n}\n";
    sandbox.file("src/api/v1/memcached.rs", &format!("{types}{phase}"));
    sandbox.replace("config/samples/cache_v1_memcached.yaml", "spec: {}\n", "spec:\n  phase: New # of the Memcached\n");
    sandbox.replace("README.md", "## Work on it", "The kind Memcached is mine.\n\n## Work on it");
    generate(&sandbox);
    sandbox
}

#[test]
fn code_of_the_author_follows_and_what_looks_alike_is_told() {
    let sandbox = authored();
    let before = sandbox.files();
    let run = sandbox.run("rename api --kind Memcached --to-kind Store").success();
    snapbox::assert_data_eq!(
        run.err(),
        str![[r#"
warning[old-name]: `README.md` still has `Memcached` in line 32
  --> README.md:32:10
   |
32 | The kind Memcached is mine.
   |          ^^^^^^^^^
   |
   = help: change these lines if they mean what you have renamed

warning[old-name]: `config/samples/cache_v1_store.yaml` still has `Memcached` in line 9
 --> config/samples/cache_v1_store.yaml:9:23
  |
9 |   phase: New # of the Memcached
  |                       ^^^^^^^^^
  |
  = help: change these lines if they mean what you have renamed

warning[old-name]: `src/api/v1/store.rs` still has `Memcached` in line 22
  --> src/api/v1/store.rs:22:24
   |
22 |     /// The phase of a Memcached.
   |                        ^^^^^^^^^
   |
   = help: change these lines if they mean what you have renamed

warning[old-name]: `src/report.rs` still has `Memcached`, `memcacheds` in lines 1, 6, 10
 --> src/report.rs:1:22
  |
1 | //! Reports on every Memcached.
  |                      ^^^^^^^^^
  |
  = help: change these lines if they mean what you have renamed

warning[old-name]: `tests/mine.rs` still has `Memcached` in line 7
 --> tests/mine.rs:7:36
  |
7 |     assert!(report(&one).contains("Memcached"));
  |                                    ^^^^^^^^^
  |
  = help: change these lines if they mean what you have renamed
12 created, 12 updated, 12 removed

Clusters keep the objects of `memcacheds.cache.example.com`, which the renamed operator does not read. In each of them, while the old operator runs:
  kubectl get memcacheds.cache.example.com --all-namespaces --output yaml > old.yaml
  kubectl delete memcacheds.cache.example.com --all --all-namespaces
  kubectl delete crd memcacheds.cache.example.com
Then deploy this operator, and create the objects of old.yaml again with `apiVersion: cache.example.com/v1` and `kind: Store`, without `status`, `metadata.finalizers`, `metadata.uid` and `metadata.resourceVersion`. To have no gap, create them first, with other names.

"#]]
    );
    let changed: String =
        ["src/report.rs", "tests/mine.rs", "src/api/v1/store.rs", "config/samples/cache_v1_store.yaml"]
            .into_iter()
            .map(|path| format!("== {path}\n{}", sandbox.read(path)))
            .collect();
    snapbox::assert_data_eq!(
        changed,
        str![[r#"
== src/report.rs
//! Reports on every Memcached.

use crate::api::v1::store;
use crate::api::v1::store::{Store, StoreSpec};

/// Describes a Memcached.
pub fn report(memcached: &Store) -> String {
    let StoreSpec { foo } = &memcached.spec;
    let other: store::StoreSpec = StoreSpec { foo: foo.clone() };
    format!("{memcached:?} of memcacheds.cache.example.com: {other:?}")
}

// +kubebuilder:rbac:groups=cache.example.com,resources=stores;stores/scale,verbs=get
// +kubebuilder:rbac:groups=cache.example.com;apps,resources=stores;deployments,verbs=get

#[cfg(test)]
mod tests {
    use super::store::StoreStatus;

    #[test]
    fn none() {
        assert!(StoreStatus::default().conditions.is_empty());
    }
}
== tests/mine.rs
use demo::api::v1::store::Store;
use demo::report::report;

#[test]
fn memcached() {
    let one = Store::new("one", Default::default());
    assert!(report(&one).contains("Memcached"));
}
== src/api/v1/store.rs
//! The kind `Store`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "cache.example.com",
    version = "v1",
    kind = "Store",
    plural = "stores", category = "all",
    namespaced,
    doc = "Store is the schema of the stores API",
    derive = "PartialEq",
    status = "StoreStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct StoreSpec {
    /// The phase of a Memcached.
    #[serde(default)]
    pub phase: MemcachedPhase,
    /// An example field. Replace it with your own fields and run `make manifests`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// The observed state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreStatus {
    /// The conditions of the object, one entry per type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "manager::condition::schema")]
    pub conditions: Vec<Condition>,
}

/// A phase.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub enum MemcachedPhase {
    /// New
    #[default]
    New,
}
== config/samples/cache_v1_store.yaml
apiVersion: cache.example.com/v1
kind: Store
metadata:
  labels:
    app.kubernetes.io/name: demo
    app.kubernetes.io/managed-by: kustomize
  name: store-sample
spec:
  phase: New # of the Memcached

"#]]
    );
    sandbox.run("rename api --kind Store --to-kind Memcached").success();
    assert_same("and back", &sandbox.files(), &before);
    sandbox.run("rename project cache").success();
    sandbox.run("rename project demo").success();
    assert_same("the project and back", &sandbox.files(), &before);
}

#[test]
fn a_rename_that_cannot_be_made_changes_nothing() {
    let sandbox = authored();
    sandbox.run("create api --group cache --version v1 --kind Other").success();
    sandbox.run("create api --group cache --version v2 --kind Memcached --controller=false").success();
    sandbox.file("src/controller/store.rs", "// Mine.\n");
    let before = sandbox.files();
    sandbox.run("rename api --kind Memcached --to-kind Store").code(1).stderr(str![[r#"
error: cannot move `src/controller/memcached.rs` to `src/controller/store.rs`: it exists
help: move one of them away, and run the command again

"#]]);
    assert_same("a file is at the new path", &sandbox.files(), &before);
    sandbox.replace("tests/memcached.rs", "#[tokio::test]", "fn shop() {}\n\n#[tokio::test]");
    sandbox.replace(
        "config/samples/kustomization.yaml",
        "- cache_v1_memcached.yaml",
        "- cache_v1_memcached.yaml # mine",
    );
    let before = sandbox.files();
    let mut found = String::new();
    for arguments in [
        "api --kind Memcached --to-kind Other",
        "api --kind Memcached --to-kind Shop",
        "api --kind Memcached --to-kind Cache",
        "api --kind Memcached --to-kind Memcached",
        "api --kind Memcached --version v1 --to-version v2",
        "api --kind Memcached --to-version v3",
        "api --kind Memcached --version v1 --to-kind Cache",
        "api --kind Unknown --to-kind Cache",
        "api --kind Other --to-group store",
        "api --to-plural caches",
        "api --kind Memcached",
        "api --kind Memcached --to-kind cache",
        "api --kind Memcached --to-plural others",
        "project demo",
        "project De_mo",
    ] {
        let run = sandbox.run(&format!("rename {arguments}"));
        found += &format!("# {arguments}, exit code {}\n{}", run.exit_code().unwrap(), run.err());
        assert_same(arguments, &sandbox.files(), &before);
    }
    snapbox::assert_data_eq!(
        found,
        str![[r#"
# api --kind Memcached --to-kind Other, exit code 1
error: the project already has `cache.example.com/v1 Other`
help: use another name, or delete it first
# api --kind Memcached --to-kind Shop, exit code 1
error[edit-conflict]: `memcached` becomes `shop` in `tests/memcached.rs`, which already has a `shop`
  --> tests/memcached.rs:14:4
   |
14 | fn shop() {}
   |    ^^^^
   |
   = help: rename this `shop` first
# api --kind Memcached --to-kind Cache, exit code 1
error[edit-conflict]: `config/samples/kustomization.yaml:3` conflicts: you have changed lines that this command changes
 --> config/samples/kustomization.yaml:3:1
  |
3 | - cache_v1_memcached.yaml # mine
  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: write there, and run the command again:
          - cache_v1_cache.yaml
# api --kind Memcached --to-kind Memcached, exit code 1
error: the kind already has these names
# api --kind Memcached --version v1 --to-version v2, exit code 1
error: the project already has `cache.example.com/v2 Memcached`
help: use another name, or delete it first
# api --kind Memcached --to-version v3, exit code 2
error: `--to-version` renames one version
help: pass `--version` and `--kind`
# api --kind Memcached --version v1 --to-kind Cache, exit code 2
error: the versions of a kind have its names in common
help: leave out `--version`, or pass `--to-version`
# api --kind Unknown --to-kind Cache, exit code 1
error: the project has no such type
help: `PROJECT` lists the types of the project, as `resources` with `api`
# api --kind Other --to-group store, exit code 1
error: multiple groups are not allowed by default: the project has the group `cache`, found `store`
help: run `memcached-sdk edit --multigroup`, which moves the files to one folder per group, or use the same group
# api --to-plural caches, exit code 2
error: the options do not choose a kind
help: pass `--kind`
# api --kind Memcached, exit code 2
error: no new name is given
help: pass one, such as `--to-kind`; see `--help`
# api --kind Memcached --to-kind cache, exit code 2
error: invalid kind `cache`: it must be a Rust type name: an upper-case letter, then letters and digits, at most 63 characters
help: use `Cache`
# api --kind Memcached --to-plural others, exit code 1
error: `cache.example.com/v1 Other` and `cache.example.com/v1 Memcached` have the same plural `others`
help: use another `--plural`
# project demo, exit code 1
error: the project already has the name `demo`
# project De_mo, exit code 2
error: invalid project name `De_mo`: it must be a DNS-1123 label: lower-case letters, digits and `-`, starting and ending with a letter or digit, at most 63 characters
help: use `de-mo`

"#]]
    );
}

#[test]
fn line_ends_of_windows_stay() {
    let sandbox = project("", &["create api --group cache --version v1 --kind Memcached"], &[]);
    let is_text = |path: &str| [".rs", ".yaml", ".md", ".toml", "file"].iter().any(|end| path.ends_with(end));
    let is_generated = |path: &str| is_of_library(path) || path.contains("bases") || path.ends_with("/role.yaml");
    for (path, text) in sandbox.files().iter().filter(|(path, _)| is_text(path) && !is_generated(path)) {
        sandbox.file(path, &text.replace('\n', "\r\n"));
    }
    let before = sandbox.files();
    for (there, back) in [
        ("rename api --kind Memcached --to-kind Store", "rename api --kind Store --to-kind Memcached"),
        ("rename project cache", "rename project demo"),
        ("edit --multigroup", "edit --multigroup=false"),
    ] {
        sandbox.run(there).success();
        let mixed = sandbox.files().into_iter().find(|(_, text)| text.contains("\r\r"));
        assert_eq!(mixed, None, "{there}");
        sandbox.run(back).success();
        assert_same(there, &sandbox.files(), &before);
    }
}
