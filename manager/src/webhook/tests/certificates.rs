//! The lifecycle of certificates, with a Secret and configurations on a server that is a map.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use hyper::{Request, Response};
use k8s_openapi::ByteString;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::http::certificate::Certificate;
use crate::webhook::keeper::{Keeper, KeeperProgress};
use crate::webhook::pair::{CertificateRules, Data, Pair, split};
use crate::webhook::publish::{Place, Target};
use crate::webhook::publish::{confine, is_here};

const LIFE: Duration = Duration::from_secs(1200);
pub(super) const SECRET: &str = "/api/v1/namespaces/default/secrets/cert";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/m";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v";
const DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com";

/// Objects by path, with the conflicts of a real server.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    writes: Vec<String>,
    /// The write of another replica that comes before the next write.
    rival: Option<Value>,
}

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let body = request.into_body().collect_bytes().await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut state = self.0.lock().unwrap();
        let path = match (method.as_str(), body["metadata"]["name"].as_str()) {
            ("POST", Some(name)) => format!("{path}/{name}"),
            _ => path,
        };
        let failure = |code: u16| {
            let reason = if code == 404 { "NotFound" } else { "Conflict" };
            (
                code,
                json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "" }),
            )
        };
        if method != "GET"
            && let Some(rival) = state.rival.take()
        {
            state.put(&path, rival);
        }
        let existing = state.objects.get(&path).cloned();
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let (code, answer) = match (method.as_str(), existing) {
            ("GET", Some(object)) => (200, object),
            ("POST", Some(_)) => failure(409),
            ("POST", None) => (201, state.put(&path, body)),
            (_, None) => failure(404),
            ("PUT", Some(object)) if version(&object) != version(&body) => failure(409),
            ("PUT", Some(_)) => (200, state.put(&path, body)),
            (_, Some(object)) => {
                let patch: json_patch::Patch = serde_json::from_value(body).unwrap();
                let mut patched = object.clone();
                json_patch::patch(&mut patched, &patch).unwrap();
                if version(&object) == version(&patched) {
                    (200, state.put(&path, patched))
                } else {
                    failure(409)
                }
            }
        };
        let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
        *response.status_mut() = code.try_into().unwrap();
        response
    }

    fn put(&self, path: &str, object: Value) {
        let mut state = self.0.lock().unwrap();
        state.put(path, object);
        state.writes.clear();
    }

    pub(super) fn delete(&self, path: &str) {
        self.0.lock().unwrap().objects.remove(path);
    }

    fn get(&self, path: &str) -> Value {
        self.0
            .lock()
            .unwrap()
            .objects
            .get(path)
            .cloned()
            .unwrap_or_default()
    }

    fn writes(&self) -> Vec<String> {
        let writes = std::mem::take(&mut self.0.lock().unwrap().writes);
        writes
            .iter()
            .map(|path| path.rsplit('/').next().unwrap().to_owned())
            .collect()
    }

    fn text(&self, key: &str) -> String {
        let data: Data =
            serde_json::from_value(self.get(SECRET)["data"].clone()).unwrap_or_default();
        data.get(key)
            .map(|text| String::from_utf8(text.0.clone()).unwrap())
            .unwrap_or_default()
    }

    pub(super) fn bundles(&self) -> [String; 3] {
        let bundles = [
            (MUTATING, "/webhooks/0/clientConfig/caBundle"),
            (VALIDATING, "/webhooks/0/clientConfig/caBundle"),
            (DEFINITION, "/spec/conversion/webhook/clientConfig/caBundle"),
        ];
        bundles.map(|(path, pointer)| {
            let bundle = self.get(path).pointer(pointer).cloned().unwrap_or_default();
            let bundle: ByteString = serde_json::from_value(bundle).unwrap();
            String::from_utf8(bundle.0).unwrap()
        })
    }

    /// Returns the trusted authorities, which must be the same in all objects.
    fn trusted(&self) -> Vec<String> {
        let [first, second, third] = self.bundles();
        assert_eq!((&first, &first), (&second, &third));
        split(&first).collect()
    }
}

