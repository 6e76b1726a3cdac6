//! Lazy parsing: `generate` parses few files, but finds the same as with every file parsed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use memcached_sdk::k8s;
use memcached_sdk::rbac::role;
use memcached_sdk::source::{FeatureSelection, Pending};

use super::crd::crds;
use crate::lock;

const MANIFEST: &str =
    "[package]\nname = \"op\"\nedition = \"2024\"\n\n[dependencies]\nkube = \"5\"\nschemars = \"1\"\nserde = \"1\"\n";
const DERIVES: &str = "serde::Deserialize, serde::Serialize, schemars::JsonSchema";

fn write(folder: &Path, text: &str) {
    std::fs::write(folder.join("Cargo.toml"), MANIFEST).unwrap();
    std::fs::write(folder.join("Cargo.lock"), lock::text([MANIFEST])).unwrap();
    for file in text.split("//- ").skip(1) {
        let (path, text) = file.split_once('\n').unwrap();
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// CRDs, roles and findings, first with lazy parsing, then with every file parsed.
fn read(folder: &Path) -> [(BTreeMap<String, String>, String); 2] {
    let (mut lazy, found) = k8s::load_with(folder, &FeatureSelection::default(), &Pending::default()).unwrap();
    let (of_lazy, crd_findings) = crds(&mut lazy);
    let ((roles, role_findings), while_roles) = lazy.settle(|tree| role::roles(tree, "role"));
    let lazy = (of_lazy, roles, vec![found, crd_findings, role_findings, while_roles]);
    let (mut eager, found) = k8s::load(folder).unwrap();
    let (crds, crd_findings) = crds(&mut eager);
    let (roles, role_findings) = role::roles(&eager, "role");
    [lazy, (crds, roles, vec![found, crd_findings, role_findings])].map(|(crds, roles, findings)| {
        let mut documents: BTreeMap<_, _> =
            crds.into_iter().map(|crd| (crd.file_name, crd.value.to_string())).collect();
        documents.insert("role.yaml".to_owned(), serde_json::to_string(&roles).unwrap());
        let mut lines: Vec<_> =
            findings.iter().flatten().map(|found| format!("{:?}: {}", found.origin, found.message)).collect();
        lines.sort();
        (documents, lines.join("\n"))
    })
}

/// Fails unless both ways agree. Returns document names and findings.
#[track_caller]
fn same(text: &str) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), text);
    let [lazy, eager] = read(folder.path());
    assert_eq!(lazy, eager, "{text}");
    (lazy.0.into_keys().collect(), lazy.1)
}

fn kind(name: &str, derive: &str) -> String {
    format!(
        "#[derive({derive}, {DERIVES})]\n#[kube(group = \"e.x\", version = \"v1\", kind = \"{name}\")]\n\
         pub struct {name}Spec {{ a: String }}\n"
    )
}

#[test]
fn a_derive_under_another_name() {
    let names = "//- src/lib.rs\nmod names; mod again; mod types; mod other;\n\
                 //- src/names.rs\npub use kube::CustomResource as Kind;\n\
                 //- src/again.rs\npub use super::names::{Kind as Resource};\n//- src/other.rs\n";
    let (found, findings) = same(&format!("{names}//- src/types.rs\nuse crate::again::*;\n{}", kind("A", "Resource")));
    assert_eq!(found, ["e.x_as.yaml", "role.yaml"], "{findings}");
    // Only an alias in another file shows that this type is a resource.
    let (_, findings) =
        same(&format!("{names}//- src/types.rs\nuse crate::again::*;\n#[derive(Resource)] struct A;\n"));
    assert!(findings.contains("src/types.rs"), "{findings}");
}

#[test]
fn a_resource_in_an_odd_place() {
    let resource = kind("A", "kube::CustomResource");
    for modules in [
        format!("//- src/lib.rs\n#[path = \"../odd/place.rs\"] mod x;\n//- odd/place.rs\n{resource}"),
        format!(
            "//- src/lib.rs\nmod a;\n//- src/a.rs\nfn f() {{}}\nmod b;\n//- src/a/b/mod.rs\nmod c;\n//- src/a/b/c.rs\n{resource}"
        ),
        format!("//- src/lib.rs\nmod a;\n//- src/a.rs\nmod b {{ mod c; }}\n//- src/a/b/c.rs\n{resource}"),
        format!("//- src/lib.rs\n//- src/bin/tool.rs\nmod a;\nfn main() {{}}\n//- src/bin/a.rs\n{resource}"),
        format!("//- src/lib.rs\n/* mod no; */ mod /* no */ a\n;\n//- src/a.rs\n{resource}"),
        format!("//- src/lib.rs\nextern crate kube as k;\nmod a;\n//- src/a.rs\n{}", kind("A", "::k::CustomResource")),
    ] {
        assert_eq!(
            same(&modules),
            (vec!["e.x_as.yaml".to_owned(), "role.yaml".to_owned()], String::new()),
            "{modules}"
        );
    }
}

