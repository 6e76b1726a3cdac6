//! Stored objects that do not fit the current type or rules.

use serde_json::{Value, json};

use super::kinds::Thing;
use super::{ask, post, review, served};
use crate::webhook::serving::Serving;
use crate::webhook::typed::{decode, decode_filled};
use crate::webhook::{
    Defaulting, Denied, FieldErrors, Registered, Request, Validating, Warnings, Webhooks,
};

struct Lenient;
struct Strict;

fn validated(thing: &Thing, what: &str) -> Result<Warnings, Denied> {
    let mut errors = FieldErrors::new();
    if thing.spec.replicas > 5 {
        errors.invalid("spec.replicas", thing.spec.replicas, "at most 5");
    }
    errors.into_result(vec![what.to_owned()])
}

impl<C> Defaulting<C> for Thing {
    fn default(&mut self, _: &Request<C>) -> Result<(), Denied> {
        self.spec.mode.get_or_insert_with(|| "fast".to_owned());
        Ok(())
    }
}

impl Validating<Lenient> for Thing {
    async fn validate_create(&self, _: &Request<Lenient>) -> Result<Warnings, Denied> {
        validated(self, "create")
    }

    async fn validate_update(&self, old: &Self, r: &Request<Lenient>) -> Result<Warnings, Denied> {
        let old = (old.spec.replicas, r.old.as_ref().map(|old| &old["spec"]));
        validated(self, &format!("update of {old:?}"))
    }

    async fn validate_delete(&self, _: &Request<Lenient>) -> Result<Warnings, Denied> {
        Ok(vec![format!("delete of {}", self.spec.replicas)])
    }
}

impl Validating<Strict> for Thing {
    const EVERY_UPDATE: bool = true;

    async fn validate_update(&self, _: &Self, _: &Request<Strict>) -> Result<Warnings, Denied> {
        validated(self, "update")
    }
}

fn serving() -> Serving {
    let mut registered = Registered::default();
    Webhooks {
        registered: &mut registered,
        context: Lenient.into(),
    }
    .defaulting::<Thing>("/mutate")
    .validating::<Thing>("/validate");
    Webhooks {
        registered: &mut registered,
        context: Strict.into(),
    }
    .validating::<Thing>("/strict");
    served(registered).0
}

fn thing(spec: Value) -> Value {
    let mut thing =
        json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "x" } });
    thing["spec"] = spec;
    thing
}

fn told(response: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let status = &response["status"];
    match response["allowed"] == true {
        false => format!("{} {}", status["code"], text(&status["message"])),
        true => match (&response["patch"], &response["warnings"]) {
            (Value::Null, Value::Null) => "allowed".to_owned(),
            (Value::Null, warnings) => format!("allowed: {}", text(&warnings[0])),
            (patch, _) => format!("patched: {patch}"),
        },
    }
}

