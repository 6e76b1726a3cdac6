use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, JobSpec, JobTemplateSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use kube::ResourceExt;
use kube::api::{DeleteParams, ObjectMeta};
use manager::{Objects, short_dns_label};

use crate::api::Site;
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};
use crate::desired;

/// Keeps a CronJob while the spec asks for backups.
pub async fn backup(site: &Site, jobs: &Objects<CronJob>) -> Result<()> {
    let name = short_dns_label(&site.name_any());
    if let Some(schedule) = &site.spec.backup {
        jobs.apply(&cron_job(site, name, schedule), FIELD_MANAGER)
            .await
            .map_err(Error::during("apply the CronJob"))?;
    } else if let Some(job) = jobs.get(site.namespace().as_deref(), &name) {
        // Also deletes the Jobs and their pods; the default of some kinds is to orphan them.
        jobs.delete(&job, &DeleteParams::background())
            .await
            .map_err(Error::during("delete the CronJob"))?;
    }
    Ok(())
}

fn cron_job(site: &Site, name: String, schedule: &str) -> CronJob {
    let pod = PodSpec {
        containers: vec![Container {
            name: "backup".to_owned(),
            image: Some(site.spec.image.clone()),
            args: Some(vec!["backup".to_owned()]),
            ..Container::default()
        }],
        restart_policy: Some("Never".to_owned()),
        ..PodSpec::default()
    };
    CronJob {
        metadata: ObjectMeta {
            name: Some(name),
            ..desired::metadata(site)
        },
        spec: CronJobSpec {
            schedule: schedule.to_owned(),
            job_template: JobTemplateSpec {
                metadata: None,
                spec: Some(JobSpec {
                    template: PodTemplateSpec {
                        metadata: None,
                        spec: Some(pod),
                    },
                    ..JobSpec::default()
                }),
            },
            ..CronJobSpec::default()
        },
        status: None,
    }
}
