//! A real control plane for a test: etcd, kube-apiserver (RBAC, audit log) and kube-controller-manager on free loopback
//! ports, with their own certificates. Every process ends with the test process, even if that is killed.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::cluster::Cluster;
use crate::wait;
use assets::Assets;
use pki::Pki;
pub(crate) use process::Process;

mod assets;
pub(crate) mod audit;
mod chaos;
mod client;
mod crd_server;
mod drift;
mod e2e;
pub(crate) mod envtest;
mod explore;
mod explorer;
pub(crate) mod helm;
mod kubelet;
mod load;
pub(crate) mod makefile;
mod observability;
mod olm;
mod pki;
mod process;
mod program;
mod rbac_server;
mod releasing;
mod renderings;
mod score;
mod stall;
mod storage;
mod stored;
mod tool;
pub(crate) mod upgrade;
mod verify;
mod walkthroughs;
mod webhook;
mod workflows;

/// Ten times a usual start on two cores.
const START: Duration = Duration::from_secs(120);

pub(crate) fn kubectl() -> PathBuf {
    Assets::find().kubectl
}

pub(crate) struct ControlPlane {
    pub(crate) admin: Cluster,
    server: String,
    pki: Pki,
    kubectl: PathBuf,
    // The drop order matters: the clients of a server end before it.
    processes: Vec<Process>,
    dir: tempfile::TempDir,
}

/// The control plane of [`ControlPlane::shared`].
struct Common {
    plane: ControlPlane,
    _remover: Child,
}

static COMMON: OnceLock<Common> = OnceLock::new();
/// The number of tests that use [`COMMON`].
static USERS: Mutex<usize> = Mutex::new(0);

/// Use of the common control plane by a test.
pub(crate) struct Shared(&'static ControlPlane);

impl Deref for Shared {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        self.0
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        *users -= 1;
        if *users == 0 {
            self.0.signal("STOP");
        }
    }
}

impl ControlPlane {
    /// The control plane for tests that send dry runs or create objects with names that no other test of it uses. It
    /// starts once in a test process, and pauses while no test uses it.
    #[track_caller]
    pub(crate) fn shared() -> Shared {
        crate::timing::start();
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let Common { plane, .. } = COMMON.get_or_init(|| {
            let plane = Self::start();
            Common { _remover: process::remove_at_the_end(plane.dir()), plane }
        });
        if *users == 0 {
            plane.signal("CONT");
            let ready = wait::until(START, || plane.admin.attempt(&["get", "--raw", "/readyz"], ""));
            ready.unwrap_or_else(|error| panic!("the control plane does not go on: {error}"));
        }
        *users += 1;
        Shared(plane)
    }

    fn signal(&self, name: &str) {
        for process in &self.processes {
            if !process::signal(process.pid(), name) {
                eprintln!("`{}` has ended by itself:\n{}", process.name(), process.log_text());
            }
        }
    }

    /// Starts a control plane. Returns when the API server answers and the controllers work.
    #[track_caller]
    pub(crate) fn start() -> Self {
        Self::audited(audit::POLICY)
    }

    /// Like [`ControlPlane::start`], with this audit policy.
    #[track_caller]
    pub(crate) fn audited(policy: &str) -> Self {
        crate::timing::start();
        let assets = Assets::find();
        for _ in 0..3 {
            match Self::try_start(&assets, policy) {
                Ok(started) => return started,
                // Another process took a free port before the server bound it.
                Err(error) if error.contains("address already in use") => {}
                Err(error) => panic!("the control plane does not start: {error}"),
            }
        }
        panic!("the control plane does not start: three times a free port was taken by another process");
    }

