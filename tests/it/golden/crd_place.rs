//! CRDs at the place that PROJECT records: in charts and in folders of the author.

use snapbox::str;

use super::adopt::{IMPORTS, MANIFEST, kind};
use crate::sandbox::Sandbox;

/// A place at which authors keep CRDs.
struct Layout {
    name: &'static str,
    /// The kinds of the crate.
    kinds: &'static [&'static str],
    /// The files. `@spec KIND@` stands for the `spec` of a kind, and `@rest KIND@` for its lines without the first one.
    files: &'static [(&'static str, &'static str)],
    /// The pattern that PROJECT records.
    place: &'static str,
}

const CHART: (&str, &str) = ("charts/pond/Chart.yaml", "apiVersion: v2\nname: pond\nversion: 1.0.0\n");

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "the folder crds of a chart",
        kinds: &["Duck", "Fish"],
        files: &[
            CHART,
            (
                "charts/pond/crds/ducks.yaml",
                "# Licensed to the pond.\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  \
                 name: ducks.birds.example.com\n  annotations:\n    helm.sh/resource-policy: keep # for ever\n@spec Duck@",
            ),
            (
                "charts/pond/crds/fishes.yaml",
                "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \
                 fishes.birds.example.com\n@spec Fish@",
            ),
        ],
        place: "charts/pond/crds/{plural}.yaml",
    },
    Layout {
        name: "templates with switches and labels",
        kinds: &["Duck", "Fish"],
        files: &[
            CHART,
            (
                "charts/pond/templates/crd-duck.yaml",
                "{{- if .Values.crds.install }}\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  \
                 {{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n  {{- end }}\n  labels:\n    {{- \
                 include \"pond.labels\" . | nindent 4 }}\n  name: ducks.birds.example.com\n@spec Duck@{{- end }}\n",
            ),
            (
                "charts/pond/templates/crd-fish.yaml",
                "{{/* The \"fish\" */}}\n{{- if .Values.crds.install -}}\napiVersion: apiextensions.k8s.io/v1\nkind: \
                 CustomResourceDefinition\nmetadata:\n  name: fishes.birds.example.com\n  labels: {{- include \"pond.labels\" . | \
                 nindent 4 }}\n@spec Fish@{{- end }}",
            ),
        ],
        place: "charts/pond/templates/crd-{singular}.yaml",
    },
    Layout {
        name: "a template with all CRDs",
        kinds: &["Duck", "Fish"],
        files: &[
            CHART,
            (
                "charts/pond/templates/crds.yaml",
                "{{- if .Values.crds }}\n---\nkind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata:\n    \
                 name: ducks.birds.example.com\n@spec Duck@---\napiVersion: apiextensions.k8s.io/v1\nkind: \
                 CustomResourceDefinition\nmetadata:\n  name: fishes.birds.example.com\n@spec Fish@\n{{- end }}\n",
            ),
        ],
        place: "charts/pond/templates/crds.yaml",
    },
    Layout {
        name: "a template with a conversion",
        kinds: &["Duck"],
        files: &[
            CHART,
            (
                "charts/pond/templates/duck.yaml",
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \
                 ducks.birds.example.com\nspec:\n  {{- if .Values.webhook }}\n  conversion:\n    strategy: Webhook\n    webhook:\n      \
                 conversionReviewVersions: [v1]\n      clientConfig:\n        service:\n          name: {{ .Release.Name }}\n          \
                 namespace: {{ .Release.Namespace }}\n  {{- end }}\n@rest Duck@",
            ),
        ],
        place: "charts/pond/templates/{singular}.yaml",
    },
    Layout {
        name: "one file, with other objects",
        kinds: &["Duck", "Fish"],
        files: &[(
            "deploy/all.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: pond\n---\n# The fish.\napiVersion: apiextensions.k8s.io/v1\nkind: \
             CustomResourceDefinition\nmetadata:\n  name: fishes.birds.example.com\n@spec Fish@---\napiVersion: v1\nkind: \
             ServiceAccount\nmetadata:\n  name: pond\n---\napiVersion: apiextensions.k8s.io/v1\nkind: \
             CustomResourceDefinition\nmetadata:\n  name: ducks.birds.example.com\n  labels: {app: pond}\n@spec Duck@",
        )],
        place: "deploy/all.yaml",
    },
    Layout {
        name: "files by group, with CRLF",
        kinds: &["Duck", "Fish"],
        files: &[
            (
                "crd/birds.example.com_ducks.yml",
                "apiVersion: apiextensions.k8s.io/v1\r\nkind: CustomResourceDefinition\r\nmetadata:\r\n  name: \
                 ducks.birds.example.com\r\n@spec Duck@",
            ),
            (
                "crd/birds.example.com_fishes.yml",
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\nmetadata:\n  name: \
                 \"fishes.birds.example.com\"\n@spec Fish@\n# The end.\n",
            ),
        ],
        place: "crd/{group}_{plural}.yml",
    },
];

