//! An API server of the test binary, and controllers that run against it.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use hyper::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::ApiResource;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::Condition;
use kube::{Api, Client, Config, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{MutexGuard, OnceCell};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::permissions::{self, Forbidden};
use super::{CRD_FOLDER, WEBHOOK_FILE, assets, object_from_yaml};
use crate::error::Error;
use crate::manager::Manager;
use crate::options::Options;

/// Ten times the duration of a step on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const ADMIN: &str = "admin";

/// The server that the tests of this process share.
static SERVER: OnceCell<Server> = OnceCell::const_new();
/// Serializes tests with webhooks: a server has one configuration for them.
static WEBHOOKS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
static NAMESPACES: AtomicUsize = AtomicUsize::new(1);

#[derive(Parser)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) manager: Options,
}

/// A namespace of one test, on a real kube-apiserver with etcd.
///
/// The tests of a binary share one server. It starts with the first test and ends with the process, even if that is
/// killed. It has the CRDs of `config/crd/bases`. No other part of a cluster runs: a Deployment gets no pods, and nothing
/// is garbage collected.
///
/// [`ControlPlane::run`] runs controllers and webhooks with the permissions that `config/rbac` binds to the operator's
/// ServiceAccount. A request that these forbid fails the test, with the `+kubebuilder:rbac` marker to add.
///
/// # Examples
///
/// ```no_run
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use manager::Manager;
/// use manager::testing::ControlPlane;
///
/// fn register(manager: &mut Manager) {
///     // manager.controller(…).run(…)
/// }
///
/// # async fn test() {
/// let Some(plane) = ControlPlane::start().await else { return };
/// plane.run(register).await;
/// let maps: Api<ConfigMap> = Api::default_namespaced(plane.client());
/// plane.apply(&maps, "{ apiVersion: v1, kind: ConfigMap, metadata: { name: sample } }").await;
/// let done = |map: Option<&ConfigMap>| map.is_some_and(|map| map.data.is_some());
/// plane.wait(&maps, "sample", "the map has data", done).await;
/// # }
/// ```
pub struct ControlPlane {
    client: Client,
    server: &'static Server,
    running: Mutex<Vec<Running>>,
    forbidden: Forbidden,
}

/// Controllers of a test, until it ends.
struct Running {
    task: JoinHandle<Result<(), Error>>,
    _webhooks: Option<MutexGuard<'static, ()>>,
}

impl ControlPlane {
    /// Starts the server, if no test of this process has, and creates a namespace for this test.
    ///
    /// The programs are those of `KUBEBUILDER_ASSETS`, else those that `memcached-sdk envtest` or setup-envtest has
    /// downloaded. Without them this prints `SKIPPED` and returns `None`.
    ///
    /// # Panics
    ///
    /// The server does not start; or the programs are missing and the variable `CI` is set, because a pipeline that skips
    /// tests looks like one that runs them.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use manager::testing::ControlPlane;
    /// # async fn test() {
    /// let Some(plane) = ControlPlane::start().await else { return };
    /// # }
    /// ```
    pub async fn start() -> Option<Self> {
        let found = if cfg!(unix) {
            assets::find()
        } else {
            Err("an API server for tests needs Linux or macOS".to_owned())
        };
        let assets = match found {
            Ok(assets) => assets,
            Err(why) => {
                assert!(
                    std::env::var_os("CI").is_none_or(|ci| ci.is_empty()),
                    "{why}"
                );
                // A macro would show it for failed tests only.
                let test = std::thread::current().name().unwrap_or("a test").to_owned();
                let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
                return None;
            }
        };
        let server = SERVER.get_or_init(|| Server::start(assets)).await;
        let namespace = format!("test-{}", NAMESPACES.fetch_add(1, Ordering::Relaxed));
        let client = client(server.port, ADMIN, &namespace).await;
        let plane = Self {
            client,
            server,
            running: Mutex::default(),
            forbidden: Forbidden::default(),
        };
        plane.create_namespace(&namespace).await;
        for role in permissions::roles(&namespace) {
            if let Some(other) = role["metadata"]["namespace"].as_str() {
                plane.create_namespace(other).await;
            }
            apply_any(&plane.client, &role).await;
        }
        Some(plane)
    }

