use super::*;

/// Names, the texts of both scaffolds, that of the author, and the result; `None` is a conflict.
type Case = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>);

fn check(path: &str, cases: &[Case]) {
    for (name, old, new, theirs, expected) in cases {
        let merged = merge(path, old, new, theirs);
        assert_eq!(merged.as_deref(), *expected, "{path}: {name}\n{}", merged.as_deref().unwrap_or_default());
        let Some(merged) = merged else { continue };
        assert_eq!(merge(path, old, new, &merged).as_deref(), Some(merged.as_str()), "{path}: {name}, twice");
        assert_eq!(merge(path, old, old, theirs).as_deref(), Some(*theirs), "{path}: {name}, without a change");
    }
}

#[test]
fn toml_merges_by_key() {
    check(
        "Cargo.toml",
        &[
            (
                "a dependency of the author beside a changed one",
                "[dependencies]\nkube = \"4\"\nserde = \"1\"\n",
                "[dependencies]\nkube = { version = \"5\", features = [\"client\"] }\nserde = \"1\"\n",
                "[dependencies]\nanyhow = \"1\" # mine\nkube = \"4\" # pinned\nserde = \"1\"\n",
                Some(
                    "[dependencies]\nanyhow = \"1\" # mine\nkube = { version = \"5\", features = [\"client\"] } # pinned\nserde = \"1\"\n",
                ),
            ),
            (
                "features are a set",
                "[dependencies]\nkube = { version = \"4\", features = [\"client\", \"derive\", \"old\"] }\n",
                "[dependencies]\nkube = { version = \"5\", features = [\"client\", \"derive\", \"runtime\"] }\n",
                "[dependencies]\nkube = { version = \"4\", features = [\"derive\", \"ws\", \"old\", \"client\"] }\n",
                Some(
                    "[dependencies]\nkube = { version = \"5\", features = [\"derive\", \"ws\", \"client\", \"runtime\"] }\n",
                ),
            ),
            (
                "a table of its own, reordered and over several lines",
                "[package]\nname = \"a\"\n\n[dependencies]\nkube = { version = \"4\", features = [\"client\"] }\n",
                "[package]\nname = \"a\"\n\n[dependencies]\nkube = { version = \"5\", features = [\"client\", \"derive\"] }\n# Why.\nserde = \"1\"\n",
                "[dependencies.kube]\nfeatures = [\n    \"client\", # mine\n]\nversion = \"4\"\n\n[package]\nname = \"a\"\n",
                Some(
                    "[dependencies]\n# Why.\nserde = \"1\"\n[dependencies.kube]\nfeatures = [\n    \"client\", # mine\n    \"derive\",\n]\nversion = \"5\"\n\n[package]\nname = \"a\"\n",
                ),
            ),
            (
                "a version that both have changed",
                "[dependencies]\nkube = \"4\"\n",
                "[dependencies]\nkube = \"5\"\n",
                "[dependencies]\nkube = \"4.1\"\n",
                None,
            ),
            (
                "the author has features, the scaffold a version",
                "[dependencies]\nkube = \"4\"\n",
                "[dependencies]\nkube = \"5\"\n",
                "[dependencies]\nkube = { version = \"4\", features = [\"ws\"] }\n",
                Some("[dependencies]\nkube = { version = \"5\", features = [\"ws\"] }\n"),
            ),
            (
                "the scaffold has features, the author a version",
                "[dependencies]\nkube = \"4\"\n",
                "[dependencies]\nkube = { version = \"4\", features = [\"ws\"] }\n",
                "[dependencies]\nkube = \"4.1\"\n",
                Some("[dependencies]\nkube = { version = \"4.1\", features = [\"ws\"] }\n"),
            ),
            (
                "a dependency that the scaffold removes and the author has changed",
                "[dependencies]\na = \"1\"\nb = \"1\"\n",
                "[dependencies]\nb = \"1\"\n",
                "[dependencies]\na = \"2\"\nb = \"1\"\n",
                None,
            ),
            (
                "a comment of the scaffold has no key",
                "[lints]\na = \"warn\"\n",
                "# Words.\n[lints]\na = \"deny\"\n",
                "[lints]\nb = \"warn\"\na = \"warn\"\n",
                None,
            ),
        ],
    );
}