#[tokio::test]
async fn stored_objects_can_be_repaired_and_deleted() {
    let serving = serving();
    let (good, many, none) = (
        json!({ "replicas": 1 }),
        json!({ "replicas": 9 }),
        json!({}),
    );
    let typed = json!({ "replicas": 1, "ports": [{ "number": "a" }] });
    let deleted = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let labels = json!({ "labels": { "a": "b" } });
    let no_metadata = || json!({});
    // Path, operation, metadata of both objects, metadata of the new one, old and new spec, subresource.
    let update = "UPDATE";
    let cases = [
        (
            "/mutate",
            "CREATE",
            no_metadata(),
            no_metadata(),
            &none,
            &good,
            "",
            "patched: [{\"op\":\"add\",\"path\":\"/spec/mode\",\"value\":\"fast\"}]",
        ),
        (
            "/mutate",
            "CREATE",
            no_metadata(),
            no_metadata(),
            &none,
            &typed,
            "",
            "allowed",
        ),
        (
            "/mutate",
            update,
            no_metadata(),
            no_metadata(),
            &none,
            &none,
            "",
            "allowed",
        ),
        (
            "/mutate",
            update,
            deleted.clone(),
            no_metadata(),
            &good,
            &good,
            "",
            "allowed",
        ),
        (
            "/validate",
            "CREATE",
            no_metadata(),
            no_metadata(),
            &none,
            &none,
            "",
            "422 Thing.example.com \"x\" is invalid: spec.replicas: Required value",
        ),
        (
            "/validate",
            "CREATE",
            no_metadata(),
            no_metadata(),
            &none,
            &typed,
            "",
            "422 Thing.example.com \"x\" is invalid: spec.ports[0].number: Invalid value: \"a\": invalid type: string \"a\", expected u16",
        ),
        // The update repairs the object.
        (
            "/validate",
            update,
            no_metadata(),
            no_metadata(),
            &none,
            &good,
            "",
            "allowed: update of (0, Some(Object {}))",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            no_metadata(),
            &typed,
            &good,
            "",
            "allowed: create",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            no_metadata(),
            &typed,
            &many,
            "",
            "422 Thing.example.com \"x\" is invalid: spec.replicas: Invalid value: 9: at most 5",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            no_metadata(),
            &good,
            &none,
            "",
            "422 Thing.example.com \"x\" is invalid: spec.replicas: Required value",
        ),
        // Only the metadata changes.
        (
            "/validate",
            update,
            no_metadata(),
            labels.clone(),
            &many,
            &many,
            "",
            "allowed",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            labels.clone(),
            &none,
            &none,
            "",
            "allowed",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            labels.clone(),
            &typed,
            &typed,
            "",
            "allowed",
        ),
        (
            "/strict",
            update,
            no_metadata(),
            labels.clone(),
            &many,
            &many,
            "",
            "422 Thing.example.com \"x\" is invalid: spec.replicas: Invalid value: 9: at most 5",
        ),
        (
            "/strict",
            update,
            no_metadata(),
            labels.clone(),
            &good,
            &good,
            "",
            "allowed: update",
        ),
        // Also changes during the deletion.
        (
            "/validate",
            update,
            deleted.clone(),
            labels,
            &good,
            &many,
            "",
            "allowed",
        ),
        (
            "/strict",
            update,
            deleted,
            no_metadata(),
            &good,
            &many,
            "",
            "422 Thing.example.com \"x\" is invalid: spec.replicas: Invalid value: 9: at most 5",
        ),
        // The new object has a status.
        (
            "/validate",
            update,
            no_metadata(),
            json!({ "status": true }),
            &many,
            &many,
            "",
            "allowed",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            json!({ "status": true }),
            &many,
            &many,
            "status",
            "422 Thing.example.com \"x\" is invalid: spec.replicas: Invalid value: 9: at most 5",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            no_metadata(),
            &many,
            &many,
            "status",
            "allowed",
        ),
        (
            "/validate",
            "DELETE",
            no_metadata(),
            no_metadata(),
            &many,
            &none,
            "",
            "allowed: delete of 9",
        ),
        (
            "/validate",
            "DELETE",
            no_metadata(),
            no_metadata(),
            &none,
            &none,
            "",
            "allowed: delete of 0",
        ),
        (
            "/validate",
            "DELETE",
            no_metadata(),
            no_metadata(),
            &typed,
            &none,
            "",
            "allowed: the stored Thing is not of the webhook's type, so its deletion was not validated: spec.ports[0].number: invalid type: string \"a\", expected u16",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            json!({ "status": true }),
            &none,
            &none,
            "status",
            "allowed: update of (0, Some(Object {}))",
        ),
        (
            "/validate",
            update,
            no_metadata(),
            json!({ "status": true }),
            &typed,
            &typed,
            "status",
            "allowed: the stored Thing is not of the webhook's type, so its status was not validated: spec.ports[0].number: invalid type: string \"a\", expected u16",
        ),
    ];
    let mut wrong = String::new();
    for (path, operation, both, mut change, old, new, subresource, expected) in cases {
        let [mut old, mut new] = [old, new].map(|spec| thing(spec.clone()));
        let status = change
            .as_object_mut()
            .and_then(|change| change.remove("status"));
        for object in [&mut old, &mut new] {
            json_patch::merge(&mut object["metadata"], &both);
        }
        json_patch::merge(&mut new["metadata"], &change);
        if let Some(ready) = status {
            new["status"] = json!({ "ready": ready });
        }
        let mut review = review(json!({
            "operation": operation, "subResource": subresource,
            "kind": { "group": "example.com", "version": "v1", "kind": "Thing" },
        }));
        review["request"]["object"] = if operation == "DELETE" {
            Value::Null
        } else {
            new
        };
        review["request"]["oldObject"] = if operation == "CREATE" {
            Value::Null
        } else {
            old
        };
        let (_, answer) = ask(&serving, post(path, review.to_string())).await;
        let answer = told(&answer);
        if answer != expected {
            wrong += &format!("{}\n  is {answer}\n  not {expected}\n", review["request"]);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Go decodes a missing field as its zero value.
#[test]
fn missing_fields_have_zero_values() {
    use std::collections::BTreeMap;

    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

    #[derive(serde::Deserialize, serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    struct All {
        text: String,
        number: i64,
        float: f64,
        is: bool,
        list: Vec<String>,
        map: BTreeMap<String, String>,
        inner: Vec<Inner>,
        nested: Inner,
        mode: Mode,
        quantity: Quantity,
        either: IntOrString,
        at: Time,
        #[serde(default = "seven")]
        default: i32,
        option: Option<i32>,
        #[serde(flatten)]
        flat: Flat,
    }

    #[derive(serde::Deserialize, serde::Serialize)]
    struct Inner {
        name: String,
        value: i32,
    }

    #[derive(serde::Deserialize, serde::Serialize)]
    struct Flat {
        flattened: i32,
    }

    #[derive(serde::Deserialize, serde::Serialize)]
    enum Mode {
        Fast,
        Slow,
    }

    fn seven() -> i32 {
        7
    }

    let mut object = json!({ "inner": [{ "name": "a" }, {}] });
    let all: All = decode_filled(&mut object).unwrap();
    let expected = json!({
        "text": "", "number": 0, "float": 0.0, "is": false, "list": [], "map": {},
        "inner": [{ "name": "a", "value": 0 }, { "name": "", "value": 0 }],
        "nested": { "name": "", "value": 0 }, "mode": "Fast", "quantity": "0", "either": 0,
        "at": "0001-01-01T00:00:00Z", "default": 7, "option": null, "flattened": 0,
    });
    assert_eq!(serde_json::to_value(&all).unwrap(), expected);
    assert!(decode::<All>(&object).is_ok(), "{object}");

    let before = json!({ "inner": [{ "name": 1 }] });
    let mut object = before.clone();
    let error = decode_filled::<All>(&mut object).err().unwrap();
    let text = "inner[0].name: invalid type: integer `1`, expected a string";
    assert_eq!((error.to_string().as_str(), object), (text, before));
}
