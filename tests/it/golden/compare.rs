//! `generate crds --compare`: the CRDs of the source, compared with shipped ones.

use snapbox::str;

use crate::lock;
use crate::sandbox::Sandbox;

/// A package with a kind, and the CRD of that kind.
fn package() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let manifest = "[package]\nname = \"op\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nkube = \"5\"\n\
                    schemars = \"1\"\nserde = \"1\"\n";
    sandbox.file("Cargo.toml", manifest).file("Cargo.lock", &lock::text([manifest]));
    sandbox
        .file("src/lib.rs", &kind("Pond", "    /// The depth in meters.\n    depth: i32,\n    fish: Vec<String>,\n"));
    let crd = sandbox.run("generate crds --stdout").success().out();
    (sandbox, crd)
}

fn kind(kind: &str, fields: &str) -> String {
    format!(
        "#[derive(kube::CustomResource, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]\n\
         #[kube(group = \"example.com\", version = \"v1\", kind = \"{kind}\")]\npub struct {kind}Spec {{\n{fields}}}\n"
    )
}

#[test]
fn parts_that_the_api_server_fills_in_do_not_matter() {
    let (sandbox, crd) = package();
    for (from, to) in [
        ("", ""),
        ("  name: ponds.example.com\n", "  name: ponds.example.com\n  labels:\n    a: b\n  annotations:\n    c: d\n"),
        ("spec:\n", "status:\n  acceptedNames: {}\nspec:\n  conversion:\n    strategy: None\n"),
        ("spec:\n", "spec:\n  preserveUnknownFields: false\n"),
        (
            "    singular: pond\n",
            "    singular: pond\n    listKind: PondList\n    shortNames: []\n    categories: []\n",
        ),
        ("    subresources: {}\n", ""),
        ("  - name: v1\n", "  - name: v1\n    deprecated: false\n"),
        ("          - depth\n            - fish\n", "          - fish\n            - depth\n"),
        (
            "        properties:\n",
            "        properties:\n          apiVersion: {type: string, description: The version.}\n          kind: {type: string}\n          metadata: {type: object}\n",
        ),
        ("        title: Pond\n", ""),
        ("The depth in meters.", "The depth\n                  in meters."),
    ] {
        sandbox.file("crds/any.yml", &crd.replacen(from, to, 1));
        let report = sandbox.run("generate crds --compare crds").success().stdout("");
        assert_eq!(report.err(), "compared the CRDs of the source with 1 shipped: 1 equal, 0 different\n", "{to}");
    }
}

