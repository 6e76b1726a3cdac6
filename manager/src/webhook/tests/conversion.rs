//! Conversions between versions.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use super::annotations::Kind;
use super::kinds::{Thing, v1alpha1, v1beta1, v2alpha1};
use super::reviews::{self, Random, mutate};
use super::{Context, answered, post, seed};
use crate::webhook::serving::Serving;
use crate::webhook::{Registered, Webhooks};

fn serving() -> Serving {
    let mut registered = Registered::default();
    Webhooks {
        registered: &mut registered,
        context: ().into(),
    }
    .conversion::<Thing>()
    .spoke::<v1alpha1::Thing>()
    .spoke::<v1beta1::Thing>()
    .spoke::<v2alpha1::Thing>();
    assert_eq!(registered.ambiguous(), None);
    assert_eq!(registered.conversions.definitions(), ["things.example.com"]);
    super::served(registered).0
}

#[test]
fn a_path_has_one_handler() {
    let registered = |register: fn(Webhooks<'_, Context>) -> Webhooks<'_, Context>| {
        let mut registered = Registered::default();
        register(Webhooks {
            registered: &mut registered,
            context: Context("me").into(),
        });
        registered.ambiguous()
    };
    let one = registered(|webhooks| webhooks.defaulting::<ConfigMap>("/convert"));
    assert_eq!(one, None);
    let two = registered(|webhooks| {
        let webhooks = webhooks.defaulting::<ConfigMap>("/a");
        webhooks.validating::<ConfigMap>("/a")
    });
    assert_eq!(two.as_deref(), Some("/a"));
    let converts = registered(|webhooks| {
        let webhooks = webhooks.validating::<ConfigMap>("/convert");
        webhooks.conversion::<Thing>()
    });
    assert_eq!(converts.as_deref(), Some("/convert"));
    let hubs = registered(|webhooks| webhooks.conversion::<Thing>().conversion::<Thing>());
    assert_eq!(hubs, None);
    let spokes = registered(|webhooks| {
        let webhooks = webhooks.conversion::<Thing>();
        webhooks.spoke::<v1beta1::Thing>().spoke::<v1beta1::Thing>()
    });
    assert_eq!(
        spokes.as_deref(),
        Some("/convert for Thing of example.com/v1beta1")
    );
}

fn object(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"),
        "kind": "Thing",
        "metadata": { "name": "x", "namespace": "a", "uid": "u", "labels": { "a": "b" } },
        "spec": spec,
    })
}

/// Returns the status code, and the response or the text.
async fn convert(serving: &Serving, version: &str, objects: &[Value]) -> (u16, Value) {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": { "uid": "u-1", "desiredAPIVersion": version, "objects": objects },
    });
    let answer = serving.answer(post("/convert", review.to_string())).await;
    let body = serde_json::from_str::<Value>(&answer.text).map_or_else(
        |_| json!(answer.text),
        |mut review| {
            assert_eq!(review["kind"], "ConversionReview");
            review["response"].take()
        },
    );
    (answer.status.as_u16(), body)
}

async fn one(serving: &Serving, version: &str, object: &Value) -> Value {
    let (code, mut response) = convert(
        serving,
        &format!("example.com/{version}"),
        std::slice::from_ref(object),
    )
    .await;
    assert_eq!(code, 200, "{response}");
    assert_eq!(
        response["result"],
        json!({ "status": "Success" }),
        "{object}"
    );
    response["convertedObjects"][0].take()
}

