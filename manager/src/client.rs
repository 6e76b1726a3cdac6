//! Clients for the API server: an inner client with layers for attempts, retries, the gate and the user agent.

pub(crate) mod apply;
pub(crate) mod attempt;
pub(crate) mod connections;
mod create;
mod fence;
pub(crate) mod heard;
mod live;
pub(crate) mod objects;
mod takeover;
mod token;
pub(crate) mod visit;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hyper::{Request, Response};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config};
use tower::filter::FilterLayer;
use tower::retry::RetryLayer;
use tower::{BoxError, Service, service_fn};

use self::attempt::AttemptLayer;
use self::connections::Connections;
use self::token::TokenFile;
use crate::election::gate::Gate;

/// Makes a client with its own connections and without kube's retries, which would run below our layers.
pub(crate) fn plain(mut config: Config, connections: &Connections) -> kube::Result<Client> {
    config.default_retry = false;
    let token = TokenFile::take(&mut config)?;
    let builder = ClientBuilder::try_from((config, connections.clone()))?;
    Ok(match token {
        Some(token) => {
            let authorize = move |request| token.authorize(request);
            builder.with_layer(&FilterLayer::new(authorize)).build()
        }
        None => builder.build(),
    })
}

/// Makes a client that retries while the server is too busy. Each attempt passes the gate.
pub(crate) fn retrying(
    client: Client,
    attempt: &AttemptLayer,
    agent: &str,
    gate: Arc<Gate>,
) -> Client {
    let agent = agent.to_owned();
    let passed = gate.clone();
    let pass = move |request| fence::pass(request, &agent, &passed);
    // From the inside out: layers below the retry run again with each attempt.
    sending(client)
        .with_layer(&attempt.clone().behind(&gate))
        .with_layer(&FilterLayer::new(pass))
        .with_layer(&RetryLayer::new(RetryPolicy::server_retry()))
        .build()
}

/// Makes a client that sends each request once, with or without leadership.
pub(crate) fn single(client: Client, attempt: &AttemptLayer, agent: &str) -> Client {
    let agent = agent.to_owned();
    let name = move |request| fence::named(request, &agent);
    sending(client)
        .with_layer(attempt)
        .with_layer(&FilterLayer::new(name))
        .build()
}

fn sending(
    client: Client,
) -> ClientBuilder<
    impl Service<
        Request<Body>,
        Response = Response<Body>,
        Error = BoxError,
        Future = impl Future<Output = Result<Response<Body>, BoxError>> + Send + 'static,
    > + Clone
    + Send
    + 'static,
> {
    let namespace = client.default_namespace().to_owned();
    let send = move |request| {
        let client = client.clone();
        async move { client.send(request).await.map_err(BoxError::from) }
    };
    ClientBuilder::new(service_fn(send), namespace)
}

pub(crate) fn agent(operator: &str, version: &str, identity: &str) -> String {
    format!("{operator}/{version} ({identity})")
}

/// Returns a unique name of this process: the host name, which is that of the pod, and a random number. It differs from
/// the identity of an earlier process in the same container.
pub(crate) fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok());
    let host = host.as_deref().map_or("localhost", str::trim);
    let random = RandomState::new().hash_one(std::process::id());
    format!("{host}_{random:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_has_an_identity_of_its_own() {
        assert_ne!(identity(), identity());
    }
}
