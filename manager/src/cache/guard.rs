//! An object as a watch delivers it. One object that cannot be deserialized must not hide the others: it is logged,
//! and an event tells its author.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::runtime::events::{EventType, Recorder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::election::leadership::Leadership;
use crate::object::{Kind, Object};
use crate::{error, event};

/// An object, or the reason why it cannot be deserialized.
#[derive(Clone, Debug)]
pub(crate) enum Guard<K> {
    Valid(K),
    Invalid(Box<Invalid>),
}

#[derive(Clone, Debug)]
pub(crate) struct Invalid {
    pub(crate) metadata: ObjectMeta,
    pub(crate) error: String,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guard<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let error = match error::catch(|| K::deserialize(&value)) {
            Ok(Ok(object)) => return Ok(Self::Valid(object)),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("the operator panicked while reading it: {panic}"),
        };
        let metadata = ObjectMeta::deserialize(&value["metadata"]);
        Ok(Self::Invalid(Box::new(Invalid {
            metadata: metadata.map_err(serde::de::Error::custom)?,
            error,
        })))
    }
}

impl<K: Resource> Resource for Guard<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn metadata_api() -> bool {
        K::metadata_api()
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Valid(object) => object.meta(),
            Self::Invalid(invalid) => &invalid.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Valid(object) => object.meta_mut(),
            Self::Invalid(invalid) => &mut invalid.metadata,
        }
    }
}

/// Publishes events while this replica leads.
pub(crate) struct Reporter {
    pub(crate) recorder: Recorder,
    pub(crate) leadership: Leadership,
}

impl Reporter {
    pub(super) async fn publish<K: Object>(&self, kind: &Kind<K>, invalid: Invalid) {
        let note = format!(
            "The operator can't read this object and leaves it alone: {}",
            invalid.error
        );
        let guard = Guard::<K>::Invalid(Box::new(invalid));
        let object = ObjectReference {
            resource_version: guard.meta().resource_version.clone(),
            ..guard.object_ref(&kind.dynamic)
        };
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

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_keeps_its_name() {
        let read = |data: Value| {
            let object = json!({ "metadata": { "name": "a" }, "data": data });
            serde_json::from_value::<Guard<ConfigMap>>(object).unwrap()
        };
        assert!(matches!(read(json!({ "key": "value" })), Guard::Valid(_)));
        let invalid = read(json!("text"));
        assert!(matches!(&invalid, Guard::Invalid(invalid) if invalid.error.contains("a map")));
        assert_eq!(invalid.meta().name.as_deref(), Some("a"));
    }

    #[test]
    fn a_panic_hides_no_other_object() {
        #[derive(Clone, Debug)]
        struct Panics;

        impl<'de> Deserialize<'de> for Panics {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                panic!("on purpose")
            }
        }

        let object = json!({ "metadata": { "name": "a" } });
        let Ok(Guard::Invalid(invalid)) = serde_json::from_value::<Guard<Panics>>(object) else {
            panic!("it can't be read")
        };
        assert_eq!(
            invalid.error,
            "the operator panicked while reading it: on purpose"
        );
    }
}
