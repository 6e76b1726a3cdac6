use k8s_openapi::api::batch::v1::Job;
use kube::api::DeleteParams;
use manager::Objects;

use crate::controller::{Error, Result};

/// Stops a Job and its pods. Returns false if the Job did not exist.
pub async fn stop(job: &Job, jobs: &Objects<Job>) -> Result<bool> {
    jobs.delete(job, &DeleteParams::background())
        .await
        .map_err(Error::during("delete the Job"))
}
