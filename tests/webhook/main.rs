//! Webhooks on a real API server: two replicas, two versions, and rotating certificates. `--kubeconfig` selects the
//! cluster. The API server runs on this host and reaches the replicas through a Service of the type ExternalName.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, CustomResource, ResourceExt};
use manager::webhook::{Defaulting, Denied, FieldErrors, Hub, Request, Spoke, Validating, Warnings};
use manager::{Manager, Object, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Time limit for steps of about a second, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
const CERT: &str = "webhook-server-cert";
/// Short, for several rotations in half a minute.
const LIFE: Duration = Duration::from_secs(12);

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[derive(Parser)]
struct Args {
    /// Number of objects in a converted list
    #[arg(long, default_value_t = 2_000)]
    objects: usize,
    /// Only run a replica, until SIGTERM
    #[arg(long)]
    serve: bool,
    #[command(flatten)]
    manager: Options,
}

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1beta1", kind = "Thing", namespaced)]
struct ThingSpec {
    size: Option<i32>,
    mode: Option<String>,
}

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1alpha1", kind = "Thing", root = "OldThing", namespaced)]
struct OldThingSpec {
    replicas: Option<i32>,
}

/// A kind with objects in an older version.
#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Moved", plural = "moved", namespaced)]
struct MovedSpec {
    size: usize,
}

impl Hub for Thing {}

impl Spoke for OldThing {
    type Hub = Thing;
    type Error = std::convert::Infallible;

    fn to_hub(&self) -> Result<Thing, Self::Error> {
        Ok(Thing::new("", ThingSpec { size: self.spec.replicas, mode: None }))
    }

    fn from_hub(hub: &Thing) -> Result<Self, Self::Error> {
        Ok(Self::new("", OldThingSpec { replicas: hub.spec.size }))
    }
}

impl Defaulting<()> for Thing {
    fn default(&mut self, _request: &Request<()>) -> Result<(), Denied> {
        self.spec.size.get_or_insert(3);
        Ok(())
    }
}

impl Validating<()> for Thing {
    async fn validate_create(&self, _request: &Request<()>) -> Result<Warnings, Denied> {
        let mut errors = FieldErrors::new();
        match self.spec.size {
            Some(0) => errors.invalid("spec.size", 0, "must be at least 1"),
            Some(13) => panic!("the handler panics"),
            _ => {}
        }
        errors.into_result(vec![])
    }
}

fn object<K: Object>(value: Value) -> Result<K> {
    Ok(serde_json::from_value(value)?)
}

fn thing(name: &str, spec: Value) -> Result<Thing> {
    let metadata = json!({ "name": name, "namespace": "default" });
    object(json!({ "apiVersion": "example.com/v1beta1", "kind": "Thing", "metadata": metadata, "spec": spec }))
}

fn check(what: &str, holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(what.to_owned().into()) }
}

/// Waits for a condition. Returns the elapsed time.
async fn until(what: &str, holds: impl AsyncFn() -> Result<bool>) -> Result<Duration> {
    let started = Instant::now();
    let mut last = "it does not hold".to_owned();
    while started.elapsed() < LIMIT {
        match holds().await {
            Ok(true) => return Ok(started.elapsed()),
            Ok(false) => {}
            Err(error) => last = error.to_string(),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("never came: {what}: {last}").into())
}

/// Creates the objects of a project's `config/`: CRD, webhook configurations and Service.
async fn install(client: &Client, ports: [u16; 2]) -> Result<()> {
    let create = PostParams::default();
    let version = |name: &str, storage: bool| {
        let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
        json!({ "name": name, "served": true, "storage": storage, "schema": schema })
    };
    let service = |path: &str, port: u16| {
        json!({ "service": { "name": "webhook-service", "namespace": "default", "path": path, "port": port } })
    };
    let definition = json!({
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
            "versions": [version("v1beta1", true), version("v1alpha1", false)],
            "conversion": {
                "strategy": "Webhook",
                "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": service("/convert", ports[0]) },
            },
        },
    });
    Api::<CustomResourceDefinition>::all(client.clone()).create(&create, &object(definition)?).await?;
    let configuration = |path: &str, port: u16| {
        let rule = json!({
            "apiGroups": ["example.com"], "apiVersions": ["v1beta1"], "resources": ["things"],
            "operations": ["CREATE", "UPDATE"],
        });
        json!({
            "metadata": { "name": "things" },
            "webhooks": [{
                "name": "things.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule],
                "failurePolicy": "Fail", "clientConfig": service(path, port),
            }],
        })
    };
    let mutating = object(configuration("/mutate", ports[0]))?;
    Api::<MutatingWebhookConfiguration>::all(client.clone()).create(&create, &mutating).await?;
    let validating = object(configuration("/validate", ports[1]))?;
    Api::<ValidatingWebhookConfiguration>::all(client.clone()).create(&create, &validating).await?;
    let spec = json!({ "type": "ExternalName", "externalName": "localhost" });
    let service = object(json!({ "metadata": { "name": "webhook-service" }, "spec": spec }))?;
    Api::<Service>::default_namespaced(client.clone()).create(&create, &service).await?;
    Ok(())
}

