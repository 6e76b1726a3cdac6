//! The releases of an operator. Flags select a release's behaviour; `tests/it/control_plane/upgrade.rs` rolls from one
//! to the next.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use kube::core::object::HasStatus;
use kube::runtime::watcher;
use kube::{CustomResource, ResourceExt};
use manager::webhook::{Defaulting, Denied, FieldErrors, Hub, Request, Spoke, Validating, Warnings};
use manager::{Action, Manager, Object, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const OWNER: &str = "upgrade";

#[derive(Clone, Parser)]
struct Args {
    /// Name of the release, which each reconcile writes to the status
    #[arg(long)]
    release: String,
    /// Version of the controller: v1alpha1 or v1
    #[arg(long)]
    reconcile: String,
    /// Convert between v1alpha1 and v1
    #[arg(long)]
    convert: bool,
    /// Default and validate v1
    #[arg(long)]
    admit: bool,
    #[command(flatten)]
    manager: Options,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
struct ThingStatus {
    release: Option<String>,
}

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Thing", status = "ThingStatus", namespaced)]
struct ThingSpec {
    size: i32,
    mode: Option<String>,
}

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "example.com",
    version = "v1alpha1",
    kind = "Thing",
    root = "OldThing",
    status = "ThingStatus",
    namespaced
)]
struct OldThingSpec {
    replicas: i32,
}

impl Hub for Thing {}

impl Spoke for OldThing {
    type Hub = Thing;
    type Error = Infallible;

    fn to_hub(&self) -> Result<Thing, Infallible> {
        let mut hub = Thing::new("", ThingSpec { size: self.spec.replicas, mode: None });
        hub.status.clone_from(&self.status);
        Ok(hub)
    }

    fn from_hub(hub: &Thing) -> Result<Self, Infallible> {
        let mut spoke = Self::new("", OldThingSpec { replicas: hub.spec.size });
        spoke.status.clone_from(&hub.status);
        Ok(spoke)
    }
}

impl Defaulting<()> for Thing {
    fn default(&mut self, _request: &Request<()>) -> Result<(), Denied> {
        self.spec.mode.get_or_insert_with(|| "slow".to_owned());
        Ok(())
    }
}

impl Validating<()> for Thing {
    async fn validate_update(&self, _old: &Self, _request: &Request<()>) -> Result<Warnings, Denied> {
        let mut errors = FieldErrors::new();
        if self.spec.size < 1 {
            errors.invalid("spec.size", self.spec.size, "must be at least 1");
        }
        errors.into_result(vec![])
    }
}

/// Writes the release to the status of each object.
fn control<K>(manager: &mut Manager, release: String)
where
    K: Object<DynamicType = ()> + HasStatus<Status = ThingStatus>,
{
    let objects = Arc::new(manager.objects::<K>(&watcher::Config::default()));
    let status = ThingStatus { release: Some(release) };
    manager.controller("thing", &objects.clone()).run(
        move |object: Arc<K>, _| {
            let (objects, status) = (objects.clone(), status.clone());
            async move {
                objects.apply_status(&*object, &status, OWNER).await?;
                tracing::info!(name = object.name_any(), "reconciled");
                Ok::<_, kube::Error>(Action::Done)
            }
        },
        Arc::new(()),
    );
}

fn register(manager: &mut Manager, args: &Args) {
    if args.convert || args.admit {
        let mut webhooks = manager.webhooks(());
        if args.admit {
            webhooks = webhooks.defaulting::<Thing>("/mutate").validating::<Thing>("/validate");
        }
        if args.convert {
            webhooks.conversion::<Thing>().spoke::<OldThing>();
        }
    }
    match args.reconcile.as_str() {
        "v1" => control::<Thing>(manager, args.release.clone()),
        _ => control::<OldThing>(manager, args.release.clone()),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    args.manager.init_logging();
    let run = async {
        let manager = Manager::new("upgrade", "0.0.0", args.manager.clone()).await?;
        manager.leader_election_id("upgrade.example.com").with(|manager| register(manager, &args)).run().await
    };
    match run.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the operator ended");
            ExitCode::FAILURE
        }
    }
}