    /// Returns a client with all permissions. Its default namespace is that of the test.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn test(plane: manager::testing::ControlPlane) {
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(plane.client());
    /// # }
    /// ```
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the namespace of the test.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn test(plane: manager::testing::ControlPlane) {
    /// assert!(plane.namespace().starts_with("test-"));
    /// # }
    /// ```
    pub fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// Runs controllers and webhooks as `main` does, in the namespace of the test, until the test ends. They are ready when
    /// this returns.
    ///
    /// Webhooks are those of `config/webhook/manifests.yaml`; tests with webhooks wait for each other.
    ///
    /// # Panics
    ///
    /// They are not ready in time, or lack a permission.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn test(plane: manager::testing::ControlPlane) {
    /// # fn register(_: &mut manager::Manager) {}
    /// plane.run(register).await;
    /// # }
    /// ```
    pub async fn run(&self, register: impl FnOnce(&mut Manager)) {
        self.run_in_namespaces(&[self.namespace()], register).await;
    }

    /// Like [`ControlPlane::run`], in these namespaces; without any in the whole cluster, which the other tests of the
    /// binary share.
    ///
    /// # Panics
    ///
    /// They are not ready in time, or lack a permission.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn test(plane: manager::testing::ControlPlane) {
    /// # fn register(_: &mut manager::Manager) {}
    /// plane.run_in_namespaces(&[], register).await;
    /// # }
    /// ```
    pub async fn run_in_namespaces(
        &self,
        namespaces: &[&str],
        register: impl FnOnce(&mut Manager),
    ) {
        let [port] = free_ports();
        let mut args = vec![
            "test".to_owned(),
            format!("--health-probe-bind-address=127.0.0.1:{port}"),
        ];
        let webhooks = Path::new(WEBHOOK_FILE);
        let serves = cfg!(feature = "webhook") && webhooks.exists();
        let lock = if serves {
            Some(WEBHOOKS.lock().await)
        } else {
            None
        };
        if serves {
            args.push(format!("--webhook-local={}", webhooks.display()));
            args.push("--webhook-port=0".to_owned());
        }
        let name = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "test".to_owned());
        let operator = client(self.server.port, permissions::USER, self.namespace()).await;
        let operator = self.forbidden.watch(operator);
        let manager = Manager::with_client(&name, "test", Args::parse_from(args).manager, operator)
            .publishing_with(self.client())
            .in_namespaces(namespaces)
            .with(register);
        let task = tokio::spawn(manager.run_until(std::future::pending()));
        self.running().push(Running {
            task,
            _webhooks: lock,
        });
        let probes = format!("http://127.0.0.1:{port}").parse().expect("a URL");
        let probes = Client::try_from(Config::new(probes)).expect("a client");
        let started = Instant::now();
        while let Err(error) = probes.request_text(readyz()).await {
            self.check().await;
            assert!(
                started.elapsed() < LIMIT,
                "controllers are not ready in {LIMIT:?}: {error}"
            );
            pause().await;
        }
    }

    /// Applies an object in YAML, as `kubectl apply --server-side` does.
    ///
    /// # Panics
    ///
    /// The server refuses the object.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # async fn test(plane: manager::testing::ControlPlane, maps: kube::Api<ConfigMap>) {
    /// let yaml = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: sample } }";
    /// let map = plane.apply(&maps, yaml).await;
    /// # }
    /// ```
    pub async fn apply<K>(&self, api: &Api<K>, yaml: &str) -> K
    where
        K: Clone + DeserializeOwned + Debug,
    {
        let object: Value = object_from_yaml(yaml);
        let name = object["metadata"]["name"]
            .as_str()
            .expect("an object has a name");
        let parameters = PatchParams::apply("test");
        let applied = api.patch(name, &parameters, &Patch::Apply(&object)).await;
        applied.unwrap_or_else(|error| panic!("the server refuses `{name}`: {error}"))
    }