#[tokio::test]
async fn what_a_version_cannot_hold_is_in_an_annotation() {
    let serving = serving();
    let hub = object(
        "v1",
        json!({ "replicas": 1, "mode": "fast", "ports": [{ "number": 1, "name": "a" }, { "number": 2 }] }),
    );
    let spoke = one(&serving, "v1alpha1", &hub).await;
    let mut expected = object("v1alpha1", json!({ "size": "1", "ports": [1, 2] }));
    let saved = json!({ "v1": { "spec": hub["spec"] } });
    expected["metadata"]["annotations"] =
        json!({ "example.com/conversion-data": saved.to_string() });
    assert_eq!(spoke, expected);
    assert_eq!(one(&serving, "v1", &spoke).await, hub);

    // Changes arrive, and the rest stays.
    let mut changed = spoke.clone();
    changed["spec"]["size"] = json!("3");
    changed["spec"]["ports"] = json!([1, 4]);
    let mut expected = hub.clone();
    expected["spec"]["replicas"] = json!(3);
    expected["spec"]["ports"][1]["number"] = json!(4);
    assert_eq!(one(&serving, "v1", &changed).await, expected);

    // A version that holds everything needs no annotation. The conversion goes through the hub.
    let mut expected = object("v1beta1", hub["spec"].clone());
    expected["metadata"] = hub["metadata"].clone();
    assert_eq!(one(&serving, "v1beta1", &hub).await, expected);
    assert_eq!(one(&serving, "v1beta1", &spoke).await, expected);

    // Fields that only the spoke knows are kept, too.
    let legacy = object(
        "v1alpha1",
        json!({ "size": "1", "ports": [], "legacy": true }),
    );
    let stored = one(&serving, "v1", &legacy).await;
    assert_eq!(stored["spec"], json!({ "replicas": 1, "ports": [] }));
    assert_eq!(one(&serving, "v1alpha1", &stored).await, legacy);

    // An annotation that somebody wrote does no harm.
    for text in [
        "",
        "[]",
        "{\"v1\":1}",
        "{\"v1\":{\"spec\":{\"replicas\":\"x\"}}}",
    ] {
        let mut object = object("v1alpha1", json!({ "size": "1" }));
        object["metadata"]["annotations"] =
            json!({ "example.com/conversion-data": text, "mine": "1" });
        let stored = one(&serving, "v1", &object).await;
        assert_eq!(
            stored["metadata"]["annotations"],
            json!({ "mine": "1" }),
            "{text}"
        );
        assert_eq!(
            stored["spec"],
            json!({ "replicas": 1, "ports": [] }),
            "{text}"
        );
    }
}

/// Without a written conversion, reads, deletions and metadata changes work; a change that would lose data is refused.
#[tokio::test]
async fn what_comes_back_as_it_went_needs_no_way_back() {
    let serving = serving();
    let mut hub = object("v1", json!({ "replicas": 1, "mode": "fast", "ports": [] }));
    hub["status"] = json!({ "ready": true });
    let mut spoke = one(&serving, "v2alpha1", &hub).await;
    assert_eq!(spoke["spec"], json!({ "mode": "fast" }));
    assert_eq!(one(&serving, "v1", &spoke).await, hub);
    let beta = one(&serving, "v1beta1", &spoke).await;
    assert_eq!(beta["spec"], hub["spec"]);

    spoke["metadata"]["finalizers"] = json!(["a.b/c"]);
    hub["metadata"]["finalizers"] = json!(["a.b/c"]);
    assert_eq!(one(&serving, "v1", &spoke).await, hub);

    let message = "can't convert Thing a/x of example.com/v2alpha1 to example.com/v1: missing field `replicas`";
    for (pointer, value) in [
        ("/spec", json!({})),
        ("/spec/mode", json!("slow")),
        ("/status/ready", json!(false)),
        ("/status", json!(null)),
        ("/metadata/annotations", json!({})),
    ] {
        let mut changed = spoke.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let (_, response) = convert(&serving, "example.com/v1", &[changed]).await;
        assert_eq!(response["result"]["message"], message, "{pointer}");
    }
}

