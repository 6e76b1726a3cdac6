//! Clients for the API server: an inner client with layers for attempts, retries, the gate and the user agent.
//!
//! The inner client sends the token of a `tokenFile` or a service account. The gate keeps the writes of a replica
//! within its leadership.

pub(crate) mod apply;
pub(crate) mod attempt;
pub(crate) mod connections;
mod live;
pub(crate) mod objects;
pub(crate) mod visit;

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use kube::client::retry::RetryPolicy;
use kube::client::{AuthError, Body, ClientBuilder};
use kube::{Client, Config};
use tokio::time::Instant;
use tower::filter::FilterLayer;
use tower::retry::RetryLayer;
use tower::{BoxError, Service, service_fn};

use self::attempt::AttemptLayer;
use self::connections::Connections;
use crate::election::gate::Gate;
use crate::time;

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
    let pass = move |request| gated(request, &agent, &passed);
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
    let name = move |request| named(request, &agent);
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

#[derive(Debug, thiserror::Error)]
#[error("this replica does not lead, its write was not sent")]
struct WriteRefused;

/// Refuses writes without leadership. The user agent of a write holds the time of its check, for the audit log.
fn gated(request: Request<Body>, agent: &str, gate: &Gate) -> Result<Request<Body>, BoxError> {
    if !writes(request.method(), request.uri().path()) {
        return named(request, agent);
    }
    let (boot, wall) = (time::boot(), time::wall());
    if !gate.lets_pass(boot) {
        return Err(WriteRefused.into());
    }
    let (seconds, microseconds) = (wall.as_secs(), wall.subsec_micros());
    named(
        request,
        &format!("{agent} gate/{seconds}.{microseconds:06}"),
    )
}

fn named(mut request: Request<Body>, agent: &str) -> Result<Request<Body>, BoxError> {
    request
        .headers_mut()
        .insert(USER_AGENT, HeaderValue::from_str(agent)?);
    Ok(request)
}

/// Returns true for writes. Reviews are reads, although they use POST.
fn writes(method: &Method, path: &str) -> bool {
    let question = path.starts_with("/apis/authentication.k8s.io/")
        || path.starts_with("/apis/authorization.k8s.io/");
    !(question || [Method::GET, Method::HEAD, Method::OPTIONS].contains(method))
}

/// Time until a token file is read again. A rotated token stays valid longer than that.
const READ_AGAIN: Duration = Duration::from_secs(50);

/// The token of a `tokenFile` or a service account. kube rejects a trailing newline, client-go trims it.
#[derive(Clone)]
struct TokenFile {
    path: PathBuf,
    last: Arc<Mutex<(HeaderValue, Instant)>>,
}

impl TokenFile {
    /// Takes the token file from `config`, unless kube prefers another authentication method.
    fn take(config: &mut Config) -> kube::Result<Option<Self>> {
        let auth = &mut config.auth_info;
        let basic = auth.username.is_some() && auth.password.is_some();
        if basic || auth.token.is_some() || auth.auth_provider.is_some() {
            return Ok(None);
        }
        let Some(path) = auth.token_file.take() else {
            return Ok(None);
        };
        // A token file has precedence over a plugin, too.
        auth.exec = None;
        let path = PathBuf::from(path);
        let header = match read_token(&path) {
            Ok(header) => header.map_err(|error| kube::Error::HttpError(error.into()))?,
            Err(error) => return Err(kube::Error::Auth(AuthError::ReadTokenFile(error, path))),
        };
        let last = Arc::new(Mutex::new((header, Instant::now())));
        Ok(Some(Self { path, last }))
    }

    fn authorize(&self, mut request: Request<Body>) -> Result<Request<Body>, BoxError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.1.elapsed() >= READ_AGAIN {
            match read_token(&self.path) {
                Ok(Ok(header)) => *last = (header, Instant::now()),
                Ok(Err(error)) => self.keeps(&error),
                Err(error) => self.keeps(&error),
            }
        }
        request.headers_mut().insert(AUTHORIZATION, last.0.clone());
        Ok(request)
    }

    /// Logs the error. The last token may still be valid.
    fn keeps(&self, error: &dyn std::error::Error) {
        let file = self.path.display();
        tracing::warn!(%file, %error, "cannot read the token, using the last one");
    }
}

fn read_token(
    path: &PathBuf,
) -> std::io::Result<Result<HeaderValue, hyper::header::InvalidHeaderValue>> {
    let token = std::fs::read_to_string(path)?;
    let header = HeaderValue::try_from(format!("Bearer {}", token.trim()));
    Ok(header.map(|mut header| {
        header.set_sensitive(true);
        header
    }))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn every_process_has_an_identity_of_its_own() {
        assert_ne!(identity(), identity());
    }

    fn agent(method: &str, path: &str, gate: &Gate) -> Option<String> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .body(Body::empty());
        let request = gated(request.expect("a request"), "operator/me", gate).ok()?;
        Some(
            request.headers()[USER_AGENT]
                .to_str()
                .expect("text")
                .to_owned(),
        )
    }

    #[test]
    fn only_writes_need_the_gate_and_carry_its_time() {
        let review = "/apis/authentication.k8s.io/v1/tokenreviews";
        let gate = Gate::shut();
        assert_eq!(
            agent("GET", "/api/v1/pods", &gate).as_deref(),
            Some("operator/me")
        );
        assert_eq!(agent("POST", review, &gate).as_deref(), Some("operator/me"));
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            assert_eq!(agent(method, "/api/v1/pods", &gate), None);
        }
        gate.renew(time::boot() + Duration::from_secs(60));
        let agent = agent("PATCH", "/api/v1/pods", &gate).expect("it passes");
        let time = agent.strip_prefix("operator/me gate/").expect("the time");
        assert!(time.parse::<f64>().is_ok_and(|time| time > 1e9), "{time}");
    }

    /// A server that answers with the `Authorization` header of the request.
    async fn mirror() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut buffer = vec![0; 8192];
                    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                        let mut lines = text.lines();
                        let sent = lines.find_map(|line| line.strip_prefix("authorization: "));
                        let sent = sent.unwrap_or("nothing");
                        let length = sent.len();
                        let answer =
                            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{sent}");
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        format!("http://{address}")
    }

    #[tokio::test]
    async fn the_token_is_that_of_the_file_without_the_space_around_it() {
        let file = std::env::temp_dir().join(format!("token-{}", std::process::id()));
        std::fs::write(&file, "first\n").unwrap();
        let mut config = Config::new(mirror().await.parse().unwrap());
        config.auth_info.token_file = Some(file.display().to_string());
        let connections = Connections::behind(Arc::new(Gate::open()));
        let client = plain(config.clone(), &connections).unwrap();
        let ask = async || {
            let request = Request::get("/").body(Vec::new()).unwrap();
            client.request_text(request).await.unwrap()
        };
        assert_eq!(ask().await, "Bearer first");
        std::fs::write(&file, "second\r\n").unwrap();
        assert_eq!(ask().await, "Bearer first", "not read again yet");
        for (content, header) in [
            (Some("second\r\n"), "Bearer second"),
            (Some("third"), "Bearer third"),
            (None, "Bearer third"),
        ] {
            match content {
                Some(content) => std::fs::write(&file, content).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            tokio::time::pause();
            tokio::time::advance(READ_AGAIN).await;
            tokio::time::resume();
            assert_eq!(ask().await, header);
        }
        let error = plain(config, &connections).err().unwrap().to_string();
        assert!(error.contains("token"), "{error}");
    }
}