/// A resource that cannot be read always gives a finding.
#[test]
fn a_resource_that_is_hidden() {
    let names = "//- src/lib.rs\nmod k; mod a;\n//- src/k.rs\npub use kube::CustomResource as Q;\n//- src/a.rs\n";
    let resource = kind("A", "Q");
    let conditional = kind("A", "Clone").replacen("#[derive(Clone, ", "#[cfg_attr(unix, derive(Q))]\n#[derive(", 1);
    let direct = kind("A", "kube::CustomResource");
    for (code, hidden) in [
        (format!("use kube::CustomResource as Q;\nfn f() {{ {resource} }}"), true),
        (format!("use crate::k::Q;\nfn f() {{ {resource} }}"), true),
        (format!("fn f() {{ use kube::CustomResource as Q; {resource} }}"), true),
        (format!("use kube::CustomResource as Q;\nfn f() {{ {conditional} }}"), true),
        (format!("use crate::k::Q;\nvec! {{ {resource} }}"), true),
        ("use crate::k::Q;\nmacro_rules! m { () => { #[derive(Q)] struct A; } }".to_owned(), true),
        (format!("use crate::k::Q;\n{conditional}"), true),
        ("use crate::k::Q;\n#[apply(Q)] struct A;".to_owned(), true),
        (format!("struct B {{ b: [u8; {{ {direct} 1 }}] }}"), true),
        (format!("struct B {{ b: vec! {{ {direct} }} }}"), true),
        (format!("struct B<const N: usize = {{ {direct} 1 }}>;"), true),
        (format!("enum B {{ B = {{ {direct} 1 }} }}"), true),
        (format!("union B {{ b: [u8; {{ use crate::k::Q; {resource} 1 }}] }}"), true),
        (direct.replacen("a: String", &format!("a: [u8; {{ {direct} 1 }}]"), 1), true),
        ("use crate::k::Q;\nfn f<Q>(q: Q) { struct A<Q>(Q); }".to_owned(), false),
        ("use crate::k::Q;\n#[derive(Clone)] struct A { q: Q }\nstruct Quiet; fn q() { Quiet }".to_owned(), false),
    ] {
        let (found, findings) = same(&format!("{names}{code}\n"));
        let said = ["derives `CustomResource`", "whether `CustomResource` is derived", "may declare custom resources"]
            .iter()
            .any(|message| findings.contains(message));
        assert_eq!((said, found), (hidden, vec!["role.yaml".to_owned()]), "{code}\n{findings}");
    }
    let (found, findings) = same(&format!("{names}use crate::k::Q;\n{resource}"));
    assert_eq!((found.len(), findings.as_str()), (2, ""));
    for derive in ["unknown::Q", "k8s_openapi::Q"] {
        let (_, findings) = same(&format!("//- src/lib.rs\n{}", kind("A", derive)));
        assert!(
            findings.contains("cannot resolve the derive") || findings.contains("cannot tell whether"),
            "{derive}: {findings}"
        );
    }
}

#[test]
fn what_a_resource_needs_is_read_from_where_it_is() {
    let spec = format!(
        "#[derive(kube::CustomResource, {DERIVES})]\n#[kube(group = \"e.x\", version = \"v1\", kind = \"A\")]\n\
         pub struct ASpec {{ #[serde(default)] size: crate::far::Size, #[serde(default = \"crate::far::deep::number\")] n: i32 }}\n"
    );
    // Two simple kinds around it in the order of modules.
    let [early, late] = ["B", "C"].map(|name| kind(name, "kube::CustomResource"));
    let (found, findings) = same(&format!(
        "//- src/lib.rs\nmod early; mod a; mod late; mod far; mod impls; mod unrelated;\n//- src/a.rs\n{spec}\
         //- src/early.rs\n{early}//- src/late.rs\n{late}//- src/far.rs\npub mod deep;\n#[derive({DERIVES})] pub struct Size {{ pub n: i32 }}\n\
         //- src/far/deep.rs\npub fn number() -> i32 {{ super::super::unrelated::N }}\n\
         //- src/unrelated.rs\npub const N: i32 = 7;\n\
         //- src/impls.rs\nuse crate::far::Size as S;\nimpl Default for S {{ fn default() -> Self {{ Self {{ n: 3 }} }} }}\n"
    ));
    assert_eq!((found.len(), findings.as_str()), (4, ""));
}

