//! Memcacheds that change continuously, so that the leader always has work.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::Api;
use crate::random::Random;

pub(super) const NAMESPACE: &str = "chaos";
const MEMCACHEDS: &str = "/apis/cache.example.com/v1alpha1/namespaces/chaos/memcacheds";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/chaos/deployments";
const SERVICES: &str = "/api/v1/namespaces/chaos/services";

const OBJECTS: usize = 20;
/// Interval of changes. The operator answers each with about two writes.
const PACE: Duration = Duration::from_millis(40);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Drive {
    Go,
    Halt,
    End,
}

pub(super) struct Workload {
    api: Api,
    /// Locked during a change.
    drive: Arc<Mutex<Drive>>,
    driver: Option<JoinHandle<()>>,
}

impl Workload {
    pub(super) fn start(api: Api, seed: u64) -> Self {
        for index in 0..OBJECTS {
            create(api, &name(index, 0), &json!({ "size": 0 })).unwrap_or_else(|error| panic!("{error}"));
        }
        let drive = Arc::new(Mutex::new(Drive::Go));
        let shared = drive.clone();
        let driver = std::thread::spawn(move || {
            let mut random = Random(seed);
            let mut versions = [0; OBJECTS];
            loop {
                let drive = shared.lock().unwrap();
                match *drive {
                    Drive::Go => change(api, &mut random, &mut versions),
                    Drive::Halt => {}
                    Drive::End => return,
                }
                drop(drive);
                std::thread::sleep(PACE);
            }
        });
        Self { api, drive, driver: Some(driver) }
    }

    /// Stops the changes, and waits for the current one.
    pub(super) fn halt(&self) {
        *self.drive.lock().unwrap() = Drive::Halt;
    }

    pub(super) fn go_on(&self) {
        *self.drive.lock().unwrap() = Drive::Go;
    }

    /// Checks that all objects match the Memcacheds.
    pub(super) fn converged(&self) -> Result<(), String> {
        let [memcacheds, deployments, services] = [MEMCACHEDS, DEPLOYMENTS, SERVICES].map(|path| self.list(path));
        let (memcacheds, deployments, services) = (memcacheds?, deployments?, services?);
        if memcacheds.is_empty() {
            return Err("there is no Memcached".to_owned());
        }
        for memcached in &memcacheds {
            let name = &memcached["metadata"]["name"];
            let of = |list: &[Value]| list.iter().find(|it| it["metadata"]["name"] == *name).cloned();
            let (deployment, service) = (of(&deployments).unwrap_or_default(), of(&services).unwrap_or_default());
            differences(memcached, &deployment, &service)
                .map_err(|what| format!("{what} of\n{memcached:#}\n{deployment:#}\n{service:#}"))?;
        }
        Ok(())
    }

    fn list(&self, path: &str) -> Result<Vec<Value>, String> {
        let list = self.api.get(path)?;
        list["items"].as_array().cloned().ok_or_else(|| format!("not a list: {list:#}"))
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            *self.drive.lock().unwrap() = Drive::End;
            let _ = driver.join();
        }
    }
}

/// Changes, deletes or recreates a Memcached. A change that fails in an outage is not retried.
fn change(api: Api, random: &mut Random, versions: &mut [u32; OBJECTS]) {
    let index = random.below(OBJECTS as u64) as usize;
    let path = format!("{MEMCACHEDS}/{}", name(index, versions[index]));
    if random.percent(5) {
        let _ = api.send("DELETE", &path, "");
        return;
    }
    let spec = json!({ "size": random.below(6), "containerPort": 11_211 + random.below(6) });
    let patched = api.send("PATCH", &path, &json!({ "spec": spec }).to_string());
    if patched.is_err_and(|error| error.contains(" 404 ")) {
        // Use a new name: without garbage collection, the objects of the previous owner stay.
        versions[index] += 1;
        let _ = create(api, &name(index, versions[index]), &spec);
    }
}

fn create(api: Api, name: &str, spec: &Value) -> Result<Value, String> {
    let memcached = json!({
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": { "name": name },
        "spec": spec,
    });
    api.send("POST", MEMCACHEDS, &memcached.to_string())
}

fn name(index: usize, version: u32) -> String {
    format!("memcached-{index}-{version}")
}

fn differences(memcached: &Value, deployment: &Value, service: &Value) -> Result<(), String> {
    let (metadata, spec) = (&memcached["metadata"], &memcached["spec"]);
    let conditions = memcached["status"]["conditions"].as_array().into_iter().flatten();
    let observed: Vec<_> = conditions.map(|condition| &condition["observedGeneration"]).collect();
    let is_owned = |object: &Value| object["metadata"]["ownerReferences"][0]["uid"] == metadata["uid"];
    for (what, is_so) in [
        ("the deletion", metadata["deletionTimestamp"].is_null()),
        ("the finalizer", !metadata["finalizers"].is_null()),
        ("the size", deployment["spec"]["replicas"] == spec["size"]),
        ("the port", service["spec"]["ports"][0]["port"] == spec["containerPort"]),
        ("the owner", is_owned(deployment) && is_owned(service)),
        ("the status", !observed.is_empty() && observed.iter().all(|it| **it == metadata["generation"])),
    ] {
        if !is_so {
            return Err(what.to_owned());
        }
    }
    Ok(())
}
