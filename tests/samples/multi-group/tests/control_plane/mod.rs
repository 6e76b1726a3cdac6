// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The etcd and the kube-apiserver in the folder `KUBEBUILDER_ASSETS`, for one test, and controllers that run against them.
//!
//! Nothing else of a cluster is there: no controllers of Kubernetes, so a Deployment gets no pods and nothing is garbage
//! collected.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use clap::Parser;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::{Condition, await_condition};
use kube::{Api, Client, Config, Resource};
use manager::{Manager, Options};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

/// Ten times what a step takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Options,
}

/// A control plane that stops with the test. After a panic, its folder with the logs stays.
pub(crate) struct ControlPlane {
    pub(crate) client: Client,
    folder: PathBuf,
    processes: Vec<Child>,
}

impl ControlPlane {
    /// Starts one with the CRDs of `config/crd/bases`; `test` names its folder. `None` without `KUBEBUILDER_ASSETS`.
    pub(crate) async fn start(test: &str) -> Option<Self> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty());
        let Some(assets) = assets else {
            // The test harness captures `eprintln!` and shows it for failed tests only.
            let skipped = "SKIPPED: run `make setup-envtest`, then `make test`; or set KUBEBUILDER_ASSETS to a folder with \
                           etcd and kube-apiserver";
            writeln!(std::io::stderr(), "{test}: {skipped}").expect("standard error is open");
            return None;
        };
        let assets = std::path::absolute(assets).expect("KUBEBUILDER_ASSETS is a folder");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the folder of a failed run can be removed");
        }
        fs::create_dir_all(&folder).expect("a folder can be made in target/tmp");
        // A name, a token, an ID and a group.
        fs::write(
            folder.join("tokens.csv"),
            "admin,admin,admin,system:masters\n",
        )
        .expect("a file can be written");
        let [etcd, peer, port] = free_ports();
        let [etcd, peer] = [etcd, peer].map(|port| format!("http://127.0.0.1:{port}"));
        let mut plane = Self {
            client: client(port).await,
            folder,
            processes: Vec::new(),
        };
        plane.spawn(
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
        );
        plane.spawn(
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
                // The API server creates a self-signed certificate. Its key also signs the tokens of ServiceAccounts.
                "--cert-dir=certificates",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                "--service-account-key-file=certificates/apiserver.key",
                "--service-account-signing-key-file=certificates/apiserver.key",
                // Pods need no ServiceAccount, which a controller of Kubernetes would make.
                "--disable-admission-plugins=ServiceAccount",
            ],
        );
        plane.ready().await;
        plane.install_crds().await;
        Some(plane)
    }

    /// Runs controllers and webhooks as `main` does, as an administrator and without leader election, until the test ends. They
    /// are ready when this returns.
    pub(crate) async fn run(&self, register: impl FnOnce(&mut Manager)) {
        let [port] = free_ports();
        let mut args = vec![
            "test".to_owned(),
            format!("--health-probe-bind-address=127.0.0.1:{port}"),
        ];
        if Path::new("config/webhook").exists() {
            let webhooks = [
                "--webhook-local=config/webhook/manifests.yaml",
                "--webhook-port=0",
            ];
            args.extend(webhooks.map(str::to_owned));
        }
        let args = Args::parse_from(args);
        let manager =
            Manager::with_client("multi-group", "test", args.manager, self.client.clone());
        let running = manager.with(register).run_until(std::future::pending());
        tokio::spawn(async { running.await.expect("the manager runs") });
        let probes = format!("http://127.0.0.1:{port}").parse().expect("a URL");
        let probes = Client::try_from(Config::new(probes)).expect("a client");
        let started = Instant::now();
        while let Err(error) = probes.request_text(readyz()).await {
            assert!(started.elapsed() < LIMIT, "not ready in {LIMIT:?}: {error}");
            pause().await;
        }
    }

    /// Applies the object as `kubectl apply --server-side` does.
    pub(crate) async fn apply<K>(&self, api: &Api<K>, yaml: &str) -> K
    where
        K: Clone + DeserializeOwned + Debug,
    {
        let object: Value = serde_saphyr::from_str(yaml).expect("an object in YAML");
        let name = object["metadata"]["name"]
            .as_str()
            .expect("an object with a name");
        let applied = api
            .patch(name, &PatchParams::apply("test"), &Patch::Apply(&object))
            .await;
        applied.expect("the server accepts the object")
    }

    /// Waits until the condition holds for the object with this name, which may not exist yet.
    pub(crate) async fn wait<K>(
        &self,
        api: &Api<K>,
        name: &str,
        what: &str,
        condition: impl Condition<K>,
    ) where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let waited = timeout(LIMIT, await_condition(api.clone(), name, condition)).await;
        if !matches!(waited, Ok(Ok(_))) {
            let seen = api.get_opt(name).await;
            panic!(
                "not in {LIMIT:?}: {what}\n{seen:#?}\nLogs are in {}",
                self.folder.display()
            );
        }
    }

    fn spawn(&mut self, program: &Path, args: &[&str]) {
        let name = program.file_name().unwrap_or_default();
        let log = File::create(self.folder.join(name).with_extension("log"))
            .expect("a log can be written");
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.folder).stderr(log);
        let child = command.spawn();
        self.processes
            .push(child.unwrap_or_else(|error| panic!("{}: {error}", program.display())));
    }

    async fn ready(&mut self) {
        let started = Instant::now();
        while self.client.request_text(readyz()).await.is_err() {
            let logs = self.folder.display();
            for process in &mut self.processes {
                let ended = process.try_wait().expect("a child of this process");
                assert!(ended.is_none(), "a server ended; logs are in {logs}");
            }
            assert!(
                started.elapsed() < LIMIT,
                "not ready in {LIMIT:?}; logs are in {logs}"
            );
            pause().await;
        }
    }

    async fn install_crds(&self) {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for file in fs::read_dir("config/crd/bases").expect("run `make manifests`") {
            let file = file.expect("the folder can be read").path();
            let crd = fs::read_to_string(file).expect("a CRD can be read");
            let name = self
                .apply(&crds, &crd)
                .await
                .metadata
                .name
                .unwrap_or_default();
            self.wait(&crds, &name, "the CRD is established", is_crd_established())
                .await;
        }
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn readyz() -> http::Request<Vec<u8>> {
    http::Request::get("/readyz")
        .body(Vec::new())
        .expect("a request")
}

async fn pause() {
    sleep(Duration::from_millis(100)).await;
}

async fn client(port: u16) -> Client {
    let kubeconfig = json!({
        "clusters": [{
            "name": "test",
            "cluster": { "server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true },
        }],
        "users": [{ "name": "test", "user": { "token": "admin" } }],
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        "current-context": "test",
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a kubeconfig with a context")).expect("a client")
}

/// Ports that are free now, all different.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners =
        [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("a bound port").port())
}
