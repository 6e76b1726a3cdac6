//! The choice of CRDs to write: selected kinds, and exact kinds beside refused ones.

use snapbox::str;

use crate::sandbox::Sandbox;

const MANIFEST: &str = "[package]\nname = \"op\"\nedition = \"2024\"\n\n[dependencies]\nkube = { version = \"5\", default-features = false, features = [\"derive\"] }\n\
                        schemars = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\n";

fn kind(kind: &str, group: &str, version: &str, field: &str) -> String {
    format!(
        "#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
         #[kube(group = \"{group}\", version = \"{version}\", kind = \"{kind}\")]\npub struct {kind}Spec {{\n    {field}\n}}\n"
    )
}

const FINE: &str = "pub size: i32,";
/// Only the compiler can evaluate the default.
const HARD: &str = "#[serde(default = \"size\")]\n    pub size: i32,";

fn project(lib: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("Cargo.toml", MANIFEST).file("src/lib.rs", lib).lock();
    sandbox
}

/// Three kinds; `Pear` needs the compiler.
fn mixed() -> Sandbox {
    let kinds = kind("Apple", "example.com", "v1", FINE)
        + &kind("Pear", "example.com", "v1", HARD)
        + &kind("Route", "gateway.io", "v1", FINE);
    project(&(kinds + "fn size() -> i32 {\n    std::env::args().count() as i32\n}\n"))
}

fn written(sandbox: &Sandbox) -> Vec<String> {
    let crds = sandbox.files().into_keys().filter_map(|path| Some(path.strip_prefix("config/crd/bases/")?.to_owned()));
    crds.collect()
}

const APPLE: &str = "example.com_apples.yaml";
const PEAR: &str = "example.com_pears.yaml";
const ROUTE: &str = "gateway.io_routes.yaml";

#[test]
fn kinds_are_chosen_by_name() {
    for (flags, expected) in [
        ("--kind Apple", vec![APPLE]),
        ("--kind Apple.example.com --kind Route", vec![APPLE, ROUTE]),
        ("--kind Apple,Route", vec![APPLE, ROUTE]),
        ("--kind *.gateway.io", vec![ROUTE]),
        ("--exclude Pear", vec![APPLE, ROUTE]),
        ("--exclude *.example.com", vec![ROUTE]),
        ("--exclude P*,Route.gateway.io", vec![APPLE]),
        ("--kind *.example.com --exclude Pear", vec![APPLE]),
    ] {
        let sandbox = mixed();
        sandbox.run(&format!("generate crds --engine static {flags}")).success();
        assert_eq!(written(&sandbox), expected, "{flags}");
        sandbox.run(&format!("generate crds --engine static --check {flags}")).success();
    }
}

