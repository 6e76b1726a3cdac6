//! Sends the requests of a leader for life to the API server.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ObjectMeta, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};

use super::life::{self, LifeAnswer, LifeStep, Lock, Owner, WaitReason};

pub(super) struct LifeRequests<'name> {
    locks: Api<ConfigMap>,
    pods: Api<Pod>,
    nodes: Api<Node>,
    name: &'name str,
    timeout: Duration,
    told: Option<WaitReason>,
}

impl<'name> LifeRequests<'name> {
    pub(super) fn new(
        client: &Client,
        namespace: &str,
        name: &'name str,
        timeout: Duration,
    ) -> Self {
        Self {
            locks: Api::namespaced(client.clone(), namespace),
            pods: Api::namespaced(client.clone(), namespace),
            nodes: Api::all(client.clone()),
            name,
            timeout,
            told: None,
        }
    }

    /// Logs the reason for waiting, once.
    pub(super) fn tell(&mut self, reason: Option<WaitReason>) {
        if self.told == reason {
            return;
        }
        self.told = reason;
        if let Some(reason) = reason {
            tracing::info!(election = self.name, reason = reason.as_str(), "waiting");
        }
    }

    pub(super) async fn ask(&self, step: LifeStep) -> LifeAnswer {
        match tokio::time::timeout(self.timeout, self.request(&step)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
                LifeAnswer::Conflict
            }
            Ok(Err(error)) => {
                tracing::warn!(election = self.name, request = ?step, %error, "can't ask the API server");
                LifeAnswer::Failed
            }
            Err(_) => {
                tracing::warn!(election = self.name, request = ?step, timeout = ?self.timeout, "no answer from the API server");
                LifeAnswer::Failed
            }
        }
    }

    /// Deletes the Pod with this name if it owns the lock. Returns false if it does not, or if that is unknown.
    pub(super) async fn resign(&self, name: &str) -> bool {
        let LifeAnswer::Pod(Some(pod)) = self.ask(LifeStep::ReadPod(name.to_owned())).await else {
            return false;
        };
        match self.ask(LifeStep::ReadLock).await {
            LifeAnswer::Lock(Lock::Owned(owner)) if owner.uid == pod.uid => {
                self.ask(LifeStep::Delete(owner)).await == LifeAnswer::Done
            }
            _ => false,
        }
    }

    async fn request(&self, step: &LifeStep) -> kube::Result<LifeAnswer> {
        Ok(match step {
            LifeStep::ReadLock => {
                let found = self.locks.get_opt(self.name).await?;
                LifeAnswer::Lock(found.map_or(Lock::Absent, |found| lock(&found)))
            }
            LifeStep::ReadPod(name) => {
                LifeAnswer::Pod(self.pods.get_opt(name).await?.as_ref().map(pod))
            }
            LifeStep::ReadNode(name) => {
                let found = self.nodes.get_opt(name).await?;
                LifeAnswer::Node(found.as_ref().map_or(life::Node::Fine, node))
            }
            LifeStep::Create(owner) => {
                let lock = config_map(self.name, owner);
                self.locks.create(&PostParams::default(), &lock).await?;
                LifeAnswer::Done
            }
            LifeStep::Delete(owner) => self.delete(owner, None).await?,
            LifeStep::DeleteByForce(owner) => self.delete(owner, Some(0)).await?,
            LifeStep::Wait(_) | LifeStep::Homeless | LifeStep::Over => LifeAnswer::Done,
        })
    }

    /// Deletes exactly this Pod, with this grace period in seconds or its own.
    async fn delete(&self, owner: &Owner, grace: Option<u32>) -> kube::Result<LifeAnswer> {
        tracing::warn!(
            election = self.name,
            pod = owner.name,
            uid = owner.uid,
            by_force = grace.is_some(),
            "deleting the pod of the leader"
        );
        let parameters = DeleteParams {
            grace_period_seconds: grace,
            preconditions: Some(Preconditions {
                uid: Some(owner.uid.clone()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        self.pods.delete(&owner.name, &parameters).await?;
        Ok(LifeAnswer::Done)
    }
}

/// Makes the lock of a Pod, which garbage collection removes together with the Pod.
fn config_map(name: &str, owner: &Owner) -> ConfigMap {
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
        ..OwnerReference::default()
    };
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn lock(found: &ConfigMap) -> Lock {
    let mut owners = found.owner_references().iter();
    let owner = owners.find(|owner| owner.api_version == "v1" && owner.kind == "Pod");
    owner.map_or(Lock::Ownerless, |owner| {
        Lock::Owned(Owner {
            name: owner.name.clone(),
            uid: owner.uid.clone(),
        })
    })
}

fn pod(found: &Pod) -> life::Pod {
    let status = found.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    life::Pod {
        uid: found.uid().unwrap_or_default(),
        // The kubelet sets it only when no container runs any more. An evicted Pod is `Failed`.
        ended: matches!(phase, Some("Failed" | "Succeeded")),
        leaving: found.metadata.deletion_timestamp.is_some(),
        node: found.spec.as_ref().and_then(|spec| spec.node_name.clone()),
    }
}

fn node(found: &Node) -> life::Node {
    let conditions = found
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.type_ == "Ready");
    match ready {
        Some(ready) if ready.status != "True" => {
            let since = ready.last_transition_time.as_ref();
            life::Node::Unready(since.map(|time| time.0.to_string()).unwrap_or_default())
        }
        _ => life::Node::Fine,
    }
}
