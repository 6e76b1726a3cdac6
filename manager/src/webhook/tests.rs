//! Requests and their whole answers.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic, too")]

mod annotations;
mod certificates;
mod conversion;
mod kinds;
mod replicas;
mod reviews;
mod stored;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::Request as HttpRequest;
use hyper::body::{Bytes, Frame};
use k8s_openapi::api::core::v1::ConfigMap;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use self::reviews::{Random, mutate};
use super::serving::Serving;
use super::*;
use crate::http::Answer;

struct Context(&'static str);

impl Defaulting<Context> for ConfigMap {
    fn default(&mut self, request: &Request<Context>) -> Result<(), Denied> {
        let data = self.data.get_or_insert_default();
        match data.get("mode").map(String::as_str) {
            Some("denied") => return Err(Denied::new("not on Sundays")),
            Some("panic") => panic!("no such mode"),
            _ => {}
        }
        data.insert("by".to_owned(), request.context.0.to_owned());
        data.remove("old");
        Ok(())
    }
}

impl Validating<Context> for ConfigMap {
    async fn validate_create(&self, request: &Request<Context>) -> Result<Warnings, Denied> {
        let mode = self.data.as_ref().and_then(|data| data.get("mode"));
        let mut errors = FieldErrors::new();
        match mode.map_or("", String::as_str) {
            "" => errors.required("data.mode", "say how"),
            "warn" => return Ok(vec![format!("by {:?}", request.user.username)]),
            "slow" => std::future::pending().await,
            "panic" => panic!("no such mode"),
            "ok" => {}
            other => errors.not_supported("data.mode", other, &["ok", "warn"]),
        }
        if self.immutable.is_none() {
            errors.required("immutable", "");
        }
        errors.into_result(vec![])
    }

    async fn validate_update(&self, old: &Self, _: &Request<Context>) -> Result<Warnings, Denied> {
        let changed = self.data != old.data;
        let mut errors = FieldErrors::new();
        if changed {
            errors.forbidden("data", "may not change");
        }
        errors.into_result(vec![])
    }

    async fn validate_delete(&self, request: &Request<Context>) -> Result<Warnings, Denied> {
        Err(Denied::new(format!("{} stays", request.name)))
    }
}

fn serving() -> (Serving, Registry) {
    let mut registered = Registered::default();
    Webhooks {
        registered: &mut registered,
        context: Arc::new(Context("me")),
    }
    .defaulting::<ConfigMap>("/mutate")
    .validating::<ConfigMap>("/validate");
    served(registered)
}

fn served(registered: Registered) -> (Serving, Registry) {
    let mut registry = Registry::default();
    let serving = Serving {
        handlers: registered.handlers(),
        metrics: WebhookMetrics::new(&mut registry),
        budget: Arc::new(Semaphore::new(BUDGET)),
    };
    (serving, registry)
}

fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    let seed = std::env::var("WEBHOOK_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    seed.unwrap_or_else(|| RandomState::new().hash_one(0))
}

/// A review of a ConfigMap. `change` is merged into its request.
fn review(change: Value) -> Value {
    let mut review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": { "group": "", "version": "v1", "kind": "ConfigMap" },
            "resource": { "group": "", "version": "v1", "resource": "configmaps" },
            "name": "x",
            "namespace": "a",
            "operation": "CREATE",
            "userInfo": { "username": "ann" },
            "object": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "creationTimestamp": null },
            },
            "oldObject": null,
            "dryRun": false,
        },
    });
    json_patch::merge(&mut review["request"], &change);
    review
}

fn post(path: &str, body: impl Into<Bytes>) -> HttpRequest<Full<Bytes>> {
    HttpRequest::post(path)
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .unwrap()
}

/// Returns the status code, and the response of the review or the text.
async fn ask(serving: &Serving, request: HttpRequest<Full<Bytes>>) -> (u16, Value) {
    let answer = serving.answer(request).await;
    let body = match serde_json::from_str::<Value>(&answer.text) {
        Ok(mut review) => {
            assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
            assert_eq!(review["kind"], "AdmissionReview");
            let mut response = review["response"].take();
            if let Some(patch) = response.get("patch").and_then(Value::as_array) {
                let bytes = patch
                    .iter()
                    .map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap());
                response["patch"] = serde_json::from_slice(&Vec::from_iter(bytes)).unwrap();
            }
            response
        }
        Err(_) => json!(answer.text),
    };
    (answer.status.as_u16(), body)
}