#[test]
fn markers_in_files_that_nothing_else_needs() {
    let marker = "// +kubebuilder:rbac:groups=g,resources=r,verbs=get\n";
    for text in [
        format!("fn f() {{}}\n{marker}"),
        format!("#[cfg(test)]\nmod tests {{\n{marker}}}\n"),
        format!("const S: &str = \"\n{marker}\";\n"),
        format!("#![cfg(feature = \"off\")]\n{marker}"),
    ] {
        same(&format!("//- src/lib.rs\nmod a;\n//- src/a.rs\n{text}"));
    }
}

/// A broken file is an error only if a resource may need it.
#[test]
fn broken_files() {
    let resource = kind("A", "kube::CustomResource");
    let broken = "//- src/broken.rs\nfn f( { }\n";
    for (lib, found) in [
        ("mod broken; mod a;\n", false),
        ("mod broken; mod a; pub use broken::f;\n", false),
        ("mod broken; mod a; use broken::Something; #[derive(CustomResource)] struct X;\n", true),
        ("mod broken; mod a; use broken::*; #[derive(CustomResource)] struct X;\n", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &format!("//- src/lib.rs\n{lib}//- src/a.rs\n{resource}{broken}"));
        let [lazy, _] = read(folder.path());
        assert_eq!(lazy.1.contains("src/broken.rs"), found, "{lib}: {}", lazy.1);
    }
    for text in ["fn f( {} #[derive(CustomResource)]\n", "fn f( {} #[kube(x)]\n", "mod a; fn f( {}\n"] {
        let (_, findings) = same(&format!("//- src/lib.rs\nmod b;\n//- src/b.rs\n{text}//- src/b/a.rs\n"));
        assert!(findings.contains("src/b.rs"), "{text}: {findings}");
    }
}

/// Lazy parsing finds every resource in crates with nested modules. The schemas of many resources are built in
/// parallel, and they have the same order and findings as in sequence.
#[test]
fn many_resources_at_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/diagnostics");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    let (mut modules, mut package) = (String::new(), String::new());
    for (number, path) in files.iter().enumerate() {
        let text = std::fs::read_to_string(path).unwrap();
        // Each kind is declared twice, which is one more finding, and each of its types has a namesake.
        for module in [format!("a{number}"), format!("b{number}")] {
            writeln!(modules, "mod {module};").unwrap();
            writeln!(package, "//- src/{module}.rs\n{text}").unwrap();
        }
        let (name, module) = (format!("Fine{number}"), format!("fine{number}"));
        writeln!(modules, "mod {module};").unwrap();
        writeln!(package, "//- src/{module}.rs\n{}", kind(&name, "kube::CustomResource")).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &format!("//- src/lib.rs\n{modules}{package}"));
    let (eager, found) = crds(&mut k8s::load(folder.path()).unwrap().0);
    assert!(eager.len() >= files.len() && found.len() > 2 * files.len(), "{} and {}", eager.len(), found.len());
    let lazy = k8s::load_with(folder.path(), &FeatureSelection::default(), &Pending::default());
    let (at_once, found_at_once) = crds(&mut lazy.unwrap().0);
    assert_eq!(found_at_once, found);
    assert_eq!(at_once, eager);
}

