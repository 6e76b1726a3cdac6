//! Events about objects that cannot be deserialized.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::ObjectMeta;
use kube::runtime::events::{EventType, Recorder};

use super::guard::Invalid;
use crate::election::leadership::Leadership;
use crate::event;
use crate::object::{Kind, Object};

/// Publishes events while this replica leads.
pub(crate) struct Reporter {
    pub(crate) recorder: Recorder,
    pub(crate) leadership: Leadership,
}

impl Reporter {
    pub(super) async fn publish<K: Object>(&self, kind: &Kind<K>, invalid: Invalid) {
        let object = reference(kind, invalid.metadata);
        let note = format!(
            "The operator can't read this object and leaves it alone: {}",
            invalid.error
        );
        let what = ("Watch", "Unreadable");
        event::publish(&self.recorder, &object, EventType::Warning, what, &note).await;
    }
}

pub(super) fn log<K: Object>(kind: &Kind<K>, invalid: &Invalid) {
    tracing::error!(
        kind = %kind.name(),
        namespace = invalid.metadata.namespace,
        name = invalid.metadata.name,
        error = invalid.error,
        "an object can't be read and is left alone"
    );
}

fn reference<K: Object>(kind: &Kind<K>, metadata: ObjectMeta) -> ObjectReference {
    ObjectReference {
        api_version: Some(kind.api_version().into_owned()),
        kind: Some(kind.name().into_owned()),
        name: metadata.name,
        namespace: metadata.namespace,
        resource_version: metadata.resource_version,
        uid: metadata.uid,
        field_path: None,
    }
}