/// Returns true for a review, false for status 400, and an error for any other status.
fn answered(answer: &Answer) -> Result<bool, u16> {
    match answer.status.as_u16() {
        200 => Ok(true),
        400 => Ok(false),
        code => Err(code),
    }
}

#[tokio::test]
async fn reviews_get_whole_answers() {
    let (serving, _) = serving();
    let data = |data: Value| json!({ "object": { "data": data } });
    let allowed = json!({ "uid": "u-1", "allowed": true, "status": {} });
    let cases = [
        (
            "/mutate",
            data(json!({ "a": "1", "old": "1" })),
            json!({
                "uid": "u-1", "allowed": true, "status": {}, "patchType": "JSONPatch",
                "patch": [
                    { "op": "add", "path": "/data/by", "value": "me" },
                    { "op": "remove", "path": "/data/old" },
                ],
            }),
        ),
        // Fields that the type does not know are kept.
        (
            "/mutate",
            json!({ "object": { "data": { "by": "me" }, "unknown": { "a": [null] }, "binaryData": {} } }),
            allowed.clone(),
        ),
        (
            "/mutate",
            json!({ "operation": "DELETE", "object": null, "oldObject": {} }),
            allowed.clone(),
        ),
        (
            "/mutate",
            data(json!({ "mode": "denied" })),
            json!({
                "uid": "u-1", "allowed": false,
                "status": { "status": "Failure", "code": 403, "reason": "Forbidden", "message": "not on Sundays" },
            }),
        ),
        (
            "/mutate",
            json!({ "object": { "data": 1 } }),
            allowed.clone(),
        ),
        (
            "/validate",
            json!({ "object": { "data": 1 } }),
            json!({
                "uid": "u-1", "allowed": false,
                "status": {
                    "status": "Failure", "code": 422, "reason": "Invalid",
                    "message": "ConfigMap \"x\" is invalid: data: Invalid value: 1: invalid type: integer `1`, expected a map",
                    "details": {
                        "name": "x", "kind": "ConfigMap",
                        "causes": [{
                            "reason": "FieldValueInvalid", "field": "data",
                            "message": "Invalid value: 1: invalid type: integer `1`, expected a map",
                        }],
                    },
                },
            }),
        ),
        (
            "/validate",
            data(json!({ "mode": "warn" })),
            json!({ "uid": "u-1", "allowed": true, "status": {}, "warnings": ["by Some(\"ann\")"] }),
        ),
        (
            "/validate",
            json!({ "name": "", "object": { "metadata": { "name": null, "generateName": "x-" }, "data": { "mode": "o" } } }),
            json!({
                "uid": "u-1", "allowed": false,
                "status": {
                    "status": "Failure", "code": 422, "reason": "Invalid",
                    "message": "ConfigMap \"x-\" is invalid: [data.mode: Unsupported value: \"o\": supported values: \
                                \"ok\", \"warn\", immutable: Required value]",
                    "details": {
                        "name": "x-", "kind": "ConfigMap",
                        "causes": [
                            {
                                "reason": "FieldValueNotSupported", "field": "data.mode",
                                "message": "Unsupported value: \"o\": supported values: \"ok\", \"warn\"",
                            },
                            { "reason": "FieldValueRequired", "field": "immutable", "message": "Required value" },
                        ],
                    },
                },
            }),
        ),
        (
            "/validate",
            json!({ "operation": "UPDATE", "object": { "data": { "a": "1" } }, "oldObject": { "data": { "a": "1" } } }),
            allowed.clone(),
        ),
        (
            "/validate",
            json!({
                "kind": { "group": "example.com" },
                "operation": "UPDATE", "object": { "data": { "a": "1" } }, "oldObject": {},
            }),
            json!({
                "uid": "u-1", "allowed": false,
                "status": {
                    "status": "Failure", "code": 422, "reason": "Invalid",
                    "message": "ConfigMap.example.com \"x\" is invalid: data: Forbidden: may not change",
                    "details": {
                        "name": "x", "group": "example.com", "kind": "ConfigMap",
                        "causes": [
                            { "reason": "FieldValueForbidden", "field": "data", "message": "Forbidden: may not change" },
                        ],
                    },
                },
            }),
        ),
        (
            "/validate",
            json!({ "operation": "DELETE", "object": null, "oldObject": {} }),
            json!({
                "uid": "u-1", "allowed": false,
                "status": { "status": "Failure", "code": 403, "reason": "Forbidden", "message": "x stays" },
            }),
        ),
        (
            "/validate",
            json!({ "operation": "UPDATE" }),
            json!({
                "uid": "u-1", "allowed": false,
                "status": {
                    "status": "Failure", "code": 400, "reason": "BadRequest", "message": "the request has no object",
                },
            }),
        ),
        (
            "/validate",
            json!({ "operation": "CONNECT" }),
            allowed.clone(),
        ),
    ];
    for (path, change, expected) in cases {
        let body = review(change.clone()).to_string();
        let answer = ask(&serving, post(path, body)).await;
        assert_eq!(answer, (200, expected), "{path} {change}");
    }
}

