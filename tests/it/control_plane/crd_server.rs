//! Compares the CRD checks with an API server. It must accept a CRD without a finding, unchanged and without a warning,
//! and reject or warn about a CRD with a finding. Requests are dry runs, which skip only the storage.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memcached_sdk::crd::fix::{self, Fixable};
use memcached_sdk::crd::structural;
use memcached_sdk::crd::{self, Crd};
use memcached_sdk::diagnostic::Code;
use memcached_sdk::k8s;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::{http, wait};

/// Each version of each CRD in the fixtures, by file and kind.
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
            let (mut tree, _) = k8s::load(package.path()).unwrap();
            // The oracle covers types that are refused earlier.
            for mut definition in crd::read_definitions(&mut tree).0.0 {
                definition.value["spec"]["versions"][0]["storage"] = json!(true);
                let name = format!("{module} {}", definition.key().1);
                let crd = crd::merge(vec![definition]).0.pop().unwrap();
                crds.push((name, crd));
            }
        }
    }
    crds
}

/// A CRD for each type and format.
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

/// Schemas that no type has, but that a project's own crdgen may print.
fn schemas() -> Vec<(String, Crd)> {
    let fields = json!({ "a": { "type": "string" } });
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let list_map = |field: &Value, required: &[&str], keys: &[&str]| {
        json!({
            "type": "array",
            "items": { "type": "object", "properties": { "a": field }, "required": required },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": keys,
        })
    };
    let ruled = |rule: &Value| {
        let fields = json!({ "a": { "type": "string", "maxLength": 9 } });
        json!({ "type": "object", "properties": fields, "x-kubernetes-validations": [rule] })
    };
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
        // Defaults.
        json!({ "type": "object", "properties": fields, "default": { "a": null } }),
        json!({ "type": "object", "additionalProperties": { "type": "string", "default": 1 } }),
        json!({ "type": "array", "items": { "type": "string", "default": 1 } }),
        json!({ "type": "string", "minLength": 2, "default": "ä" }),
        json!({ "type": "string", "maxLength": 1, "default": "ä" }),
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "default": [] }),
        json!({ "type": "object", "additionalProperties": { "type": "string" }, "maxProperties": 0, "default": { "a": "" } }),
        json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true, "default": 1 }),
        json!({ "type": "number", "maximum": 1, "exclusiveMaximum": true, "default": 0.5 }),
        json!({ "x-kubernetes-int-or-string": true, "default": "1" }),
        json!({ "x-kubernetes-int-or-string": true, "default": true }),
        json!({ "x-kubernetes-preserve-unknown-fields": true, "default": { "a": 1 } }),
        json!({ "type": "object", "properties": fields, "anyOf": [{ "required": ["a"] }], "default": {} }),
        json!({ "type": "object", "properties": fields, "oneOf": [{ "required": ["a"] }, { "required": ["b"] }], "default": { "a": "" } }),
        json!({ "type": "integer", "oneOf": [{ "minimum": 1 }, { "maximum": 3 }], "default": 2 }),
        json!({ "type": "integer", "not": { "enum": [2] }, "default": 2 }),
        json!({ "type": "integer", "allOf": [{ "minimum": 1 }], "default": 0 }),
        // Structure.
        json!({ "type": "object", "patternProperties": { "^a": { "type": "string" } } }),
        json!({ "type": "string", "id": "a" }),
        json!({ "type": "string", "$schema": "http://json-schema.org/draft-04/schema#" }),
        json!({ "type": "array", "items": { "type": "string" }, "additionalItems": false }),
        json!({ "type": "object", "definitions": { "a": { "type": "string" } } }),
        json!({ "type": "object", "dependencies": { "a": ["b"] } }),
        json!({ "type": "string", "enum": ["a", "a"] }),
        json!({ "type": "string", "x-kubernetes-a": 1 }),
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": false }),
        json!({ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "type": "string", "x-kubernetes-int-or-string": true }),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
        json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer", "format": "int32" }, { "type": "string" }] }),
        json!({ "x-kubernetes-int-or-string": true, "allOf": [{ "anyOf": [{ "type": "integer" }, { "type": "string" }] }, { "pattern": "a" }] }),
        json!({ "x-kubernetes-int-or-string": true, "allOf": [{ "pattern": "a" }, { "anyOf": [{ "type": "integer" }, { "type": "string" }] }] }),
        json!({ "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "type": "object", "x-kubernetes-embedded-resource": true }),
        json!({ "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "type": "object", "x-kubernetes-embedded-resource": true, "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "x-kubernetes-embedded-resource": true, "properties": { "kind": { "type": "integer" } } }),
        json!({ "type": "object", "x-kubernetes-embedded-resource": true, "properties": { "metadata": { "type": "object" } } }),
        json!({ "type": "object", "properties": { "metadata": { "type": "string" } } }),
        json!({ "type": "object", "properties": fields, "anyOf": [{ "properties": { "b": { "maxLength": 1 } } }] }),
        json!({ "type": "object", "properties": fields, "anyOf": [{ "properties": { "a": { "maxLength": 1 } } }] }),
        json!({ "type": "object", "properties": { "metadata": { "type": "string" } }, "not": { "properties": { "metadata": { "enum": ["a"] } } } }),
        json!({ "type": "string", "anyOf": [{ "items": { "maxLength": 1 } }] }),
        json!({ "type": "array", "items": { "type": "string" }, "not": { "items": { "maxLength": 1 } } }),
        json!({ "type": "object", "properties": fields, "oneOf": [{ "additionalProperties": false }] }),
        json!({ "type": "object", "properties": fields, "oneOf": [{ "x-kubernetes-preserve-unknown-fields": true }] }),
        json!({ "type": "object", "properties": fields, "oneOf": [{ "x-kubernetes-validations": [{ "rule": "true" }] }] }),
        json!({ "type": "array", "items": { "type": "string" }, "oneOf": [{ "x-kubernetes-list-type": "set" }] }),
        json!({ "type": "object", "properties": fields, "additionalProperties": true }),
        // Lists and maps.
        json!({ "type": "object", "x-kubernetes-map-type": "atomic" }),
        json!({ "type": "object", "x-kubernetes-map-type": "other" }),
        json!({ "type": "string", "x-kubernetes-map-type": "atomic" }),
        json!({ "type": "string", "x-kubernetes-list-type": "set" }),
        json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "other" }),
        json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }),
        json!({ "type": "array", "items": { "type": "string", "nullable": true }, "x-kubernetes-list-type": "set" }),
        json!({ "type": "array", "items": { "type": "string", "nullable": true }, "x-kubernetes-list-type": "atomic" }),
        json!({ "type": "array", "items": { "type": "object", "properties": fields }, "x-kubernetes-list-type": "set" }),
        json!({ "type": "array", "items": { "type": "object", "x-kubernetes-map-type": "atomic" }, "x-kubernetes-list-type": "set" }),
        json!({ "type": "array", "items": list, "x-kubernetes-list-type": "set" }),
        json!({ "type": "array", "items": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }, "x-kubernetes-list-type": "set" }),
        list_map(&json!({ "type": "string" }), &["a"], &["a"]),
        list_map(&json!({ "type": "string", "default": "b" }), &["b"], &["a"]),
        list_map(&json!({ "type": "string" }), &[], &["a"]),
        list_map(&json!({ "type": "string", "nullable": true }), &["a"], &["a"]),
        list_map(&json!({ "type": "object" }), &["a"], &["a"]),
        list_map(&list, &["a"], &["a"]),
        list_map(&json!({ "type": "string" }), &["a"], &["a", "a"]),
        list_map(&json!({ "type": "string" }), &["a"], &["b"]),
        list_map(&json!({ "type": "string" }), &["a"], &[]),
        json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] }),
        json!({ "type": "array", "items": { "type": "object", "properties": fields }, "x-kubernetes-list-map-keys": ["a"] }),
        // Rules.
        ruled(&json!({ "rule": "has(self.a)" })),
        ruled(&json!({ "rule": " " })),
        ruled(&json!({ "rule": "true", "message": " " })),
        ruled(&json!({ "rule": "true", "message": "a\nb" })),
        ruled(&json!({ "rule": "true ||\nfalse" })),
        ruled(&json!({ "rule": "true ||\nfalse", "message": "a" })),
        ruled(&json!({ "rule": "true", "messageExpression": " " })),
        ruled(&json!({ "rule": "true", "messageExpression": "'a'" })),
        ruled(&json!({ "rule": "true", "reason": "FieldValueInvalid" })),
        ruled(&json!({ "rule": "true", "reason": "Invalid" })),
        ruled(&json!({ "rule": "true", "fieldPath": " " })),
        ruled(&json!({ "rule": "true", "fieldPath": ".a" })),
        ruled(&json!({ "rule": "true", "fieldPath": "['a']" })),
        ruled(&json!({ "rule": "true", "fieldPath": ".b" })),
        ruled(&json!({ "rule": "true", "fieldPath": "a" })),
        ruled(&json!({ "rule": "true", "optionalOldSelf": true })),
        ruled(&json!({ "rule": "true", "optionalOldSelf": false })),
        ruled(&json!({ "rule": "self.a != 'oldSelf'" })),
        ruled(&json!({ "rule": "oldSelf.hasValue() || true", "optionalOldSelf": true })),
        ruled(&json!({ "rule": "self == oldSelf" })),
        json!({ "type": "array", "maxItems": 3, "items": ruled(&json!({ "rule": "self == oldSelf" })) }),
        json!({ "type": "object", "maxProperties": 3, "additionalProperties": ruled(&json!({ "rule": "self == oldSelf" })) }),
        json!({ "type": "object", "x-kubernetes-map-type": "atomic", "properties": { "b": ruled(&json!({ "rule": "self == oldSelf" })) } }),
        json!({ "type": "object", "x-kubernetes-map-type": "granular", "properties": { "b": ruled(&json!({ "rule": "self == oldSelf" })) } }),
    ]
    .into_iter()
    .map(|schema| (schema.to_string(), thing(&schema)))
    .collect()
}

