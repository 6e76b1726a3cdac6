//! The endpoint `/metrics`: HTTPS for clients that may `get` it, or plain HTTP for everybody.
//!
//! The API server authenticates the token of a client (TokenReview) and authorizes the path (SubjectAccessReview). Its
//! verdicts are kept for a short time.

use std::collections::BTreeMap;
use std::io::Result;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, FutureExt};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Request, StatusCode};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use prometheus_client::registry::Registry;
use ring::digest;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::certificate::Certificate;
use super::{Answer, BindAddress, Requests, serve};
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
        let serve = serve(listener, certificate, Requests::One, never, answer);
        Ok(Some(serve.boxed()))
    }
}

/// Time for which a permission is cached.
const ALLOWED: Duration = Duration::from_secs(60);
/// Time for which a refusal is cached. It is shorter, because somebody may be waiting for a new permission.
const REFUSED: Duration = Duration::from_secs(30);
const TIME_LIMIT: Duration = Duration::from_secs(10);
const CAPACITY: usize = 1000;

/// Reviews clients on the API server, and caches the results for a short time.
pub(crate) struct Authorization {
    client: Client,
    path: &'static str,
    reviews: Mutex<BTreeMap<Key, Arc<Review>>>,
}

/// The hash of a token and a verb. Tokens are not kept.
type Key = [u8; digest::SHA256_OUTPUT_LEN];

struct Review {
    started: Instant,
    /// Concurrent requests of the same client wait for one result. A failure is not cached.
    verdict: OnceCell<AccessVerdict>,
}

#[derive(Clone)]
enum AccessVerdict {
    Allowed,
    /// The token is not valid in this cluster.
    Unknown,
    /// The name of the user, who lacks the permission.
    Denied(String),
}

impl Authorization {
    /// Authorizes requests for one non-resource path.
    pub(crate) fn new(client: Client, path: &'static str) -> Self {
        Self {
            client,
            path,
            reviews: Mutex::default(),
        }
    }

    /// Returns the answer to a client without permission; `None` if the client is allowed.
    pub(crate) async fn refusal(&self, request: &Parts) -> Option<Answer> {
        let unauthorized = || Some(Answer::new(StatusCode::UNAUTHORIZED, "Unauthorized"));
        let Some(token) = bearer(&request.headers) else {
            return unauthorized();
        };
        let verb = request.method.as_str().to_ascii_lowercase();
        let review = self.review(key(token, &verb));
        let verdict = review.verdict.get_or_try_init(|| self.ask(token, verb));
        let error = match tokio::time::timeout(TIME_LIMIT, verdict).await {
            Ok(Ok(AccessVerdict::Allowed)) => return None,
            Ok(Ok(AccessVerdict::Unknown)) => return unauthorized(),
            Ok(Ok(AccessVerdict::Denied(user))) => {
                let text = format!("Authorization denied for user {user}");
                return Some(Answer::new(StatusCode::FORBIDDEN, text));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer from the API server within {TIME_LIMIT:?}"),
        };
        tracing::error!(error, path = self.path, "can't tell who may have this");
        let text = "Authentication failed";
        Some(Answer::new(StatusCode::INTERNAL_SERVER_ERROR, text))
    }

    /// Returns the cached or running review with this key, or a new one.
    fn review(&self, key: Key) -> Arc<Review> {
        let mut reviews = self.reviews.lock().unwrap_or_else(PoisonError::into_inner);
        reviews.retain(|_, review| review.is_fresh());
        if reviews.len() >= CAPACITY && !reviews.contains_key(&key) {
            let oldest = reviews.iter().min_by_key(|(_, review)| review.started);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                reviews.remove(&oldest);
            }
        }
        let new = || {
            Arc::new(Review {
                started: Instant::now(),
                verdict: OnceCell::new(),
            })
        };
        reviews.entry(key).or_insert_with(new).clone()
    }

    async fn ask(&self, token: &str, verb: String) -> kube::Result<AccessVerdict> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let reviews = Api::<TokenReview>::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &review).await?;
        let status = review.status.unwrap_or_default();
        if status.authenticated != Some(true) {
            return Ok(AccessVerdict::Unknown);
        }
        let user = status.user.unwrap_or_default();
        let name = user.username.clone().unwrap_or_default();
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(self.path.to_owned()),
                    verb: Some(verb),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews = Api::<SubjectAccessReview>::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &review).await?;
        match review.status {
            Some(status) if status.allowed => Ok(AccessVerdict::Allowed),
            _ => Ok(AccessVerdict::Denied(name)),
        }
    }
}

impl Review {
    fn is_fresh(&self) -> bool {
        let lasts = match self.verdict.get() {
            Some(AccessVerdict::Allowed) => ALLOWED,
            Some(AccessVerdict::Unknown | AccessVerdict::Denied(_)) => REFUSED,
            None => TIME_LIMIT,
        };
        self.started.elapsed() < lasts
    }
}

/// Returns the token of `Authorization: Bearer`. The scheme is case-insensitive (RFC 9110, section 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn key(token: &str, verb: &str) -> Key {
    // Neither contains a space.
    let text = format!("{verb} {token}");
    let mut key = Key::default();
    key.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    key
}

#[cfg(test)]
mod tests {
    use kube::Config;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_number_of_verdicts_is_bounded() {
        let config = Config::new("http://localhost".parse().unwrap());
        let client = Client::try_from(config).unwrap();
        let authorization = Authorization::new(client, "/metrics");
        let token = |number: usize| key(&number.to_string(), "get");
        for number in 0..=CAPACITY {
            authorization.review(token(number));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let known = |number| {
            let reviews = authorization.reviews.lock().unwrap();
            (reviews.len(), reviews.contains_key(&token(number)))
        };
        assert_eq!(known(0), (CAPACITY, false));
        assert_eq!(known(1), (CAPACITY, true));
        assert_eq!(known(CAPACITY), (CAPACITY, true));
        tokio::time::advance(TIME_LIMIT).await;
        authorization.review(token(0));
        assert_eq!(known(0), (1, true));
    }
}
