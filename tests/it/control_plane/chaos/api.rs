//! HTTP client for the driver and the judge: frequent requests without a process for each.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use crate::http;

/// Longer than any outage in these tests.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Plain HTTP to `kubectl proxy`.
#[derive(Clone, Copy)]
pub(super) struct Api(pub(super) SocketAddr);

impl Api {
    pub(super) fn get(self, path: &str) -> Result<Value, String> {
        self.send("GET", path, "")
    }

    /// Sends a document, with PATCH as a merge patch. Returns the response or an error.
    pub(super) fn send(self, method: &str, path: &str, document: &str) -> Result<Value, String> {
        let answer = http::send(self.0, TIMEOUT, method, path, document);
        let (head, body) = answer.map_err(|error| format!("{method} {path}: {error}"))?;
        if http::code(&head).starts_with('2') {
            // The health endpoint answers plain text.
            Ok(serde_json::from_str(&body).unwrap_or(Value::Null))
        } else {
            Err(format!("{method} {path}: {head}\n{body}"))
        }
    }
}