/// A CRD for each pattern, with syntax of Go, Rust and others.
fn patterns() -> Vec<(String, Crd)> {
    [
        "^[a-z]([-a-z0-9]*[a-z0-9])?$",
        "(?i)a|b|",
        "a{2,3}?",
        "a{,3}",
        "{",
        "a{01}",
        "x*?y",
        "(?P<n>a)(?<m>b)",
        "(?<n>a)(?<n>b)",
        "[]a]",
        "[^]a]",
        "[a-]",
        "[-a]",
        "[a-c-e]",
        "[[:word:][:^alpha:]]",
        "[[:a]",
        "[a&&b]",
        "[a--b]",
        "[a~~b]",
        r"\Q(*\E+",
        r"\Q",
        r"\pL\p{Greek}\P{^Lu}",
        r"\A\b\B\z",
        r"\x41\x{10ffff}\012\07\0",
        r"\_\-\.\/",
        r"[\d\s\-\]]",
        "(?s-i:a)",
        "(?:)",
        "(a{10}){100}",
        "é{2}",
        "()",
        "a{0}",
        "(a{1000}){0}",
        "^*",
        "a(?i)*",
        "(?=a)",
        "a(?!b)",
        "(?<=a)b",
        "(?<!a)b",
        r"(a)\1",
        "a*+",
        "a??*",
        "a{2}{3}",
        "*a",
        "(|+)",
        "a{1001}",
        "a{3,2}",
        "(a{11}){100}",
        "(?>a)",
        "(?x)a",
        "(?i-)a",
        "(?#c)",
        "(?P<é>a)",
        "(?P<a",
        "(?'n'a)",
        "(a",
        "a)",
        "[a",
        "[]",
        "[z-a]",
        r"[a-\d]",
        "[[:foo:]]",
        r"\Z",
        r"\u0041",
        r"\x4",
        r"\x{110000}",
        r"\x{}",
        r"[\b]",
        "a\\",
        r"\p{Greek",
        r"\e",
        r"\h",
        r"\R",
        r"\b{start}",
        r"\<",
        "(?R)",
        "(?u)a",
        "a++",
        "(?(1)a)",
    ]
    .into_iter()
    .map(|pattern| (format!("pattern {pattern}"), thing(&json!({ "type": "string", "pattern": pattern }))))
    .collect()
}