#[tokio::test]
async fn what_is_no_review_is_an_error_of_http() {
    let (serving, registry) = serving();
    let good = review(json!({})).to_string();
    let mode = |mode: &str| review(json!({ "object": { "data": { "mode": mode } } })).to_string();
    let typed = |api_version: &str, kind: &str| {
        let mut review = review(json!({}));
        review["apiVersion"] = json!(api_version);
        review["kind"] = json!(kind);
        review.to_string()
    };
    let truncated = good[..good.len() - 1].to_owned();
    let cases = [
        (post("/other", good.clone()), 404, "not found"),
        (post("/validate/", good.clone()), 404, "not found"),
        (
            HttpRequest::get("/validate").body(Full::default()).unwrap(),
            405,
            "a review is sent with POST",
        ),
        (
            HttpRequest::post("/validate")
                .body(Full::default())
                .unwrap(),
            415,
            "a review is JSON",
        ),
        (
            post("/validate", ""),
            400,
            "the body is no AdmissionReview: EOF while parsing",
        ),
        (
            post("/validate", truncated),
            400,
            "the body is no AdmissionReview: EOF while parsing an object",
        ),
        (
            post("/validate", "[]"),
            400,
            "the body is no AdmissionReview: ",
        ),
        (
            post("/validate", "[".repeat(100_000)),
            400,
            "the body is no AdmissionReview: ",
        ),
        (
            post("/validate", &b"\xff"[..]),
            400,
            "the body is no AdmissionReview: ",
        ),
        (
            post(
                "/validate",
                typed("admission.k8s.io/v1beta1", "AdmissionReview"),
            ),
            400,
            "the body is a \"AdmissionReview\" of \"admission.k8s.io/v1beta1\"",
        ),
        (
            post(
                "/validate",
                typed("admission.k8s.io/v1", "ConversionReview"),
            ),
            400,
            "the body is a \"ConversionReview\"",
        ),
        (
            post(
                "/validate",
                r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#,
            ),
            400,
            "the review has no request",
        ),
        (
            post(
                "/validate",
                review(json!({ "operation": "FROWN" })).to_string(),
            ),
            400,
            "the body is no AdmissionReview: unknown variant `FROWN`",
        ),
        (
            post("/validate", vec![b' '; 7 * 1024 * 1024 + 1]),
            413,
            "a review has at most 7340032 bytes",
        ),
        (
            post("/validate", mode("panic")),
            500,
            "the webhook panicked",
        ),
        (post("/mutate", mode("panic")), 500, "the webhook panicked"),
        (
            post("/validate?a=b&timeout=10ms", mode("slow")),
            504,
            "out of time",
        ),
        (post("/validate", mode("ok")), 200, ""),
    ];
    for (request, code, text) in cases {
        let shown = format!("{} {}", request.method(), request.uri());
        let answer = ask(&serving, request).await;
        let begins = answer
            .1
            .as_str()
            .is_none_or(|answer| answer.starts_with(text));
        assert!(
            answer.0 == code && begins,
            "{shown}: {answer:?}, not {code} {text}"
        );
    }
    let page = crate::metrics::page(&registry);
    let count = |series: &str| {
        let line = page.lines().find_map(|line| line.strip_prefix(series));
        line.unwrap_or_default().trim().to_owned()
    };
    let of = |path: &str, code: u16| {
        count(&format!(
            "controller_runtime_webhook_requests_total{{webhook=\"{path}\",code=\"{code}\"}}"
        ))
    };
    assert_eq!(
        [
            of("/validate", 400),
            of("/validate", 500),
            of("/mutate", 500)
        ],
        ["9", "1", "1"],
        "{page}"
    );
    assert_eq!(count("controller_runtime_webhook_panics_total"), "2");
    assert_eq!(
        count("controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"}"),
        "0"
    );
    assert_eq!(
        count("controller_runtime_webhook_latency_seconds_count{webhook=\"/mutate\"}"),
        "1"
    );
    assert!(!page.contains("/other"), "{page}");
}

