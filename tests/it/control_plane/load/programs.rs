//! The program of `tests/load`, built once, and its processes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use super::{LIMIT, NAMESPACE, anonymous_kubeconfig};
use crate::cluster::Cluster;
use crate::control_plane::{ControlPlane, Process, free_ports};
use crate::{generated, http, wait};

/// The program; its first argument selects the role.
pub(super) fn program(release: bool) -> &'static Path {
    static BUILT: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    BUILT[usize::from(release)].get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/load");
        let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("load");
        std::fs::create_dir_all(package.join("src")).unwrap();
        // Cargo adds this package to the copy of the lock file.
        std::fs::copy(generated::lock(), package.join("Cargo.lock")).unwrap();
        std::fs::copy(source.join("Cargo.toml"), package.join("Cargo.toml")).unwrap();
        for file in std::fs::read_dir(source.join("src")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), package.join("src").join(file.file_name())).unwrap();
        }
        let profile: &[&str] = if release { &["--release"] } else { &[] };
        let _building = generated::building();
        let output = generated::cargo(&package, &[&["build"], profile].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        generated::target().join(if release { "release/load" } else { "debug/load" })
    })
}

/// Starts `load ARGS` with a kubeconfig; `name` is the folder of its log.
pub(super) fn start(release: bool, dir: &Path, name: &str, kubeconfig: &Path, args: &[String]) -> Process {
    let dir = dir.join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let env = [
        ("KUBECONFIG".to_owned(), kubeconfig.display().to_string()),
        ("MEMCACHED_IMAGE".to_owned(), super::bench::IMAGE.to_owned()),
    ];
    Process::start(&dir, program(release), args, &env)
}

/// The faulty proxy of the API server.
pub(super) struct Proxy {
    pub(super) process: Process,
    port: u16,
    pub(super) kubeconfig: PathBuf,
}

impl Proxy {
    /// Forwards with the credentials of `upstream`.
    pub(super) fn start(plane: &ControlPlane, upstream: &Cluster, seed: u64, options: &[&str]) -> Self {
        let [port] = free_ports();
        let mut args = vec!["proxy".to_owned(), format!("--port={port}"), format!("--seed={seed}")];
        args.extend(options.iter().map(|option| (*option).to_owned()));
        let process = start(false, plane.dir(), "proxy", upstream.kubeconfig(), &args);
        let kubeconfig = anonymous_kubeconfig(plane.dir(), &format!("http://127.0.0.1:{port}"));
        let proxy = Self { process, port, kubeconfig };
        wait::until(LIMIT, || proxy.counts()).unwrap();
        println!("{}", proxy.process.log_text().trim_end());
        proxy
    }

    pub(super) fn counts(&self) -> Result<BTreeMap<String, u64>, String> {
        let text = http::get(self.port, "/proxy/counts")?;
        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))
    }

    pub(super) fn stop_faults(&self) {
        http::get(self.port, "/proxy/faults/off").unwrap();
    }
}

pub(super) struct Users<'a> {
    pub(super) objects: u32,
    pub(super) changes: u32,
    /// Requests per second.
    pub(super) rate: u32,
    pub(super) size: u64,
    pub(super) seed: u64,
    pub(super) options: &'a [&'a str],
}

impl Users<'_> {
    /// Waits until the users end. Returns the remaining specs by name.
    #[track_caller]
    pub(super) fn work(&self, plane: &ControlPlane) -> BTreeMap<String, Value> {
        let output = plane.dir().join("left.json");
        let mut args = vec!["users".to_owned(), format!("--namespace={NAMESPACE}")];
        for (name, value) in [
            ("objects", u64::from(self.objects)),
            ("changes", u64::from(self.changes)),
            ("rate", u64::from(self.rate)),
            ("size", self.size),
            ("seed", self.seed),
        ] {
            args.push(format!("--{name}={value}"));
        }
        args.push(format!("--output={}", output.display()));
        args.extend(self.options.iter().map(|option| (*option).to_owned()));
        let mut process = start(false, plane.dir(), "users", plane.admin.kubeconfig(), &args);
        let usual = Duration::from_secs(u64::from((self.objects + self.changes) / self.rate) + 10);
        let done = wait::until(10 * usual, || match std::fs::read_to_string(&output) {
            Ok(text) => Ok(Ok(text)),
            Err(_) if !process.running() && !output.exists() => Ok(Err(process.log_text())),
            Err(error) => Err(error.to_string()),
        });
        let text = done.and_then(|done| done).unwrap_or_else(|error| panic!("the users did not finish: {error}"));
        serde_json::from_str(&text).unwrap()
    }
}