#[tokio::test]
async fn batches_have_whole_answers() {
    let serving = serving();
    let good = object("v1alpha1", json!({ "size": "1", "ports": [] }));
    let mut bad = object("v1alpha1", json!({ "size": "many" }));
    bad["metadata"]["name"] = json!("y");
    let same = object("v1", json!({ "anything": 1 }));
    let (code, response) = convert(&serving, "example.com/v1", &[good.clone(), same.clone()]).await;
    let converted = object("v1", json!({ "replicas": 1, "ports": [] }));
    let expected = json!({ "uid": "u-1", "result": { "status": "Success" }, "convertedObjects": [converted, same] });
    assert_eq!((code, response), (200, expected));

    let mut foreign = good.clone();
    foreign["kind"] = json!("Other");
    let cases = [
        (
            "example.com/v1",
            vec![good.clone(), bad.clone()],
            "can't convert Thing a/y of example.com/v1alpha1 to example.com/v1: spec.size: \"many\" is no number",
        ),
        (
            "example.com/v9",
            vec![good.clone()],
            "can't convert Thing a/x of example.com/v1alpha1 to example.com/v9: this operator has no version \"v9\" of the kind",
        ),
        (
            "other.com/v1",
            vec![good.clone()],
            "can't convert Thing a/x of example.com/v1alpha1 to other.com/v1: the group is another one",
        ),
        (
            "example.com/v1",
            vec![foreign],
            "can't convert Other a/x of example.com/v1alpha1 to example.com/v1: this operator does not convert the kind",
        ),
        (
            "example.com/v1",
            vec![json!(1)],
            "can't convert   of  to example.com/v1: the group is another one",
        ),
        (
            "",
            vec![json!({ "kind": "Thing", "metadata": { "name": "x" } })],
            "can't convert Thing x of  to : this operator does not convert the kind",
        ),
        (
            "example.com/v1",
            vec![json!({ "apiVersion": "example.com/v1alpha1", "kind": "Thing" })],
            "can't convert Thing  of example.com/v1alpha1 to example.com/v1: it has no metadata",
        ),
        (
            "example.com/v1",
            vec![object("v1alpha1", json!({}))],
            "can't convert Thing a/x of example.com/v1alpha1 to example.com/v1: spec.size: the required field is missing",
        ),
    ];
    for (version, objects, message) in cases {
        let (code, response) = convert(&serving, version, &objects).await;
        let result =
            json!({ "status": "Failure", "reason": "ConversionFailed", "message": message });
        let expected = json!({ "uid": "u-1", "result": result, "convertedObjects": [] });
        assert_eq!((code, response), (200, expected));
    }
    let (_, response) = convert(&serving, "example.com/v1", &vec![bad; 12]).await;
    let message = response["result"]["message"].as_str().unwrap_or_default();
    assert_eq!(
        (
            message.matches("a/y").count(),
            message.ends_with("; and 2 more")
        ),
        (10, true),
        "{message}"
    );

    let answer = serving.answer(post("/convert", "{}")).await;
    assert_eq!(answer.status.as_u16(), 400, "{}", answer.text);
}

/// The stored object lacks a new required field. It can be read in each version, like all others of its list.
#[tokio::test]
async fn stored_objects_without_required_fields_are_converted() {
    let serving = serving();
    let good = object("v1", json!({ "replicas": 1 }));
    let old = object("v1", json!({ "mode": "fast", "ports": [{}] }));
    let list = [good, old.clone()];
    let (_, response) = convert(&serving, "example.com/v1alpha1", &list).await;
    let specs = ["/convertedObjects/0/spec", "/convertedObjects/1/spec"];
    let expected = [
        json!({ "size": "1", "ports": [] }),
        json!({ "size": "0", "ports": [0] }),
    ];
    assert_eq!(
        specs.map(|spec| response.pointer(spec).cloned().unwrap_or_default()),
        expected,
        "{response}"
    );
    // An update through the other version is complete, and keeps what that version cannot hold.
    let mut spoke = response["convertedObjects"][1].clone();
    let stored = json!({ "mode": "fast", "replicas": 0, "ports": [{ "number": 0 }] });
    assert_eq!(one(&serving, "v1", &spoke).await["spec"], stored);
    spoke["spec"]["size"] = json!("4");
    let stored = json!({ "mode": "fast", "replicas": 4, "ports": [{ "number": 0 }] });
    assert_eq!(one(&serving, "v1", &spoke).await["spec"], stored);

    let wrong = object("v1", json!({ "replicas": 1, "ports": [{ "number": "a" }] }));
    let (_, response) = convert(&serving, "example.com/v1alpha1", &[old, wrong]).await;
    let message = "can't convert Thing a/x of example.com/v1 to example.com/v1alpha1: spec.ports[0].number: invalid type: \
                   string \"a\", expected u16";
    assert_eq!(response["result"]["message"], message);
}