#[test]
fn a_difference_is_shown_with_its_fields() {
    let (sandbox, crd) = package();
    let before = sandbox.file("deploy/crd.yaml", &crd).files();
    let fields = "    /// The depth in meters.\n    depth: Option<i32>,\n    fish: Vec<String>,\n    area: i64,\n";
    sandbox.file("src/lib.rs", &kind("Pond", fields));
    sandbox.run("generate crds --compare deploy/crd.yaml").code(3).stdout(str![[r#"
--- deploy/crd.yaml:5 (shipped)
+++ source
@@ -16,16 +16,20 @@
         properties:
           spec:
             properties:
+              area:
+                format: int64
+                type: integer
               depth:
                 description: The depth in meters.
                 format: int32
+                nullable: true
                 type: integer
               fish:
                 items:
                   type: string
                 type: array
             required:
-            - depth
+            - area
             - fish
             type: object
         required:

"#]]).stderr(str![[r#"
warning[crd-differs]: `ponds.example.com` differs from the source in 3 places: `v1 spec` (required), `v1 spec.area` (only in the source), `v1 spec.depth` (nullable)
 --> deploy/crd.yaml:5:1
  |
5 |   name: ponds.example.com
  | ^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: `memcached-sdk generate crds --stdout --kind Pond.example.com` prints the CRD of the source
compared the CRDs of the source with 1 shipped: 0 equal, 1 different

"#]]);
    let report = sandbox.run("generate crds --compare deploy -o json").code(3).out();
    assert!(report.contains("\"code\": \"crd-differs\"") && report.contains("+++ source"), "{report}");
    sandbox.file("src/lib.rs", &before["src/lib.rs"]);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn descriptions_are_not_compared_without_descriptions() {
    let (sandbox, crd) = package();
    sandbox.file("crd.yaml", &crd.replace("The depth in meters.", "How deep it is."));
    let report = sandbox.run("generate crds --compare crd.yaml").code(3).err();
    assert!(report.contains("`ponds.example.com` differs from the source only in 1 description"), "{report}");
    sandbox.run("generate crds --compare crd.yaml --max-desc-len 0").success();
}

#[test]
fn templates_of_a_chart_are_read_without_values() {
    let (sandbox, crd) = package();
    let metadata = "  name: ponds.example.com\n  labels:\n    {{- include \"x.labels\" . | nindent 4 }}\n  annotations:\n    \
                    a: {{ .Values.a }}\n";
    let template = crd
        .replace("  name: ponds.example.com\n", metadata)
        .replace("kind: Pond\n", "kind: {{ .Values.kind | quote }}\n")
        .replace("The depth in meters.", "The depth in {{ .Values.unit }}.");
    sandbox.file("chart/Chart.yaml", "name: x\n").file("chart/values.yaml", "crds: true\n");
    sandbox.file("chart/templates/crd.yaml", &format!("{{{{- if .Values.crds }}}}\n{template}{{{{- end }}}}\n"));
    sandbox.file("chart/templates/other.yaml", "{{ range .Values.list }}\na: [\n{{ end }}\n");
    sandbox.run("generate crds --compare chart").success().stdout("");
    sandbox.replace("chart/templates/crd.yaml", "type: array", "type: object");
    let report = sandbox.run("generate crds --compare chart").code(3).err();
    assert!(report.contains("`v1 spec.fish` (type)"), "{report}");
}

#[test]
fn a_patch_is_not_a_crd() {
    let (sandbox, crd) = package();
    let patch = "kind: CustomResourceDefinition\nmetadata:\n  name: ponds.example.com\nspec:\n  conversion: {}\n";
    sandbox.file("crds/patch.yaml", patch);
    let report = sandbox.run("generate crds --compare crds").code(1).err();
    assert!(report.contains("no CRD found in `crds`"), "{report}");
    sandbox.file("crds/pond.yaml", &crd);
    sandbox.run("generate crds --compare crds").success();
}

#[test]
fn missing_and_extra_crds_are_named() {
    let (sandbox, crd) = package();
    let other = crd.replace("ponds", "lakes").replace("pond", "lake").replace("Pond", "Lake");
    sandbox.file("crds/lake.yaml", &other);
    sandbox.file("crds/foreign.yaml", &other.replace("example.com", "example.org"));
    sandbox.run("generate crds --compare crds").code(3).stdout("").stderr(str![[r#"
warning[crd-not-declared]: `lakes.example.com` is shipped, but the source does not declare it
 --> crds/lake.yaml:5:1
  |
5 |   name: lakes.example.com
  | ^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: delete it, or read the package that declares it with `-p` or `--workspace`

warning[crd-not-shipped]: `ponds.example.com` is declared in the source, but not shipped
 --> src/lib.rs:3:12
  |
3 | pub struct PondSpec {
  |            ^^^^^^^^
  |
  = help: `memcached-sdk generate crds --stdout --kind Pond.example.com` prints it
compared the CRDs of the source with 2 shipped: 0 equal, 0 different, 1 not shipped, 1 not declared, 1 of other groups ignored

"#]]);
}

#[test]
fn copies_that_differ_are_named() {
    let (sandbox, crd) = package();
    sandbox.file("a/crd.yaml", &crd).file("b/crd.yaml", &crd);
    sandbox.run("generate crds --compare a,b").success();
    sandbox.replace("b/crd.yaml", "The depth in meters.", "The depth.");
    sandbox.run("generate crds --compare a --compare b").code(3).stderr(str![[r#"
warning[crd-twice]: `ponds.example.com` is shipped twice with different content, here and in `b/crd.yaml:5`
 --> a/crd.yaml:5:1
  |
5 |   name: ponds.example.com
  | ^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: generate both files, or ship one of them

warning[crd-differs]: `ponds.example.com` differs from the source only in 1 description
 --> b/crd.yaml:5:1
  |
5 |   name: ponds.example.com
  | ^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: `memcached-sdk generate crds --stdout --kind Pond.example.com` prints the CRD of the source
compared the CRDs of the source with 2 shipped: 0 equal, 1 different

"#]]);
}

#[test]
fn input_that_cannot_be_read_is_an_error() {
    let (sandbox, crd) = package();
    sandbox.file("broken.yaml", &format!("a: b\n---\n{}", crd.replace("  group: example.com\n", "  group: [\n")));
    sandbox.file("src/other.yaml", "a: [\n");
    for (arguments, expected) in [
        ("crds --compare nowhere", "error: cannot read `nowhere`: "),
        ("crds --compare broken.yaml", "error: `broken.yaml:"),
        ("crds --compare src", "error: no CRD found in `src`"),
        ("rbac --compare src", "error: `--compare` compares CRDs only"),
        ("crds --compare src --check", "error: the argument '--compare <PATH>' cannot be used with '--check'"),
    ] {
        let report = sandbox.run(&format!("generate {arguments}")).err();
        assert!(report.contains(expected), "{arguments}: {report}");
    }
}