#[test]
fn yaml_merges_by_key_and_entry() {
    check(
        "kustomization.yaml",
        &[
            (
                "a list of resources, reordered and indented",
                "resources:\n- a.yaml\n- b.yaml\n",
                "resources:\n- a.yaml\n- c.yaml\n- b.yaml\n",
                "resources:\n  # Mine.\n  - mine.yaml\n  - b.yaml\n  - a.yaml\n",
                Some("resources:\n  # Mine.\n  - mine.yaml\n  - b.yaml\n  - a.yaml\n  - c.yaml\n"),
            ),
            (
                "maps, reordered",
                "kind: D\nspec:\n  replicas: 1\n  template:\n    a: 1 # one\n    b: 2\n",
                "kind: D\nspec:\n  replicas: 2\n  template:\n    a: 1 # one\n    b: 3\n    # Third.\n    c: 4\n",
                "kind: D\nspec:\n    template:\n        # Mine.\n        b: 2\n        mine: 5\n        a: 1 # one\n    replicas: 1\n",
                Some(
                    "kind: D\nspec:\n    template:\n        # Mine.\n        b: 3\n        # Third.\n        c: 4\n        mine: 5\n        a: 1 # one\n    replicas: 2\n",
                ),
            ),
            (
                "entries with names",
                "spec:\n  containers:\n  - name: manager\n    args:\n    - --a\n    image: i\n",
                "spec:\n  containers:\n  - name: manager\n    args:\n    - --a\n    - --b\n    image: j\n",
                "spec:\n  containers:\n    - image: i\n      name: manager\n      args:\n        - --mine\n        - --a\n    - name: mine\n",
                Some(
                    "spec:\n  containers:\n    - image: j\n      name: manager\n      args:\n        - --mine\n        - --a\n        - --b\n    - name: mine\n",
                ),
            ),
            (
                "several objects, reordered",
                "kind: A\nmetadata:\n  name: a\nspec: 1\n---\nkind: B\nmetadata:\n  name: b\nspec: 1\n",
                "kind: A\nmetadata:\n  name: a\nspec: 1\n---\nkind: B\nmetadata:\n  name: b\nspec: 2\n",
                "---\nkind: B\nspec: 1\nmetadata:\n  name: b\n---\nkind: A\nmetadata:\n  name: a\nspec: 1\n",
                Some("---\nkind: B\nspec: 2\nmetadata:\n  name: b\n---\nkind: A\nmetadata:\n  name: a\nspec: 1\n"),
            ),
            (
                "a comment becomes an entry",
                "resources:\n- a.yaml\n#- b.yaml\n- c.yaml\n",
                "resources:\n- a.yaml\n- b.yaml\n- c.yaml\n",
                "resources:\n  - mine.yaml\n  - a.yaml\n  #- b.yaml\n  - c.yaml\n",
                Some("resources:\n  - mine.yaml\n  - a.yaml\n  - b.yaml\n  - c.yaml\n"),
            ),
            ("a value that both have changed", "a: 1\nb: 1\n", "a: 2\nb: 1\n", "b: 1\na: 3\n", None),
            (
                "an entry that the author has removed",
                "a:\n- x\n- y\n",
                "a:\n- x\n- y\n- z\n",
                "a:\n  - y\n",
                Some("a:\n  - y\n  - z\n"),
            ),
            (
                "a block scalar",
                "a: |\n  one\n  two\nb: 1\n",
                "a: |\n  one\n  three\nb: 1\n",
                "b: 1\na: |\n    one\n    two\n",
                Some("b: 1\na: |\n  one\n  three\n"),
            ),
        ],
    );
}

