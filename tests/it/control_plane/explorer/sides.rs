//! The two servers of the comparison.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::requests::{KINDS, Planned, crds, is_global, path_of};
use crate::wait;

/// An answer of a server.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) body: Value,
}

/// A server with the objects that it has returned.
pub(super) trait Side {
    fn raw(&mut self, method: &str, path: &str, content_type: &str, agent: &str, body: &str) -> (u16, String);
    fn seen(&mut self) -> &mut BTreeMap<String, Value>;
    fn namespace(&self) -> String;

    /// Creates the namespace, and returns its resource version.
    fn start(&mut self) -> String {
        let namespace = self.namespace();
        let mut created = self.send(&Planned::post("/api/v1/namespaces", json!({ "metadata": { "name": namespace } })));
        assert_eq!(created.code, 201, "{}", created.body);
        let account = json!({ "metadata": { "name": "default" } });
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        assert_eq!(self.send(&Planned::post(&path, account)).code, 201);
        created.body["metadata"]["resourceVersion"].take().as_str().unwrap().to_owned()
    }

    fn send(&mut self, request: &Planned) -> Answer {
        let namespace = self.namespace();
        let mut path = request.path.replace("NAMESPACE", &namespace);
        let collection = path.split('?').next().unwrap().to_owned();
        if path.contains("CONTINUE") {
            let list = self.seen().get(&place(&collection)).cloned().unwrap_or_default();
            path = path.replace("CONTINUE", list["metadata"]["continue"].as_str().unwrap_or_default());
        }
        let object =
            path.split('?').next().unwrap().trim_end_matches("/status").trim_end_matches("/finalize").to_owned();
        let known = match &request.of {
            Some(of) => self.seen().get(&of.replace("NAMESPACE", &namespace)).cloned().unwrap_or_default(),
            None => Value::Null,
        };
        let body = request.body_with(&known, &namespace);
        let (code, text) = self.raw(&request.method, &path, &request.content_type, &request.agent, &body);
        let mut body: Value = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.as_str()));
        if is_global(&request.kind)
            && let Some(items) = body.get_mut("items").and_then(Value::as_array_mut)
        {
            items.retain(|item| is_of(item, &namespace));
        }
        if body["items"].is_array() {
            self.seen().insert(place(&collection), body.clone());
        }
        let is_stored = !path.contains("dryRun");
        if body["metadata"]["uid"].is_string() && is_stored && body["kind"] != "Scale" {
            let object = match request.method.as_str() {
                "POST" => format!("{object}/{}", body["metadata"]["name"].as_str().unwrap()),
                _ => object,
            };
            self.seen().insert(place(&object), body.clone());
        }
        Answer { code, body }
    }
}

/// True for an object without a namespace that a sequence has created.
fn is_of(object: &Value, namespace: &str) -> bool {
    object["metadata"]["name"].as_str().unwrap().starts_with(&format!("{namespace}-"))
}

/// The events in the answer to a watch.
fn events(kind: &str, text: &str, namespace: &str) -> Vec<Value> {
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| !is_global(kind) || is_of(&event["object"], namespace)).collect()
}

/// A path in the first version of its kind.
fn place(path: &str) -> String {
    path.replace("/v1beta1/", "/v1/")
}

/// The real server, by a proxy without TLS.
pub(super) struct Real {
    address: SocketAddr,
    run: u64,
    seen: BTreeMap<String, Value>,
}

impl Real {
    pub(super) fn new(address: SocketAddr, run: u64) -> Self {
        Self { address, run, seen: BTreeMap::new() }
    }

    /// Frees the addresses of the Services of this run, and deletes its objects without a namespace.
    pub(super) fn clean(&mut self) {
        for kind in KINDS.into_iter().filter(|kind| *kind == "services" || is_global(kind)) {
            self.delete_all(kind);
        }
    }

    fn delete_all(&mut self, kind: &str) {
        let namespace = self.namespace();
        let path = path_of(kind).replace("NAMESPACE", &namespace);
        let objects = self.raw("GET", &path, "", "test", "").1;
        let objects: Value = serde_json::from_str(&objects).unwrap();
        let objects = objects["items"].as_array().unwrap().iter();
        for object in objects.filter(|object| !is_global(kind) || is_of(object, &namespace)) {
            let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
            let change = json!({ "metadata": { "finalizers": null } }).to_string();
            self.raw("PATCH", &path, "application/merge-patch+json", "test", &change);
            self.raw("DELETE", &path, "", "test", "");
            if kind == "namespaces" {
                let empty = json!({ "metadata": { "name": object["metadata"]["name"] } }).to_string();
                self.raw("PUT", &format!("{path}/finalize"), "application/json", "test", &empty);
            }
        }
    }