/// Nothing is lost, and changes arrive.
#[tokio::test]
async fn random_objects_come_back() {
    let seed = seed();
    let (serving, mut random) = (serving(), Random(seed | 1));
    for number in 0..200 {
        let context = format!("WEBHOOK_SEED={seed}, number {number}");
        let hub = object("v1", hub_spec(&mut random));
        let mut spoke = one(&serving, "v1alpha1", &hub).await;
        assert_eq!(one(&serving, "v1", &spoke).await, hub, "{context}: {spoke}");
        let beta = one(&serving, "v1beta1", &spoke).await;
        assert_eq!(one(&serving, "v1", &beta).await, hub, "{context}: {beta}");
        assert_eq!(
            one(&serving, "v1alpha1", &beta).await,
            spoke,
            "{context}: {beta}"
        );

        if random.below(2) == 0 {
            spoke["spec"]["legacy"] = json!(true);
        }
        let size = random.below(100);
        spoke["spec"]["size"] = json!(size.to_string());
        let stored = one(&serving, "v1", &spoke).await;
        let mut expected = hub["spec"].clone();
        expected["replicas"] = json!(size);
        assert_eq!(stored["spec"], expected, "{context}: {spoke}");
        let again = one(&serving, "v1alpha1", &stored).await;
        assert_eq!(again["spec"], spoke["spec"], "{context}: {stored}");
    }
}

/// Reviews with values of the wrong type in all places, including the annotation. Each gets an answer, without a panic.
#[tokio::test]
async fn random_conversion_reviews_are_answered() {
    let seed = seed();
    let (serving, mut random) = (serving(), Random(seed | 1));
    let mut codes = BTreeMap::<bool, usize>::new();
    for number in 0..2_000 {
        let [from, to] = [(); 2].map(|()| {
            random
                .one_of(&["v1", "v1alpha1", "v1beta1", "v2alpha1"])
                .to_owned()
        });
        let mut thing = object(&from, hub_spec(&mut random));
        let mut saved =
            json!({ "v1": { "spec": hub_spec(&mut random) }, "v1alpha1": { "spec": {} } });
        mutate(&mut saved, &mut random);
        let saved = saved.to_string();
        let saved = random.one_of(&[&saved, "x"]);
        thing["metadata"]["annotations"] = json!({ "example.com/conversion-data": saved });
        let mut value = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": { "uid": "1", "desiredAPIVersion": format!("example.com/{to}"), "objects": [thing] },
        });
        for _ in 0..random.below(4) {
            mutate(&mut value, &mut random);
        }
        let mut body = value.to_string().into_bytes();
        if random.below(8) == 0 {
            body.truncate(random.below(body.len()));
        }
        let context = || {
            let shown = String::from_utf8_lossy(&body);
            format!("WEBHOOK_SEED={seed}, number {number}: {shown}")
        };
        let answer = serving.answer(post("/convert", body.clone())).await;
        let is_review = answered(&answer).map_err(|code| format!("{code} for {}", context()));
        let is_review = is_review.unwrap();
        *codes.entry(is_review).or_default() += 1;
        reviews::conversion(&body, is_review, &answer.text)
            .unwrap_or_else(|error| panic!("{error} for {}", context()));
    }
    assert_eq!(codes.len(), 2, "WEBHOOK_SEED={seed}: {codes:?}");
}

fn hub_spec(random: &mut Random) -> Value {
    let mut spec = json!({ "replicas": random.below(100) });
    if random.below(2) == 0 {
        spec["mode"] = json!(random.one_of(&["fast", "slow"]));
    }
    let port = |random: &mut Random| {
        let mut port = json!({ "number": random.below(9) });
        if random.below(2) == 0 {
            port["name"] = json!(random.one_of(&["a", "b"]));
        }
        port
    };
    spec["ports"] = (0..random.below(4)).map(|_| port(random)).collect();
    spec
}

