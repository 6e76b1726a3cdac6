//! The API server of an exploration: an own one with etcd, or that of a kubeconfig. `kubectl proxy` stands in front of it.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hyper::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use super::api::ApiClient;
use super::process::{Keeper, Process};

/// Ten times a usual start on two cores.
const START: Duration = Duration::from_mins(2);

/// The token of the administrator.
const ADMIN: &str = "admin";

pub(super) struct ExploredCluster {
    pub(super) api: ApiClient,
    pub(super) keeper: Arc<Keeper>,
    /// Dropped in this order: clients end before servers.
    _programs: Vec<Process>,
    folder: TempDir,
}

impl ExploredCluster {
    /// Starts etcd and kube-apiserver of a folder.
    pub(super) async fn own(assets: &Path) -> Result<Self> {
        for _ in 0..2 {
            // Another process may have taken a port since.
            if let Ok(cluster) = Self::attempt(assets).await {
                return Ok(cluster);
            }
        }
        Self::attempt(assets).await
    }

    async fn attempt(assets: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("memcached-sdk-explore-").tempdir()?;
        let keeper = Keeper::new(folder.path());
        let [etcd, peer, port] = free_ports()?;
        let [etcd, peer] = [etcd, peer].map(|port| format!("http://127.0.0.1:{port}"));
        put(folder.path(), "tokens.csv", &format!("{ADMIN},{ADMIN},{ADMIN},system:masters\n"))?;
        let start = |name: &str, args: &[String]| {
            let mut command = Command::new(assets.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)));
            command.args(args).current_dir(folder.path());
            Process::start(command, &keeper)
        };
        let etcd_process = start(
            "etcd",
            &[
                "--data-dir=etcd".to_owned(),
                "--unsafe-no-fsync".to_owned(),
                format!("--listen-client-urls={etcd}"),
                format!("--advertise-client-urls={etcd}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
            ],
        )?;
        let server = start(
            "kube-apiserver",
            &[
                format!("--etcd-servers={etcd}"),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={port}"),
                "--service-cluster-ip-range=10.96.0.0/24".to_owned(),
                // The Service `kubernetes` can't have a loopback endpoint.
                "--endpoint-reconciler-type=none".to_owned(),
                "--authorization-mode=RBAC".to_owned(),
                "--token-auth-file=tokens.csv".to_owned(),
                // The server makes a certificate for itself. Its key also signs tokens of ServiceAccounts.
                "--cert-dir=certificates".to_owned(),
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
                "--service-account-key-file=certificates/apiserver.key".to_owned(),
                "--service-account-signing-key-file=certificates/apiserver.key".to_owned(),
                // No controller creates ServiceAccounts, so pods must not need one.
                "--disable-admission-plugins=ServiceAccount".to_owned(),
            ],
        )?;
        let user = json!({ "token": ADMIN });
        let cluster = json!({ "server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true });
        let kubeconfig = put(folder.path(), "admin.yaml", &kubeconfig(&cluster, &user))?;
        let kubectl = assets.join(format!("kubectl{}", std::env::consts::EXE_SUFFIX));
        let kubectl = if kubectl.is_file() { kubectl } else { PathBuf::from("kubectl") };
        Self::behind(&kubectl, &kubeconfig, folder, keeper, vec![server, etcd_process]).await
    }

    /// Uses the API server of a kubeconfig.
    pub(super) async fn of(kubeconfig: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("memcached-sdk-explore-").tempdir()?;
        let keeper = Keeper::new(folder.path());
        Self::behind(Path::new("kubectl"), kubeconfig, folder, keeper, Vec::new()).await
    }

    async fn behind(
        kubectl: &Path,
        kubeconfig: &Path,
        folder: TempDir,
        keeper: Arc<Keeper>,
        mut programs: Vec<Process>,
    ) -> Result<Self> {
        let mut command = Command::new(kubectl);
        command.args(["proxy", "--port=0", "--kubeconfig"]).arg(kubeconfig);
        programs.insert(0, Process::start(command, &keeper)?);
        let started = Instant::now();
        let address = loop {
            let lines = programs[0].last_lines(20);
            let address = lines.iter().find_map(|line| line.strip_prefix("Starting to serve on "));
            if let Some(address) = address.and_then(|address| address.trim().parse::<SocketAddr>().ok()) {
                break address;
            }
            ready(&mut programs, started, "kubectl proxy does not start").await?;
        };
        let api = ApiClient::new(address);
        loop {
            let why = match api.send(Method::GET, "/readyz", &Value::Null).await {
                Ok((200, _)) => break,
                Ok((code, answer)) => {
                    format!("{code} {}", answer["message"].as_str().or(answer.as_str()).unwrap_or_default())
                }
                Err(error) => error.to_string(),
            };
            // The server of a kubeconfig runs already.
            if programs.len() == 1 && started.elapsed() > START / 10 {
                bail!("the API server of `{}` is not ready: {why}", kubeconfig.display());
            }
            ready(&mut programs, started, &format!("the API server is not ready: {why}")).await?;
        }
        // Namespaces come from a loop of the API server.
        while api.send(Method::GET, "/api/v1/namespaces/default", &Value::Null).await?.0 != 200 {
            ready(&mut programs, started, "the namespace `default` does not exist").await?;
        }
        Ok(Self { api, keeper, _programs: programs, folder })
    }

    /// Writes a kubeconfig of the operator.
    pub(super) fn kubeconfig_of(&self, address: SocketAddr) -> Result<PathBuf> {
        let cluster = json!({ "server": format!("http://{address}") });
        put(self.folder.path(), "kubeconfig.yaml", &kubeconfig(&cluster, &json!({})))
    }
}

/// Waits for a moment. Fails if a program has ended, or after [`START`].
async fn ready(programs: &mut [Process], started: Instant, what: &str) -> Result<()> {
    for program in programs {
        if let Some(status) = program.ended() {
            // The last lines may still be read.
            sleep(Duration::from_millis(50)).await;
            bail!("{what}: a program ended, {status}: {}", program.last_lines(1).join(""));
        }
    }
    if started.elapsed() > START {
        bail!("{what} in {} s", START.as_secs());
    }
    sleep(Duration::from_millis(50)).await;
    Ok(())
}

fn kubeconfig(cluster: &Value, user: &Value) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "explore", "cluster": cluster }],
        "users": [{ "name": "explore", "user": user }],
        "contexts": [{ "name": "explore", "context": { "cluster": "explore", "user": "explore" } }],
        "current-context": "explore",
    })
    .to_string()
}

/// Writes a file into a temporary folder, which goes with the exploration.
fn put(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix(name).rand_bytes(0).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep().with_context(|| format!("cannot write `{name}`"))?;
    Ok(path)
}

/// Returns ports that are free now, all different.
fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut listeners = Vec::new();
    for _ in 0..N {
        listeners.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?);
    }
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
