//! The API server judges the checks: what they let pass it creates without a warning and keeps as it is, and what they find
//! it refuses or warns about. Requests are dry runs, which go through all of the server but its storage.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memcached_sdk::cli::Mendable;
use memcached_sdk::diagnostic::Code;
use memcached_sdk::manifest::crd::{self, Crd};
use memcached_sdk::manifest::mend;
use memcached_sdk::manifest::structural;
use memcached_sdk::source::SourceTree;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::{http, wait};

/// Every CRD of the fixtures, each version on its own, by file and kind.
fn fixtures() -> Vec<(String, Crd)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut crds = Vec::new();
    for folder in ["tests/fixtures/types", "tests/fixtures/diagnostics"] {
        let mut files: Vec<PathBuf> =
            root.join(folder).read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
        files.sort();
        for file in files {
            let package = tempfile::tempdir().unwrap();
            let manifest = root.join("tests/samples/memcached-operator/Cargo.toml");
            std::fs::copy(manifest, package.path().join("Cargo.toml")).unwrap();
            std::fs::create_dir(package.path().join("src")).unwrap();
            let module = file.file_stem().unwrap().to_str().unwrap().replace('-', "_");
            std::fs::copy(&file, package.path().join(format!("src/{module}.rs"))).unwrap();
            std::fs::write(package.path().join("src/main.rs"), format!("mod {module};\nfn main() {{}}\n")).unwrap();
            let (tree, _) = SourceTree::load(package.path()).unwrap();
            // What is refused before it is a CRD is the oracle's to judge.
            for mut definition in crd::definitions(&tree).0 {
                definition.value["spec"]["versions"][0]["storage"] = json!(true);
                let name = format!("{module} {}", definition.key().1);
                let crd = crd::merge(vec![definition]).0.pop().unwrap();
                crds.push((name, crd));
            }
        }
    }
    crds
}

/// A CRD for each format of a type.
fn formats() -> Vec<(String, Crd)> {
    let formats = [
        ("integer", "int8 int16 int32 int64 int128 int uint8 uint16 uint32 uint64 uint128 uint"),
        ("number", "double float float32"),
        (
            "string",
            "bsonobjectid byte cidr creditcard date date-time datetime duration email hexcolor hostname ip ipv4 ipv6 isbn isbn10 \
             isbn13 k8s-long-name k8s-short-name mac partial-date-time password regex rgbcolor ssn time uri url uuid uuid3 \
             uuid4 uuid5 uuid6 cron",
        ),
    ];
    let each = formats.iter().flat_map(|(kind, formats)| formats.split_whitespace().map(move |format| (kind, format)));
    each.map(|(kind, format)| (format!("format {kind} {format}"), thing(&json!({ "type": kind, "format": format }))))
        .collect()
}

/// CRDs of schemas that types don't give, but a crdgen of the project itself may.
fn schemas() -> Vec<(String, Crd)> {
    let fields = json!({ "a": { "type": "string" } });
    [
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        json!({ "type": "object", "properties": fields, "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "properties": fields, "additionalProperties": false }),
        json!({ "type": "object", "properties": fields, "exampel": 1 }),
        json!({ "type": "object", "properties": fields, "oneOf": [{ "required": ["a"] }] }),
        json!({ "type": "object", "properties": fields, "oneOf": [{ "type": "object", "required": ["a"] }] }),
        json!({ "type": "object", "properties": fields, "oneOf": [{ "title": "A", "required": ["a"] }] }),
        json!({ "type": "object", "properties": fields, "oneOf": [{ "nullable": true }] }),
        json!({ "type": "object", "properties": fields, "default": { "a": "b" } }),
        json!({ "type": "object", "properties": fields, "default": { "b": "b" } }),
        json!({ "type": "object", "properties": fields, "default": { "a": 1 } }),
        json!({ "type": "object", "properties": fields, "required": ["a"], "default": {} }),
        json!({ "type": "object", "properties": { "a": { "type": "string", "default": "b" } }, "required": ["a"], "default": {} }),
        json!({ "type": "object", "additionalProperties": { "type": "integer" }, "default": { "a": 1 } }),
        json!({ "type": "object", "additionalProperties": { "type": "integer" }, "default": { "a": "b" } }),
        json!({ "type": "string", "enum": ["a"], "default": "b" }),
        json!({ "type": "integer", "maximum": 3, "default": 4 }),
        json!({ "type": "integer", "default": 1.5 }),
        json!({ "type": "array", "items": { "type": "string" }, "default": ["a"] }),
        json!({ "type": "array", "items": { "type": "string" }, "default": [1] }),
        json!({ "type": "array", "items": [{ "type": "string" }] }),
        json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true }),
        json!({ "type": "array" }),
        json!({ "type": "null" }),
        json!({ "$ref": "#/definitions/A" }),
        json!({}),
    ]
    .into_iter()
    .map(|schema| (schema.to_string(), thing(&schema)))
    .collect()
}

