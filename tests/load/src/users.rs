//! Users who create, change and delete Memcacheds and edit the owned objects, at random and at a fixed rate.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::try_join_all;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use crate::fate::Random;
use crate::floor::{api, memcacheds};

/// Number of users. Each has its own objects and acts sequentially.
const USERS: u32 = 8;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Namespace of the objects
    #[arg(long)]
    namespace: String,
    /// Number of objects to create
    #[arg(long)]
    objects: u32,
    /// Number of changes afterwards
    #[arg(long, default_value = "0")]
    changes: u32,
    /// Requests per second
    #[arg(long)]
    rate: u32,
    /// Maximum size of an object
    #[arg(long)]
    size: u64,
    /// Give each object the maximum size, and no other field
    #[arg(long)]
    plain: bool,
    /// Seed of the changes
    #[arg(long, default_value = "0")]
    seed: u64,
    /// File for the remaining specs, by name
    #[arg(long)]
    output: PathBuf,
}

pub(crate) async fn run(options: Options, client: Client) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let users = (0..USERS).map(|number| User::new(number, &options, &client).work());
    let left: BTreeMap<String, Value> = try_join_all(users).await?.into_iter().flatten().collect();
    let partial = options.output.with_extension("partial");
    std::fs::write(&partial, json!(left).to_string())?;
    std::fs::rename(partial, options.output)?;
    Ok(())
}

struct User {
    names: Vec<String>,
    changes: u32,
    pause: Duration,
    size: u64,
    plain: bool,
    random: Random,
    left: BTreeMap<String, Value>,
    memcacheds: Api<DynamicObject>,
    deployments: Api<DynamicObject>,
    services: Api<DynamicObject>,
}

impl User {
    fn new(number: u32, options: &Options, client: &Client) -> Self {
        let numbers = (0..options.objects).filter(|object| object % USERS == number);
        Self {
            names: numbers.map(|object| format!("m-{object:05}")).collect(),
            changes: options.changes / USERS,
            pause: Duration::from_secs(u64::from(USERS)) / options.rate,
            size: options.size,
            plain: options.plain,
            random: Random::new(options.seed ^ u64::from(number) << 32),
            left: BTreeMap::new(),
            memcacheds: memcacheds(client, &options.namespace),
            deployments: api(client, &options.namespace, "apps", "v1", "Deployment"),
            services: api(client, &options.namespace, "", "v1", "Service"),
        }
    }

    /// Returns the remaining specs.
    async fn work(mut self) -> kube::Result<BTreeMap<String, Value>> {
        let mut ticks = tokio::time::interval(self.pause);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for name in self.names.clone() {
            ticks.tick().await;
            self.create(&name).await?;
        }
        for _ in 0..if self.names.is_empty() { 0 } else { self.changes } {
            ticks.tick().await;
            let index = self.random.below(self.names.len() as u64);
            let name = self.names[usize::try_from(index).unwrap_or_default()].clone();
            if self.left.contains_key(&name) {
                self.change(&name).await?;
            } else {
                self.create(&name).await?;
            }
        }
        Ok(self.left)
    }

    fn spec(&mut self) -> Value {
        if self.plain {
            return json!({ "size": self.size });
        }
        let size = self.random.below(self.size + 1);
        let arguments: Vec<_> = (0..self.random.below(3)).map(|number| format!("--number={number}")).collect();
        json!({ "size": size, "containerPort": 11211 + self.random.below(3), "extraArgs": arguments })
    }

    async fn create(&mut self, name: &str) -> kube::Result<()> {
        let spec = self.spec();
        let object = json!({
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": { "name": name },
            "spec": spec,
        });
        let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        match self.memcacheds.create(&PostParams::default(), &object).await {
            Ok(_) => {
                self.left.insert(name.to_owned(), spec);
                Ok(())
            }
            // The operator has not finished the previous object.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn change(&mut self, name: &str) -> kube::Result<()> {
        let merge = PatchParams::default();
        let delete = DeleteParams::default();
        match self.random.below(10) {
            0..5 => {
                let spec = self.spec();
                let patch = json!({ "spec": spec });
                self.memcacheds.patch(name, &merge, &Patch::Merge(patch)).await?;
                self.left.insert(name.to_owned(), spec);
            }
            5..7 => {
                self.memcacheds.delete(name, &delete).await?;
                self.left.remove(name);
            }
            7 => unless_missing(self.deployments.delete(name, &delete).await)?,
            8 => unless_missing(self.services.delete(name, &delete).await)?,
            _ => {
                let patch = json!({ "spec": { "replicas": 9 } });
                unless_missing(self.deployments.patch(name, &merge, &Patch::Merge(patch)).await)?;
            }
        }
        Ok(())
    }
}

/// The operator may not have created it yet.
fn unless_missing<T>(result: kube::Result<T>) -> kube::Result<()> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        result => result.map(|_| ()),
    }
}
