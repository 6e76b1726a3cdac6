//! Reads the audit log: requests with user and response code.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// Logs each request once when it completes, and a watch also when it starts.
pub(super) const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// Omits the control plane and the user `admin`, who send many requests. The API server's leases stay as a clock.
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

/// Logs the response of each write to a Memcached or an owned object, and the metadata of other requests.
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
    /// Includes the subresource: `memcacheds/status`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) code: u64,
    /// Resource version in the response, if the policy logs responses.
    pub(crate) version: Option<String>,
}

impl Request {
    /// Returns true for writes. Lease renewals do not count, because they never stop.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch") && self.resource != "leases"
    }

    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

pub(crate) fn requests(log: &Path) -> Vec<Request> {
    events(log).iter().map(request).collect()
}

/// The raw objects of `audit.k8s.io`.
pub(crate) fn events(log: &Path) -> Vec<Value> {
    Log::of(log).unread()
}

/// A growing log; each line is parsed once.
pub(crate) struct Log {
    path: PathBuf,
    position: u64,
    requests: Vec<Request>,
}

impl Log {
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), position: 0, requests: Vec::new() }
    }

    /// All requests so far, ordered by response.
    pub(crate) fn read(&mut self) -> &[Request] {
        let new = self.unread();
        self.requests.extend(new.iter().map(request));
        &self.requests
    }

    /// New events since the last read.
    fn unread(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        let mut file = File::open(&self.path).unwrap();
        file.seek(SeekFrom::Start(self.position)).unwrap();
        let mut reader = BufReader::new(file);
        let mut line = String::new();
        // The last line may be incomplete.
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