fn register(manager: &mut Manager) {
    let webhooks = manager.webhooks(()).defaulting::<Thing>("/mutate").validating::<Thing>("/validate");
    webhooks.conversion::<Thing>().spoke::<OldThing>();
}

/// A running replica and the sender that stops it.
type Replica = (watch::Sender<bool>, tokio::task::JoinHandle<()>);

async fn replica(options: &Options, port: u16) -> Result<Replica> {
    let mut options = options.clone();
    options.webhook.webhook_port = port;
    options.webhook.webhook_configurations = vec!["mutating:things".to_owned(), "validating:things".to_owned()];
    let manager = Manager::new("webhook", "0.0.0", options).await?.with(register);
    let (stop, mut stopped) = watch::channel(false);
    let running = tokio::spawn(async move {
        let told = async { drop(stopped.wait_for(|stop| *stop).await) };
        if let Err(error) = manager.run_until(told).await {
            println!("a replica ended: {error}");
        }
    });
    Ok((stop, running))
}

struct Steps {
    client: Client,
    things: Api<Thing>,
    old: Api<OldThing>,
    secrets: Api<Secret>,
}

impl Steps {
    /// Creates, converts and deletes an object, and checks that an invalid one is rejected. Returns true if defaulting
    /// and conversion worked.
    async fn works(&self, name: &str) -> Result<bool> {
        let created = self.things.create(&PostParams::default(), &thing(name, json!({ "mode": "fast" }))?).await?;
        let converted = self.old.get(name).await;
        self.things.delete(name, &DeleteParams::default()).await?;
        let refused = self.things.create(&PostParams::default(), &thing(name, json!({ "size": 0 }))?).await;
        let refused = refused.err().map(|error| error.to_string()).unwrap_or_default();
        let message = format!("Thing.example.com \"{name}\" is invalid: spec.size: Invalid value: 0: must be at least 1");
        check(&refused, refused.contains(&message))?;
        Ok(created.spec.size == Some(3) && converted?.spec.replicas == Some(3))
    }

    async fn secret(&self) -> Result<Value> {
        let secret = self.secrets.get_opt(CERT).await?;
        Ok(json!(secret.and_then(|secret| secret.data)))
    }

    async fn chain(&self) -> Result<[String; 2]> {
        let data = self.secrets.get(CERT).await?.data.unwrap_or_default();
        let chain = data.get("tls.crt").map(|chain| chain.0.clone()).unwrap_or_default();
        let chain = String::from_utf8(chain)?;
        let authority = chain.rfind("-----BEGIN").ok_or("the chain has no authority")?;
        Ok([chain[..authority].to_owned(), chain[authority..].to_owned()])
    }