    /// Reads the events of a kind since a resource version.
    pub(super) fn watch(&self, kind: &str, since: &str) -> JoinHandle<Vec<Value>> {
        let path = format!("{}?watch=true&timeoutSeconds=1&resourceVersion={since}", path_of(kind))
            .replace("NAMESPACE", &self.namespace());
        let (address, kind, namespace) = (self.address, kind.to_owned(), self.namespace());
        std::thread::spawn(move || {
            let (code, text) = exchange(address, "GET", &path, "", "test", "");
            assert_eq!(code, 200, "{text}");
            events(&kind, &text, &namespace)
        })
    }
}

impl Side for Real {
    fn raw(&mut self, method: &str, path: &str, content_type: &str, agent: &str, body: &str) -> (u16, String) {
        exchange(self.address, method, path, content_type, agent, body)
    }

    fn seen(&mut self) -> &mut BTreeMap<String, Value> {
        &mut self.seen
    }

    fn namespace(&self) -> String {
        format!("explorer-{}-{}", std::process::id(), self.run)
    }
}

/// Sends a request, and returns the code and the body of the answer.
pub(super) fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    content_type: &str,
    agent: &str,
    body: &str,
) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let path = path.replace(' ', "%20");
    let media = if content_type.is_empty() { String::new() } else { format!("Content-Type: {content_type}\r\n") };
    // HTTP 1.0 has no chunks, and the answer ends with the connection.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\nUser-Agent: {agent}\r\nAccept: application/json\r\n{media}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // One write: the server may answer and close before it has read a second one.
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), text.to_owned())
}

/// Waits until the proxy answers.
pub(super) fn ready(address: SocketAddr) {
    wait::until(Duration::from_secs(60), || TcpStream::connect(address).map_err(|error| error.to_string())).unwrap();
}

/// Waits until the kind of a CRD is served.
pub(super) fn wait_for_kind(address: SocketAddr, path: &str) {
    wait::until(Duration::from_secs(60), || match exchange(address, "GET", path, "", "test", "") {
        (200, _) => Ok(()),
        (_, text) => Err(text),
    })
    .unwrap();
}

/// Sends a request to a server in memory, and returns the code and the body of the answer.
pub(super) fn exchange_in_memory(server: &explorer::ApiServer, request: &explorer::Request) -> (u16, String) {
    let mut response = server.answer(request).unwrap();
    let mut text = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    // A watch is pending when it has no more events.
    while let Poll::Ready(Some(Ok(frame))) = http_body::Body::poll_frame(Pin::new(response.body_mut()), &mut context) {
        text.extend_from_slice(frame.data_ref().unwrap());
    }
    (response.status().as_u16(), String::from_utf8(text).unwrap())
}

/// The server in memory.
pub(super) struct InMemory {
    server: explorer::ApiServer,
    run: u64,
    seen: BTreeMap<String, Value>,
}

impl InMemory {
    pub(super) fn new(run: u64) -> Self {
        let server = explorer::ApiServer::new();
        for crd in crds() {
            server.add_crd(&crd).unwrap();
        }
        Self { server, run, seen: BTreeMap::new() }
    }

    fn exchange(&self, method: &str, path: &str, content_type: &str, agent: &str, body: &str) -> (u16, String) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        let request = explorer::Request {
            method: method.parse().unwrap(),
            path: path.to_owned(),
            query: query.map(|(key, value)| (key.to_owned(), value.replace("%3D", "=").replace("%20", " "))).collect(),
            content_type: content_type.to_owned(),
            user_agent: agent.to_owned(),
            body: body.to_owned().into(),
        };
        exchange_in_memory(&self.server, &request)
    }

    pub(super) fn watch(&self, kind: &str, since: &str) -> Vec<Value> {
        let path =
            format!("{}?watch=true&resourceVersion={since}", path_of(kind)).replace("NAMESPACE", &self.namespace());
        let (code, text) = self.exchange("GET", &path, "", "test", "");
        assert_eq!(code, 200, "{text}");
        events(kind, &text, &self.namespace())
    }
}

impl Side for InMemory {
    fn raw(&mut self, method: &str, path: &str, content_type: &str, agent: &str, body: &str) -> (u16, String) {
        self.exchange(method, path, content_type, agent, body)
    }

    fn seen(&mut self) -> &mut BTreeMap<String, Value> {
        &mut self.seen
    }

    fn namespace(&self) -> String {
        format!("explorer-{}-{}", std::process::id(), self.run)
    }
}