impl State {
    fn put(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.to_owned(), object.clone());
        self.writes.push(path.to_owned());
        object
    }
}

fn configuration() -> Value {
    let service = |name: &str| json!({ "service": { "name": name, "namespace": "default", "path": "/p", "port": 443 } });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "Any", "metadata": { "name": "m" },
        "webhooks": [
            { "name": "ours", "clientConfig": service("svc"), "new": 1 },
            { "name": "theirs", "clientConfig": service("other") },
        ],
    })
}

fn conversion_to(service: &str, bundle: Value) -> Value {
    let service = json!({ "name": service, "namespace": "default", "path": "/c", "port": 443 });
    let config = json!({ "service": service, "caBundle": bundle });
    let webhook = json!({ "clientConfig": config, "conversionReviewVersions": ["v1"] });
    json!({ "strategy": "Webhook", "webhook": webhook })
}

pub(super) fn server() -> Server {
    let server = Server::default();
    server.put(MUTATING, configuration());
    server.put(VALIDATING, configuration());
    let metadata = json!({ "name": "things.example.com" });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata,
        "spec": { "conversion": conversion_to("svc", json!(null)) },
    });
    server.put(DEFINITION, definition);
    server
}

/// A replica with the clock of tokio.
pub(super) struct Replica {
    keeper: Keeper,
    progress: KeeperProgress,
    pub(super) certificate: Arc<Certificate>,
}

impl Replica {
    pub(super) async fn start(server: &Server) -> Self {
        let (begin, started) = (SystemTime::now(), Instant::now());
        let keeper = Keeper {
            client: server.client(),
            namespace: "default".to_owned(),
            secret: Some("cert".to_owned()),
            rules: rules(),
            place: Place::Service {
                name: "svc".to_owned(),
                namespace: "default".to_owned(),
            },
            targets: vec![
                Target::parse("mutating:m").unwrap(),
                Target::parse("validating:v").unwrap(),
                Target::Definition("things.example.com".to_owned()),
            ],
            local: None,
            published: Arc::default(),
            clock: Box::new(move || begin + started.elapsed()),
        };
        let mut progress = KeeperProgress::default();
        let certificate = keeper.first(&mut progress).await;
        let mut replica = Self {
            keeper,
            progress,
            certificate,
        };
        assert!(!replica.round().await);
        replica
    }

    pub(super) async fn round(&mut self) -> bool {
        self.keeper
            .round(&mut self.progress, &self.certificate)
            .await
    }
}

fn rules() -> CertificateRules {
    CertificateRules {
        names: vec!["svc.default.svc".to_owned()],
        life: LIFE,
    }
}