/// The CRD of a kind with this `spec`.
fn thing(spec: &Value) -> Crd {
    let value = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com",
            "names": { "kind": "Thing", "plural": "things", "singular": "thing" },
            "scope": "Cluster",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": spec },
            } } }],
        },
    });
    crd::merge(crd::Definition::split(value, None)).0.pop().unwrap()
}

/// What the server says of a CRD: the object as it would be stored, and why not or what it warns of.
fn ask(port: u16, crd: &Value) -> Result<Value, String> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    let (head, text) = http::post(port, path, &crd.to_string())?;
    let warnings: Vec<&str> = head.lines().filter(|line| line.to_lowercase().starts_with("warning:")).collect();
    let answer: Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
    if http::code(&head) != "201" {
        return Err(answer["message"].as_str().unwrap_or(&text).to_owned());
    }
    if warnings.is_empty() { Ok(answer) } else { Err(warnings.join("\n")) }
}

/// What the API server fills in is dropped, unless the CRD that was sent has it.
fn without_defaults(mut stored: Value, sent: &Value) -> Value {
    let mut stored = crd::canonical(stored.take());
    for key in ["uid", "generation", "managedFields"] {
        stored["metadata"].as_object_mut().unwrap().remove(key);
    }
    let spec = stored["spec"].as_object_mut().unwrap();
    if sent["spec"].get("conversion").is_none() && spec["conversion"] == json!({ "strategy": "None" }) {
        spec.remove("conversion");
    }
    let names = spec["names"].as_object_mut().unwrap();
    if sent.pointer("/spec/names/listKind").is_none()
        && names["listKind"] == format!("{}List", names["kind"].as_str().unwrap())
    {
        names.remove("listKind");
    }
    stored
}

/// JSON has one kind of numbers: `1.0` and `1` are the same.
fn exact(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(exact).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), exact(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn what_passes_the_checks_is_created_and_what_does_not_is_refused() {
    let plane = ControlPlane::start();
    let (_proxy, address) = plane.without_tls();
    let port = address.port();
    wait::until(Duration::from_secs(60), || http::get(port, "/readyz")).unwrap();
    let (mut passed, mut refused, mut wrong) = (0, 0, String::new());
    let mut mended = 0;
    for (name, crd) in fixtures().into_iter().chain(formats()).chain(schemas()) {
        let (better, mends) = mend::mend(crd.clone(), &[Mendable::All]);
        if structural::check(&better).is_empty() {
            mended += mends.len();
            if let Err(said) = ask(port, &better.value) {
                writeln!(wrong, "== {name} is mended, but the server says {said}").unwrap();
            }
        }
        let found = structural::check(&crd);
        // A limit of kubectl, not of the server.
        let finding = found.iter().find(|finding| finding.code != Code::CrdSize);
        match (finding, ask(port, &crd.value)) {
            (None, Ok(stored)) => {
                passed += 1;
                let stored = without_defaults(stored, &crd.value);
                if exact(&stored) != exact(&crd.value) {
                    let (sent, stored) = (format!("{:#}", crd.value), format!("{stored:#}"));
                    let diff = similar::TextDiff::from_lines(&sent, &stored).unified_diff().to_string();
                    writeln!(wrong, "== {name} does not read back as it was sent\n{diff}").unwrap();
                }
            }
            (Some(_), Err(_)) => refused += 1,
            (None, Err(said)) => writeln!(wrong, "== {name} passes the checks, but the server says {said}").unwrap(),
            (Some(finding), Ok(_)) => {
                writeln!(wrong, "== {name} is fine for the server, but a check says {}", finding.render(false))
                    .unwrap();
            }
        }
    }
    println!(
        "{mended} mends, {passed} CRDs created without a warning, {refused} refused or warned about, as the checks say"
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(passed >= 40 && refused >= 20, "{passed} passed, {refused} refused");
}