    /// Waits until the condition is true of the object with this name, which need not exist yet.
    ///
    /// # Panics
    ///
    /// The condition is not true in time, or the operator lacks a permission.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # async fn test(plane: manager::testing::ControlPlane, maps: kube::Api<ConfigMap>) {
    /// plane.wait(&maps, "sample", "there is a map", |map: Option<&ConfigMap>| map.is_some()).await;
    /// # }
    /// ```
    pub async fn wait<K>(&self, api: &Api<K>, name: &str, what: &str, condition: impl Condition<K>)
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let started = Instant::now();
        loop {
            let found = api.get_opt(name).await;
            if matches!(&found, Ok(found) if condition.matches_object(found.as_ref())) {
                return;
            }
            self.check().await;
            assert!(
                started.elapsed() < LIMIT,
                "not in {LIMIT:?}: {what}\n{found:#?}\nLogs are in {}",
                self.server.folder.display()
            );
            pause().await;
        }
    }

    /// Panics if controllers have ended or lack a permission.
    async fn check(&self) {
        self.forbidden.check();
        let ended = {
            let mut running = self.running();
            let ended = running
                .iter()
                .position(|running| running.task.is_finished());
            ended.map(|ended| running.swap_remove(ended))
        };
        if let Some(Running { task, .. }) = ended {
            panic!("the controllers ended: {:?}", task.await);
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn create_namespace(&self, name: &str) {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        apply_any(&self.client, &namespace).await;
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        for running in self.running().drain(..) {
            running.task.abort();
        }
        if std::thread::panicking() {
            self.server.keep_logs();
        } else {
            self.forbidden.check();
        }
    }
}

/// etcd and kube-apiserver.
struct Server {
    port: u16,
    folder: PathBuf,
    programs: Vec<Child>,
    /// Ends the programs when its input is closed, as it is when this process ends in any way.
    watcher: Mutex<Option<Child>>,
}

impl Server {
    async fn start(assets: PathBuf) -> Self {
        for _ in 0..2 {
            // Another process may have taken a port since.
            if let Ok(server) = Self::attempt(&assets).await {
                return server;
            }
        }
        Self::attempt(&assets)
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }

    async fn attempt(assets: &Path) -> Result<Self, String> {
        let folder = folder();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder can be made in target/tmp");
        // Token, name, ID, groups.
        let operator = permissions::USER;
        let tokens =
            format!("{ADMIN},{ADMIN},{ADMIN},system:masters\n{operator},{operator},{operator}\n");
        fs::write(folder.join("tokens.csv"), tokens).expect("a file can be written");
        let [etcd, peer, port] = free_ports();
        let [etcd, peer] = [etcd, peer].map(|port| format!("http://127.0.0.1:{port}"));
        let mut server = Self {
            port,
            folder,
            programs: Vec::new(),
            watcher: Mutex::default(),
        };
        server.spawn(
            &assets.join("etcd"),
            &[
                "--data-dir=etcd",
                "--unsafe-no-fsync",
                &format!("--listen-client-urls={etcd}"),
                &format!("--advertise-client-urls={etcd}"),
                &format!("--listen-peer-urls={peer}"),
                &format!("--initial-advertise-peer-urls={peer}"),
                &format!("--initial-cluster=default={peer}"),
            ],
        )?;
        server.spawn(
            &assets.join("kube-apiserver"),
            &[
                &format!("--etcd-servers={etcd}"),
                "--bind-address=127.0.0.1",
                &format!("--secure-port={port}"),
                "--service-cluster-ip-range=10.96.0.0/24",
                // The Service `kubernetes` can't have a loopback endpoint.
                "--endpoint-reconciler-type=none",
                "--authorization-mode=RBAC",
                "--token-auth-file=tokens.csv",
                // The server makes a certificate for itself. Its key also signs tokens of ServiceAccounts.
                "--cert-dir=certificates",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                "--service-account-key-file=certificates/apiserver.key",
                "--service-account-signing-key-file=certificates/apiserver.key",
                // No controller creates ServiceAccounts, so pods must not need one.
                "--disable-admission-plugins=ServiceAccount",
            ],
        )?;
        server.watch();
        let admin = client(port, ADMIN, "default").await;
        server.ready(&admin).await?;
        install_crds(&admin).await;
        Ok(server)
    }

    fn spawn(&mut self, program: &Path, args: &[&str]) -> Result<(), String> {
        let name = program.file_name().unwrap_or_default();
        let log = self.folder.join(name).with_extension("log");
        let log = File::create(log).expect("a log can be written");
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let child = command.stderr(log).spawn();
        self.programs
            .push(child.map_err(|error| format!("{}: {error}", program.display()))?);
        Ok(())
    }

    /// Starts a shell that outlives this process for a moment: it kills the programs and removes the folder, or only the
    /// data in it when a line was written.
    fn watch(&mut self) {
        const SCRIPT: &str = r#"
trap "" HUP INT TERM
folder=$1; shift
keep=
while read -r _; do keep=1; done
kill -9 "$@" 2> /dev/null
for try in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$@" 2> /dev/null || break; sleep 0.1; done
if [ -n "$keep" ]; then rm -rf "$folder/etcd" "$folder/certificates"; else rm -rf "$folder"; fi
"#;
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "sh"])
            .arg(&self.folder)
            .current_dir("/");
        command.args(self.programs.iter().map(|program| program.id().to_string()));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let watcher = command.spawn().expect("sh can be run");
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
    }

    /// Keeps the folder with the logs after the process has ended.
    fn keep_logs(&self) {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(input) = watcher.as_mut().and_then(|watcher| watcher.stdin.as_mut()) {
            let _ = writeln!(input, "keep");
        }
    }

    async fn ready(&mut self, admin: &Client) -> Result<(), String> {
        let started = Instant::now();
        while let Err(error) = admin.request_text(readyz()).await {
            for program in &mut self.programs {
                if let Ok(Some(status)) = program.try_wait() {
                    let log = fs::read_dir(&self.folder)
                        .into_iter()
                        .flatten()
                        .filter_map(Result::ok);
                    let logs = log
                        .map(|file| file.path())
                        .filter(|path| path.extension().is_some_and(|log| log == "log"));
                    let texts = logs.filter_map(|path| fs::read_to_string(path).ok());
                    let last: Vec<String> = texts
                        .filter_map(|text| Some(text.lines().last()?.to_owned()))
                        .collect();
                    return Err(format!(
                        "a program of the API server ended, {status}:\n{}",
                        last.join("\n")
                    ));
                }
            }
            if started.elapsed() > LIMIT {
                self.keep_logs();
                let folder = self.folder.display();
                return Err(format!(
                    "the API server is not ready in {LIMIT:?}: {error}; logs are in {folder}"
                ));
            }
            pause().await;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for program in self.programs.iter_mut().rev() {
            let _ = program.kill();
            let _ = program.wait();
        }
        let watcher = self.watcher.get_mut();
        if let Some(watcher) = watcher.unwrap_or_else(PoisonError::into_inner) {
            // Waiting closes the input.
            let _ = watcher.wait();
        }
    }
}