/// A crate with these kinds.
fn crate_with(kinds: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let kinds: String = kinds.iter().map(|name| kind(name, "birds.example.com")).collect();
    sandbox
        .file("Cargo.toml", MANIFEST)
        .file("src/main.rs", "mod birds;\n\nfn main() {}\n")
        .file("src/birds.rs", &(IMPORTS.to_owned() + &kinds))
        .lock();
    sandbox
}

/// The `spec` of an earlier release.
fn old_spec(kind: &str) -> String {
    format!(
        "spec:\n  group: birds.example.com\n  names: {{kind: {kind}, plural: {}}}\n  scope: Namespaced\n  versions:\n  - name: \
         v1\n    served: true\n    storage: true\n    # The schema.\n    schema:\n      openAPIV3Schema:\n        type: object\n",
        plural(kind)
    )
}

/// The generated `spec`.
fn new_spec(sandbox: &Sandbox, kind: &str) -> String {
    let text = sandbox.read(&format!("config/crd/bases/birds.example.com_{}.yaml", plural(kind)));
    text[text.find("spec:").unwrap()..].to_owned()
}

fn plural(kind: &str) -> String {
    match kind {
        "Fish" => "fishes".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    }
}

/// A file with these specs.
fn filled(frame: &str, kinds: &[&str], spec: impl Fn(&str) -> String) -> String {
    let mut text = frame.to_owned();
    for kind in kinds {
        let spec = spec(kind);
        let spec = if frame.contains("\r\n") { spec.replace('\n', "\r\n") } else { spec };
        let rest = &spec[spec.find('\n').unwrap() + 1..];
        text = text.replace(&format!("@spec {kind}@"), &spec).replace(&format!("@rest {kind}@"), rest);
    }
    text
}

/// A crate with the files of a layout, made a project.
fn adopted(layout: &Layout) -> Sandbox {
    let sandbox = crate_with(layout.kinds);
    for (path, frame) in layout.files {
        sandbox.file(path, &filled(frame, layout.kinds, old_spec));
    }
    sandbox.run("init").success();
    sandbox
}

#[test]
fn generated_values_are_replaced_where_authors_keep_crds() {
    for layout in LAYOUTS {
        let name = layout.name;
        let sandbox = adopted(layout);
        let record: serde_json::Value = serde_yaml::from_str(&sandbox.read("PROJECT")).unwrap();
        assert_eq!(record["plugins"]["rust.memcached-sdk.dev/v1"]["crds"], layout.place, "{name}");
        let before = sandbox.files();
        for flag in ["--dry-run", "--diff"] {
            sandbox.run(&format!("generate {flag}")).success();
        }
        sandbox.run("generate --check").code(3);
        assert_eq!(sandbox.files(), before, "{name}");
        let mut expected = before.clone();
        for (path, frame) in layout.files {
            expected.insert((*path).to_owned(), filled(frame, layout.kinds, |kind| new_spec(&sandbox, kind)));
        }
        sandbox.run("generate").success();
        for (path, text) in &expected {
            snapbox::assert_data_eq!(sandbox.read(path), snapbox::Data::text(text.as_str()).raw());
        }
        assert_eq!(sandbox.files(), expected, "{name}");
        sandbox.run("generate --check").success();
        let folder = layout.files.last().unwrap().0.rsplit_once('/').unwrap().0;
        sandbox.run(&format!("generate crds --compare {folder}")).success();
        sandbox.run("undo").success();
        assert_eq!(sandbox.files(), before, "{name}");
    }
}

