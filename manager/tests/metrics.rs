//! The metrics server with real sockets and TLS, and an API server that knows some tokens.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic, too")]

use std::convert::Infallible;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use clap::Parser;
use futures::future::join_all;
use hyper::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use manager::prometheus_client::metrics::counter::Counter;
use manager::{Manager, Options};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, SignatureScheme,
};

/// Ten times a usual step.
const LIMIT: Duration = Duration::from_secs(60);

/// Less than the time limit of a connection.
const BEFORE_ITS_TIME: Duration = Duration::from_secs(15);

/// TokenReviews and SubjectAccessReviews of an API server.
#[derive(Clone, Default)]
struct Reviews(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    health: Health,
    /// `reader` has lost its permission.
    forbidden: bool,
    asked: Vec<Value>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Health {
    #[default]
    Well,
    Failing,
    Silent,
}

impl Reviews {
    fn client(&self) -> Client {
        let reviews = self.clone();
        let answer = move |request: Request<Body>| {
            let reviews = reviews.clone();
            async move { Ok::<_, Infallible>(reviews.answer(request).await) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let body = request.into_body().collect_bytes().await.unwrap();
        let review: Value = serde_json::from_slice(&body).unwrap();
        let (health, forbidden) = {
            let mut state = self.0.lock().unwrap();
            state.asked.push(review.clone());
            (state.health, state.forbidden)
        };
        let spec = &review["spec"];
        let (code, answer) = match (health, review["kind"].as_str().unwrap()) {
            (Health::Silent, _) => std::future::pending().await,
            (Health::Failing, _) => (
                500,
                json!({ "kind": "Status", "status": "Failure", "code": 500 }),
            ),
            (Health::Well, "TokenReview") => {
                let user = spec["token"].as_str().unwrap().strip_suffix("-token");
                let user = user.map(|name| {
                    json!({ "username": name, "uid": "1", "groups": ["all"], "extra": { "pod": ["a"] } })
                });
                let status = json!({ "authenticated": user.is_some(), "user": user });
                (
                    201,
                    json!({ "metadata": {}, "spec": { "token": "" }, "status": status }),
                )
            }
            (Health::Well, _) => {
                let verb = &spec["nonResourceAttributes"]["verb"];
                let allowed = spec["user"] == "reader" && verb == "get" && !forbidden;
                (
                    201,
                    json!({ "metadata": {}, "spec": {}, "status": { "allowed": allowed } }),
                )
            }
        };
        let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
        *response.status_mut() = StatusCode::from_u16(code).unwrap();
        response
    }

    fn set(&self, health: Health) {
        self.0.lock().unwrap().health = health;
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().asked.len()
    }
}

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    options: Options,
}

struct Operator {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), manager::Error>>,
}

/// Returns an unused port.
fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

async fn operator(reviews: &Reviews, flags: &[&str]) -> Operator {
    let address = free_address();
    let bind = format!("--metrics-bind-address={address}");
    let args = ["test", "--health-probe-bind-address=0", &bind];
    let options = Args::parse_from(args.iter().chain(flags)).options;
    let (stop, stopped) = oneshot::channel::<()>();
    let manager = Manager::with_client("test", "0.1.0", options, reviews.client());
    let mut task = tokio::spawn(manager.run_until(async {
        let _ = stopped.await;
    }));
    let accepts = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = &mut task => panic!("it ended: {ended:?}"),
        accepts = tokio::time::timeout(LIMIT, accepts) => accepts.expect("it listens"),
    }
    Operator {
        address,
        _stop: stop,
        task,
    }
}

impl Operator {
    /// The response with its status line and headers.
    async fn ask(&self, request: &str, authorization: Option<&str>) -> String {
        let (stream, _) = self.connect(&[b"http/1.1"]).await.unwrap();
        say(stream, request, authorization).await
    }

    async fn get(&self, token: &str) -> String {
        let answer = self
            .ask("GET /metrics", Some(&format!("Bearer {token}")))
            .await;
        answer.split(' ').nth(1).unwrap().to_owned()
    }

