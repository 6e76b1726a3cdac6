use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::ident::name;
pub(crate) use super::prelude::{is_primitive, prelude};
use super::sources::index;
use super::*;
use crate::diagnostic::Diagnostics;

/// Loads a package from one text: a line `//- path` starts each file.
#[allow(clippy::disallowed_methods, reason = "tests write what they read")]
pub(crate) fn load(text: &str) -> (SourceTree, Diagnostics) {
    let dir = tempfile::tempdir().unwrap();
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let mut at = None;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("//- ") {
            at = Some(path);
            files.entry(path).or_default();
        } else if let Some(path) = at {
            writeln!(files.get_mut(path).unwrap(), "{line}").unwrap();
        }
    }
    if !files.contains_key("Cargo.toml") {
        files.insert("Cargo.toml", "package = { name = \"op\", edition = \"2024\" }\n".to_string());
    }
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    crate::k8s::load(dir.path()).unwrap()
}

pub(crate) fn show(tree: &SourceTree, module: &str, path: &str, namespace: Namespace) -> String {
    let modules = (0..index(tree.sources.modules.len())).map(ModuleId);
    let mut modules = modules.filter(|id| tree.module_path(*id).join("::") == module);
    let module = modules.next().unwrap_or_else(|| panic!("no module {module}"));
    match tree.resolve_in(module, &syn::parse_str(path).unwrap(), namespace) {
        Resolution::Local(item) => tree.path(item).join("::"),
        Resolution::Member(item, name) => format!("{}.{name}", tree.path(item).join("::")),
        Resolution::Foreign(path) => format!("extern {}", path.join("::")),
        Resolution::Primitive(name) => format!("primitive {name}"),
        Resolution::Unresolved(why) => why,
    }
}

fn messages(diagnostics: &Diagnostics) -> Vec<String> {
    let mut out = Vec::new();
    for diagnostic in diagnostics {
        let origin = diagnostic.origin.as_ref().unwrap();
        let before = &origin.text[..origin.range.start];
        let (line, column) = (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap().len() + 1);
        out.push(format!("{}:{line}:{column}: {}", origin.path, diagnostic.message));
    }
    out
}

fn paths(tree: &SourceTree) -> Vec<String> {
    tree.items().filter(|item| name(tree.item(*item)).is_some()).map(|item| tree.path(item).join("::")).collect()
}

