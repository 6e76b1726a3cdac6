//! An operator whose webhooks default, validate and convert. Stored objects violate its type and its rules.

use std::convert::Infallible;

use clap::Parser;
use kube::CustomResource;
use manager::webhook::{Defaulting, Denied, FieldErrors, Hub, Request, Spoke, Validating, Warnings};
use manager::{Manager, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Options,
}

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Thing", namespaced, status = "ThingStatus")]
struct ThingSpec {
    replicas: i32,
    #[schemars(length(max = 10))]
    mode: Option<String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
struct ThingStatus {
    ready: bool,
}

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1alpha1", kind = "Thing", root = "OldThing", namespaced, status = "ThingStatus")]
struct OldThingSpec {
    size: i32,
}

impl Hub for Thing {}

impl Spoke for OldThing {
    type Hub = Thing;
    type Error = Infallible;

    fn to_hub(&self) -> Result<Thing, Infallible> {
        let spec = ThingSpec { replicas: self.spec.size, mode: None };
        Ok(Thing { status: self.status.clone(), ..Thing::new("", spec) })
    }

    fn from_hub(hub: &Thing) -> Result<Self, Infallible> {
        let spec = OldThingSpec { size: hub.spec.replicas };
        Ok(Self { status: hub.status.clone(), ..Self::new("", spec) })
    }
}

impl Defaulting<()> for Thing {
    fn default(&mut self, _: &Request<()>) -> Result<(), Denied> {
        self.spec.mode.get_or_insert_with(|| "fast".to_owned());
        Ok(())
    }
}

impl Thing {
    fn check(&self) -> Result<Warnings, Denied> {
        let mut errors = FieldErrors::new();
        if self.spec.replicas > 5 {
            errors.invalid("spec.replicas", self.spec.replicas, "must not be above 5");
        }
        errors.into_result(vec![])
    }
}

impl Validating<()> for Thing {
    async fn validate_create(&self, _: &Request<()>) -> Result<Warnings, Denied> {
        self.check()
    }

    async fn validate_update(&self, _: &Self, _: &Request<()>) -> Result<Warnings, Denied> {
        self.check()
    }
}

/// The rule also reads labels.
impl Validating<()> for OldThing {
    const EVERY_UPDATE: bool = true;

    async fn validate_create(&self, _: &Request<()>) -> Result<Warnings, Denied> {
        let Ok(hub) = self.to_hub();
        hub.check()
    }

    async fn validate_update(&self, _: &Self, request: &Request<()>) -> Result<Warnings, Denied> {
        self.validate_create(request).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let Args { manager } = Args::parse();
    manager.init_logging();
    let mut manager = Manager::new("stored", "0.0.0", manager).await?;
    let webhooks = manager.webhooks(()).defaulting::<Thing>("/mutate").validating::<Thing>("/validate");
    webhooks.validating::<OldThing>("/validate-old").conversion::<Thing>().spoke::<OldThing>();
    Ok(manager.run().await?)
}