/// A spec with the generated meaning keeps its text.
#[test]
fn equal_specs_keep_their_text() {
    let sandbox = crate_with(&["Duck"]);
    sandbox.run("generate crds --stdout").success();
    sandbox.run("generate crds --output-dir crds").success();
    sandbox.replace("crds/birds.example.com_ducks.yaml", "scope: Namespaced", "scope: \"Namespaced\" # not Cluster");
    // The API server takes an empty list for a missing one.
    sandbox.replace("crds/birds.example.com_ducks.yaml", "  names:\n", "  names:\n    categories: []\n");
    sandbox.run("init").success();
    let before = sandbox.read("crds/birds.example.com_ducks.yaml");
    sandbox.run("generate").success();
    assert_eq!(sandbox.read("crds/birds.example.com_ducks.yaml"), before);
}

#[test]
fn a_file_that_does_not_match_is_an_error() {
    const HEAD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: ducks.birds.example.com\n";
    let template = "charts/pond/templates/duck.yaml";
    let spec = old_spec("Duck");
    for (text, message) in [
        (format!("{HEAD}{}", spec.replace("scope: Namespaced", "scope: {{ .Values.scope }}")), "duck.yaml:8"),
        (
            format!("{HEAD}{}", spec.replace("  - name", "{{- if .Values.v1 }}\n  - name") + "{{- end }}\n"),
            "duck.yaml:10",
        ),
        (HEAD.replace("ducks", "geese") + &spec + "{{/* a */}}\n", "the template has no CRD `ducks.birds.example.com`"),
        ("# {{ .Values.a }}\n".to_owned(), "the template has no CRD `ducks.birds.example.com`"),
        (
            HEAD.replace("metadata:", "metadata: {{ .Values.metadata }}") + &spec,
            "is not valid YAML without its Helm actions",
        ),
        (HEAD.replace("/v1", "/v1beta1") + &spec, "is not in a form that can be edited"),
        (format!("{HEAD}spec: {{group: birds.example.com}}\n"), ""),
        (HEAD.to_owned(), "has no `spec`"),
    ] {
        let sandbox = crate_with(&["Duck"]);
        sandbox.run("init").success();
        sandbox.file(CHART.0, CHART.1).file(template, &text);
        sandbox.run("edit --crds charts/pond/templates/{singular}.yaml --make=false").success();
        let before = sandbox.files();
        sandbox.replace("src/birds.rs", "pub size: i32", "pub size: i32,\n    pub name: String");
        let changed = sandbox.files();
        if message.is_empty() {
            sandbox.run("generate").success();
            assert!(sandbox.read(template).contains("openAPIV3Schema"), "{text}");
            continue;
        }
        let said = sandbox.run("generate").code(1).err();
        for part in ["error[crd-place]: ", message, " = help: "] {
            assert!(said.contains(part), "{text}: {said}");
        }
        assert_eq!(sandbox.files(), changed, "{text}");
        assert_ne!(before, changed);
    }
}

