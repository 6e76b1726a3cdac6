//! Versions of a kind with different fields.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::webhook::{Hub, Spoke};

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Thing",
    namespaced,
    status = "ThingStatus"
)]
pub(crate) struct ThingSpec {
    pub(crate) replicas: i32,
    #[schemars(length(min = 1, max = 10))]
    pub(crate) mode: Option<String>,
    #[serde(default)]
    pub(crate) ports: Vec<Port>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub(crate) struct Port {
    pub(crate) number: u16,
    #[schemars(regex(pattern = "^[a-z]+$"))]
    name: Option<String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub(crate) struct ThingStatus {
    ready: bool,
}

impl Hub for Thing {}

/// Lacks names of ports and modes, and has a field that the hub lacks.
pub(crate) mod v1alpha1 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(
        group = "example.com",
        version = "v1alpha1",
        kind = "Thing",
        namespaced,
        status = "ThingStatus"
    )]
    pub(crate) struct ThingSpec {
        pub(crate) size: String,
        #[serde(default)]
        pub(crate) ports: Vec<u16>,
        pub(crate) legacy: Option<bool>,
    }
}

impl Spoke for v1alpha1::Thing {
    type Hub = Thing;
    type Error = String;

    fn to_hub(&self) -> Result<Thing, String> {
        let size = &self.spec.size;
        let replicas = size
            .parse()
            .map_err(|_| format!("spec.size: {size:?} is no number"))?;
        let ports = self
            .spec
            .ports
            .iter()
            .map(|&number| Port { number, name: None });
        let spec = ThingSpec {
            replicas,
            mode: None,
            ports: ports.collect(),
        };
        Ok(Thing {
            status: self.status.clone(),
            ..Thing::new("", spec)
        })
    }

    fn from_hub(hub: &Thing) -> Result<Self, String> {
        let spec = v1alpha1::ThingSpec {
            size: hub.spec.replicas.to_string(),
            ports: hub.spec.ports.iter().map(|port| port.number).collect(),
            legacy: None,
        };
        Ok(Self {
            status: hub.status.clone(),
            ..Self::new("", spec)
        })
    }
}

/// The hub with another version name.
pub(crate) mod v1beta1 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "example.com", version = "v1beta1", kind = "Thing", namespaced)]
    pub(crate) struct ThingSpec {
        #[serde(flatten)]
        pub(crate) same: super::ThingSpec,
    }
}

impl Spoke for v1beta1::Thing {
    type Hub = Thing;
    type Error = std::convert::Infallible;

    fn to_hub(&self) -> Result<Thing, Self::Error> {
        Ok(Thing::new("", self.spec.same.clone()))
    }

    fn from_hub(hub: &Thing) -> Result<Self, Self::Error> {
        Ok(Self::new(
            "",
            v1beta1::ThingSpec {
                same: hub.spec.clone(),
            },
        ))
    }
}

/// A scaffolded conversion: nobody has written how to get the replicas.
pub(crate) mod v2alpha1 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(
        group = "example.com",
        version = "v2alpha1",
        kind = "Thing",
        namespaced,
        status = "ThingStatus"
    )]
    pub(crate) struct ThingSpec {
        mode: Option<String>,
    }
}

impl Spoke for v2alpha1::Thing {
    type Hub = Thing;
    type Error = serde_json::Error;

    fn to_hub(&self) -> Result<Thing, Self::Error> {
        serde_json::from_value(serde_json::to_value(self)?)
    }

    fn from_hub(hub: &Thing) -> Result<Self, Self::Error> {
        serde_json::from_value(serde_json::to_value(hub)?)
    }
}
