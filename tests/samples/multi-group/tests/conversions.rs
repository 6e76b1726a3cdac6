// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Every version survives a round trip through another version. The objects are random and follow the schemas.

use std::fmt::Display;

use kube::CustomResourceExt;
use manager::webhook::Spoke;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[test]
fn ship_frigate_v1() {
    round_trip::<multi_group::api::ship::v1::frigate::Frigate>();
}

// +kubebuilder:scaffold:conversions

/// Objects of this version are unchanged after a conversion to the hub and back.
fn round_trip<S>()
where
    S: Spoke + CustomResourceExt + DeserializeOwned + Serialize,
{
    let crd = json!(S::crd());
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let specs =
        values(schema).prop_filter("it is one of the type", |spec| read::<S>(spec).is_some());
    let outcome = TestRunner::default().run(&specs, |spec| {
        let object = read::<S>(&spec).ok_or_else(|| TestCaseError::reject("no object"))?;
        let hub = object.to_hub().map_err(failed)?;
        let back = S::from_hub(&hub).map_err(failed)?;
        prop_assert_eq!(&json!(back)["spec"], &json!(object)["spec"]);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{}: {error}", S::crd_name()));
}

fn read<S: DeserializeOwned>(spec: &Value) -> Option<S> {
    serde_json::from_value(json!({ "metadata": { "name": "sample" }, "spec": spec })).ok()
}

fn failed(error: impl Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Values that a schema allows. Patterns, formats and rules are ignored.
fn values(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(allowed) = schema["enum"].as_array() {
        return proptest::sample::select(allowed.clone()).boxed();
    }
    let inner = match schema["type"].as_str() {
        Some("object") if schema["additionalProperties"].is_object() => {
            let entries = ("[a-z]{1,8}", values(&schema["additionalProperties"]));
            proptest::collection::btree_map(entries.0, entries.1, 0..3)
                .prop_map(|map| json!(map))
                .boxed()
        }
        Some("object") => object(schema),
        Some("array") => proptest::collection::vec(values(&schema["items"]), 0..3)
            .prop_map(Value::from)
            .boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => {
            let low = schema["minimum"].as_f64().map_or(0, |low| low as i64);
            let high = schema["maximum"].as_f64().map_or(100, |high| high as i64);
            (low..=high.max(low)).prop_map(Value::from).boxed()
        }
        Some("number") => any::<i32>().prop_map(|n| json!(f64::from(n) / 4.0)).boxed(),
        Some("string") => "[a-z0-9]{0,12}".prop_map(Value::from).boxed(),
        _ => Just(json!({})).boxed(),
    };
    if schema["nullable"] == true {
        prop_oneof![Just(Value::Null), inner].boxed()
    } else {
        inner
    }
}

fn object(schema: &Value) -> BoxedStrategy<Value> {
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|n| n == name))
    };
    let fields = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let fields = fields.into_iter().map(|(name, schema)| {
        let value = values(&schema);
        let value = if required(&name) {
            value.prop_map(Some).boxed()
        } else {
            proptest::option::of(value).boxed()
        };
        value
            .prop_map(move |value| value.map(|value| (name.clone(), value)))
            .boxed()
    });
    let fields: Vec<_> = fields.collect();
    fields
        .prop_map(|fields| {
            fields
                .into_iter()
                .flatten()
                .collect::<serde_json::Map<_, _>>()
                .into()
        })
        .boxed()
}
