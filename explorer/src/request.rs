//! Requests: the parts of a path, and the options of a query.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use crate::response::Refusal;

/// A request before it is handled, as the hook of the server sees it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method, such as GET.
    pub method: Method,
    /// The path without the query.
    pub path: String,
    /// The options of the query.
    pub query: BTreeMap<String, String>,
    /// The media type of the body, without parameters.
    pub content_type: String,
    /// The name of the program that sends the request.
    pub user_agent: String,
    /// The body.
    pub body: Bytes,
}

/// The object or collection that a path names.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) plural: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
}

impl Request {
    pub(crate) fn read(parts: &http::request::Parts, body: Bytes) -> Self {
        let header = |name| {
            let value = parts.headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let query = parts.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        Self {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: query
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(key), decoded(value))
                })
                .collect(),
            content_type: header(http::header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim().to_owned(),
            user_agent: header(http::header::USER_AGENT),
            body,
        }
    }

    pub(crate) fn option(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.option(name), "true" | "1")
    }

    /// The name in `managedFields`: the option, or the program.
    pub(crate) fn manager(&self) -> &str {
        match self.option("fieldManager") {
            "" => self.user_agent.split('/').next().unwrap_or_default(),
            manager => manager,
        }
    }

    /// The body as JSON.
    pub(crate) fn document(&self) -> Result<Value, Refusal> {
        serde_json::from_slice(&self.body).map_err(|_| Refusal::unsupported("the error for a body that is not JSON"))
    }

    /// Returns the object or collection of the path, if it is one.
    pub(crate) fn target(&self) -> Option<Target> {
        let mut parts = self.path.trim_matches('/').split('/');
        let mut target = Target::default();
        match parts.next()? {
            "api" => {}
            "apis" => target.group = parts.next()?.to_owned(),
            _ => return None,
        }
        target.version = parts.next()?.to_owned();
        let rest: Vec<&str> = parts.collect();
        let (namespace, rest) = match &rest[..] {
            // A namespace itself, with its subresources.
            ["namespaces", name, rest @ ..] if !rest.is_empty() && !matches!(rest, ["status" | "finalize"]) => {
                (*name, rest)
            }
            rest => ("", rest),
        };
        target.namespace = decoded(namespace);
        let mut rest = rest.iter().map(|part| decoded(part));
        target.plural = rest.next()?;
        target.name = rest.next().unwrap_or_default();
        target.subresource = rest.next().unwrap_or_default();
        rest.next().is_none().then_some(target)
    }
}

/// Decodes `%` and `+`.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (bytes[at], hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str) -> Request {
        let (parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
        Request::read(&parts, Bytes::new())
    }

    #[test]
    fn paths_name_objects_and_collections() {
        let target = |uri: &str| {
            let target = request(uri).target().unwrap();
            [target.group, target.version, target.namespace, target.plural, target.name, target.subresource]
        };
        assert_eq!(target("/api/v1/namespaces/a"), ["", "v1", "", "namespaces", "a", ""]);
        assert_eq!(target("/api/v1/namespaces/a/status"), ["", "v1", "", "namespaces", "a", "status"]);
        assert_eq!(target("/api/v1/namespaces/a/pods/b/status"), ["", "v1", "a", "pods", "b", "status"]);
        assert_eq!(target("/apis/apps/v1/deployments"), ["apps", "v1", "", "deployments", "", ""]);
        assert_eq!(request("/version").target(), None);
    }

    #[test]
    fn queries_are_decoded() {
        let request = request("/api/v1/pods?labelSelector=a%3Db%2Cc&force=true");
        assert_eq!(request.option("labelSelector"), "a=b,c");
        assert!(request.flag("force"));
    }
}
