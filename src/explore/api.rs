//! The client of the API server, behind `kubectl proxy`: plain HTTP on a loopback port.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use explorer::exploration::{AUTHOR, ObjectKey};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use super::request::{ResourcePath, version_path};

const MERGE_PATCH: &str = "application/merge-patch+json";

/// Objects as the API server returns them.
pub(super) type ClusterObjects = BTreeMap<ObjectKey, Value>;

#[derive(Clone)]
pub(super) struct ApiClient {
    address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl ApiClient {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, client: Client::builder(TokioExecutor::new()).build(HttpConnector::new()) }
    }

    /// Sends a request to the API server, whatever host it was sent to.
    pub(super) async fn forward(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri: Uri = format!("http://{}{path}", self.address).parse()?;
        *request.uri_mut() = uri;
        request.headers_mut().remove(HOST);
        Ok(self.client.request(request).await?)
    }

    /// Sends JSON. Returns the code and the answer.
    pub(super) async fn send(&self, method: Method, path: &str, body: &Value) -> Result<(u16, Value)> {
        let media = if method == Method::PATCH { MERGE_PATCH } else { "application/json" };
        let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(serde_json::to_vec(body)?) };
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, media).body(Full::new(bytes))?;
        let response = self.forward(request).await.context("the API server does not answer")?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        let value = serde_json::from_slice(&bytes);
        Ok((code, value.unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into())))
    }

    /// Like [`Self::send`]; a refusal is an error with the message of the API server.
    pub(super) async fn must(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let (code, answer) = self.send(method, path, body).await?;
        if code >= 400 {
            bail!("{}", answer["message"].as_str().or(answer.as_str()).unwrap_or("the API server refuses the request"));
        }
        Ok(answer)
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value> {
        self.must(Method::GET, path, &Value::Null).await
    }

    /// Creates an object, or replaces the fields of the one with its name.
    pub(super) async fn apply(&self, resource: &ResourcePath, namespace: &str, object: &Value) -> Result<()> {
        let (code, answer) = self
            .send(Method::POST, &format!("{}?fieldManager={AUTHOR}", resource.collection(namespace)), object)
            .await?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match code {
            409 => self.must(Method::PATCH, &resource.object(namespace, name), object).await.map(|_| ()),
            400.. => bail!("{}", answer["message"].as_str().unwrap_or("the API server refuses the object")),
            _ => Ok(()),
        }
    }

    /// Lists the objects of a resource in all namespaces. Returns the kind too.
    pub(super) async fn list(&self, resource: &ResourcePath) -> Result<(String, ClusterObjects)> {
        let list = self.get(&resource.collection("")).await?;
        let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
        let mut objects = ClusterObjects::new();
        for item in list["items"].as_array().into_iter().flatten() {
            let mut object = item.clone();
            object["apiVersion"] = list["apiVersion"].clone();
            object["kind"] = kind.clone().into();
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
            objects.insert((resource.qualified(), text("namespace"), text("name")), object);
        }
        Ok((kind, objects))
    }

    /// Finds the resource of an object's kind. The flag is true if it is namespaced.
    pub(super) async fn resource_of(&self, object: &Value) -> Result<Option<(ResourcePath, bool)>> {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let (code, list) = self.send(Method::GET, &version_path(group, version), &Value::Null).await?;
        if code == 404 {
            return Ok(None);
        }
        let is_of = |entry: &&Value| {
            entry["kind"] == object["kind"] && entry["name"].as_str().is_some_and(|name| !name.contains('/'))
        };
        let entry = list["resources"].as_array().into_iter().flatten().find(is_of);
        Ok(entry.map(|entry| {
            let plural = entry["name"].as_str().unwrap_or_default().to_owned();
            let resource = ResourcePath { group: group.to_owned(), version: version.to_owned(), plural };
            (resource, entry["namespaced"] == true)
        }))
    }
}