#[test]
fn as_many_resources_as_the_text_names() {
    let mut state = 11_u64;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    };
    for _ in 0..20 {
        let mut text = "//- src/lib.rs\npub use kube::CustomResource as Named;\nmod m;\n".to_owned();
        let mut dirs = vec![("m".to_owned(), true)];
        let mut number = 0;
        while let Some((dir, children)) = dirs.pop() {
            write!(text, "//- src/{dir}.rs\n//! Docs with a mod in them; and a kube.\n").unwrap();
            for child in ["x", "y"] {
                if children && dir.len() < 8 && below(3) > 0 {
                    let how = below(3);
                    match how {
                        0 => writeln!(text, "use std::fmt;\npub mod {child};").unwrap(),
                        1 => {
                            writeln!(text, "fn {child}() {{ let _ = '{{'; }}\n#[cfg(not(test))] mod {child};").unwrap()
                        }
                        _ => writeln!(text, "#[path = \"{}\"] mod {child};", {
                            let last = dir.rsplit('/').next().unwrap();
                            format!("{last}/{child}.rs")
                        })
                        .unwrap(),
                    }
                    // Children of a `#[path]` file are in another folder.
                    dirs.push((format!("{dir}/{child}"), how < 2));
                }
            }
            number += 1;
            match below(6) {
                0 => text.push_str(&kind(&format!("K{number}"), "kube::CustomResource")),
                1 => write!(text, "use crate::Named;\n{}", kind(&format!("K{number}"), "Named")).unwrap(),
                2 => write!(text, "mod inner {{\n{}}}\n", kind(&format!("K{number}"), "crate::Named")).unwrap(),
                3 => text.push_str("#[cfg(test)] mod tests { use super::*; fn f() {} }\nimpl Default for u8 {}\n"),
                _ => text.push_str("pub fn work(c: kube::Client) -> u8 { 1 }\n"),
            }
        }
        let (found, findings) = same(&text);
        assert_eq!(found.len() - 1, text.matches("kind = \"").count(), "{findings}\n{text}");
    }
}

/// A file that only an unread macro may declare gives a finding; a file that is not a module does not.
#[test]
fn a_module_that_is_declared_out_of_sight() {
    let resource = kind("A", "kube::CustomResource");
    for (code, said) in [
        ("cfg_if::cfg_if! { if #[cfg(unix)] { mod a; } }", true),
        ("macro_rules! mods { ($($name:ident),*) => { $(pub mod $name;)* } }\nmods!(b, a);", true),
        ("macro_rules! mods { () => { mod a; } }\nmods!();", true),
        ("mod crds { automod::dir!(pub \"src/crds\"); }", true),
        ("fn f() { #[path = \"a.rs\"] mod a; }", true),
        ("#[cfg_attr(unix, path = \"a.rs\")] mod b;", true),
        ("mod b;", false),
        (
            "thread_local! { static B: u8 = 1; }\nmacro_rules! mods { ($name:ident) => { pub mod $name {} } }\nmods!(b);",
            false,
        ),
        ("fn f() { mod b {} }", false),
    ] {
        let code = code.replace("mods!(b);", "mods!(other);");
        let text =
            format!("//- src/lib.rs\n{code}\n//- src/b.rs\n//- src/a.rs\n{resource}//- src/crds/a.rs\n{resource}");
        let (found, findings) = same(&text);
        assert_eq!(findings.contains("may declare it as a module"), said, "{code}\n{findings}");
        assert_eq!(found, ["role.yaml"], "{code}");
    }
    // A file that is read under another name, and a file that only mentions resources.
    let text = format!(
        "//- src/lib.rs\n#[path = \"a.rs\"] mod b;\nmacro_rules! a {{ () => {{ mod a; }} }}\na!();\n//- src/a.rs\n{resource}"
    );
    assert_eq!(same(&text), (vec!["e.x_as.yaml".to_owned(), "role.yaml".to_owned()], String::new()));
    let text = "//- src/lib.rs\nmacro_rules! a { () => { mod a; } }\na!();\n//- src/a.rs\nuse kube::CustomResource;\n";
    assert_eq!(same(text), (vec!["role.yaml".to_owned()], String::new()));
}