#[test]
fn rust_merges_by_item_and_statement() {
    check(
        "main.rs",
        &[
            (
                "items in another order",
                "//! M.\n\nuse a::A;\n\nfn one() {\n    a();\n}\n\nfn two() {\n    b();\n}\n",
                "//! M.\n\nuse a::A;\n\nfn one() {\n    a();\n}\n\n/// New.\nfn three() {}\n\nfn two() {\n    c();\n}\n",
                "//! M.\n\nuse a::A;\n\n// Mine.\nfn two() {\n    b();\n}\n\nfn mine() {}\n\nfn one() {\n    a();\n}\n",
                Some(
                    "//! M.\n\nuse a::A;\n\n// Mine.\nfn two() {\n    c();\n}\n\nfn mine() {}\n\nfn one() {\n    a();\n}\n\n/// New.\nfn three() {}\n",
                ),
            ),
            (
                "another width",
                "fn main() {\n    let a = call(one, two);\n    b(a, |x| x + 1);\n    match a {\n        A => one(),\n        B => two(),\n    }\n}\n",
                "fn main() {\n    let a = call(one, three);\n    b(a, |x| x + 1);\n    match a {\n        A => one(),\n        B => two(),\n        C => three(),\n    }\n    end();\n}\n",
                "fn main() {\n\tlet a = call(\n\t\tone,\n\t\ttwo,\n\t);\n\t// Mine.\n\tb(a, |x| {\n\t\tx + 1\n\t});\n\tmine();\n\tmatch a {\n\t\tA => {\n\t\t\tone()\n\t\t}\n\t\tB => two(),\n\t}\n}\n",
                Some(
                    "fn main() {\n    let a = call(one, three);\n\t// Mine.\n\tb(a, |x| {\n\t\tx + 1\n\t});\n\tmine();\n\tmatch a {\n\t\tA => {\n\t\t\tone()\n\t\t}\n\t\tB => two(),\n        C => three(),\n\t}\n    end();\n}\n",
                ),
            ),
            (
                "methods in another order",
                "impl A {\n    fn a(&self) {}\n\n    fn b(&self) {\n        1;\n    }\n}\n",
                "impl A {\n    fn a(&self) {}\n\n    fn b(&self) {\n        2;\n    }\n\n    fn c(&self) {}\n}\n",
                "impl A {\n    fn b(&self) {\n        1;\n    }\n\n    fn mine(&self) {}\n    fn a(&self) {\n    }\n}\n",
                Some(
                    "impl A {\n    fn b(&self) {\n        2;\n    }\n\n    fn c(&self) {}\n\n    fn mine(&self) {}\n    fn a(&self) {\n    }\n}\n",
                ),
            ),
            (
                "imports are a set",
                "use a::{B, C};\nuse d::E;\n\nfn f() {}\n",
                "use a::{B, C, G};\nuse d::H;\n\nfn f() {}\n",
                "use d::{E, Mine};\nuse a::{C, B, Other};\n\nfn f() {}\n",
                Some("use d::Mine;\nuse d::H;\nuse a::{C, B, Other};\nuse a::G;\n\nfn f() {}\n"),
            ),
            (
                "a chain of calls",
                "fn f() {\n    a.one(1).two(2).run()\n}\n",
                "fn f() {\n    a.one(1).two(2).three(3).run()\n}\n",
                "fn f() {\n    a\n        .mine(0)\n        .one(1)\n        .two(2)\n        .run()\n}\n",
                Some(
                    "fn f() {\n    a\n        .mine(0)\n        .one(1)\n        .two(2).three(3)\n        .run()\n}\n",
                ),
            ),
            (
                "fields",
                "/// S.\npub struct S {\n    a: A,\n    b: Vec<B>\n}\n",
                "/// S.\npub struct S {\n    a: A,\n    b: Vec<B>,\n    /// C.\n    c: C,\n}\n",
                "/// S.\npub struct S { mine: A,\n    a: A, // Mine.\n    b: Vec<B> }\n",
                Some("/// S.\npub struct S { mine: A,\n    a: A, // Mine.\n    b: Vec<B>,\n    /// C.\n    c: C, }\n"),
            ),
            (
                "a statement that both have changed",
                "fn f() {\n    a(1);\n}\n",
                "fn f() {\n    a(2);\n}\n",
                "fn f() {\n    a(3);\n}\n",
                None,
            ),
            (
                "an item that the author has deleted, and the scaffold changed",
                "fn f() {}\n\nfn g() {}\n",
                "fn f() {\n    1;\n}\n\nfn g() {}\n",
                "fn g() {}\n",
                None,
            ),
            (
                "a comment of the author in a statement that the scaffold changes",
                "fn f() {\n    a(1);\n}\n",
                "fn f() {\n    a(2);\n}\n",
                "fn f() {\n    a( // Mine.\n        1);\n}\n",
                None,
            ),
        ],
    );
}
