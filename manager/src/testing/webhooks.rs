//! The webhooks of the operator in tests without a cluster: their configurations, and their answers.

use std::path::Path;

use clap::Parser;
use futures::FutureExt;
use hyper::body::Bytes;
use serde_json::Value;

use super::WEBHOOK_FILE;
use super::control_plane::{Args, file};
use super::mock::MockServer;
use crate::error;
use crate::manager::Manager;

/// Returns the webhooks that `register` adds, for `webhooks` of an `explorer::Explorer`: their configurations in
/// `config/webhook/manifests.yaml`, which `generate` writes, and a function that answers for them. It gets a path, and an
/// AdmissionReview or a ConversionReview, and returns the review with the response.
///
/// The caches of the context are empty, and its clients have no objects. A handler must not wait for a request.
///
/// # Panics
///
/// The file is not valid YAML, or two webhooks have the same path.
///
/// # Examples
///
/// ```
/// # fn register(_: &mut manager::Manager) {}
/// let (configurations, answer) = manager::testing::operator_webhooks(register);
/// // Before the first webhook.
/// assert!(configurations.is_empty());
/// let answer = answer("/validate", &serde_json::json!({}));
/// assert_eq!(answer.unwrap_err(), "the operator has no webhook at /validate");
/// ```
pub fn operator_webhooks(
    register: impl FnOnce(&mut Manager),
) -> (
    Vec<Value>,
    impl Fn(&str, &Value) -> Result<Value, String> + Send + Sync + 'static,
) {
    // A client belongs to a runtime.
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let handlers = {
        let _entered = runtime.enter();
        let flags = Args::parse_from(["test"]);
        let client = MockServer::default().client();
        let manager = Manager::with_client("test", "test", flags.manager, client);
        manager.with(register).webhooks.answering()
    };
    runtime.shutdown_background();
    let handlers = handlers.unwrap_or_else(|path| panic!("two webhooks are at {path}"));
    let path = Path::new(WEBHOOK_FILE);
    let mut configurations = if path.exists() {
        file(path)
    } else {
        Vec::new()
    };
    for configuration in &mut configurations {
        if let Some(webhooks) = configuration["webhooks"].as_array_mut() {
            webhooks.retain(|webhook| {
                let path = webhook["clientConfig"]["service"]["path"].as_str();
                path.is_some_and(|path| handlers.contains_key(path))
            });
        }
    }
    let answer = move |path: &str, review: &Value| {
        let handler = handlers
            .get(path)
            .ok_or_else(|| format!("the operator has no webhook at {path}"))?;
        let body = Bytes::from(review.to_string());
        let answer = error::catch_running(async { handler(body).await }).now_or_never();
        let answer = answer.ok_or_else(|| format!("the webhook at {path} waits"))?;
        let answer = answer.map_err(|panic| format!("the webhook at {path} panicked: {panic}"))?;
        serde_json::from_str(&answer?).map_err(|error| error.to_string())
    };
    (configurations, answer)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;
    use crate::webhook::{Defaulting, Denied, Request, Validating, Warnings};

    impl Defaulting<&'static str> for ConfigMap {
        fn default(&mut self, request: &Request<&'static str>) -> Result<(), Denied> {
            match *request.context {
                "panics" => panic!("no color"),
                _ => self.immutable = Some(true),
            }
            Ok(())
        }
    }

    impl Validating<&'static str> for ConfigMap {
        async fn validate_create(
            &self,
            request: &Request<&'static str>,
        ) -> Result<Warnings, Denied> {
            if *request.context == "waits" {
                tokio::task::yield_now().await;
            }
            Err(Denied::new("no room"))
        }
    }

    /// The answer of the webhook at a path, to the creation of a ConfigMap.
    fn answer(context: &'static str, path: &str) -> Result<Value, String> {
        let (_, answer) = operator_webhooks(|manager| {
            manager
                .webhooks(context)
                .defaulting::<ConfigMap>("/mutate")
                .validating::<ConfigMap>("/validate");
        });
        let kind = json!({ "group": "", "version": "v1", "kind": "ConfigMap" });
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "colors" } });
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "1", "kind": kind, "operation": "CREATE", "userInfo": {}, "name": "colors",
                "resource": { "group": "", "version": "v1", "resource": "configmaps" }, "object": object,
            },
        });
        answer(path, &review).map(|mut review| review["response"].take())
    }

    #[test]
    fn reviews_are_answered_as_the_server_of_the_webhooks_does() {
        let response = answer("", "/mutate").unwrap();
        assert_eq!(response["allowed"], true);
        let patch = serde_json::from_value::<Vec<u8>>(response["patch"].clone()).unwrap();
        let expected = json!([{ "op": "add", "path": "/immutable", "value": true }]);
        assert_eq!(serde_json::from_slice::<Value>(&patch).unwrap(), expected);
        let response = answer("", "/validate").unwrap();
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["message"], "no room");
    }

    #[test]
    fn a_handler_that_panics_or_waits_is_an_error() {
        for (context, path, expected) in [
            (
                "panics",
                "/mutate",
                "the webhook at /mutate panicked: no color",
            ),
            ("waits", "/validate", "the webhook at /validate waits"),
            ("", "/other", "the operator has no webhook at /other"),
        ] {
            assert_eq!(answer(context, path).unwrap_err(), expected);
        }
    }
}