/// CRDs that differ outside the schema.
fn others() -> Vec<(String, Crd)> {
    let long = "a".repeat(64);
    let paths = |paths: &[&str]| -> Value { paths.iter().map(|path| json!({ "jsonPath": path })).collect() };
    let column = |name: &str, kind: &str, path: &str| {
        (VERSION, json!({ "additionalPrinterColumns": [{ "name": name, "type": kind, "jsonPath": path }] }))
    };
    let scale = |spec: &str, status: &str, selector: &str| {
        let scale = json!({ "specReplicasPath": spec, "statusReplicasPath": status, "labelSelectorPath": selector });
        (VERSION, json!({ "subresources": { "scale": scale } }))
    };
    let root = |root: Value| {
        let mut schema =
            json!({ "type": "object", "properties": { "spec": { "type": "object" }, "status": { "type": "object" } } });
        merge(&mut schema, root);
        (VERSION, json!({ "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} } }))
    };
    let names = |names: Value| ("/spec/names", names);
    [
        names(json!({ "singular": "a-b" })),
        names(json!({ "singular": "a_b" })),
        names(json!({ "singular": long })),
        names(json!({ "kind": "My_Thing" })),
        names(json!({ "kind": "Ä" })),
        names(json!({ "shortNames": ["t", "9t"] })),
        names(json!({ "shortNames": ["T"] })),
        names(json!({ "shortNames": ["t9"], "categories": ["all"] })),
        names(json!({ "categories": ["All"] })),
        names(json!({ "listKind": "Thing" })),
        names(json!({ "listKind": "Things" })),
        names(json!({ "listKind": "My_Things" })),
        ("/spec", json!({ "group": "example" })),
        ("/spec", json!({ "group": "Example.com" })),
        ("/spec", json!({ "group": "9.example" })),
        ("/spec", json!({ "group": "x.k8s.io" })),
        ("/spec", json!({ "group": "k8s.io.example.com" })),
        ("", json!({ "spec": { "group": "x.k8s.io" }, "metadata": { "annotations": { "api-approved.kubernetes.io": "unapproved, a test" } } })),
        ("", json!({ "spec": { "group": "x.kubernetes.io" }, "metadata": { "annotations": { "api-approved.kubernetes.io": "https://example.com/1" } } })),
        ("", json!({ "spec": { "group": "kubernetes.io" }, "metadata": { "annotations": { "api-approved.kubernetes.io": "yes" } } })),
        ("/metadata", json!({ "labels": { "a.example.com/b": "", "c": "d.E_f-9" } })),
        ("/metadata", json!({ "labels": { "a": "b c" } })),
        ("/metadata", json!({ "labels": { "a/b/c": "" } })),
        ("/metadata", json!({ "labels": { "A.example.com/b": "" } })),
        ("/metadata", json!({ "labels": { "a": long } })),
        ("/metadata", json!({ "annotations": { "A.example.com/b": "any text\n" } })),
        ("/metadata", json!({ "annotations": { "a b": "" } })),
        ("/metadata", json!({ "annotations": { "a": "b".repeat(262_144) } })),
        (VERSION, json!({ "name": "V1" })),
        (VERSION, json!({ "name": "beta" })),
        (VERSION, json!({ "name": "1" })),
        (VERSION, json!({ "deprecated": true })),
        (VERSION, json!({ "deprecated": true, "deprecationWarning": "use v2" })),
        (VERSION, json!({ "deprecated": true, "deprecationWarning": "" })),
        (VERSION, json!({ "deprecated": true, "deprecationWarning": "a\nb" })),
        (VERSION, json!({ "deprecated": true, "deprecationWarning": "ä".repeat(129) })),
        (VERSION, json!({ "deprecationWarning": "use v2" })),
        column("A", "string", ".spec.a"),
        column("A", "string", "."),
        column("A", "string", "spec.a"),
        column("A", "string", ""),
        column("", "string", ".spec.a"),
        column("A", "time", ".spec.a"),
        scale(".spec.a", ".status.a", ""),
        scale(".spec.a", ".status.a", ".spec.b"),
        scale(".spec.a", ".status.a", ".metadata.b"),
        scale(".status.a", ".status.a", ""),
        scale(".spec.a", ".spec.a", ""),
        scale("", ".status.a", ""),
        scale("spec.a", "status.a", ""),
        (VERSION, json!({ "selectableFields": paths(&[".spec.a", ".spec.b", ".spec.c"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".spec.list"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".spec.number"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".spec.map.a"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".spec.none"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".metadata.name"]) })),
        (VERSION, json!({ "selectableFields": paths(&["spec.a"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".spec['a']"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".spec.a", ".spec.a"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".spec.f1", ".spec.f2", ".spec.f3", ".spec.f4", ".spec.f5", ".spec.f6", ".spec.f7", ".spec.f8"]) })),
        (VERSION, json!({ "selectableFields": paths(&[".spec.f1", ".spec.f2", ".spec.f3", ".spec.f4", ".spec.f5", ".spec.f6", ".spec.f7", ".spec.f8", ".spec.f9"]) })),
        root(json!({ "required": ["spec"], "description": "a", "title": "b" })),
        root(json!({ "x-kubernetes-validations": [{ "rule": "true" }] })),
        root(json!({ "x-kubernetes-preserve-unknown-fields": true })),
        root(json!({ "oneOf": [{ "required": ["spec"] }] })),
        root(json!({ "maxProperties": 9 })),
        root(json!({ "x-kubernetes-map-type": "atomic" })),
        root(json!({ "additionalProperties": { "type": "string" } })),
        root(json!({ "nullable": true })),
        root(json!({ "type": "string" })),
        root(json!({ "properties": { "kind": { "type": "integer" } } })),
        root(json!({ "properties": { "metadata": { "type": "object" } } })),
        (VERSION, json!({ "schema": { "openAPIV3Schema": { "oneOf": [{ "required": ["spec"] }] } } })),
        (VERSION, json!({ "schema": { "openAPIV3Schema": { "anyOf": [{ "properties": { "spec": { "maxProperties": 1 } } }] } } })),
        (VERSION, json!({ "schema": { "openAPIV3Schema": { "anyOf": [{ "properties": { "none": { "maxProperties": 1 } } }] } } })),
        (VERSION, json!({ "schema": { "openAPIV3Schema": { "allOf": [{ "not": { "items": { "maxProperties": 1 } } }] } } })),
        (VERSION, json!({ "schema": { "openAPIV3Schema": { "nullable": true } } })),
        (VERSION, json!({ "schema": null })),
    ]
    .into_iter()
    .map(|(pointer, change)| {
        let mut fields = json!({
            "list": { "type": "array", "items": { "type": "string" } },
            "map": { "type": "object", "additionalProperties": { "type": "string" } },
            "number": { "type": "number" },
            "a": { "type": "string" },
            "b": { "type": "boolean" },
            "c": { "type": "integer" },
        });
        merge(&mut fields, (1..10).map(|number| (format!("f{number}"), json!({ "type": "string" }))).collect());
        let mut crd = thing(&json!({ "type": "object", "properties": fields })).value;
        merge(crd.pointer_mut(pointer).unwrap(), change.clone());
        crd["metadata"]["name"] = format!("things.{}", crd::group(&crd)).into();
        (format!("{pointer} {change:.200}"), of_value(crd))
    })
    .collect()
}

const VERSION: &str = "/spec/versions/0";

/// Applies a JSON merge patch.
fn merge(value: &mut Value, patch: Value) {
    match patch {
        Value::Object(patch) if value.is_object() => {
            for (key, patch) in patch {
                merge(&mut value[key], patch);
            }
        }
        patch => *value = patch,
    }
}

fn of_value(crd: Value) -> Crd {
    crd::merge(crd::CrdDefinition::split(crd, None)).0.pop().unwrap()
}

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
    of_value(value)
}

/// Creates a CRD as a dry run. Returns the object that would be stored, or the error or warning.
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

/// Drops the API server's defaults, unless the sent CRD has them.
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

/// JSON does not distinguish `1.0` and `1`.
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
    let plane = ControlPlane::shared();
    let (_proxy, address) = plane.without_tls();
    let port = address.port();
    wait::until(Duration::from_secs(60), || http::get(port, "/readyz")).unwrap();
    let (mut passed, mut refused, mut wrong) = (0, 0, String::new());
    let mut fixed = 0;
    for (name, crd) in fixtures().into_iter().chain(formats()).chain(schemas()).chain(patterns()).chain(others()) {
        let (better, fixes) = fix::fix(crd.clone(), &Fixable::ALL);
        if structural::check(&better).is_empty() {
            fixed += fixes.len();
            if let Err(said) = ask(port, &better.value)
                && !name.starts_with("pattern ")
            {
                writeln!(wrong, "== {name} is fixed, but the server says {said}").unwrap();
            }
        }
        let found = structural::check(&crd);
        // These two are about kubectl, not about the server.
        let finding = found.iter().find(|finding| !matches!(finding.code, Code::CrdSize | Code::ShortName));
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
            // The checks ignore patterns that only Go rejects.
            (None, Err(_)) if name.starts_with("pattern ") => {}
            (None, Err(said)) => writeln!(wrong, "== {name} passes the checks, but the server says {said}").unwrap(),
            (Some(finding), Ok(_)) => {
                writeln!(wrong, "== {name} is fine for the server, but a check says {}", finding.render(false))
                    .unwrap();
            }
        }
    }
    println!(
        "{fixed} fixes, {passed} CRDs created without a warning, {refused} refused or warned about, as the checks say"
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(passed >= 40 && refused >= 20, "{passed} passed, {refused} refused");
}
