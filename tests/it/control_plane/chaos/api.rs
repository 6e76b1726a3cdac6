//! The API server as the driver and the judge ask it: often, and without a process for each question.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use crate::http;

/// Longer than any outage of these tests.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Plain HTTP to `kubectl proxy`.
#[derive(Clone, Copy)]
pub(super) struct Api(pub(super) SocketAddr);

impl Api {
    pub(super) fn get(self, path: &str) -> Result<Value, String> {
        self.send("GET", path, "")
    }

    /// Sends a document, as a merge patch where it is a patch: the answer, or what is wrong.
    pub(super) fn send(self, method: &str, path: &str, document: &str) -> Result<Value, String> {
        let answer = http::send(self.0, TIMEOUT, method, path, document);
        let (head, body) = answer.map_err(|error| format!("{method} {path}: {error}"))?;
        if http::code(&head).starts_with('2') {
            // Health is told in a word.
            Ok(serde_json::from_str(&body).unwrap_or(Value::Null))
        } else {
            Err(format!("{method} {path}: {head}\n{body}"))
        }
    }
}
