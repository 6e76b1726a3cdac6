//! The running reconcile, as its requests see it.

use std::time::Duration;

use kube::ResourceExt;

use crate::error;
use crate::object::{Kind, Object, ObjectKey};

struct Visit {
    kind: String,
    key: ObjectKey,
    uid: Option<String>,
    again: Box<dyn Fn(Duration) + Send + Sync>,
}

tokio::task_local! {
    static VISIT: Visit;
}

/// Runs the reconcile of an object. `again` requeues the object.
pub(crate) async fn during<K: Object, T>(
    kind: &Kind<K>,
    object: &K,
    again: impl Fn(Duration) + Send + Sync + 'static,
    reconcile: impl Future<Output = T>,
) -> T {
    let visit = Visit {
        kind: kind.name().into_owned(),
        key: ObjectKey::of(object),
        uid: object.uid(),
        again: Box::new(again),
    };
    VISIT.scope(visit, reconcile).await
}

/// Requeues the object of the running reconcile after this time. Returns false outside of a reconcile.
pub(super) fn again(after: Duration) -> bool {
    VISIT.try_with(|visit| (visit.again)(after)).is_ok()
}

/// Returns an error if the reconciled object owns `desired` in another namespace. Owner references have no namespace:
/// the garbage collector looks in that of `desired`, finds no owner and deletes it. See
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/>.
pub(super) fn check_owner(desired: &impl ResourceExt) -> kube::Result<()> {
    let refused = VISIT.try_with(|visit| {
        let owned = desired
            .owner_references()
            .iter()
            .any(|owner| visit.uid.as_deref() == Some(&owner.uid));
        let elsewhere = visit.key.namespace.is_some() && visit.key.namespace != desired.namespace();
        (owned && elsewhere).then(|| {
            format!(
                "{} can't be owned by {} {}: an owner is in the same namespace, or in none",
                ObjectKey::of(desired),
                visit.kind,
                visit.key
            )
        })
    });
    match refused.ok().flatten() {
        Some(message) => Err(error::refusal(422, "Invalid", &message)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use k8s_openapi::api::core::v1::{ConfigMap, Node};
    use kube::Resource;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn who_puts_something_off_is_asked_again_and_nobody_else() {
        let asked = Arc::<Mutex<Vec<Duration>>>::default();
        let log = asked.clone();
        let second = Duration::from_secs(1);
        let map = ConfigMap::default();
        let kind = Kind::default();
        let push = move |after| log.lock().unwrap().push(after);
        let put_off = during(&kind, &map, push, async { again(second) });
        assert!(put_off.await);
        assert!(!again(second));
        assert_eq!(*asked.lock().unwrap(), [second]);
    }

    fn map(namespace: Option<&str>, owner: &str) -> ConfigMap {
        let owner = json!({ "apiVersion": "v1", "kind": "X", "name": "x", "uid": owner });
        let metadata = json!({ "name": "a", "namespace": namespace, "ownerReferences": [owner] });
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    async fn refused<K: Object<DynamicType = ()>>(owner: &K, owned: &ConfigMap) -> Option<String> {
        let kind = Kind::default();
        let checked = during(&kind, owner, |_| {}, async { check_owner(owned) }).await;
        checked.err().map(|error| error.to_string())
    }

    #[tokio::test]
    async fn an_owner_is_in_the_same_namespace_or_in_none() {
        let mut owner = map(Some("here"), "");
        owner.meta_mut().uid = Some("1".to_owned());
        for (namespace, uid, fine) in [
            (Some("here"), "1", true),
            (Some("there"), "1", false),
            (None, "1", false),
            // Another owner than the reconciled object is not checked.
            (Some("there"), "2", true),
        ] {
            let owned = map(namespace, uid);
            let error = refused(&owner, &owned).await;
            assert_eq!(error.is_none(), fine, "{namespace:?} {uid}: {error:?}");
            assert!(check_owner(&owned).is_ok());
        }
        let error = refused(&owner, &map(Some("there"), "1")).await.unwrap();
        let expected = "there/a can't be owned by ConfigMap here/a: an owner is in the same namespace, or in none";
        assert!(error.contains(expected), "{error}");
        let mut node = Node::default();
        node.metadata.uid = Some("1".to_owned());
        assert_eq!(refused(&node, &map(Some("there"), "1")).await, None);
    }
}
