//! The audit log: what was asked of the API server, by whom, with which answer.

use std::path::Path;

use serde_json::Value;

/// Every request once, when it is answered; a watch when it begins, too.
pub(super) const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) user: String,
    pub(crate) verb: String,
    pub(crate) resource: String,
    pub(crate) path: String,
    pub(crate) code: u64,
}

impl Request {
    /// Whether it changes anything; a lease is renewed for ever.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch") && self.resource != "leases"
    }
}

/// The requests of the log so far, in its order.
pub(crate) fn requests(log: &Path) -> Vec<Request> {
    events(log).iter().map(request).collect()
}

/// The same as the API server wrote it: objects of `audit.k8s.io`.
pub(crate) fn events(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    // The last line may be half-written.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(event: &Value) -> Request {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Request {
        user: text(&event["user"]["username"]),
        verb: text(&event["verb"]),
        resource: text(&event["objectRef"]["resource"]),
        path: text(&event["requestURI"]),
        code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
    }
}