#[test]
fn follows_modules_as_rustc_does() {
    let (tree, diagnostics) = load(
        r#"
//- src/lib.rs
mod plain;
mod dir;
#[cfg_attr(unix, path = "os_unix.rs")] #[cfg_attr(windows, path = "os_windows.rs")] mod os;
mod inline { mod deep; #[path = "odd.rs"] mod named; struct InInline; }
#[path = "elsewhere/file.rs"] mod moved;
#[path = "thread_files"] mod thread { #[path = "tls.rs"] mod local; }
mod r#type;
#[cfg(test)] mod tests;
#[cfg_attr(feature = "none", path = "missing.rs")] mod conditional;
//- src/plain.rs
mod child; #[path = "sibling.rs"] mod other; mod inner { mod leaf; }
//- src/plain/child.rs
struct Child;
//- src/plain/inner/leaf.rs
struct Leaf;
//- src/sibling.rs
struct Sibling;
//- src/dir/mod.rs
mod child;
//- src/dir/child.rs
struct DirChild;
//- src/inline/deep.rs
struct Deep;
//- src/inline/odd.rs
struct Odd;
//- src/elsewhere/file.rs
mod near;
//- src/elsewhere/near.rs
struct Near;
//- src/thread_files/tls.rs
struct Tls;
//- src/type.rs
struct Raw;
//- src/conditional.rs
struct Conditional;
//- src/main.rs
struct Main;
"#,
    );
    assert_eq!(messages(&diagnostics), [""; 0]);
    let structs: Vec<_> = paths(&tree).into_iter().filter(|path| path.contains(char::is_uppercase)).collect();
    assert_eq!(
        structs,
        [
            "op::plain::child::Child",
            "op::plain::other::Sibling",
            "op::plain::inner::leaf::Leaf",
            "op::dir::child::DirChild",
            "op::inline::deep::Deep",
            "op::inline::named::Odd",
            "op::inline::InInline",
            "op::moved::near::Near",
            "op::thread::local::Tls",
            "op::type::Raw",
            "op::conditional::Conditional",
            "op::Main",
        ]
    );
}

#[test]
fn broken_code_is_a_diagnostic() {
    let (tree, diagnostics) = load(
        r#"
//- src/lib.rs
struct Fine;
mod broken;
mod missing;
mod unclosed;
#[path = "lib.rs"] mod circle;
#[cfg(windows)] mod windows;
//- src/broken.rs
struct S {
    a: ,
}
//- src/unclosed.rs
fn f() { "
"#,
    );
    assert_eq!(
        messages(&diagnostics),
        [
            "src/broken.rs:2:8: expected one of: `for`, parentheses, `unsafe`, `fn`, `extern`, identifier, `::`, `<`, \
             `dyn`, square brackets, `*`, `&`, `!`, `impl`, `_`, lifetime",
            "src/lib.rs:3:1: file not found for module `missing`",
            "src/unclosed.rs:1:10: a bracket or literal is not closed, or a character is not valid here",
            "src/lib.rs:5:1: module `circle` includes itself through `src/lib.rs`",
        ]
    );
    assert!(paths(&tree).contains(&"op::Fine".to_string()));
}

#[test]
fn manifests_as_cargo_reads_them() {
    let (tree, _) = load(
        r#"
//- Cargo.toml
[package]
name = "op"
edition.workspace = true
[workspace]
members = ["types"]
[workspace.package]
edition = "2024"
[workspace.dependencies]
kube = { version = "5", default-features = false, features = ["derive"] }
serde = "1.0.200"
[features]
default = ["full"]
full = ["metrics", "k8s-openapi/v1_36", "types?/extra", "dep:optional-crate"]
metrics = []
off = ["kube/client"]
[dependencies]
kube = { workspace = true, features = ["runtime"] }
serde.workspace = true
json = { package = "serde_json", version = "1" }
k8s-openapi = { version = "0.29", features = ["schemars"] }
types = { path = "./types", optional = true }
optional-crate = { version = "1", optional = true }
[target.'cfg(unix)'.dependencies]
nix = "0.30"
[dev-dependencies]
k8s-openapi = { version = "0.29", features = ["latest"] }
//- Cargo.lock
version = 4
[[package]]
name = "op"
version = "0.1.0"
dependencies = ["k8s-openapi", "kube 5.0.1", "serde_json"]
[[package]]
name = "kube"
version = "4.0.0"
source = "r"
[[package]]
name = "kube"
version = "5.0.1"
source = "r"
[[package]]
name = "k8s-openapi"
version = "0.29.0"
source = "r"
[[package]]
name = "serde_json"
version = "1.0.2"
source = "r"
//- types/Cargo.toml
[package]
name = "types"
[features]
extra = []
//- types/src/lib.rs
//- src/main.rs
"#,
    );
    let manifest = tree.manifest();
    assert_eq!(manifest.edition, "2024");
    assert!(manifest.has_lock);
    assert_eq!(Vec::from_iter(&manifest.active_features), ["default", "full", "metrics"]);
    let show = |(name, dependency): (&String, &Dependency)| {
        let features: Vec<_> = dependency.features.iter().map(String::as_str).collect();
        let locked = dependency.locked.as_ref().map(ToString::to_string).unwrap_or_default();
        format!(
            "{name} = {} {} {} default={} [{}]",
            dependency.package,
            dependency.requirement.as_deref().unwrap_or_default(),
            locked,
            dependency.default_features,
            features.join(",")
        )
    };
    assert_eq!(
        manifest.dependencies.iter().map(show).collect::<Vec<_>>(),
        [
            "json = serde_json 1 1.0.2 default=true []",
            "k8s_openapi = k8s-openapi 0.29 0.29.0 default=true [schemars,v1_36]",
            "kube = kube 5 5.0.1 default=false [derive,runtime]",
            "nix = nix 0.30  default=true []",
            "optional_crate = optional-crate 1  default=true []",
            "serde = serde 1.0.200  default=true []",
            "types = types   default=true [extra]",
        ]
    );
    let features = manifest.dependency_on("k8s-openapi").flat_map(|dependency| &dependency.features);
    assert_eq!(features.collect::<Vec<_>>(), ["schemars", "v1_36", "latest"]);
    let origin = &manifest.dependencies["kube"].origin;
    assert_eq!(&origin.text[origin.range.clone()], "kube = { workspace = true, features = [\"runtime\"] }");
}

#[test]
fn features_of_packages_by_path() {
    let types = "//- types/Cargo.toml\npackage = { name = \"types\", edition = \"2024\" }\n[features]\ndefault = [\"usual\"]\n\
                 usual = []\nextra = []\n//- types/src/lib.rs\n//- src/lib.rs\n//- common/src/lib.rs\n//- common/Cargo.toml\n\
                 package = { name = \"common\", edition = \"2024\" }\n[dependencies]\n\
                 types = { path = \"../types\", features = [\"extra\"] }\n";
    let plain = "[dependencies]\ntypes = { path = \"types\" }\n";
    let extra = "types = { path = \"types\", features = [\"extra\"] }";
    let new = "package = { name = \"op\", edition = \"2021\" }\n";
    let old = "package = { name = \"op\", edition = \"2018\" }\n";
    let shared = "[dependencies]\ntypes = { workspace = true, default-features = false }\n[workspace.dependencies]\n";
    for (manifest, on, open) in [
        (format!("{new}{plain}"), "default usual", ""),
        (format!("{new}[dependencies]\n{extra}"), "default extra usual", ""),
        // Another platform may request a feature, or the default ones.
        (format!("{new}{plain}[target.'cfg(windows)'.dependencies]\n{extra}"), "default usual", "extra"),
        (
            format!(
                "{new}[target.a.dependencies]\n{extra}\n[target.b.dependencies]\ntypes = {{ path = \"types\", default-features = false }}"
            ),
            "",
            "default extra usual",
        ),
        (format!("{new}[target.a.dependencies]\n{extra}\n[target.b.dependencies]\n{extra}"), "default extra usual", ""),
        // An inactive optional package requests nothing.
        (format!("{new}{plain}common = {{ path = \"common\", optional = true }}"), "default usual", ""),
        (
            format!(
                "{new}{plain}common = {{ path = \"common\", optional = true }}\n[features]\ndefault = [\"common\"]"
            ),
            "default extra usual",
            "",
        ),
        // With the old resolver, test dependencies enable features in every build.
        (format!("{new}{plain}[dev-dependencies]\n{extra}"), "default usual", ""),
        (format!("{old}{plain}[dev-dependencies]\n{extra}"), "default usual", "extra"),
        (format!("{old}{plain}[dev-dependencies]\n{extra}\n[workspace]\nresolver = \"2\""), "default usual", ""),
        // A workspace member cannot disable what the workspace enables.
        (format!("{new}{shared}types = {{ path = \"types\" }}"), "default usual", ""),
        (format!("{new}{shared}types = {{ path = \"types\", default-features = false }}"), "", ""),
    ] {
        let (tree, _) = load(&format!("//- Cargo.toml\n{manifest}\n{types}"));
        let cfg = &tree.sources.packages.iter().find(|package| package.manifest.name == "types").unwrap().cfg;
        let text = |features: &BTreeSet<String>| features.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!((text(&cfg.features).as_str(), text(&cfg.maybe).as_str()), (on, open), "{manifest}");
    }
}

#[test]
fn an_optional_dependency_that_is_named_is_no_feature() {
    let manifest = "//- Cargo.toml\npackage = { name = \"op\", edition = \"2024\" }\n[features]\ndefault = [\"a\", \"types/extra\"]\n\
                    a = [\"dep:types\"]\n[dependencies]\ntypes = { version = \"1\", optional = true }\nother = { version = \"1\", optional = true }\n";
    let (tree, _) = load(manifest);
    assert_eq!(Vec::from_iter(&tree.manifest().active_features), ["a", "default"]);
    assert!(tree.manifest().features.keys().eq(["a", "default", "other"]));
}

#[test]
fn a_dependency_that_is_another_one_elsewhere() {
    let tables = "[target.a.dependencies]\nsys = { path = \"x\", package = \"x\" }\n[target.b.dependencies]\nsys = { path = \"y\", package = \"y\" }\n";
    let (tree, _) = load(&format!(
        "//- Cargo.toml\npackage = {{ name = \"op\", edition = \"2024\" }}\n{tables}//- src/lib.rs\n//- x/Cargo.toml\n\
         package = {{ name = \"x\", edition = \"2024\" }}\n//- x/src/lib.rs\npub struct T;\n"
    ));
    let meant = show(&tree, "op", "sys::T", Namespace::Types);
    assert_eq!(meant, "`sys` is ambiguous: it is a different package on other platforms");
}

#[test]
fn targets_as_cargo_finds_them() {
    let (tree, diagnostics) = load(
        r#"
//- Cargo.toml
[package]
name = "my-op"
edition = "2024"
[features]
tools = []
[lib]
name = "lib_name"
path = "source/root.rs"
[[bin]]
name = "first"
path = "source/first.rs"
[[bin]]
name = "gated"
path = "source/gated.rs"
required-features = ["tools"]
//- source/root.rs
pub struct Lib;
//- source/first.rs
use lib_name::Lib;
struct First;
//- source/gated.rs
struct Gated;
//- src/main.rs
struct Main;
//- src/bin/extra.rs
struct Extra;
//- src/bin/folder/main.rs
struct Folder;
//- tests/it.rs
struct Test;
"#,
    );
    assert_eq!(messages(&diagnostics), [""; 0]);
    assert_eq!(paths(&tree), ["lib_name::Lib", "extra::Extra", "first::First", "folder::Folder", "my_op::Main"]);
    assert_eq!(show(&tree, "first", "Lib", Namespace::Types), "lib_name::Lib");
}

#[test]
fn comments_of_active_code() {
    let (tree, _) = load(
        r#"
//- src/lib.rs
#!/usr/bin/env rust
// one
fn f() { let _ = "// no"; } // two
#[cfg(test)]
// no
mod tests {
// no
}
struct S {
#[cfg(test)]
// no
a: u8,
/// three
b: u8,
}
#[cfg(unix)]
mod unix {
//// four
}
#[test]
fn t() {
// no
}
"#,
    );
    let texts: Vec<_> = tree.comments("").into_iter().map(|comment| comment.text).collect();
    assert_eq!(texts, [" one", " two", " three", "// four"]);
}