    async fn put_certificate(&self, data: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "data": data }));
        self.secrets.patch(CERT, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Changes the validating webhook like another client.
    async fn change_validating(&self, field: &str, value: Value) -> Result<()> {
        let patch = json!([{ "op": "replace", "path": format!("/webhooks/0/{field}"), "value": value }]);
        let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
        let api = Api::<ValidatingWebhookConfiguration>::all(self.client.clone());
        api.patch("things", &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// The `caBundle` of the validating webhook.
    async fn bundle(&self) -> Result<Value> {
        let api = Api::<ValidatingWebhookConfiguration>::all(self.client.clone());
        Ok(json!(api.get("things").await?.webhooks)[0]["clientConfig"]["caBundle"].clone())
    }

    /// The error for an object; empty if it is accepted.
    async fn refusal(&self, name: &str, spec: Value) -> Result<String> {
        let created = self.things.create(&PostParams::default(), &thing(name, spec)?).await;
        Ok(created.err().map(|error| error.to_string()).unwrap_or_default())
    }

    /// Sends fifty requests per second during `meanwhile`. Fails if a request fails; returns their number.
    async fn under_load(self: &Arc<Self>, meanwhile: impl Future<Output = Result<()>>) -> Result<usize> {
        let (done, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let load = tokio::spawn({
            let (steps, done, sent) = (self.clone(), done.clone(), sent.clone());
            async move {
                let mut pace = tokio::time::interval(Duration::from_millis(20));
                let mut running = tokio::task::JoinSet::new();
                while !done.load(Ordering::SeqCst) {
                    pace.tick().await;
                    let (steps, number) = (steps.clone(), sent.fetch_add(1, Ordering::SeqCst));
                    running.spawn(async move {
                        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
                        match number % 2 {
                            0 => steps.old.get("kept").await.map(drop).map_err(|error| error.to_string()),
                            _ => match thing(&format!("load-{number}"), json!({})) {
                                Ok(thing) => {
                                    let created = steps.things.create(&dry_run, &thing).await;
                                    created.map(drop).map_err(|error| error.to_string())
                                }
                                Err(error) => Err(error.to_string()),
                            },
                        }
                    });
                }
                let ended = running.join_all().await;
                ended.into_iter().filter_map(Result::err).collect::<Vec<String>>()
            }
        });
        let meanwhile = meanwhile.await;
        done.store(true, Ordering::SeqCst);
        let failed = load.await?;
        meanwhile?;
        check(&format!("{} failed: {:?}", failed.len(), failed.first()), failed.is_empty())?;
        Ok(sent.load(Ordering::SeqCst))
    }

    async fn rotated(&self) -> Result<()> {
        let before = self.secret().await?["tls.crt"].clone();
        let other = async || Ok(self.secret().await?["tls.crt"] != before);
        until("another certificate", other).await.map(drop)
    }

    async fn certificates(self: &Arc<Self>) -> Result<()> {
        self.things.create(&PostParams::default(), &thing("kept", json!({}))?).await?;
        let sent = self.under_load(async {
            for _ in 0..3 {
                self.rotated().await?;
            }
            Ok(())
        });
        println!("3 rotations under {} requests, none failed", sent.await?);

        let [_, before] = self.chain().await?;
        let sent = self.under_load(async {
            self.secrets.delete(CERT, &DeleteParams::default()).await?;
            until("a Secret", async || Ok(!self.secret().await?.is_null())).await?;
            self.rotated().await?;
            self.put_certificate(json!({ "tls.crt": "eA==", "ca.crt": "eA==" })).await?;
            until("a certificate", async || Ok(self.secret().await?["tls.crt"] != "eA==")).await?;
            self.rotated().await?;
            let [own, _] = self.chain().await?;
            let foreign = ByteString((own + &before).into_bytes());
            self.put_certificate(json!({ "tls.crt": foreign })).await?;
            until("a certificate of its authority", async || Ok(self.chain().await?[1] != before)).await?;
            self.rotated().await
        });
        println!("a missing, a broken and a foreign certificate under {} requests, none failed", sent.await?);

        self.change_validating("clientConfig/caBundle", Value::Null).await?;
        let repaired = async || Ok(self.bundle().await?.is_string() && self.works("repaired").await?);
        let took = until("a repaired caBundle", repaired).await?;
        println!("a wrong caBundle is repaired after {took:?}");
        Ok(())
    }

    /// Certificates from files: the operator does not maintain the `caBundle`, so an untrusted certificate is not
    /// called.
    async fn files(&self, options: &Options, ports: [u16; 2]) -> Result<()> {
        let folder = std::env::temp_dir().join(format!("webhook-certificate-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        for (name, bytes) in self.secrets.get(CERT).await?.data.unwrap_or_default() {
            std::fs::write(folder.join(name), bytes.0)?;
        }
        let mut options = options.clone();
        options.webhook.webhook_cert_path = Some(folder.clone());
        let [one, two] = [replica(&options, ports[0]).await?, replica(&options, ports[1]).await?];
        until("webhooks with the certificate in files", async || self.works("files").await).await?;
        let bundle = self.bundle().await?;
        check("the bundle is there", bundle.is_string())?;
        self.change_validating("clientConfig/caBundle", Value::Null).await?;
        let untrusted = async || Ok(self.refusal("untrusted", json!({})).await?.contains("x509: certificate"));
        until("that a wrong caBundle is noticed", untrusted).await?;
        self.change_validating("clientConfig/caBundle", bundle).await?;
        until("the right caBundle", async || self.works("trusted").await).await?;
        println!("with a wrong caBundle the webhook is not asked");
        stop(one).await?;
        stop(two).await?;
        Ok(std::fs::remove_dir_all(folder)?)
    }

    async fn failure_policy(&self, replica: Replica) -> Result<()> {
        let panicked = self.refusal("panics", json!({ "size": 13 })).await?;
        check(&panicked, panicked.contains("failed calling webhook") && panicked.contains("panicked"))?;
        stop(replica).await?;
        let stopped = self.refusal("stopped", json!({})).await?;
        check(&stopped, stopped.contains("failed calling webhook"))?;
        self.change_validating("failurePolicy", json!("Ignore")).await?;
        until("that it is ignored", async || Ok(self.refusal("stopped", json!({})).await?.is_empty())).await?;
        println!("the failurePolicy decides");
        Ok(())
    }

    async fn many(self: &Arc<Self>, count: usize) -> Result<()> {
        for chunk in (0..count).collect::<Vec<_>>().chunks(20) {
            let mut creating = tokio::task::JoinSet::new();
            for number in chunk.iter().copied() {
                let steps = self.clone();
                creating.spawn(async move {
                    let thing = thing(&format!("many-{number}"), json!({ "mode": "fast" }))?;
                    steps.things.create(&PostParams::default(), &thing).await?;
                    Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
                });
            }
            creating.join_all().await.into_iter().collect::<Result<()>>()?;
        }
        let list = ListParams::default();
        for round in ["first", "second"] {
            let started = Instant::now();
            let stored = self.things.list(&list).await?.items.len();
            let plain = started.elapsed();
            let started = Instant::now();
            let old = self.old.list(&list).await?;
            let converted = started.elapsed();
            check("all are converted", old.items.len() == stored && stored >= count)?;
            let kept = |thing: &OldThing| thing.annotations().contains_key("example.com/conversion-data");
            check("nothing is lost", old.items.iter().filter(|thing| kept(thing)).count() >= count)?;
            let rate = |took: Duration| stored as f64 / took.as_secs_f64();
            println!(
                "{round} list of {stored}: {:.0} objects/s as stored, {:.0} objects/s converted",
                rate(plain),
                rate(converted)
            );
        }
        Ok(())
    }
}

/// The CRD of [`Moved`] with these versions; the first one is stored.
fn moved(versions: &[&str]) -> Value {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let version = |(index, name): (usize, &&str)| json!({ "name": name, "served": true, "storage": index == 0, "schema": schema });
    let versions = Vec::from_iter(versions.iter().enumerate().map(version));
    let names = json!({ "kind": "Moved", "plural": "moved" });
    json!({ "spec": { "group": "example.com", "scope": "Namespaced", "names": names, "versions": versions } })
}

/// Migrates objects while they change, and then removes the old version.
async fn migrate(client: &Client, options: &Options, count: usize) -> Result<()> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let mut definition = moved(&["v1alpha1"]);
    definition["metadata"] = json!({ "name": "moved.example.com" });
    definitions.create(&PostParams::default(), &object(definition)?).await?;
    let stored = async || {
        let definition = definitions.get("moved.example.com").await?;
        Ok::<_, kube::Error>(definition.status.and_then(|status| status.stored_versions).unwrap_or_default())
    };
    let change = async |versions: &[&str]| {
        let patch = Patch::Merge(moved(versions));
        definitions.patch("moved.example.com", &PatchParams::default(), &patch).await.map(drop)
    };
    let mut resource = ApiResource::erase::<Moved>(&());
    (resource.version, resource.api_version) = ("v1alpha1".to_owned(), "example.com/v1alpha1".to_owned());
    let old = Api::<DynamicObject>::default_namespaced_with(client.clone(), &resource);
    until("the old version", async || Ok(old.list(&ListParams::default()).await.is_ok())).await?;
    for number in 0..count {
        let mut object = DynamicObject::new(&format!("moved-{number}"), &resource);
        object.data = json!({ "spec": { "size": number } });
        old.create(&PostParams::default(), &object).await?;
    }
    change(&["v1", "v1alpha1"]).await?;
    until("two versions", async || Ok(stored().await? == ["v1alpha1", "v1"])).await?;
    let refused = change(&["v1"]).await.err().map(|error| error.to_string()).unwrap_or_default();
    check(&refused, refused.contains("status.storedVersions"))?;

    let all = Api::<Moved>::default_namespaced(client.clone());
    let (done, changes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writer = tokio::spawn({
        let (all, done, changes) = (all.clone(), done.clone(), changes.clone());
        async move {
            while !done.load(Ordering::SeqCst) {
                let number = changes.fetch_add(1, Ordering::SeqCst);
                // Backwards, so that the changes meet the migration.
                let name = format!("moved-{}", count - 1 - number % count);
                let patch =
                    Patch::Merge(json!({ "metadata": { "annotations": { "change": number.to_string() } } }));
                all.patch(&name, &PatchParams::default(), &patch).await?;
            }
            Ok::<_, kube::Error>(())
        }
    });
    let mut manager = Manager::new("webhook", "0.0.0", options.clone()).await?;
    manager.migrate_storage::<Moved>();
    let (stop, mut stopped) = watch::channel(false);
    let running = tokio::spawn(async move {
        let told = async { drop(stopped.wait_for(|stop| *stop).await) };
        manager.run_until(told).await
    });
    let took = until("one version", async || Ok(stored().await? == ["v1"])).await?;
    done.store(true, Ordering::SeqCst);
    writer.await??;
    stop.send(true)?;
    running.await??;
    change(&["v1"]).await?;
    let things = all.list(&ListParams::default()).await?.items;
    let kept = things.iter().filter(|thing| thing.name_any() == format!("moved-{}", thing.spec.size)).count();
    check("all are there", kept == count)?;
    println!("{count} objects migrated in {took:?} beside {} changes", changes.load(Ordering::SeqCst));
    Ok(())
}

async fn run(args: Args) -> Result<()> {
    let probe = Manager::new("webhook", "0.0.0", args.manager.clone()).await?;
    let client = probe.client();
    let free = || -> Result<u16> { Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port()) };
    let ports = [free()?, free()?];
    install(&client, ports).await?;
    let steps = Arc::new(Steps {
        things: Api::default_namespaced(client.clone()),
        old: Api::default_namespaced(client.clone()),
        secrets: Api::default_namespaced(client.clone()),
        client,
    });
    let mut options = args.manager;
    migrate(&steps.client, &options, 1_000).await?;
    let replicas = [replica(&options, ports[0]).await?, replica(&options, ports[1]).await?];
    let took = until("working webhooks", async || steps.works("first").await).await?;
    println!("default, validate and convert work {took:?} after the start of two replicas");
    steps.many(args.objects).await?;
    for replica in replicas {
        stop(replica).await?;
    }
    steps.files(&options, ports).await?;
    // After a CRD change the API server reads all objects again, so keep few of them from here on.
    steps.things.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    steps.secrets.delete(CERT, &DeleteParams::default()).await?;
    options.webhook.webhook_cert_duration = LIFE;
    let [one, two] = [replica(&options, ports[0]).await?, replica(&options, ports[1]).await?];
    until("working webhooks", async || steps.works("second").await).await?;
    steps.certificates().await?;
    stop(one).await?;
    stop(two).await?;
    // Wait until the certificate expires.
    tokio::time::sleep(LIFE).await;
    let [_, expired] = steps.chain().await?;
    let [one, two] = [replica(&options, ports[0]).await?, replica(&options, ports[1]).await?];
    let took = until("working webhooks", async || steps.works("third").await).await?;
    check("another certificate", steps.chain().await?[1] != expired)?;
    println!("an expired certificate is replaced {took:?} after the start");
    steps.failure_policy(two).await?;
    stop(one).await
}

async fn stop((stop, running): Replica) -> Result<()> {
    stop.send(true)?;
    Ok(running.await?)
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    args.manager.init_logging();
    if args.serve {
        let manager = Manager::new("webhook", "0.0.0", args.manager).await?;
        return Ok(manager.with(register).run().await?);
    }
    run(args).await?;
    println!("all is well");
    Ok(())
}
