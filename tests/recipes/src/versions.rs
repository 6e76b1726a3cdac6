use std::convert::Infallible;

use kube::CustomResource;
use manager::webhook::{Denied, FieldErrors, Hub, Request, Spoke, Validating, Warnings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Site, SiteSpec};

/// The older version, which has no databases.
#[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "web.example.com",
    version = "v1alpha1",
    kind = "Site",
    root = "OldSite",
    namespaced,
    storage = false
)]
pub struct OldSiteSpec {
    pub image: String,
}

impl Hub for Site {}

impl Spoke for OldSite {
    type Hub = Site;
    type Error = Infallible;

    fn to_hub(&self) -> Result<Site, Infallible> {
        let spec = SiteSpec {
            image: self.spec.image.clone(),
            ..SiteSpec::default()
        };
        let metadata = self.metadata.clone();
        let status = None;
        Ok(Site {
            metadata,
            spec,
            status,
        })
    }

    fn from_hub(hub: &Site) -> Result<Self, Infallible> {
        let image = hub.spec.image.clone();
        let (metadata, spec) = (hub.metadata.clone(), OldSiteSpec { image });
        Ok(Self { metadata, spec })
    }
}

/// Validates a site, with field paths of the hub.
pub fn errors(site: &Site) -> FieldErrors {
    let mut errors = FieldErrors::new();
    if site.spec.image.is_empty() {
        errors.required("spec.image", "a site needs an image");
    }
    errors
}

/// Only for a webhook with `matchPolicy=Exact`.
impl<C: Send + Sync> Validating<C> for OldSite {
    async fn validate_create(&self, _request: &Request<C>) -> Result<Warnings, Denied> {
        let Ok(site) = self.to_hub();
        errors(&site).into_result(vec![])
    }

    async fn validate_update(&self, _old: &Self, request: &Request<C>) -> Result<Warnings, Denied> {
        self.validate_create(request).await
    }
}