/// Values that the schema of the hub refuses do not enter the storage through the annotation. Valid ones do.
#[tokio::test]
async fn crafted_annotations_do_not_pass_the_schema() {
    let serving = serving();
    let long = "x".repeat(11);
    let plain = json!({ "replicas": 1, "ports": [{ "number": 1 }] });
    let fast = json!({ "replicas": 1, "mode": "fast", "ports": [{ "number": 1 }] });
    let named = json!({ "replicas": 1, "mode": "fast", "ports": [{ "number": 1, "name": "a" }] });
    // The saved spec, and the stored spec for an object with size 1 and port 1.
    let cases = [
        (named.clone(), &named),
        (
            json!({ "replicas": 1, "mode": long, "ports": [{ "number": 1 }] }),
            &plain,
        ),
        (
            json!({ "replicas": 1, "mode": "", "ports": [{ "number": 1 }] }),
            &plain,
        ),
        (
            json!({ "replicas": 1, "mode": 1, "ports": [{ "number": 1 }] }),
            &plain,
        ),
        (
            json!({ "replicas": 1, "mode": "fast", "ports": [{ "number": 1, "name": "A" }] }),
            &fast,
        ),
        (
            json!({ "replicas": 7, "mode": "fast", "ports": [{ "number": 9 }] }),
            &fast,
        ),
        (json!({ "mode": "fast" }), &fast),
    ];
    for (saved, expected) in cases {
        let mut spoke = object("v1alpha1", json!({ "size": "1", "ports": [1] }));
        let data = json!({ "v1": { "spec": saved } }).to_string();
        spoke["metadata"]["annotations"] = json!({ "example.com/conversion-data": data });
        let stored = one(&serving, "v1", &spoke).await;
        assert_eq!(stored["spec"], *expected, "{data}");
    }
}

/// Inputs that a fuzzer mutates: `tests/fuzz` of the SDK.
#[test]
fn saved_data_never_changes_the_object() {
    let cases = [
        ("", false),
        ("null", false),
        (
            r#"{"v1":1,"v1alpha1":[],"v1beta1":"","v2alpha1":null}"#,
            false,
        ),
        (
            r#"{"v1":{"spec":{"replicas":1,"mode":"fast","ports":[{"number":1,"name":"a"},{"number":2}]}}}"#,
            true,
        ),
        (
            r#"{"v1":{"spec":{"replicas":1,"mode":"fast","ports":[{"number":1,"name":"A"},{"number":2}]}}}"#,
            true,
        ),
        (
            r#"{"v1":{"spec":{"replicas":1,"mode":"xxxxxxxxxxx"},"status":{"ready":true}}}"#,
            true,
        ),
        (
            r#"{"v1alpha1":{"spec":{"size":"1","ports":[1,2],"legacy":true}}}"#,
            true,
        ),
        (
            r#"{"v1alpha1":{"spec":{"size":"01","ports":[1,2]}},"v2alpha1":{"spec":{"mode":"slow"}}}"#,
            true,
        ),
        (
            r#"{"v1":{"spec":{"replicas":1,"ports":[1]},"apiVersion":"v2","metadata":{"name":"y"},"other":1}}"#,
            false,
        ),
    ];
    let kind = Kind::new();
    for (text, restores) in cases {
        let restored = kind.check(text).map(|restored| restored > 0);
        assert_eq!(restored, Ok(restores), "{text}");
    }
}

/// With any annotation, the stored object decodes, fits the schema, and converts back to the same object.
#[test]
fn random_annotations_do_not_change_the_object() {
    let seed = seed();
    let mut random = Random(seed | 1);
    let (kind, mut restored) = (Kind::new(), 0);
    for number in 0..100 {
        let size = random.below(9).to_string();
        let mut saved = json!({
            "v1": { "spec": hub_spec(&mut random) },
            "v1alpha1": { "spec": { "size": size, "ports": [1], "legacy": true } },
            "v1beta1": { "spec": hub_spec(&mut random), "status": { "ready": true } },
            "v2alpha1": { "spec": { "mode": "slow" }, "status": { "ready": false } },
        });
        for _ in 0..random.below(4) {
            mutate(&mut saved, &mut random);
        }
        let long = "x".repeat(random.below(20));
        if let Some(mode) = saved.pointer_mut("/v1/spec/mode") {
            *mode = json!(long);
        }
        let saved = saved.to_string();
        restored += kind.check(&saved).unwrap_or_else(|error| {
            panic!("WEBHOOK_SEED={seed}, number {number}: {saved}: {error}")
        });
    }
    assert!(restored > 100, "WEBHOOK_SEED={seed}: {restored}");
}