    fn try_start(assets: &Assets, policy: &str) -> Result<Self, String> {
        let dir = tempfile::Builder::new().prefix("control-plane-").tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        let [etcd_port, peer_port, port] = free_ports();
        let [etcd, peer] = [etcd_port, peer_port].map(|port| format!("http://127.0.0.1:{port}"));
        let server = format!("https://127.0.0.1:{port}");
        let pki = Pki::new(dir.path());
        std::fs::write(dir.path().join("audit.yaml"), policy).unwrap();
        let admin_config = pki.client_kubeconfig(&server, "admin", Some("system:masters"));
        let manager_config = pki.client_kubeconfig(&server, "system:kube-controller-manager", None);

        // Less work for the garbage collector of Go, up to this much memory.
        let env = [("GOGC", "800"), ("GOMEMLIMIT", "1GiB")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut admin = Cluster::new(&assets.kubectl, admin_config);
        let mut processes = Vec::new();
        let mut start = |name: &str, program: &Path, args: &[String]| {
            let process = Process::start(dir.path(), program, args, &env);
            admin.show_log(process.log());
            processes.insert(0, process);
            println!("{name} started");
        };
        start(
            "etcd",
            &assets.etcd,
            &[
                "--name=default".to_owned(),
                format!("--data-dir={}", path("etcd")),
                "--unsafe-no-fsync".to_owned(),
                format!("--listen-client-urls={etcd}"),
                format!("--advertise-client-urls={etcd}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
                "--log-level=warn".to_owned(),
            ],
        );
        start(
            "kube-apiserver",
            &assets.kube_apiserver,
            &[
                format!("--etcd-servers={etcd}"),
                "--bind-address=127.0.0.1".to_owned(),
                "--advertise-address=127.0.0.1".to_owned(),
                // A loopback address cannot be an endpoint of the Service `kubernetes`.
                "--endpoint-reconciler-type=none".to_owned(),
                format!("--secure-port={port}"),
                "--service-cluster-ip-range=10.96.0.0/24".to_owned(),
                format!("--cert-dir={}", path("certificates")),
                format!("--tls-cert-file={}", path("apiserver.crt")),
                format!("--tls-private-key-file={}", path("apiserver.key")),
                format!("--client-ca-file={}", path("ca.crt")),
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
                format!("--service-account-key-file={}", path("service-account.pub")),
                format!("--service-account-signing-key-file={}", path("service-account.key")),
                "--authorization-mode=RBAC".to_owned(),
                format!("--audit-policy-file={}", path("audit.yaml")),
                format!("--audit-log-path={}", path("audit.log")),
                // End watches at once on shutdown; the default waits a minute.
                "--shutdown-watch-termination-grace-period=1s".to_owned(),
                // In megabytes. With the default, a long test would lose the first requests.
                "--audit-log-maxsize=16384".to_owned(),
                "--profiling=false".to_owned(),
            ],
        );
        start(
            "kube-controller-manager",
            &assets.kube_controller_manager,
            &[
                format!("--kubeconfig={}", manager_config.display()),
                "--secure-port=0".to_owned(),
                "--leader-elect=false".to_owned(),
                "--kube-api-qps=200".to_owned(),
                "--kube-api-burst=400".to_owned(),
                "--use-service-account-credentials=true".to_owned(),
                format!("--service-account-private-key-file={}", path("service-account.key")),
                format!("--root-ca-file={}", path("ca.crt")),
                "--profiling=false".to_owned(),
            ],
        );
        let mut plane = Self { admin, server, pki, kubectl: assets.kubectl.clone(), processes, dir };
        plane.ready()?;
        Ok(plane)
    }

    fn ready(&mut self) -> Result<(), String> {
        let (admin, processes) = (&self.admin, &mut self.processes);
        let ready = |processes: &mut Vec<Process>| {
            // The controller manager exits if the API server is not ready, so restart it.
            if let Some(dead) = processes.iter_mut().find_map(|process| (!process.running()).then_some(process)) {
                if dead.name() != "kube-controller-manager" {
                    return Ok(Err(format!("`{}` ended:\n{}", dead.name(), dead.log_text())));
                }
                dead.restart();
            }
            admin.attempt(&["get", "--raw", "/readyz"], "")?;
            admin.get(&["serviceaccount", "default"]).map(|_| Ok(()))
        };
        wait::until(START, || ready(processes))
            .unwrap_or_else(|missing| Err(format!("{missing}\n{}", self.admin.state())))
    }

    /// `kubectl` as a ServiceAccount, with a token of the API server.
    pub(crate) fn service_account(&self, namespace: &str, name: &str) -> Cluster {
        Cluster::new(&self.kubectl, self.service_account_by_way_of(&self.server, namespace, name))
    }

    /// A kubeconfig of a ServiceAccount for another address of the API server.
    pub(crate) fn service_account_by_way_of(&self, server: &str, namespace: &str, name: &str) -> PathBuf {
        let token = self.admin.run(&["create", "token", name, "-n", namespace, "--duration=2h"]);
        let file = format!("{name}-{}", server.rsplit_once(':').unwrap().1);
        self.pki.kubeconfig(server, &file, &json!({ "token": token.trim() }))
    }

    /// Starts `kubectl proxy`: the API server without TLS, as admin.
    pub(crate) fn without_tls(&self) -> (Process, SocketAddr) {
        let [port] = free_ports();
        let args = ["proxy".to_owned(), format!("--port={port}")];
        let env = [("KUBECONFIG".to_owned(), self.admin.kubeconfig().display().to_string())];
        (Process::start(self.dir(), &self.kubectl, &args, &env), (Ipv4Addr::LOCALHOST, port).into())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.strip_prefix("https://").unwrap().parse().unwrap()
    }

    pub(crate) fn etcd(&mut self) -> &mut Process {
        self.process("etcd")
    }

    pub(crate) fn api_server(&mut self) -> &mut Process {
        self.process("kube-apiserver")
    }

    /// Ends kube-controller-manager. A test with many objects may not need its work.
    pub(crate) fn without_controllers(&mut self) {
        self.process("kube-controller-manager").kill();
    }

    fn process(&mut self, name: &str) -> &mut Process {
        self.processes.iter_mut().find(|process| process.name() == name).unwrap()
    }

    /// `kubectl` as this user in `system:masters`.
    pub(crate) fn administrator(&self, name: &str) -> Cluster {
        Cluster::new(&self.kubectl, self.pki.client_kubeconfig(&self.server, name, Some("system:masters")))
    }

    /// The folder with logs and certificates. It is removed with the control plane.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.dir.path().join("audit.log")
    }
}

/// Returns distinct ports that are free now.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Set in the process that [`nothing_outlives_a_killed_test`] starts and kills.
const VICTIM: &str = "CONTROL_PLANE_VICTIM";

#[test]
fn starts_with_rbac_and_controllers() {
    let plane = ControlPlane::shared();
    plane.admin.run(&["create", "serviceaccount", "nobody"]);
    let nobody = plane.service_account("default", "nobody");
    let refused = nobody.attempt(&["get", "configmaps"], "").unwrap_err();
    assert!(refused.contains("system:serviceaccount:default:nobody"), "{refused}");
    plane.admin.wait_for("the root certificate in the namespace", &["configmap", "kube-root-ca.crt"], |_| true);

    let requests = audit::requests(&plane.audit_log());
    let seen: Vec<_> = requests.iter().filter(|request| request.user.ends_with(":nobody")).collect();
    assert!(seen.iter().any(|request| request.code == 403 && request.resource == "configmaps"), "{seen:?}");
}

#[test]
fn nothing_outlives_a_killed_test() {
    if let Some(report) = std::env::var_os(VICTIM) {
        let plane = ControlPlane::shared();
        let folder = plane.dir().display().to_string();
        let pids = plane.processes.iter().map(|process| process.pid().to_string());
        let lines: Vec<String> = [folder].into_iter().chain(pids).collect();
        // Paused processes end too.
        drop(plane);
        let partial = Path::new(&report).with_extension("partial");
        std::fs::write(&partial, lines.join("\n")).unwrap();
        std::fs::rename(partial, report).unwrap();
        // The parent test kills this process.
        std::thread::sleep(START);
        panic!("not killed");
    }
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("pids");
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["control_plane::nothing_outlives_a_killed_test", "--exact", "--nocapture"])
        .env(VICTIM, &report)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = wait::until(2 * START, || std::fs::read_to_string(&report).map_err(|error| error.to_string()));
    victim.kill().unwrap();
    victim.wait().unwrap();
    let lines = lines.unwrap();
    let (folder, pids) = lines.split_once('\n').unwrap();
    let pids: Vec<u32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 3);
    let gone = wait::until(Duration::from_secs(30), || {
        let left: Vec<_> = pids.iter().filter(|pid| process::alive(**pid)).collect();
        let folder = Path::new(folder).exists().then_some(folder);
        if left.is_empty() && folder.is_none() { Ok(()) } else { Err(format!("still there: {left:?} {folder:?}")) }
    });
    assert_eq!(gone, Ok(()));
}