/// A place at which `generate` would fail is not recorded.
#[test]
fn a_place_that_cannot_be_edited_is_not_recorded() {
    let sandbox = crate_with(&["Duck"]);
    sandbox.file(CHART.0, CHART.1).file(
        "charts/pond/templates/crd.yaml",
        &("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: ducks.birds.example.com\n"
            .to_owned()
            + &old_spec("Duck").replace("scope: Namespaced", "scope: {{ .Values.scope }}")),
    );
    sandbox.run("init").success().stderr(str![[r#"
15 created

PROJECT records 1 kind, 0 controllers.

Manifests that were there stay as they are:
  charts/pond (chart): config/ has CustomResourceDefinition too
Compare their CRDs with the types: memcached-sdk generate crds --compare charts/pond
`generate` cannot keep these CRDs up to date: `ducks.birds.example.com` has a Helm action in its `spec`, which is generated, in `charts/pond/templates/crd.yaml:8`. When that is changed: memcached-sdk edit --crds FOLDER

Next:
  kubectl kustomize config/default    # everything that is deployed; give config/manager what your program needs
  memcached-sdk generate              # after each change of the types, and of markers

"#]]);
    assert!(!sandbox.read("PROJECT").contains("crds:"));
    sandbox.run("generate").success();
}

#[test]
fn places_are_validated() {
    let sandbox = Sandbox::project("");
    for (place, message) in [
        (
            "../charts",
            str![[r#"
error: `../charts` is not a valid place of CRDs: `.` and `..` are not allowed
help: write a path below the folder of `PROJECT`

"#]],
        ),
        (
            "crds/{name}.yaml",
            str![[r#"
error: `crds/{name}.yaml` is not a valid place of CRDs: it has an unknown placeholder
help: the placeholders are `{group}`, `{plural}`, `{singular}` and `{kind}`

"#]],
        ),
        (
            "config/crd/bases/{plural}.yaml",
            str![[r#"
error: `config/crd/bases/{plural}.yaml` is not a valid place of CRDs: `config/crd/bases` has the CRDs that kustomize reads, each as `{group}_{plural}.yaml`
help: choose another folder

"#]],
        ),
    ] {
        sandbox.run(&format!("edit --crds {place}")).code(2).stderr(message);
    }
}

const TEMPLATE: &str = "{{- if .Values.crds }}\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  labels:\n    \
                        {{- include \"demo.labels\" . | nindent 4 }}\n  name: ponds.cache.example.com\nspec: {}\n{{- end }}\n";

/// A project whose chart has a template for the CRD of the kind `Pond`.
fn charted() -> Sandbox {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1 --kind Pond --controller=false").success();
    sandbox
        .lock()
        .file("charts/demo/Chart.yaml", CHART.1)
        .file("charts/demo/templates/crd-pond.yaml", TEMPLATE)
        .run("edit --crds charts/demo/templates/crd-{singular}.yaml")
        .success()
        .stdout(str![[r#"
update    PROJECT
update    charts/demo/templates/crd-pond.yaml

"#]]);
    sandbox
}

/// The template with the spec of a generated CRD.
fn template(sandbox: &Sandbox, plural: &str) -> String {
    let crd = sandbox.read(&format!("config/crd/bases/cache.example.com_{plural}.yaml"));
    TEMPLATE.replace("ponds", plural).replace("spec: {}\n", &crd[crd.find("spec:").unwrap()..])
}

#[test]
fn kinds_that_come_and_go() {
    let sandbox = charted();
    let before = sandbox.files();
    assert_eq!(before["charts/demo/templates/crd-pond.yaml"], template(&sandbox, "ponds"));
    // A new kind gets the frame of another one.
    sandbox.run("create api --group cache --version v1 --kind Lake --controller=false").success();
    assert_eq!(sandbox.read("charts/demo/templates/crd-lake.yaml"), template(&sandbox, "lakes"));
    sandbox.run("generate --check").success();
    sandbox.run("delete api --group cache --version v1 --kind Lake").success();
    assert!(!sandbox.path("charts/demo/templates/crd-lake.yaml").exists());
    assert_eq!(sandbox.files(), before);
    // The template moves.
    sandbox.run("rename api --kind Pond --to-kind Sea").success();
    assert!(!sandbox.path("charts/demo/templates/crd-pond.yaml").exists());
    assert_eq!(sandbox.read("charts/demo/templates/crd-sea.yaml"), template(&sandbox, "seas"));
    sandbox.run("rename api --kind Sea --to-kind Pond").success();
    assert_eq!(sandbox.files(), before);
    // So does it for another place.
    sandbox.run("edit --crds charts/demo/templates/crds/{plural}.yaml").success();
    assert_eq!(sandbox.read("charts/demo/templates/crds/ponds.yaml"), before["charts/demo/templates/crd-pond.yaml"]);
    assert!(!sandbox.path("charts/demo/templates/crd-pond.yaml").exists());
    // A folder without templates gets the generated file.
    sandbox.run("edit --crds charts/demo/crds").success();
    assert_eq!(
        sandbox.read("charts/demo/crds/cache.example.com_ponds.yaml"),
        sandbox.read("config/crd/bases/cache.example.com_ponds.yaml")
    );
    assert!(!sandbox.path("charts/demo/templates/crds/ponds.yaml").exists());
    sandbox.run("generate --check").success();
    sandbox.run("edit --crds=").success();
    assert!(!sandbox.read("PROJECT").contains("crds:"));
}

/// A kind that is renamed in the source keeps its lines.
#[test]
fn a_renamed_type_keeps_its_frame() {
    let sandbox = adopted(&LAYOUTS[3]);
    sandbox.run("generate").success();
    let before = sandbox.read("charts/pond/templates/duck.yaml");
    sandbox.replace("src/birds.rs", "Duck", "Swan");
    sandbox.run("init").success();
    sandbox.run("generate").success();
    assert!(!sandbox.path("charts/pond/templates/duck.yaml").exists());
    assert_eq!(sandbox.read("charts/pond/templates/swan.yaml"), before.replace("Duck", "Swan").replace("duck", "swan"));
}

/// CRDs in one file come and go as documents of it.
#[test]
fn documents_come_and_go() {
    let sandbox = adopted(&LAYOUTS[4]);
    sandbox.run("generate").success();
    let before = sandbox.files();
    let kinds = sandbox.read("src/birds.rs");
    sandbox.file("src/birds.rs", &(kinds.clone() + &kind("Swan", "birds.example.com")));
    sandbox.run("init").success();
    sandbox.run("generate").success();
    assert_eq!(
        sandbox.read("deploy/all.yaml"),
        before["deploy/all.yaml"].clone() + &sandbox.read("config/crd/bases/birds.example.com_swans.yaml")
    );
    sandbox.file("src/birds.rs", &kinds);
    sandbox.run("init").success();
    sandbox.run("generate").success();
    assert_eq!(sandbox.read("deploy/all.yaml"), before["deploy/all.yaml"]);
}

/// Braces in a description are text, also in a chart.
#[test]
fn braces_are_escaped_in_templates() {
    let sandbox = crate_with(&["Duck"]);
    sandbox.replace("src/birds.rs", "    pub size", "    /// As in `{{ .name }}`.\n    pub size");
    sandbox.file(CHART.0, CHART.1).run("init").success();
    sandbox.run("edit --crds charts/pond/templates").success();
    let crd = sandbox.read("config/crd/bases/birds.example.com_ducks.yaml");
    let text = sandbox.read("charts/pond/templates/birds.example.com_ducks.yaml");
    assert_eq!(text, crd.replace("{{", "{{ \"{{\" }}"));
    sandbox.run("generate --check").success();
    sandbox.replace("src/birds.rs", "As in", "Like").run("generate").success();
    assert_eq!(sandbox.read("charts/pond/templates/birds.example.com_ducks.yaml"), text.replace("As in", "Like"));
    sandbox.run("generate crds --compare charts").success();
}

/// Labels and annotations of a type are set, and go with it; those of the author stay.
#[test]
fn generated_labels_come_and_go() {
    let attribute = "kind = \"Duck\", label(\"team\", \"birds\"), annotation(\"note\", \"a: b\"),";
    let path = "charts/pond/templates/duck.yaml";
    for (before, after) in [
        (
            "metadata:\n  name: ducks.birds.example.com\n",
            "metadata:\n  labels:\n    team: birds\n  annotations:\n    note: 'a: b'\n  name: ducks.birds.example.com\n",
        ),
        (
            "metadata:\n    labels:\n        {{- include \"a\" . | nindent 8 }}\n    annotations:\n        # Why\n        \
             helm.sh/resource-policy: keep\n    name: ducks.birds.example.com\n",
            "metadata:\n    labels:\n        team: birds\n        {{- include \"a\" . | nindent 8 }}\n    annotations:\n        note: \
             'a: b'\n        # Why\n        helm.sh/resource-policy: keep\n    name: ducks.birds.example.com\n",
        ),
    ] {
        let sandbox = crate_with(&["Duck"]);
        let text = format!("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n{before}spec: {{}}\n");
        sandbox.file(CHART.0, CHART.1).file(path, &text).run("init").success();
        sandbox.run("edit --crds charts/pond/templates/{singular}.yaml").success();
        let plain = sandbox.read(path);
        sandbox.replace("src/birds.rs", "kind = \"Duck\",", attribute).run("generate").success();
        assert_eq!(sandbox.read(path), plain.replace(before, after));
        sandbox.run("generate --check").success();
        sandbox.replace("src/birds.rs", attribute, "kind = \"Duck\",").run("generate").success();
        assert_eq!(sandbox.read(path), plain);
    }
    // A condition of the author would hide them.
    let sandbox = crate_with(&["Duck"]);
    sandbox.replace("src/birds.rs", "kind = \"Duck\",", attribute).file(CHART.0, CHART.1).file(
        path,
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: ducks.birds.example.com\n  {{- if \
         .Values.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n  {{- end }}\nspec: {}\n",
    );
    sandbox.run("init").success();
    sandbox.run("edit --crds charts/pond/templates/{singular}.yaml").code(1).stderr(str![[r#"
error[crd-place]: `ducks.birds.example.com` has generated annotations, but its `annotations` depend on Helm actions
 --> charts/pond/templates/duck.yaml:6:1
  |
6 |   annotations:
  | ^^^^^^^^^^^^^^
  |
  = help: write `annotations:` in a line of its own, outside of conditions

"#]]);
}

/// A chart of `generate helm` has each CRD once: in the file of the author, or as a template.
#[test]
fn a_generated_chart_has_each_crd_once() {
    let sandbox = Sandbox::project("");
    sandbox.run("create api --group cache --version v1 --kind Pond --controller=false").success();
    sandbox.lock();
    let crd = sandbox.read("config/crd/bases/cache.example.com_ponds.yaml");
    let manager = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: demo-controller-manager, namespace: demo-system}\nspec:\n  \
                   selector: {matchLabels: {app: demo}}\n  template:\n    metadata: {labels: {app: demo}}\n    spec:\n      \
                   containers: [{name: manager, image: 'controller:latest'}]\n";
    sandbox.file("dist/install.yaml", &format!("{crd}---\n{manager}"));
    let crds = |sandbox: &Sandbox| -> Vec<String> {
        let is_crd = |(path, text): &(String, String)| {
            path.starts_with("dist/chart/") && text.contains("kind: CustomResourceDefinition")
        };
        sandbox.files().into_iter().filter(is_crd).map(|(path, _)| path).collect()
    };
    for (place, expected) in [
        ("", "dist/chart/templates/crd/ponds.cache.example.com.yaml"),
        ("charts/other", "dist/chart/templates/crd/ponds.cache.example.com.yaml"),
        ("dist/chart/crds", "dist/chart/crds/cache.example.com_ponds.yaml"),
        ("dist/chart/templates/{plural}.yaml", "dist/chart/templates/ponds.yaml"),
        ("", "dist/chart/templates/crd/ponds.cache.example.com.yaml"),
    ] {
        sandbox.run(&format!("edit --crds={place}")).success();
        if place.is_empty() {
            // `edit` leaves files of an earlier place.
            for left in ["dist/chart/crds", "dist/chart/templates"] {
                _ = std::fs::remove_dir_all(sandbox.path(left));
            }
        }
        sandbox.run("generate helm").success();
        assert_eq!(crds(&sandbox), [expected], "{place}");
        sandbox.run("generate --check").success();
        sandbox.run("generate helm --check").success();
    }
}
