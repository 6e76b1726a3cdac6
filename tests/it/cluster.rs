//! `kubectl` with a kubeconfig, and waits that print the cluster's state on failure.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::wait;

#[derive(Clone)]
pub(crate) struct Cluster {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    /// Discovery cache.
    cache: PathBuf,
    /// Logs whose ends a failing wait prints.
    logs: Vec<PathBuf>,
}

impl Cluster {
    pub(crate) fn new(kubectl: impl Into<PathBuf>, kubeconfig: impl Into<PathBuf>) -> Self {
        let kubeconfig = kubeconfig.into();
        let cache = kubeconfig.with_extension("cache");
        Self { kubectl: kubectl.into(), kubeconfig, cache, logs: Vec::new() }
    }

    /// A previous server may have had the same address.
    pub(crate) fn with_cache(self, cache: PathBuf) -> Self {
        Self { cache, ..self }
    }

    pub(crate) fn kubectl(&self) -> &Path {
        &self.kubectl
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(crate) fn show_log(&mut self, path: impl Into<PathBuf>) {
        self.logs.push(path.into());
    }

    /// Runs `kubectl` with `stdin`. Returns its output or its error text.
    pub(crate) fn attempt<S: AsRef<OsStr>>(&self, args: &[S], stdin: &str) -> Result<String, String> {
        let mut child = Command::new(&self.kubectl)
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            // A short process needs hardly any garbage collection.
            .env("GOGC", "400")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("`{}`: {error}", self.kubectl.display()))?;
        // A `kubectl` that does not read stdin closes the pipe; its output has the error.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// Runs `kubectl`; panics if it fails.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.attempt(args, "").unwrap_or_else(|error| panic!("kubectl {}: {error}", args.join(" ")))
    }

    /// Runs `kubectl` with `document` on stdin; panics if it fails.
    #[track_caller]
    pub(crate) fn send(&self, args: &[&str], document: &str) -> String {
        self.attempt(args, document).unwrap_or_else(|error| panic!("kubectl {}: {error}\n{document}", args.join(" ")))
    }

    /// `kubectl get ARGS -o json`. The error is kubectl's text.
    pub(crate) fn get(&self, args: &[&str]) -> Result<Value, String> {
        let text = self.attempt(&[&["get", "-o", "json"], args].concat(), "")?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    /// Requests the metrics of an operator on this host with these credentials.
    pub(crate) fn scrape(&self, port: u16, user: &Value) -> Result<String, String> {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "operator", "cluster": { "server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true } }],
            "users": [{ "name": "user", "user": user }],
            "contexts": [{ "name": "scrape", "context": { "cluster": "operator", "user": "user" } }],
            "current-context": "scrape",
        });
        let file = self.kubeconfig.with_extension("scrape");
        std::fs::write(&file, config.to_string()).unwrap();
        Self::new(&self.kubectl, file).attempt(&["get", "--raw", "/metrics"], "")
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, args: &[&str], condition: impl Fn(&Value) -> bool) -> Value {
        let limit = Duration::from_secs(120);
        self.wait(what, limit, || {
            let object = self.get(args)?;
            if condition(&object) { Ok(object) } else { Err(format!("it is\n{object:#}")) }
        })
    }

    /// Waits until `kubectl get ARGS` finds nothing.
    #[track_caller]
    pub(crate) fn wait_gone(&self, args: &[&str]) {
        // Garbage collection of a new kind starts up to a minute late.
        self.wait(&format!("{} to be gone", args.join(" ")), Duration::from_secs(300), || match self.get(args) {
            Err(error) if error.contains("NotFound") => Ok(()),
            Ok(list) if list["items"].as_array().is_some_and(Vec::is_empty) => Ok(()),
            Ok(object) => Err(format!("it is\n{object:#}")),
            Err(error) => Err(error),
        });
    }

    /// Waits until `condition` returns a value; panics with the cluster's state after `limit`.
    #[track_caller]
    pub(crate) fn wait<T>(&self, what: &str, limit: Duration, condition: impl FnMut() -> Result<T, String>) -> T {
        wait::until(limit, condition)
            .unwrap_or_else(|missing| panic!("waited {limit:?} for {what}: {missing}\n{}", self.state()))
    }

    /// Objects, events and the ends of the logs, as text for a failure.
    pub(crate) fn state(&self) -> String {
        let mut text = String::new();
        for args in [
            &["get", "memcacheds,deployments,replicasets,pods,services", "-A", "-o", "wide"][..],
            &["get", "events.events.k8s.io", "-A", "--sort-by=.metadata.creationTimestamp"],
            &["get", "memcacheds", "-A", "-o", "yaml"],
        ] {
            let answer = self.attempt(args, "").unwrap_or_else(|error| error);
            text.push_str(&format!("--- kubectl {}\n{answer}", args.join(" ")));
        }
        for path in &self.logs {
            let log = std::fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            let end = lines[lines.len().saturating_sub(60)..].join("\n");
            text.push_str(&format!("--- {}\n{end}\n", path.display()));
        }
        text
    }
}

/// The current context of `KUBECONFIG`, read from the files without a request.
pub(crate) fn current_context() -> String {
    let paths = std::env::var_os("KUBECONFIG").expect("KUBECONFIG names the cluster");
    let contexts = std::env::split_paths(&paths).filter_map(|path| {
        let config: Value = serde_yaml::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
        config["current-context"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)
    });
    contexts.take(1).next().expect("KUBECONFIG has a current context")
}

/// Returns an error unless the tests may use this context; `repeated` is the user's `E2E_CONTEXT`.
pub(crate) fn permitted(context: &str, repeated: Option<&str>) -> Result<(), String> {
    if matches!(context, "memcached-sdk" | "minikube") || context.starts_with("kind-") || repeated == Some(context) {
        return Ok(());
    }
    Err(format!("the context `{context}` is not one for tests: set E2E_CONTEXT={context} if the tests may work there"))
}
