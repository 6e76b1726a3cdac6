//! The endpoint `/metrics`: HTTPS for clients that may `get` it, or plain HTTP for everybody.

use std::io::Result;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use futures::future::{BoxFuture, FutureExt};
use hyper::Request;
use hyper::body::Incoming;
use kube::Client;
use prometheus_client::registry::Registry;

use super::address::BindAddress;
use super::authorization::Authorization;
use super::certificate::Certificate;
use super::server::{self, Answer, Requests};
use crate::metrics;
use crate::signal::Shutdown;

const PATH: &str = "/metrics";

pub(crate) struct Endpoint<'a> {
    pub(crate) address: &'a BindAddress,
    pub(crate) secure: bool,
    pub(crate) certificate: Option<[PathBuf; 2]>,
}

impl Endpoint<'_> {
    /// Binds the address. The returned future serves until it is dropped. Returns `None` if metrics are off.
    pub(crate) async fn bind(
        self,
        registry: Registry,
        client: Client,
    ) -> Result<Option<BoxFuture<'static, ()>>> {
        let Some(listener) = self.address.listen().await? else {
            return Ok(None);
        };
        let (registry, secure) = (Arc::new(registry), self.secure);
        let certificate = match self.certificate {
            _ if !secure => None,
            None => Some(Certificate::own(SystemTime::now())?),
            Some([certificate, key]) => Some(Certificate::files(certificate, key)?),
        };
        let authorization = secure.then(|| Arc::new(Authorization::new(client, PATH)));
        let answer = move |request: Request<Incoming>| {
            let (registry, authorization) = (registry.clone(), authorization.clone());
            async move {
                let (request, _) = request.into_parts();
                if request.uri.path() != PATH {
                    return Answer::not_found();
                }
                let refusal = match authorization {
                    Some(authorization) => authorization.refusal(&request).await,
                    None => None,
                };
                refusal.unwrap_or_else(|| Answer::metrics(metrics::page(&registry)))
            }
        };
        let address = listener.local_addr()?;
        tracing::info!(%address, secure, "Serving metrics server");
        let certificate = certificate.map(Arc::new);
        let never = Shutdown::default();
        let serve = server::serve(listener, certificate, Requests::One, never, answer);
        Ok(Some(serve.boxed()))
    }
}