#[test]
fn an_included_file() {
    let resource = kind("A", "CustomResource").replace("String", "Size");
    let size = "#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)] pub struct Size { a: u8 }";
    let uses = "use kube::CustomResource;\n";
    for files in [
        // Names of the module are visible in both files.
        format!("//- src/lib.rs\n{uses}{size}\ninclude!(\"in/a.rs\");\n//- src/in/a.rs\n{resource}"),
        format!("//- src/lib.rs\n{resource}std::include!{{\"a.rs\"}}\n//- src/a.rs\n{uses}{size}"),
        format!(
            "//- src/lib.rs\nmod m {{ include!(\"a.rs\"); }}\n//- src/a.rs\n{uses}use self::n::Size;\nmod n {{ {size} }}\n{resource}"
        ),
        // The path is relative to the file with the call.
        format!(
            "//- src/lib.rs\nmod x;\n//- src/x.rs\n{uses}include!(\"x/b.in\");\n//- src/x/b.in\n{resource}include!(\"c.in\");\n//- src/x/c.in\n{size}"
        ),
        format!(
            "//- src/lib.rs\ninclude!(\"x/b.in\");\n//- src/x/b.in\n{uses}mod n;\nuse n::*;\n{resource}//- src/x/n.rs\n{size}"
        ),
    ] {
        let crds = vec!["e.x_as.yaml".to_owned(), "role.yaml".to_owned()];
        assert_eq!(same(&files), (crds, String::new()), "{files}");
    }
    // A finding points into the included file.
    let (_, findings) = same(&format!("//- src/lib.rs\ninclude!(\"a.rs\");\n//- src/a.rs\nfn f() {{ {resource} }}\n"));
    assert!(findings.contains("src/a.rs") && findings.contains("derives `CustomResource`"), "{findings}");
    for (call, message) in [
        ("include!(\"lib.rs\");", "`lib.rs` is included and cannot be resolved"),
        ("include!(\"absent.rs\");", "`absent.rs` is included and cannot be read"),
        ("include!(concat!(\"a\", \".rs\"));", "the file of `include!` is unknown"),
        ("include!(concat!(env!(\"OUT_DIR\"), \"/a.rs\"));", "the file of `include!` is unknown"),
        ("macro_rules! include { ($a:literal) => {} }\ninclude!(\"a.rs\");", "is included"),
    ] {
        let (_, findings) = same(&format!("//- src/lib.rs\n{call}\n//- src/a.rs\nfn f() {{}}\n"));
        assert!(findings.contains(message), "{call}: {findings}");
    }
}

/// `include!` by an alias, or inside another macro.
#[test]
fn a_file_that_is_taken_in_under_another_name() {
    let resource = kind("A", "kube::CustomResource");
    for (code, message) in [
        ("use std::include as take;\ntake!(\"a.in\");", "is included and derives"),
        ("macro_rules! take { ($file:literal) => { include!($file); } }\ntake!(\"a.in\");", "the file of `take!`"),
    ] {
        let (_, findings) = same(&format!("//- src/lib.rs\n{code}\n//- src/a.in\n{resource}"));
        assert!(findings.contains(message), "{code}\n{findings}");
    }
}

/// A file can be two modules; a type then has two paths.
#[test]
fn a_file_that_is_two_modules() {
    let resource = kind("A", "kube::CustomResource").replace("String", "super::Size");
    let modules = "mod x { type Size = u8; #[path = \"../a.rs\"] mod a; }\nmod y { type Size = bool; #[path = \"../a.rs\"] mod a; }";
    let (_, findings) = same(&format!("//- src/lib.rs\n{modules}\n//- src/a.rs\n{resource}"));
    assert!(findings.contains("has the version `v1` twice"), "{findings}");
    // Many projects declare the same modules in the library and in the binary.
    let (found, findings) = same(&format!(
        "//- src/lib.rs\nmod a; type Size = u8;\n//- src/main.rs\nmod a; type Size = u8;\n//- src/a.rs\n{resource}"
    ));
    assert_eq!(found, ["e.x_as.yaml", "role.yaml"], "{findings}");
}

/// A test attribute only hides functions.
#[test]
fn an_attribute_called_test() {
    let resource = kind("A", "kube::CustomResource");
    let (_, findings) = same(&format!("//- src/lib.rs\n#[other::test]\n{resource}"));
    assert!(findings.contains("`#[other::test]` may be an attribute macro"), "{findings}");
    let (found, _) = same(&format!("//- src/lib.rs\n{}", resource.replace("a: String", "#[test(1)] a: String")));
    assert_eq!(found, ["e.x_as.yaml", "role.yaml"]);
}

/// In edition 2015, the default without an `edition` key, a path in an import starts at the crate root.
#[test]
fn imports_of_the_first_edition() {
    let folder = tempfile::tempdir().unwrap();
    let resource = kind("A", "::kube::CustomResource").replace("String", "Size");
    write(
        folder.path(),
        &format!(
            "//- src/lib.rs\nextern crate kube; extern crate schemars; extern crate serde;\nmod types {{ pub type Size = u8; }}\nmod child;\n\
             //- src/child.rs\nuse types::Size;\nmod types {{ pub type Size = String; }}\n{resource}"
        ),
    );
    std::fs::write(folder.path().join("Cargo.toml"), MANIFEST.replace("edition = \"2024\"\n", "")).unwrap();
    let [(found, findings), _] = read(folder.path());
    assert!(found["e.x_as.yaml"].contains("uint8"), "{findings}");
}