/// One byte per second. The whole review would take minutes.
#[tokio::test(start_paused = true)]
async fn slow_clients_are_not_waited_for() {
    let (serving, _) = serving();
    let drip = |limit: &str| {
        let bytes = futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((
                Ok::<_, Infallible>(Frame::data(Bytes::from_static(b" "))),
                (),
            ))
        });
        HttpRequest::post(format!("/validate{limit}"))
            .header("content-type", "application/json; charset=utf-8")
            .body(BoxBody::new(
                StreamBody::new(bytes).map_err(|never| match never {}),
            ))
            .unwrap()
    };
    for (limit, seconds) in [
        ("", 30),
        ("?timeout=10s", 10),
        ("?timeout=1h", 30),
        ("?timeout=x", 30),
    ] {
        let started = tokio::time::Instant::now();
        let answer = serving
            .answer::<BoxBody<Bytes, Infallible>>(drip(limit))
            .await;
        assert_eq!(
            (answer.status.as_u16(), started.elapsed().as_secs()),
            (504, seconds),
            "{limit}"
        );
    }
}

/// Reviews with values of the wrong type in all places. Each gets an answer, without a panic.
#[tokio::test]
async fn random_reviews_are_answered() {
    let seed = seed();
    let (serving, _) = serving();
    let mut random = Random(seed | 1);
    let mut codes = BTreeMap::<bool, usize>::new();
    for number in 0..2_000 {
        let mut value = review(json!({
            "operation": random.one_of(&["CREATE", "UPDATE", "DELETE", "CONNECT"]),
            "object": { "data": { "mode": random.one_of(&["ok", "warn", "other"]) } },
        }));
        for _ in 0..random.below(4) {
            mutate(&mut value, &mut random);
        }
        let mut body = value.to_string().into_bytes();
        if random.below(4) == 0 {
            let at = random.below(body.len());
            body[at] = u8::try_from(random.below(256)).unwrap();
        }
        if random.below(8) == 0 {
            body.truncate(random.below(body.len()));
        }
        let path = random.one_of(&["/mutate", "/validate"]);
        let context = || {
            let shown = String::from_utf8_lossy(&body);
            format!("WEBHOOK_SEED={seed}, number {number}: {path} {shown}")
        };
        let answer = serving.answer(post(path, body.clone())).await;
        let is_review = answered(&answer).map_err(|code| format!("{code} for {}", context()));
        let is_review = is_review.unwrap();
        *codes.entry(is_review).or_default() += 1;
        reviews::admission(&body, is_review, &answer.text)
            .unwrap_or_else(|error| panic!("{error} for {}", context()));
    }
    assert_eq!(codes.len(), 2, "WEBHOOK_SEED={seed}: {codes:?}");
}

/// Incomplete bodies count, too. Refused and finished ones do not.
#[tokio::test(start_paused = true)]
async fn the_bodies_of_all_requests_have_a_limit() {
    use futures::stream::{self, StreamExt};

    let (serving, _) = serving();
    let serving = Arc::new(serving);
    let large = || Bytes::from(vec![b' '; 7 * 1024 * 1024]);
    let stuck = move || {
        let frames = stream::iter([Ok::<_, Infallible>(Frame::data(large()))]);
        let frames = frames.chain(stream::pending());
        HttpRequest::post("/validate?timeout=10s")
            .header("content-type", "application/json")
            .body(StreamBody::new(frames))
            .unwrap()
    };
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let serving = serving.clone();
        waiting.spawn(async move { serving.answer(stuck()).await.status.as_u16() });
    }
    let mut codes = waiting.join_all().await;
    codes.sort_unstable();
    assert_eq!(codes, [[503; 3].as_slice(), &[504; 9]].concat());
    assert_eq!(serving.budget.available_permits(), BUDGET);
    let good = review(json!({ "object": { "data": { "mode": "ok" } } })).to_string();
    assert_eq!(ask(&serving, post("/validate", good)).await.0, 200);
}