    async fn connect(
        &self,
        protocols: &[&[u8]],
    ) -> std::io::Result<(impl AsyncRead + AsyncWrite + Unpin, CertificateDer<'static>)> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Arc::new(Anybody(provider.clone()));
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let stream = tokio::time::timeout(LIMIT, connecting)
            .await
            .expect("a handshake in time")?;
        let (_, connection) = stream.get_ref();
        assert_eq!(connection.alpn_protocol(), Some(&b"http/1.1"[..]));
        let certificate = connection.peer_certificates().unwrap()[0].clone();
        Ok((stream, certificate))
    }

    async fn certificate(&self) -> CertificateDer<'static> {
        self.connect(&[b"http/1.1"]).await.unwrap().1
    }
}

/// Sends a request, and reads until the server closes the connection.
async fn say(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    request: &str,
    authorization: Option<&str>,
) -> String {
    let authorization = authorization
        .map(|value| format!("Authorization: {value}\r\n"))
        .unwrap_or_default();
    let request = format!("{request} HTTP/1.1\r\nHost: localhost\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let reading = stream.read_to_string(&mut answer);
    tokio::time::timeout(LIMIT, reading)
        .await
        .expect("an answer in time")
        .unwrap();
    answer
}

/// Accepts any certificate, but verifies that the server has its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer,
        _: &[CertificateDer],
        _: &ServerName,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Advances the timers. Nothing may be in flight in a socket.
async fn pass(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn who_may_read() {
    let reviews = Reviews::default();
    let operator = operator(&reviews, &[]).await;
    let challenge = "www-authenticate: Bearer";
    for (request, authorization, status, text) in [
        ("GET /metrics", None, "401 Unauthorized", challenge),
        (
            "GET /metrics",
            Some("Basic cmVhZGVyLXRva2Vu"),
            "401 Unauthorized",
            challenge,
        ),
        (
            "GET /metrics",
            Some("Bearer "),
            "401 Unauthorized",
            challenge,
        ),
        (
            "GET /metrics",
            Some("Bearer made-up"),
            "401 Unauthorized",
            challenge,
        ),
        (
            "GET /metrics",
            Some("Bearer other-token"),
            "403 Forbidden",
            "\r\nAuthorization denied for user other",
        ),
        (
            "POST /metrics",
            Some("Bearer reader-token"),
            "403 Forbidden",
            "\r\nAuthorization denied for user reader",
        ),
        (
            "GET /metrics",
            Some("Bearer reader-token"),
            "200 OK",
            "\nprocess_resident_memory_bytes ",
        ),
        (
            "GET /metrics?a=b",
            Some("bearer reader-token"),
            "200 OK",
            "\nprocess_resident_memory_bytes ",
        ),
        ("GET /", None, "404 Not Found", "\r\nnot found"),
        (
            "GET /metrics/",
            Some("Bearer reader-token"),
            "404 Not Found",
            "\r\nnot found",
        ),
    ] {
        let answer = operator.ask(request, authorization).await;
        let expected = format!("HTTP/1.1 {status}\r\n");
        assert!(
            answer.starts_with(&expected) && answer.contains(text),
            "{request} {authorization:?}: {answer}"
        );
        assert_eq!(
            answer.contains("process_"),
            status == "200 OK",
            "{request} {authorization:?}: {answer}"
        );
    }
    let asked = reviews.0.lock().unwrap().asked.clone();
    assert_eq!(
        asked.last().unwrap()["spec"],
        json!({
            "user": "reader",
            "uid": "1",
            "groups": ["all"],
            "extra": { "pod": ["a"] },
            "nonResourceAttributes": { "path": "/metrics", "verb": "get" },
        })
    );
}

#[tokio::test]
async fn a_verdict_is_remembered_for_a_while() {
    let reviews = Reviews::default();
    let operator = operator(&reviews, &[]).await;
    for (token, code, count, lasts) in [
        ("reader-token", "200", 2, 60),
        ("other-token", "403", 2, 30),
        ("made-up", "401", 1, 30),
    ] {
        let before = reviews.count();
        let answers = join_all((0..20).map(|_| operator.get(token))).await;
        assert_eq!(answers, [code; 20]);
        assert_eq!(
            reviews.count(),
            before + count,
            "all of them share the reviews of {token}"
        );
        pass(lasts - 5).await;
        assert_eq!(operator.get(token).await, code);
        assert_eq!(
            reviews.count(),
            before + count,
            "{token} after {lasts} s less 5"
        );
        pass(5).await;
        assert_eq!(operator.get(token).await, code);
        assert_eq!(
            reviews.count(),
            before + 2 * count,
            "{token} after {lasts} s"
        );
    }
    reviews.0.lock().unwrap().forbidden = true;
    pass(60).await;
    assert_eq!(operator.get("reader-token").await, "403");
}

#[tokio::test]
async fn without_a_review_nobody_gets_anything_and_nothing_is_remembered() {
    let reviews = Reviews::default();
    let operator = operator(&reviews, &[]).await;
    reviews.set(Health::Failing);
    let answer = operator
        .ask("GET /metrics", Some("Bearer reader-token"))
        .await;
    assert!(
        answer.starts_with("HTTP/1.1 500 ") && answer.ends_with("\r\nAuthentication failed"),
        "{answer}"
    );
    reviews.set(Health::Silent);
    let before = reviews.count();
    let (code, ()) = tokio::join!(operator.get("reader-token"), async {
        while reviews.count() == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        pass(10).await;
    });
    assert_eq!(code, "500");
    reviews.set(Health::Well);
    assert_eq!(operator.get("reader-token").await, "200");
}

#[tokio::test]
async fn what_the_author_registers_is_served_and_asked() {
    let [metrics, probes] = [free_address(), free_address()];
    let flags = [
        format!("--metrics-bind-address={metrics}"),
        format!("--health-probe-bind-address={probes}"),
        "--metrics-secure=false".to_owned(),
    ];
    let words = std::iter::once("test").chain(flags.iter().map(String::as_str));
    let options = Args::parse_from(words).options;
    let client = Reviews::default().client();
    let mut manager = Manager::with_client("test", "0.1.0", options, client);
    let booked = Counter::<u64>::default();
    let registry = manager.metrics();
    registry.register("tickets_booked", "Tickets that were booked", booked.clone());
    manager.health_check("threads", || Ok(()));
    manager.ready_check("database", || Err("a secret".to_owned()));
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    booked.inc();
    let ask = async |address: SocketAddr, path: &str| {
        let connecting = async {
            loop {
                match TcpStream::connect(address).await {
                    Ok(stream) => break stream,
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        let stream = tokio::time::timeout(LIMIT, connecting).await;
        say(stream.expect("it listens"), &format!("GET {path}"), None).await
    };
    let page = ask(metrics, "/metrics").await;
    assert!(
        page.contains("\r\ncontent-type: application/openmetrics-text; version=1.0.0"),
        "{page}"
    );
    assert!(page.contains("\ntickets_booked_total 1\n"), "{page}");
    assert!(page.ends_with("\n# EOF\n"), "{page}");
    for (path, expected) in [
        ("/healthz?verbose", "[+]threads ok\nhealthz check passed\n"),
        (
            "/readyz",
            "[+]caches ok\n[-]database failed: reason withheld\n[+]watches ok\nreadyz check failed\n",
        ),
    ] {
        let answer = ask(probes, path).await;
        assert!(answer.ends_with(&format!("\r\n{expected}")), "{answer}");
    }
    running.abort();
}

#[tokio::test]
async fn without_tls_everybody_may_read() {
    let reviews = Reviews::default();
    let operator = operator(
        &reviews,
        &["--metrics-secure=false", "--metrics-cert-path=/nowhere"],
    )
    .await;
    let stream = TcpStream::connect(operator.address).await.unwrap();
    let answer = say(stream, "GET /metrics", None).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\nprocess_"),
        "{answer}"
    );
    assert_eq!(reviews.count(), 0);
}

#[tokio::test]
async fn the_protocol_is_http_1() {
    let operator = operator(&Reviews::default(), &[]).await;
    operator.connect(&[b"h2", b"http/1.1"]).await.unwrap();
    let error = operator
        .connect(&[b"h2"])
        .await
        .err()
        .expect("no other protocol");
    assert!(
        error.to_string().contains("NoApplicationProtocol"),
        "{error}"
    );
    // A client without TLS is disconnected.
    let mut stream = TcpStream::connect(operator.address).await.unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(LIMIT, stream.read_to_end(&mut answer))
        .await
        .expect("an end in time");
    assert!(!String::from_utf8_lossy(&answer).contains("process_"));
}

#[tokio::test]
async fn silent_clients_keep_nobody_out_and_do_not_stay() {
    let operator = operator(&Reviews::default(), &[]).await;
    let mut silent = Vec::new();
    for _ in 0..300 {
        // Connect one by one, to keep the kernel's accept queue short.
        silent.push(TcpStream::connect(operator.address).await.unwrap());
    }
    assert_eq!(operator.get("reader-token").await, "200");
    // The oldest connection was closed.
    let mut said = [0; 1];
    let ended = tokio::time::timeout(BEFORE_ITS_TIME, silent[0].read(&mut said)).await;
    assert_eq!(ended.expect("an end").unwrap_or(0), 0);
    // One byte does not extend the limit.
    for stream in &mut silent[200..] {
        let _ = stream.write_all(b"G").await;
    }
    pass(30).await;
    for mut stream in silent {
        let mut said = Vec::new();
        let read = stream.read_to_end(&mut said);
        let _ = tokio::time::timeout(LIMIT, read)
            .await
            .expect("an end in time");
    }
}

#[tokio::test]
async fn a_request_has_to_come_soon() {
    let flags = ["--metrics-secure=false"];
    let operator = operator(&Reviews::default(), &flags).await;
    let mut stream = TcpStream::connect(operator.address).await.unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\n")
        .await
        .unwrap();
    // Once a later client is served, the server has read the earlier request.
    let later = TcpStream::connect(operator.address).await.unwrap();
    say(later, "GET /metrics", None).await;
    pass(5).await;
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    let _ = tokio::time::timeout(BEFORE_ITS_TIME, read)
        .await
        .expect("an end");
    assert!(!answer.contains("process_"), "{answer}");
}

/// A folder with a certificate, mounted like a Secret: behind links that are swapped.
struct Folder {
    dir: PathBuf,
    version: u32,
}

impl Folder {
    fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("metrics-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        for file in ["tls.crt", "tls.key"] {
            std::os::unix::fs::symlink(Path::new("..data").join(file), dir.join(file)).unwrap();
        }
        Self { dir, version: 0 }
    }

    fn flag(&self) -> String {
        format!("--metrics-cert-path={}", self.dir.display())
    }

    fn put(&mut self, certificate: &str, key: &str) {
        self.version += 1;
        let data = format!("..{}", self.version);
        let folder = self.dir.join(&data);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("tls.crt"), certificate).unwrap();
        std::fs::write(folder.join("tls.key"), key).unwrap();
        std::os::unix::fs::symlink(&data, self.dir.join("..new")).unwrap();
        std::fs::rename(self.dir.join("..new"), self.dir.join("..data")).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

struct Pair {
    certificate: CertificateDer<'static>,
    text: String,
    key: String,
}

fn pair() -> Pair {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    Pair {
        certificate: certificate.der().clone(),
        text: certificate.pem(),
        key: key.serialize_pem(),
    }
}

/// The log of all tests in this process.
fn log() -> &'static Mutex<Vec<u8>> {
    static LOG: OnceLock<Mutex<Vec<u8>>> = OnceLock::new();
    LOG.get_or_init(|| {
        struct Writer;
        impl Write for Writer {
            fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
                log().lock().unwrap().extend(text);
                Ok(text.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        tracing_subscriber::fmt()
            .with_writer(|| Writer)
            .with_ansi(false)
            .init();
        Mutex::default()
    })
}

/// Number of log lines about an unusable certificate in this folder.
fn complaints(folder: &Folder) -> usize {
    let log = String::from_utf8(log().lock().unwrap().clone()).unwrap();
    let dir = folder.dir.display().to_string();
    log.lines()
        .filter(|line| {
            line.contains("ERROR") && line.contains("the old one stays") && line.contains(&dir)
        })
        .count()
}

#[tokio::test]
async fn a_given_certificate_is_followed() {
    log();
    let mut folder = Folder::new("followed");
    let [first, second, third] = [pair(), pair(), pair()];
    folder.put(&first.text, &first.key);
    let operator = operator(&Reviews::default(), &[&folder.flag()]).await;
    assert_eq!(operator.certificate().await, first.certificate);
    folder.put(&second.text, &second.key);
    assert_eq!(operator.certificate().await, second.certificate);

    for (number, (certificate, key)) in [
        (&first.text, &second.key),
        (&third.text, &"none".to_owned()),
        (&String::new(), &third.key),
    ]
    .iter()
    .enumerate()
    {
        folder.put(certificate, key);
        for _ in 0..3 {
            assert_eq!(operator.certificate().await, second.certificate);
        }
        assert_eq!(complaints(&folder), number + 1, "once for each");
    }
    std::fs::remove_file(folder.dir.join("..data")).unwrap();
    for _ in 0..3 {
        assert_eq!(operator.certificate().await, second.certificate);
    }
    assert_eq!(complaints(&folder), 4);
    folder.put(&third.text, &third.key);
    assert_eq!(operator.certificate().await, third.certificate);
    assert_eq!(operator.get("reader-token").await, "200");
}

#[tokio::test]
async fn the_files_of_a_certificate_may_have_other_names() {
    let folder = Folder::new("named");
    let given = pair();
    std::fs::write(folder.dir.join("a.pem"), &given.text).unwrap();
    std::fs::write(folder.dir.join("b.pem"), &given.key).unwrap();
    let flags = [
        &folder.flag(),
        "--metrics-cert-name=a.pem",
        "--metrics-cert-key=b.pem",
    ];
    assert_eq!(
        operator(&Reviews::default(), &flags)
            .await
            .certificate()
            .await,
        given.certificate
    );
}

#[tokio::test]
async fn without_a_given_certificate_each_process_makes_its_own() {
    let first = operator(&Reviews::default(), &[]).await;
    let second = operator(&Reviews::default(), &["--metrics-secure"]).await;
    assert_eq!(first.certificate().await, first.certificate().await);
    assert_ne!(first.certificate().await, second.certificate().await);
}

#[tokio::test]
async fn a_bad_certificate_at_the_start_is_an_error_unless_metrics_are_off() {
    let mut folder = Folder::new("bad");
    let [one, other] = [pair(), pair()];
    folder.put(&one.text, &other.key);
    let start = |address: &str, path: &str| {
        let address = format!("--metrics-bind-address={address}");
        let path = format!("--metrics-cert-path={path}");
        let options =
            Args::parse_from(["test", "--health-probe-bind-address=0", &address, &path]).options;
        let manager = Manager::with_client("test", "0.1.0", options, Reviews::default().client());
        tokio::time::timeout(LIMIT, manager.run_until(async {}))
    };
    let error = start("127.0.0.1:0", "/nowhere").await.unwrap().unwrap_err();
    let expected = "can't serve metrics: /nowhere/tls.crt: No such file or directory (os error 2)";
    assert_eq!(error.to_string(), expected);
    let path = folder.dir.display().to_string();
    let error = start("127.0.0.1:0", &path)
        .await
        .unwrap()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(&format!("can't serve metrics: {path}/tls.crt: ")),
        "{error}"
    );
    assert!(error.contains("KeyMismatch"), "{error}");
    start("0", "/nowhere").await.unwrap().unwrap();
}

#[tokio::test]
async fn it_ends_with_the_manager() {
    let operator = operator(&Reviews::default(), &[]).await;
    let Operator {
        address,
        _stop: stop,
        task,
    } = operator;
    drop(stop);
    tokio::time::timeout(LIMIT, task)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
