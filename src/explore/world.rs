//! The cluster and the operator of a run: starts, crashes, garbage collection, and the wait for a settled state.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use explorer::exploration::{self, AUTHOR, ClusterState, ComparedField, ObjectKey};
use hyper::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::api::{ApiClient, ClusterObjects};
use super::process::{Keeper, Process};
use super::proxy::Proxy;
use super::request::ResourcePath;
use crate::diagnostic::Problem;

mod changes;
mod processes;

/// The time between two looks at a run.
const TICK: Duration = Duration::from_millis(20);
/// The time after a write before the garbage collector works.
const COLLECT: Duration = Duration::from_millis(80);
/// Starts of a process that ends by itself.
const RESTARTS: usize = 5;
/// Lines of the operator's log in a finding.
const LOG: usize = 8;

/// A sample and its place.
pub(super) struct PlacedSample {
    pub(super) resource: ResourcePath,
    pub(super) namespace: String,
    pub(super) object: Value,
}

impl PlacedSample {
    pub(super) fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    pub(super) fn path(&self) -> String {
        self.resource.object(&self.namespace, self.name())
    }

    pub(super) fn key(&self) -> ObjectKey {
        (self.resource.qualified(), self.namespace.clone(), self.name().to_owned())
    }
}

/// The end of a run.
pub(super) enum End {
    Settled(ClusterState),
    /// The reason why the state does not settle.
    Restless(String),
}

impl End {
    pub(super) fn difference(&self, expected: &ClusterState) -> Vec<String> {
        match self {
            Self::Settled(state) => expected.diff(state),
            Self::Restless(reason) => vec![reason.clone()],
        }
    }
}

/// A release of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Release {
    Explored,
    Previous,
}

pub(super) struct World {
    pub(super) api: ApiClient,
    pub(super) proxy: Arc<Proxy>,
    keeper: Arc<Keeper>,
    /// The programs and their arguments.
    commands: BTreeMap<Release, Vec<OsString>>,
    kubeconfig: PathBuf,
    pub(super) settle: Duration,
    pub(super) samples: Vec<PlacedSample>,
    /// Resources that are compared. The resources that the operator writes join them.
    resources: BTreeMap<String, ResourcePath>,
    /// Groups and kinds of these resources.
    kinds: BTreeSet<(String, String)>,
    /// Objects that were there before the exploration.
    before: BTreeSet<ObjectKey>,
    process: Option<Arc<Mutex<Process>>>,
    /// The release of the process.
    release: Release,
    /// Resources with a watch in a process that waits for work.
    watched: BTreeMap<Release, BTreeSet<String>>,
    /// Fields that differ between two undisturbed runs.
    pub(super) generated: BTreeSet<ComparedField>,
    /// Times at which processes of this run ended by themselves.
    endings: usize,
}

impl World {
    pub(super) fn new(
        api: ApiClient,
        proxy: Arc<Proxy>,
        keeper: Arc<Keeper>,
        kubeconfig: PathBuf,
        commands: BTreeMap<Release, Vec<OsString>>,
        settle: Duration,
        samples: Vec<PlacedSample>,
    ) -> Self {
        Self {
            api,
            proxy,
            keeper,
            commands,
            kubeconfig,
            settle,
            samples,
            resources: BTreeMap::new(),
            kinds: BTreeSet::new(),
            before: BTreeSet::new(),
            process: None,
            release: Release::Explored,
            watched: BTreeMap::new(),
            generated: BTreeSet::new(),
            endings: 0,
        }
    }

    /// Adds a resource to the compared ones. Its objects of now are not compared.
    pub(super) async fn compare(&mut self, resource: &ResourcePath) -> Result<()> {
        if self.resources.contains_key(&resource.qualified()) {
            return Ok(());
        }
        let (kind, _) = self.api.list(resource).await?;
        self.kinds.insert((resource.group.clone(), kind));
        self.resources.insert(resource.qualified(), resource.clone());
        Ok(())
    }

    /// Records the objects of resources that are there before the exploration.
    pub(super) async fn remember(&mut self, resource: &ResourcePath) -> Result<()> {
        let (_, objects) = self.api.list(resource).await?;
        self.before.extend(objects.into_keys());
        Ok(())
    }

    /// The compared objects: in the namespaces of the samples and of the operator's writes.
    pub(super) async fn objects(&mut self) -> Result<ClusterObjects> {
        let (written, mut namespaces) = {
            let state = self.proxy.state();
            (state.written.clone(), state.namespaces.clone())
        };
        namespaces.extend(self.samples.iter().map(|sample| sample.namespace.clone()));
        for resource in &written {
            // A resource that is not served, or without lists, is not compared.
            let _ = self.compare(resource).await;
        }
        let mut all = ClusterObjects::new();
        for resource in self.resources.values() {
            all.extend(self.api.list(resource).await?.1);
        }
        all.retain(|key, _| !self.before.contains(key) && namespaces.contains(&key.1));
        Ok(all)
    }

    pub(super) async fn state(&mut self) -> Result<ClusterState> {
        Ok(ClusterState::new(self.objects().await?, &self.generated))
    }

