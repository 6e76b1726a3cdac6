//! The CRDs of the comparison, and the random content of their objects.

use serde_json::{Value, json};

use super::one;
use crate::random::Random;

pub(super) fn widget(random: &mut Random) -> Value {
    let mut spec = json!({});
    if random.percent(60) {
        spec["size"] = one(
            random,
            &[json!(1), json!(3), json!(3), json!(0), json!(11), json!("3"), json!(null), json!(5), json!(7), json!(9)],
        );
    }
    if random.percent(40) {
        spec["mode"] = random.pick(&["fast", "slow", "fast", "other"]).into();
    }
    if random.percent(30) {
        spec["name"] = random.pick(&["abc", "a", "toolongtext", "ABC", "abcd", "abc"]).into();
    }
    if random.percent(30) {
        spec["parts"] = one(
            random,
            &[
                json!([{ "name": "a", "value": 1 }]),
                json!([{ "name": "b" }, { "name": "a", "value": 2 }]),
                json!([{ "name": "a" }, { "name": "a" }]),
                json!([]),
                json!([{ "value": 3 }]),
            ],
        );
    }
    if random.percent(30) {
        spec["tags"] = one(random, &[json!(["x"]), json!(["y", "x"]), json!(["x", "x"]), json!([])]);
    }
    if random.percent(30) {
        spec["words"] = one(random, &[json!(["x"]), json!(["y", "x"]), json!(["z"]), json!([1])]);
    }
    if random.percent(30) {
        spec["map"] = one(random, &[json!({ "k": 1 }), json!({ "l": 2 }), json!({}), json!({ "k": null })]);
    }
    if random.percent(30) {
        spec["free"] = one(random, &[json!({ "a": { "b": 1 } }), json!({ "c": [1, { "d": 2 }] }), json!({})]);
    }
    if random.percent(30) {
        spec["atomic"] = one(random, &[json!({ "a": "1" }), json!({ "a": "1", "b": "2" }), json!({})]);
    }
    if random.percent(20) {
        spec["port"] = one(random, &[json!(80), json!("http"), json!(1.5), json!(true)]);
    }
    if random.percent(20) {
        spec["unknown"] = json!({ "x": 1 });
    }
    if random.percent(15) {
        spec["nothing"] = Value::Null;
    }
    if random.percent(20) {
        spec["nested"] = one(random, &[json!({}), json!({ "on": true }), json!({ "level": 2 })]);
    }
    let mut object = json!({ "spec": spec });
    if random.percent(20) {
        object["status"] = json!({ "ready": 1 });
    }
    object
}

pub(super) fn gadget(random: &mut Random) -> Value {
    let mut spec = json!({});
    if random.percent(60) {
        spec["replicas"] = one(random, &[json!(1), json!(3), json!(0), json!(null)]);
    }
    for (field, values) in [
        ("size", [json!(1), json!(3)]),
        ("old", [json!("x"), json!("y")]),
        ("new", [json!("x"), json!("y")]),
        ("tags", [json!(["x"]), json!(["y", "x"])]),
    ] {
        if random.percent(30) {
            spec[field] = one(random, &values);
        }
    }
    if random.percent(30) {
        spec["parts"] = one(
            random,
            &[json!([{ "name": "a", "old": 1 }]), json!([{ "name": "b" }, { "name": "a", "new": 2 }]), json!([])],
        );
    }
    json!({ "spec": spec })
}

/// The CRDs of the comparison.
pub(in super::super) fn crds() -> [Value; 2] {
    [widget_crd(), gadget_crd()]
}

/// A CRD of the comparison with these versions.
fn crd(singular: &str, kind: &str, versions: Vec<Value>) -> Value {
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.explorer.example.com") },
        "spec": {
            "group": "explorer.example.com",
            "names": { "plural": plural, "singular": singular, "kind": kind, "listKind": format!("{kind}List") },
            "scope": "Namespaced",
            "versions": versions,
        },
    })
}

/// A CRD with several versions and the subresource `scale`.
fn gadget_crd() -> Value {
    let version = |name: &str, own: &str, size: u64| {
        let spec = json!({
            "type": "object",
            "properties": {
                "replicas": { "type": "integer", "minimum": 0 },
                "size": { "type": "integer", "default": size },
                own: { "type": "string" },
                "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
                "parts": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object", "required": ["name"],
                        "properties": { "name": { "type": "string" }, own: { "type": "integer" } },
                    },
                },
            },
        });
        let status = json!({
            "type": "object",
            "properties": { "replicas": { "type": "integer" }, "selector": { "type": "string" }, own: { "type": "boolean" } },
        });
        json!({
            "name": name, "served": name != "v1alpha1", "storage": name == "v1",
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                },
            },
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": status } } },
        })
    };
    crd("gadget", "Gadget", vec![version("v1beta1", "old", 5), version("v1", "new", 2), version("v1alpha1", "old", 1)])
}

/// The CRD of the comparison with one version.
fn widget_crd() -> Value {
    let spec = json!({
        "type": "object",
        "x-kubernetes-validations": [
            { "rule": "!has(self.mode) || self.mode != 'slow' || self.size < 3", "message": "slow widgets are small" },
            { "rule": "!has(oldSelf.name) || has(self.name)" },
            {
                "rule": "!has(self.port) || !has(self.words)", "message": "a port excludes words", "fieldPath": ".port",
                "reason": "FieldValueForbidden",
            },
            {
                "rule": "!has(self.mode) || self.mode != 'fast' || self.size != 5", "reason": "FieldValueRequired",
                "message": "fast widgets are not five", "messageExpression": "self.size > 4 ? 'not five' : ''",
            },
        ],
        "properties": {
            "size": {
                "type": "integer", "format": "int32", "minimum": 1, "maximum": 10, "default": 2,
                "x-kubernetes-validations": [
                    { "rule": "self != 7", "messageExpression": "self > 6 ? ' seven ' : 'small'" },
                    { "rule": "self != 9 && self >= oldSelf - 5" },
                ],
            },
            "mode": { "type": "string", "enum": ["fast", "slow"] },
            "name": {
                "type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$",
                "x-kubernetes-validations": [{ "rule": "self != 'abcd'", "reason": "FieldValueDuplicate" }],
            },
            "parts": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "maxItems": 3,
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": { "name": { "type": "string" }, "value": { "type": "integer", "default": 7 } },
                },
            },
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "words": {
                "type": "array", "items": {
                    "type": "string", "maxLength": 9, "x-kubernetes-validations": [{ "rule": "self != 'z'" }],
                },
                "maxItems": 9,
                "x-kubernetes-validations": [
                    { "rule": "self.size() != 2", "message": "two words", "reason": "FieldValueDuplicate" },
                ],
            },
            "map": { "type": "object", "additionalProperties": { "type": "integer" } },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "atomic": {
                "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": { "type": "string" },
            },
            "port": { "x-kubernetes-int-or-string": true },
            "nothing": { "type": "string", "nullable": true },
            "nested": {
                "type": "object",
                "properties": { "on": { "type": "boolean", "default": false }, "level": { "type": "number" } },
            },
        },
    });
    let status = json!({
        "type": "object",
        "properties": {
            "ready": { "type": "integer" },
            "conditions": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object", "required": ["type", "status"],
                    "properties": {
                        "type": { "type": "string" }, "status": { "type": "string" }, "reason": { "type": "string" },
                        "message": { "type": "string" }, "lastTransitionTime": { "type": "string" },
                    },
                },
            },
        },
    });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": {
            "type": "object", "required": ["spec"], "properties": { "spec": spec, "status": status },
        } },
    });
    crd("widget", "Widget", vec![version])
}