pub(super) async fn advance(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_certificate_follows_another_and_is_always_trusted() {
    let server = server();
    let mut replica = Replica::start(&server).await;
    assert_eq!(server.writes(), ["cert", "m", "v", "things.example.com"]);
    let webhooks = &server.get(MUTATING)["webhooks"];
    assert_eq!(
        (
            &webhooks[0]["new"],
            &webhooks[1]["clientConfig"]["caBundle"]
        ),
        (&json!(1), &json!(null))
    );
    let mut conversion = server.get(DEFINITION)["spec"]["conversion"].clone();
    let bundle = conversion["webhook"]["clientConfig"]["caBundle"].take();
    assert!(bundle.is_string());
    assert_eq!(conversion, conversion_to("svc", json!(null)));
    assert_eq!(server.get(SECRET)["type"], "kubernetes.io/tls");
    let first = server.text("tls.crt");
    assert_eq!(server.text("next.crt"), "");
    let authority = |chain: &str| split(chain).last().unwrap();
    assert_eq!(server.trusted(), [authority(&first)]);

    // Nothing happens for two thirds of the validity.
    advance(790).await;
    assert!(!replica.round().await);
    assert_eq!(server.writes(), [""; 0]);

    // First, the next authority is published.
    advance(20).await;
    assert!(!replica.round().await);
    let second = server.text("next.crt");
    assert_eq!(server.text("tls.crt"), first);
    assert_eq!(server.trusted(), [authority(&second), authority(&first)]);
    server.writes();
    advance(59).await;
    assert!(!replica.round().await);
    assert_eq!(server.writes(), [""; 0]);

    // Then the certificate changes, and both authorities stay.
    advance(2).await;
    assert!(!replica.round().await);
    assert_eq!(
        (server.text("tls.crt"), server.text("next.crt")),
        (second.clone(), String::new())
    );
    assert_eq!(server.trusted(), [authority(&second), authority(&first)]);

    // Finally, the first authority is removed, after its certificate has expired.
    let ends = Pair {
        chain: first.clone(),
        key: server.text("tls.key"),
    };
    assert!(
        !ends.is_trusted(&rules().names, SystemTime::now()),
        "it is the key of the second one"
    );
    advance(320).await;
    assert!(!replica.round().await);
    assert_eq!(server.trusted().len(), 2);
    advance(90).await;
    assert!(!replica.round().await);
    assert_eq!(server.trusted(), [authority(&second)]);
}

#[tokio::test(start_paused = true)]
async fn replicas_agree() {
    let server = server();
    let rival = Pair::new(&rules().names, SystemTime::now(), LIFE).unwrap();
    let data = BTreeMap::from([
        ("tls.crt", ByteString(rival.chain.clone().into_bytes())),
        ("tls.key", ByteString(rival.key.clone().into_bytes())),
    ]);
    server.0.lock().unwrap().rival =
        Some(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": data }));
    let mut one = Replica::start(&server).await;
    assert_eq!(
        server.text("tls.crt"),
        rival.chain,
        "the one that was faster"
    );
    assert_eq!(server.trusted(), [rival.authority()]);
    let mut two = Replica::start(&server).await;
    server.writes();
    for _ in 0..3 {
        assert!(!one.round().await);
        assert!(!two.round().await);
        advance(60).await;
    }
    assert_eq!(
        server.writes(),
        [""; 0],
        "neither undoes what the other did"
    );

    // Both go through a rotation and always serve the same certificate.
    for _ in 0..100 {
        advance(30).await;
        one.round().await;
        two.round().await;
        let chain = server.text("tls.crt");
        assert!(
            server
                .trusted()
                .iter()
                .any(|authority| chain.ends_with(authority))
        );
    }
    assert_ne!(server.text("tls.crt"), rival.chain);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_good_is_replaced() {
    let now = SystemTime::now();
    let names = rules().names;
    let other = || Pair::new(&["other".to_owned()], now, LIFE).unwrap();
    let expired = Pair::new(&names, now - LIFE * 2, LIFE).unwrap();
    let mut mixed = Pair::new(&names, now, LIFE).unwrap();
    mixed.key = other().key;
    let foreign = {
        let [ours, theirs] = [Pair::new(&names, now, LIFE).unwrap(), other()];
        let leaf = split(&ours.chain).next().unwrap();
        Pair {
            chain: leaf + &theirs.authority(),
            key: ours.key,
        }
    };
    let broken = Pair {
        chain: "x".to_owned(),
        key: "y".to_owned(),
    };
    for (name, pair) in [
        ("other", other()),
        ("expired", expired),
        ("mixed", mixed),
        ("foreign", foreign),
        ("broken", broken),
    ] {
        let server = server();
        let data = BTreeMap::from([
            ("tls.crt", ByteString(pair.chain.clone().into_bytes())),
            ("tls.key", ByteString(pair.key.clone().into_bytes())),
            ("mine", ByteString(b"1".to_vec())),
        ]);
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "cert" }, "data": data });
        // At the start, there is nothing to continue with.
        server.put(SECRET, secret.clone());
        let mut replica = Replica::start(&server).await;
        let chain = server.text("tls.crt");
        assert_ne!(chain, pair.chain, "{name}");
        assert_eq!(server.trusted(), [split(&chain).last().unwrap()], "{name}");
        assert_eq!(server.text("mine"), "1", "{name}");

        // Later, the current pair stays until the next one is known, even if somebody deletes the Secret.
        for secret in [
            secret,
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "cert" } }),
        ] {
            let before = server.text("tls.crt");
            server.put(SECRET, secret);
            assert!(!replica.round().await, "{name}");
            assert_eq!(server.text("tls.crt"), before, "{name}");
            let next = server.text("next.crt");
            assert!(
                server.trusted().contains(&split(&next).last().unwrap()),
                "{name}"
            );
            advance(61).await;
            assert!(!replica.round().await, "{name}");
            assert_eq!(server.text("tls.crt"), next, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_shorter_life_counts_for_the_certificate_in_use() {
    let server = server();
    let long = Pair::new(&rules().names, SystemTime::now(), LIFE * 10).unwrap();
    let data = BTreeMap::from([
        ("tls.crt", ByteString(long.chain.clone().into_bytes())),
        ("tls.key", ByteString(long.key.clone().into_bytes())),
    ]);
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "cert" }, "data": data });
    server.put(SECRET, secret);
    let mut replica = Replica::start(&server).await;
    let next = server.text("next.crt");
    assert_eq!(
        (server.text("tls.crt"), server.trusted().len()),
        (long.chain, 2)
    );
    advance(61).await;
    assert!(!replica.round().await);
    assert_eq!(
        (server.text("tls.crt"), server.text("next.crt")),
        (next, String::new())
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_bundle_is_repaired_and_a_missing_object_is_waited_for() {
    let server = server();
    let mut replica = Replica::start(&server).await;
    let trusted = server.trusted();
    let mut changed = server.get(VALIDATING);
    changed["webhooks"][0]["clientConfig"]["caBundle"] = json!("eA==");
    server.put(VALIDATING, changed);
    assert!(!replica.round().await);
    assert_eq!(
        (server.trusted(), server.writes()),
        (trusted.clone(), vec!["v".to_owned()])
    );

    // While an object that needs the authority is missing, the certificate does not change.
    let definition = server.0.lock().unwrap().objects.remove(DEFINITION).unwrap();
    advance(900).await;
    for _ in 0..3 {
        assert!(replica.round().await);
        advance(61).await;
    }
    let chain = server.text("tls.crt");
    assert_eq!(split(&chain).last(), trusted.first().cloned());
    server.put(DEFINITION, definition);
    assert!(!replica.round().await);
    advance(61).await;
    assert!(!replica.round().await);
    assert_ne!(server.text("tls.crt"), chain);
}

/// Whoever deploys the CRD decides about its conversion.
#[tokio::test(start_paused = true)]
async fn a_crd_without_a_conversion_to_this_server_stays_as_it_is() {
    for conversion in [
        json!(null),
        json!({ "strategy": "None" }),
        conversion_to("other", json!(null)),
        conversion_to("other", json!("eA==")),
    ] {
        let server = server();
        let mut definition = server.get(DEFINITION);
        definition["spec"]["conversion"] = conversion;
        server.put(DEFINITION, definition.clone());
        let before = server.get(DEFINITION);
        let mut replica = Replica::start(&server).await;
        assert!(!replica.round().await);
        assert_eq!(server.writes(), ["cert", "m", "v"]);
        assert_eq!(server.get(DEFINITION), before);
    }
}

#[tokio::test(start_paused = true)]
async fn the_bundle_of_a_crd_is_published_and_then_owned_by_nobody() {
    let server = server();
    let mut definition = server.get(DEFINITION);
    let bundle = json!({ "f:webhook": { "f:clientConfig": { "f:caBundle": {} } } });
    definition["metadata"]["managedFields"] = json!([{
        "manager": "op", "operation": "Update", "fieldsV1": { "f:spec": { "f:conversion": bundle } },
    }]);
    server.put(DEFINITION, definition);
    let mut replica = Replica::start(&server).await;
    let written = ["cert", "m", "v", "things.example.com", "things.example.com"];
    assert_eq!(server.writes(), written);
    let managed = &server.get(DEFINITION)["metadata"]["managedFields"];
    assert_eq!(*managed, json!([]));
    assert!(!replica.round().await);
    assert_eq!(server.writes(), [""; 0]);
}

/// Nothing is kept on the server. The CRD points here, and records its previous conversion.
#[tokio::test(start_paused = true)]
async fn an_api_server_on_this_host_needs_no_service() {
    let server = server();
    let mut replica = Replica::start(&server).await;
    replica.keeper.secret = None;
    replica.keeper.place = Place::Local {
        url: "https://127.0.0.1:9443".to_owned(),
        operator: "op".to_owned(),
    };
    replica.progress = KeeperProgress::default();
    server.0.lock().unwrap().objects.remove(SECRET);
    let before = server.get(DEFINITION)["spec"]["conversion"].to_string();
    for _ in 0..2 {
        assert!(!replica.round().await);
    }
    assert_eq!(server.writes()[4..], ["things.example.com"]);
    assert_eq!(server.get(SECRET), json!(null));
    let definition = server.get(DEFINITION);
    let config = &definition["spec"]["conversion"]["webhook"]["clientConfig"];
    assert_eq!(
        (&config["url"], &config["service"]),
        (&json!("https://127.0.0.1:9443/convert"), &json!(null))
    );
    let metadata = &definition["metadata"];
    assert_eq!(
        (&metadata["labels"], &metadata["annotations"]),
        (
            &json!({ "memcached-sdk/local-webhooks": "op" }),
            &json!({ "memcached-sdk/conversion-before": before })
        )
    );
}

#[test]
fn only_an_api_server_on_this_host_is_local() {
    for (server, here) in [
        ("127.0.0.1:6443", true),
        ("127.0.0.1", true),
        ("localhost:6443", true),
        ("[::1]:6443", true),
        ("127.0.0.1.example.com:6443", false),
        ("192.168.1.1:6443", false),
        ("[2001:db8::1]:6443", false),
        ("kubernetes.default.svc", false),
    ] {
        assert_eq!(is_here(server), here, "{server}");
    }
}

#[test]
fn local_webhooks_are_about_the_namespaces_in_which_the_operator_works_here() {
    const NAME: &str = "kubernetes.io/metadata.name";
    let selector = |key: &str, operator: &str, values: &[&str]| {
        let first = json!({ "key": key, "operator": operator, "values": values });
        let second = json!({ "key": NAME, "operator": "NotIn", "values": ["test"] });
        json!({ "namespaceSelector": { "matchExpressions": [first, second] } })
    };
    let deployed = selector(NAME, "In", &["op-system"]);
    for (before, here, after) in [
        (
            &deployed,
            &["a", "b"][..],
            selector(NAME, "In", &["a", "b"]),
        ),
        (&deployed, &[], deployed.clone()),
        (
            &selector("team", "In", &["x"]),
            &["a"],
            selector("team", "In", &["x"]),
        ),
        (
            &selector(NAME, "NotIn", &["x"]),
            &["a"],
            selector(NAME, "NotIn", &["x"]),
        ),
        (&json!({ "name": "a" }), &["a"], json!({ "name": "a" })),
    ] {
        let here: Vec<String> = here.iter().map(|name| (*name).to_owned()).collect();
        let mut webhook = before.clone();
        confine(&mut webhook, &here);
        assert_eq!(webhook, after);
    }
}
