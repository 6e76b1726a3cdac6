use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, PodTemplateSpec};
use kube::ResourceExt;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use manager::{ObjectKey, Objects, dns_label};

use crate::api::Site;
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};
use crate::{delete_job, desired};

const SITE: &str = "web.example.com/site";

/// The progress of a Job.
#[derive(Debug, PartialEq)]
pub enum Progress {
    Running { pods: usize },
    Complete,
    Failed(String),
}

/// Runs the migration of a site once for each image.
pub async fn migrate(
    site: &Site,
    jobs: &Objects<Job>,
    pods: &Objects<PartialObjectMeta<Pod>>,
) -> Result<Progress> {
    let migration = migration(site);
    let labels = desired::labels(site);
    for job in jobs.list(site.namespace().as_deref()) {
        if job.name_any() != migration.name_any() && *job.labels() == labels {
            delete_job::stop(&job, jobs).await?;
        }
    }
    let job = jobs
        .create(&migration, FIELD_MANAGER)
        .await
        .map_err(Error::during("create the Job"))?
        .object;
    let of_job = |pod: &Arc<PartialObjectMeta<Pod>>| {
        let mut owners = pod.owner_references().iter();
        owners.any(|owner| Some(&owner.uid) == job.metadata.uid.as_ref())
    };
    let pods = pods.list(site.namespace().as_deref());
    let running = pods.iter().filter(|pod| of_job(pod)).count();
    let conditions = job
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    for condition in conditions.filter(|condition| condition.status == "True") {
        match condition.type_.as_str() {
            "Complete" => return Ok(Progress::Complete),
            "Failed" => {
                return Ok(Progress::Failed(
                    condition.message.clone().unwrap_or_default(),
                ));
            }
            _ => {}
        }
    }
    Ok(Progress::Running { pods: running })
}

/// Returns the site of a pod, for `watches`.
pub fn site_of(pod: &PartialObjectMeta<Pod>) -> Option<ObjectKey> {
    let name = pod.annotations().get(SITE)?.clone();
    let namespace = pod.namespace();
    Some(ObjectKey { namespace, name })
}

/// A Job for this image, because the template of a Job is immutable.
fn migration(site: &Site) -> Job {
    let name = format!("{}-{}", site.name_any(), site.spec.image);
    let pod = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            annotations: Some(BTreeMap::from([(SITE.to_owned(), site.name_any())])),
            labels: Some(desired::labels(site)),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "migrate".to_owned(),
                image: Some(site.spec.image.clone()),
                args: Some(vec!["migrate".to_owned()]),
                ..Container::default()
            }],
            restart_policy: Some("Never".to_owned()),
            ..PodSpec::default()
        }),
    };
    Job {
        metadata: ObjectMeta {
            name: Some(dns_label(&name)),
            ..desired::metadata(site)
        },
        spec: Some(JobSpec {
            backoff_limit: Some(3),
            template: pod,
            ..JobSpec::default()
        }),
        status: None,
    }
}
