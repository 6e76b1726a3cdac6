use k8s_openapi::api::apps::v1::Deployment;
use manager::{Controller, Objects};

use crate::api::Site;

/// Reconciles a site when what the operator applies to its Deployment changes, or when the condition `Available` does.
pub fn owning<'manager>(
    controller: Controller<'manager, Site>,
    deployments: &Objects<Deployment>,
) -> Controller<'manager, Site> {
    controller.owns_when(deployments, |before, now| {
        before.is_none_or(|before| matters(before) != matters(now))
    })
}

fn matters(deployment: &Deployment) -> impl PartialEq {
    let metadata = &deployment.metadata;
    let status = deployment.status.as_ref();
    let mut conditions = status
        .into_iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let available = conditions.any(|one| one.type_ == "Available" && one.status == "True");
    // The generation follows the spec, but not the metadata.
    (
        metadata.generation,
        metadata.labels.clone(),
        metadata.owner_references.clone(),
        available,
    )
}