#[test]
fn a_name_of_nothing_is_an_error() {
    for (flags, expected) in [
        (
            "crds --kind Apples",
            "error: custom resource `Apples` not found\nhelp: the custom resources are `Apple.example.com`, `Pear.example.com`, `Route.gateway.io`\n",
        ),
        (
            "crds --exclude Pear --exclude Apple.gateway.io",
            "error: custom resource `Apple.gateway.io` not found\nhelp: the custom resources are `Apple.example.com`, `Pear.example.com`, `Route.gateway.io`\n",
        ),
        (
            "crds --kind [a",
            "error: `[a` is not a valid name of a kind: invalid range pattern\nhelp: use `Kind`, `Kind.group`, or a \
             glob such as `*Policy` or `*.example.com`\n",
        ),
        ("rbac --kind Apple", "error: `--kind` and `--exclude` choose CRDs, but `generate rbac` writes no CRDs\n"),
    ] {
        let sandbox = mixed();
        sandbox.run(&format!("generate --engine static {flags}")).code(2).stderr(expected);
        assert_eq!(written(&sandbox), [""; 0]);
    }
    let sandbox = project("");
    sandbox.run("generate crds --kind Apple").code(2).stderr(str![[r#"
error: custom resource `Apple` not found
help: the package declares no custom resource

"#]]);
    let sandbox = project("#[derive(kube::CustomResource)]\nstruct {");
    let said = sandbox.run("generate crds --kind Apple -o json").code(1).out();
    assert!(said.contains("\"rust-syntax\"") && said.contains("custom resource `Apple` not found"), "{said}");
}

/// A CRD whose type is gone is removed, unless the run selects kinds. A kind that is not selected stays.
#[test]
fn only_what_is_gone_is_removed() {
    const PLUM: &str = "example.com_plums.yaml";
    let lib = |kinds: &[&str]| kinds.iter().map(|name| kind(name, "example.com", "v1", FINE)).collect::<String>();
    for (flags, expected) in
        [("", vec![APPLE, PLUM]), ("--exclude Plum", vec![APPLE, PLUM]), ("--kind Apple", vec![APPLE, PEAR, PLUM])]
    {
        let sandbox = project(&lib(&["Apple", "Pear", "Plum"]));
        sandbox.run("generate crds").success();
        sandbox.file("src/lib.rs", &lib(&["Apple", "Plum"]));
        sandbox.run(&format!("generate crds {flags}")).success();
        assert_eq!(written(&sandbox), expected, "{flags}");
    }
}

#[test]
fn what_is_exact_is_written_on_request() {
    let sandbox = mixed();
    sandbox.run("generate crds --engine static").code(1).stdout("").stderr(str![[r#"
error[default-value]: default value: cannot evaluate `std::env::args().count() as i32` without running code, in `Pear.spec.size`
  --> src/lib.rs:18:5
   |
18 |     std::env::args().count() as i32
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = help: use literals, constants, or functions that only return them
1 of 3 kinds cannot be written: `--exclude Pear.example.com` leaves them out, `--keep-going` writes the others

"#]]);
    assert_eq!(written(&sandbox), [""; 0]);
    sandbox.file("config/crd/bases/example.com_olds.yaml", "");
    sandbox.run("generate crds --engine static --keep-going --check").code(1).stdout(str![[r#"
create    config/crd/bases/example.com_apples.yaml
create    config/crd/bases/gateway.io_routes.yaml

"#]]);
    let run = sandbox.run("generate crds --engine static --keep-going").code(1);
    run.stdout(str![[r#"
create    config/crd/bases/example.com_apples.yaml
create    config/crd/bases/gateway.io_routes.yaml

"#]])
        .stderr(str![[r#"
error[default-value]: default value: cannot evaluate `std::env::args().count() as i32` without running code, in `Pear.spec.size`
  --> src/lib.rs:18:5
   |
18 |     std::env::args().count() as i32
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = help: use literals, constants, or functions that only return them
2 created
not written: `Pear.example.com`

"#]]);
    let stdout = sandbox.run("generate crds --engine static --keep-going --stdout").code(1).out();
    assert_eq!(stdout, [APPLE, ROUTE].map(|name| sandbox.read(&format!("config/crd/bases/{name}"))).concat());
    sandbox.run("generate crds --engine static --keep-going --exclude Pear --check").success();
    sandbox.run("generate crds --engine static --keep-going -o json").code(1).stdout(str![[r#"
{
  "changes": [
    {
      "path": "config/crd/bases/example.com_apples.yaml",
      "change": "unchanged"
    },
    {
      "path": "config/crd/bases/gateway.io_routes.yaml",
      "change": "unchanged"
    }
  ],
  "diagnostics": [
    {
      "code": "list-kind",
      "severity": "note",
      "message": "the CRD has no `listKind`; the API server sets it: `Apple`",
      "file": "src/lib.rs",
      "line": 3,
      "column": 12,
      "help": "pass `--fix list-kind` if the file is compared with what the server has stored",
      "kinds": [
        "Apple.example.com"
      ]
    },
    {
      "code": "list-kind",
      "severity": "note",
      "message": "the CRD has no `listKind`; the API server sets it: `Route`",
      "file": "src/lib.rs",
      "line": 14,
      "column": 12,
      "help": "pass `--fix list-kind` if the file is compared with what the server has stored",
      "kinds": [
        "Route.gateway.io"
      ]
    },
    {
      "code": "default-value",
      "severity": "error",
      "message": "default value: cannot evaluate `std::env::args().count() as i32` without running code, in `Pear.spec.size`",
      "file": "src/lib.rs",
      "line": 18,
      "column": 5,
      "help": "use literals, constants, or functions that only return them",
      "kinds": [
        "Pear.example.com"
      ]
    }
  ]
}

"#]]);
}

/// A CRD is written only if all its versions are exact and the API server accepts it.
#[test]
fn what_is_not_exact_is_never_written() {
    let storage = |text: String| text.replace("kind =", "storage = false, kind =");
    let (fine, other) = (kind("Apple", "example.com", "v1", FINE), kind("Route", "gateway.io", "v1", FINE));
    let in_module = |text: String| format!("mod other {{\n{text}}}\n");
    let refused = "#[schemars(regex(pattern = \"(?=a)\"))]\n    pub name: String,";
    for (what, more, expected) in [
        ("a version is hard", in_module(storage(kind("Apple", "example.com", "v2", HARD))), vec![ROUTE]),
        ("two are stored", in_module(kind("Apple", "example.com", "v2", FINE)), vec![ROUTE]),
        ("the server refuses it", kind("Pear", "example.com", "v1", refused), vec![APPLE, ROUTE]),
        (
            "its name is not said",
            "#[derive(kube::CustomResource)]\n#[kube(group = \"a.b\")]\nstruct X {}\n".to_owned(),
            vec![APPLE, ROUTE],
        ),
        ("nothing can be read", "struct {".to_owned(), vec![]),
    ] {
        let sandbox = project(&(fine.clone() + &other + &more));
        sandbox.run("generate crds --engine static --keep-going").code(1);
        assert_eq!(written(&sandbox), expected, "{what}");
    }
    let sandbox = project(&(fine + &other));
    sandbox.replace("Cargo.toml", "kube = { version = \"5\"", "kube = { version = \"1\"");
    sandbox.run("generate crds --engine static --keep-going").code(1);
    assert_eq!(written(&sandbox), [""; 0]);
}

#[test]
fn nothing_goes_and_no_role_is_written_beside_an_error() {
    let sandbox = mixed();
    sandbox.replace("src/lib.rs", HARD, FINE);
    sandbox.run("generate").success();
    sandbox.file("src/lib.rs", &(kind("Apple", "example.com", "v1", HARD) + &kind("Route", "gateway.io", "v1", FINE)));
    sandbox.run("generate --engine static --keep-going").code(1);
    assert_eq!(written(&sandbox), [APPLE, PEAR, ROUTE]);
    sandbox.file(
        "src/lib.rs",
        &(kind("Apple", "example.com", "v1", FINE) + "// +kubebuilder:rbac:groups=apps,verbs\nfn main() {}\n"),
    );
    sandbox.file("config/rbac/role.yaml", "mine\n");
    sandbox.run("generate --engine static --keep-going").code(1).stderr(str![[r#"
error[marker-syntax]: expected equals, got ""
 --> src/lib.rs:6:39
  |
6 | // +kubebuilder:rbac:groups=apps,verbs
  |                                       ^
  |
  = help: separate the items of a list with `;`, and arguments with `,`
1 unchanged
not written: the role

"#]]);
    assert_eq!(sandbox.read("config/rbac/role.yaml"), "mine\n");
    sandbox.replace("src/lib.rs", "groups=apps,verbs", "groups=apps,resources=deployments,verbs=get");
    sandbox.run("generate --engine static --keep-going").success();
    assert!(sandbox.read("config/rbac/role.yaml").contains("- deployments\n"));
    assert_eq!(written(&sandbox), [APPLE, ROUTE]);
}

/// An unreadable package does not affect the others.
#[test]
fn packages_are_told_apart() {
    let sandbox = Sandbox::new();
    sandbox.file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"old\", \"new\"]\n");
    for (package, version, lib) in [
        ("new", "\"5\"", kind("Apple", "example.com", "v1", FINE)),
        ("old", "\"1\"", kind("Pear", "example.com", "v1", FINE)),
    ] {
        let manifest = MANIFEST.replace("\"op\"", &format!("\"{package}\"")).replace("\"5\"", version);
        sandbox.file(&format!("{package}/Cargo.toml"), &manifest).file(&format!("{package}/src/lib.rs"), &lib);
    }
    sandbox.lock();
    sandbox.run("generate crds --engine static").code(1);
    assert_eq!(written(&sandbox), [""; 0]);
    let said = sandbox.run("generate crds --engine static --keep-going").code(1).err();
    assert!(said.ends_with("1 created\nnot written: `Pear.example.com`\n"), "{said}");
    assert_eq!(written(&sandbox), [APPLE]);
}

/// A kind of a foreign API that the code only reads needs no CRD.
#[test]
fn a_kind_whose_crd_nobody_asks_for() {
    let sandbox = mixed();
    sandbox.file("src/bin/crdgen.rs", "fn main() {\n    print(&[op::Apple::crd(), <op::Route as Ext>::crd()]);\n}\n");
    sandbox.run("generate crds --engine static").code(1).stderr(str![[r#"
warning[only-read]: nothing calls `crd()` of `Pear.example.com`, as is done for other kinds: it may be an API of others that is only read
help: leave out what is only read: `--exclude Pear.example.com`, or once for all `external = ["Pear.example.com"]` below `[package.metadata.memcached-sdk]` in `Cargo.toml`

error[default-value]: default value: cannot evaluate `std::env::args().count() as i32` without running code, in `Pear.spec.size`
  --> src/lib.rs:18:5
   |
18 |     std::env::args().count() as i32
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = help: use literals, constants, or functions that only return them
1 of 3 kinds cannot be written: `--exclude Pear.example.com` leaves them out, `--keep-going` writes the others

"#]]);
    for (path, calls) in [
        ("build.rs", "fn main() {\n    op::Pear::crd();\n}\n"),
        ("src/more.rs", "macro_rules! print {\n    ($kind:ident) => { $kind::crd() };\n}\n"),
        ("src/bin/crdgen.rs", ""),
    ] {
        let before = sandbox.files().get(path).cloned();
        sandbox.file(path, calls);
        let said = sandbox.run("generate crds --engine static").code(1).err();
        assert!(!said.contains("only-read"), "{path}: {said}");
        match before {
            Some(text) => drop(sandbox.file(path, &text)),
            None => std::fs::remove_file(sandbox.path(path)).unwrap(),
        }
    }
}

/// An error does not hide later errors.
#[test]
fn all_errors_are_told_at_once() {
    let spec = "#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, kube::KubeSchema)]\n\
        #[kube(group = \"a.io\", version = \"v1\", kind = \"Thing\", colour = \"red\", status = \"Status\")]\n\
        #[x_kube(validation = one(), validation = two())]\n\
        struct ThingSpec {\n    \
        #[x_kube(merge_strategy = Some, validation = three())]\n    first: u8,\n    \
        #[x_kube(unknown)]\n    second: u8,\n    \
        #[schemars(range(min = four(), max = five()), length(min = six()))]\n    third: u8,\n    \
        inner: Inner,\n}\n";
    let status = "#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
        #[schemars(titel = \"x\")]\nstruct Status {\n    #[schemars(wrong)]\n    a: Missing,\n}\n";
    let inner = "#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
        #[serde(rename_all = \"odd\")]\nstruct Inner {\n    deep: Absent,\n    \
        #[serde(skip)]\n    skipped: Gone,\n}\n";
    let sandbox = project(&(spec.to_owned() + status + inner));
    let report = sandbox.run("generate crds --engine static -o json").code(1).out();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let told = report["diagnostics"].as_array().unwrap().iter().map(|found| {
        assert_eq!(found["kinds"], serde_json::json!(["Thing.a.io"]));
        format!("{}: {}\n", found["line"], found["message"].as_str().unwrap())
    });
    snapbox::assert_data_eq!(
        told.collect::<String>(),
        str![[r#"
2: Unknown field: `colour`
3: cannot find `one`, in `Thing.spec`
3: cannot find `two`, in `Thing.spec`
5: cannot read the merge strategy `Some`, in `Thing.spec`
5: cannot find `three`, in `Thing.spec`
7: Unknown field: `unknown`. Available values: `merge_strategy`, `validation`, in `Thing.spec`
9: cannot find `four`, in `Thing.spec.third`
9: cannot find `five`, in `Thing.spec.third`
9: cannot find `six`, in `Thing.spec.third`
14: unknown schemars attribute `titel`, in `Thing.status`
16: unknown schemars attribute `wrong`, in `Thing.status.a`
17: cannot find `Missing`, in `Thing.status.a`
20: unknown rename rule `rename_all = "odd"`, expected one of "lowercase", "UPPERCASE", "PascalCase", "camelCase", "snake_case", "SCREAMING_SNAKE_CASE", "kebab-case", "SCREAMING-KEBAB-CASE", in `Thing.spec.inner`
22: cannot find `Absent`, in `Thing.spec.inner.deep`

"#]]
    );
}

#[test]
fn a_lock_file_that_is_there_is_not_missed() {
    let sandbox = Sandbox::new();
    let k8s = "k8s-openapi = { version = \"0.26\", features = [\"v1_30\"] }\n";
    let field = "pub pod: k8s_openapi::api::core::v1::PodSpec,";
    sandbox
        .file("Cargo.toml", &(MANIFEST.to_owned() + k8s))
        .file("src/lib.rs", &kind("Thing", "a.io", "v1", field))
        .lock();
    let lock = sandbox.read("Cargo.lock");
    let left: Vec<&str> = lock.lines().filter(|line| !line.starts_with(" \"k8s-openapi")).collect();
    for (lock, expected) in [
        (left.join("\n"), "`Cargo.lock` has no k8s-openapi, so only the feature"),
        (String::new(), "without a `Cargo.lock` only the feature"),
    ] {
        if lock.is_empty() {
            std::fs::remove_file(sandbox.path("Cargo.lock")).unwrap();
        } else {
            sandbox.file("Cargo.lock", &lock);
        }
        let said = sandbox.run("generate crds --engine static").code(1).err();
        assert!(said.contains(expected), "{said}");
    }
}