/// Returns the folder of this process, in the folder for temporary files of the target.
fn folder() -> PathBuf {
    let program = std::env::current_exe().expect("a program has a path");
    let target = program.ancestors().nth(3).map(|target| target.join("tmp"));
    let name = program
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    // cargo puts a hash behind the name of the test.
    let name = name
        .rsplit_once('-')
        .map_or(&*name, |(name, _)| name)
        .to_owned();
    let target = target.unwrap_or_else(std::env::temp_dir);
    target.join(format!("{name}-{}", std::process::id()))
}

async fn install_crds(admin: &Client) {
    let folder = Path::new(CRD_FOLDER);
    let crds: Api<CustomResourceDefinition> = Api::all(admin.clone());
    for crd in documents(folder) {
        apply_any(admin, &crd).await;
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let established =
            kube::runtime::wait::await_condition(crds.clone(), name, is_crd_established());
        let waited = tokio::time::timeout(LIMIT, established).await;
        assert!(
            matches!(waited, Ok(Ok(_))),
            "the CRD `{name}` is not established in {LIMIT:?}"
        );
    }
}

/// Returns the objects in the YAML files of a folder, by file name; none if there is no folder.
pub(super) fn documents(folder: &Path) -> Vec<Value> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    paths.sort();
    paths.iter().flat_map(|path| file(path)).collect()
}

/// Reads the documents of a file.
pub(super) fn file(path: &Path) -> Vec<Value> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let documents = serde_saphyr::from_multiple::<Value>(&text);
    documents.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Applies an object of a built-in kind.
async fn apply_any(client: &Client, object: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&object["apiVersion"]);
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let kind = GroupVersionKind::gvk(group, version, &text(&object["kind"]));
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = text(&object["metadata"]["name"]);
    let parameters = PatchParams::apply("test").force();
    let applied = api.patch(&name, &parameters, &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("the server refuses {} `{name}`: {error}", kind.kind));
}

fn readyz() -> Request<Vec<u8>> {
    Request::get("/readyz").body(Vec::new()).expect("a request")
}

async fn pause() {
    sleep(Duration::from_millis(100)).await;
}

async fn client(port: u16, token: &str, namespace: &str) -> Client {
    let server = format!("https://127.0.0.1:{port}");
    let kubeconfig = json!({
        "clusters": [{
            "name": "test",
            "cluster": { "server": server, "insecure-skip-tls-verify": true },
        }],
        "users": [{ "name": "test", "user": { "token": token } }],
        "contexts": [{
            "name": "test",
            "context": { "cluster": "test", "user": "test", "namespace": namespace },
        }],
        "current-context": "test",
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a kubeconfig with a context")).expect("a client")
}

/// Returns ports that are free now, all different.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners =
        [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("a bound port").port())
}