    /// Kills the process, and deletes all objects of earlier runs.
    pub(super) async fn reset(&mut self) -> Result<()> {
        self.stop().await;
        self.endings = 0;
        for _ in 0..50 {
            let objects = self.objects().await?;
            if objects.is_empty() {
                return Ok(());
            }
            for (key, object) in &objects {
                let Some(path) = self.path(key) else { continue };
                if object["metadata"]["finalizers"].is_array() {
                    let free = json!({ "metadata": { "finalizers": null } });
                    self.api.send(Method::PATCH, &path, &free).await?;
                }
                let options = json!({ "gracePeriodSeconds": 0, "propagationPolicy": "Background" });
                self.api.send(Method::DELETE, &path, &options).await?;
            }
        }
        bail!("the objects of a run cannot be deleted");
    }

    pub(super) fn path(&self, (resource, namespace, name): &ObjectKey) -> Option<String> {
        Some(self.resources.get(resource)?.object(namespace, name))
    }

    pub(super) async fn create_samples(&self) -> Result<()> {
        for sample in &self.samples {
            self.create(sample, &sample.object).await?;
        }
        Ok(())
    }

    /// Creates the first sample with another spec, and the others as they are.
    pub(super) async fn create_with(&self, spec: &Value) -> Result<()> {
        for (at, sample) in self.samples.iter().enumerate() {
            let mut object = sample.object.clone();
            if at == 0 {
                object["spec"] = spec.clone();
            }
            self.create(sample, &object).await?;
        }
        Ok(())
    }

    async fn create(&self, sample: &PlacedSample, object: &Value) -> Result<()> {
        let path = format!("{}?fieldManager={AUTHOR}", sample.resource.collection(&sample.namespace));
        let created = self.api.must(Method::POST, &path, object).await;
        created.map(|_| ()).map_err(|error| {
            let problem = Problem::new(format!(
                "the API server refuses the sample {}: {error}",
                exploration::place(&sample.key())
            ));
            problem.help("mend the sample, or pass other files with `--sample`").into()
        })
    }

    /// Waits until the state settles. An unexpected state gets more time than the expected one.
    pub(super) async fn settle(&mut self, expected: Option<&ClusterState>) -> Result<End> {
        let patience = self.patience();
        let limit = 8 * self.settle + Duration::from_secs(8);
        let started = Instant::now();
        self.proxy.state().touch();
        let mut collected = None;
        let mut looked = None;
        loop {
            sleep(TICK).await;
            if let Some(reason) = self.restart_if_ended().await? {
                return Ok(End::Restless(reason));
            }
            let (quiet, last_write, writes, last) = {
                let state = self.proxy.state();
                let quiet = if state.pending > 0 { Duration::ZERO } else { state.last.elapsed() };
                let writes: Vec<&String> = state.log.iter().filter(|one| one.write).map(|one| &one.line).collect();
                (quiet, state.last_write, writes.len(), writes.last().map(|line| (*line).clone()))
            };
            if started.elapsed() > limit {
                if last_write.elapsed() < self.settle {
                    let last = last.unwrap_or_default();
                    let time = started.elapsed().as_secs();
                    return Ok(End::Restless(format!("{writes} writes in {time} s, the last one {last}")));
                }
                return Ok(End::Settled(self.state().await?));
            }
            if quiet >= COLLECT && collected != Some(last_write) {
                collected = Some(last_write);
                if self.collect_garbage().await? {
                    // Its deletions may release others.
                    collected = None;
                    self.proxy.state().touch();
                }
                continue;
            }
            if quiet < self.settle {
                continue;
            }
            let Some(expected) = expected else {
                return Ok(End::Settled(self.state().await?));
            };
            if looked.is_none_or(|looked: Instant| looked.elapsed() > 5 * TICK) || quiet >= patience {
                looked = Some(Instant::now());
                let state = self.state().await?;
                if state == *expected || quiet >= patience {
                    return Ok(End::Settled(state));
                }
            }
        }
    }

    /// Starts another process if the last one has ended, as the kubelet does. Returns a reason if that happens again and
    /// again without a crash.
    async fn restart_if_ended(&mut self) -> Result<Option<String>> {
        let Some(process) = &self.process else { return Ok(None) };
        {
            let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
            if process.ended().is_none() {
                return Ok(None);
            }
            process.kill();
        }
        while self.proxy.state().pending > 0 {
            sleep(TICK).await;
        }
        if self.endings == RESTARTS {
            return Ok(Some("the operator ends again after each start".to_owned()));
        }
        self.endings += 1;
        self.spawn()?;
        Ok(None)
    }

    /// The time without requests after which a state that is not the expected one is the end.
    pub(super) fn patience(&self) -> Duration {
        3 * self.settle + Duration::from_secs(1)
    }

    /// The last lines of the operator's output.
    pub(super) fn log(&self) -> Vec<String> {
        let Some(process) = &self.process else { return Vec::new() };
        process.lock().unwrap_or_else(PoisonError::into_inner).last_lines(LOG)
    }

    /// The spec of the first sample in the cluster.
    pub(super) async fn spec(&self) -> Result<Value> {
        let Some(sample) = self.samples.first() else { return Ok(Value::Null) };
        Ok(self.api.get(&sample.path()).await?["spec"].clone())
    }
}
