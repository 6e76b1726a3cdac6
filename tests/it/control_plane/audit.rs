//! The audit log: what was asked of the API server, by whom, with which answer.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// Every request once, when it is answered; a watch when it begins, too.
pub(super) const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// Nothing of the control plane and of the user `admin`, whose requests are many; but the API server's own leases, which
/// are a clock.
pub(crate) const OF_OPERATORS: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: [admin, 'system:kube-controller-manager']
- level: None
  userGroups: ['system:serviceaccounts:kube-system']
- level: Metadata
";

/// What became of each write to a Memcached and to what an operator makes for it, and of the rest that it happened.
pub(crate) const WITH_VERSIONS: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch]
  resources:
  - group: cache.example.com
  - group: apps
    resources: [deployments, deployments/status]
  - group: ''
    resources: [services]
- level: Metadata
";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) time: Timestamp,
    pub(crate) user: String,
    pub(crate) verb: String,
    /// With the subresource, if it is one: `memcacheds/status`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) code: u64,
    /// The resource version of the object that was answered, where the policy has answers.
    pub(crate) version: Option<String>,
}

impl Request {
    /// Whether it changes anything; a lease is renewed for ever.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch") && self.resource != "leases"
    }

    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

/// The requests of the log so far, in its order.
pub(crate) fn requests(log: &Path) -> Vec<Request> {
    events(log).iter().map(request).collect()
}

/// The same as the API server wrote it: objects of `audit.k8s.io`.
pub(crate) fn events(log: &Path) -> Vec<Value> {
    Log::of(log).unread()
}

/// A log that grows: each line is read once.
pub(crate) struct Log {
    path: PathBuf,
    position: u64,
    requests: Vec<Request>,
}

impl Log {
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), position: 0, requests: Vec::new() }
    }

    /// The requests so far, in the order of their answers.
    pub(crate) fn read(&mut self) -> &[Request] {
        let new = self.unread();
        self.requests.extend(new.iter().map(request));
        &self.requests
    }

    /// What has come since it was read last.
    fn unread(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        let mut file = File::open(&self.path).unwrap();
        file.seek(SeekFrom::Start(self.position)).unwrap();
        let mut reader = BufReader::new(file);
        let mut line = String::new();
        // The last line may be half-written.
        while reader.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
            self.position += line.len() as u64;
            events.push(serde_json::from_str(&line).unwrap());
            line.clear();
        }
        events
    }
}

fn request(event: &Value) -> Request {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &event["objectRef"];
    let resource = [&object["resource"], &object["subresource"]].into_iter().filter_map(Value::as_str);
    Request {
        time: event["stageTimestamp"].as_str().unwrap().parse().unwrap(),
        user: text(&event["user"]["username"]),
        verb: text(&event["verb"]),
        resource: resource.collect::<Vec<_>>().join("/"),
        namespace: text(&object["namespace"]),
        name: text(&object["name"]),
        path: text(&event["requestURI"]),
        code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
        version: event["responseObject"]["metadata"]["resourceVersion"].as_str().map(str::to_owned),
    }
}
