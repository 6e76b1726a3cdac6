//! Garbage collection: the work of kube-controller-manager on owners and their dependents, and on deleted namespaces.

use serde_json::Value;

use crate::exploration::ObjectKey;
use crate::store::Store;

/// Does one step of garbage collection. Returns false if there is nothing to do.
pub(crate) fn step(store: &mut Store) -> bool {
    let keys: Vec<ObjectKey> = store.objects.keys().cloned().collect();
    for key in keys {
        let Some(object) = store.get(&key).cloned() else {
            continue;
        };
        if empty_namespace(store, &key, &object) || finish_owner(store, &key, &object) || collect(store, &key, &object)
        {
            return true;
        }
    }
    false
}

/// Deletes the content of a namespace that is being deleted, then the namespace.
fn empty_namespace(store: &mut Store, key: &ObjectKey, namespace: &Value) -> bool {
    if key.0 != "namespaces" || namespace["metadata"]["deletionTimestamp"].is_null() {
        return false;
    }
    let content = store.objects.iter().filter(|((_, within, _), _)| *within == key.2);
    let content: Vec<(ObjectKey, Value)> = content.map(|(key, object)| (key.clone(), (**object).clone())).collect();
    let mut alive = content.iter().filter(|(_, object)| object["metadata"]["deletionTimestamp"].is_null());
    if let Some((key, object)) = alive.next() {
        crate::call::delete::mark_deleted(store, key, object, false);
        return true;
    }
    if !content.is_empty() || namespace["spec"]["finalizers"].is_null() {
        return false;
    }
    let mut changed = namespace.clone();
    crate::resource::rules::set(&mut changed["spec"], "finalizers", Value::Null);
    if namespace["metadata"]["finalizers"].is_null() {
        store.remove(key);
    } else {
        store.put(key.clone(), changed);
    }
    true
}

/// Removes the finalizers of an owner whose dependents are orphans or gone.
fn finish_owner(store: &mut Store, key: &ObjectKey, object: &Value) -> bool {
    if object["metadata"]["deletionTimestamp"].is_null() {
        return false;
    }
    let has = |name: &str| object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|f| f == name));
    let uid = &object["metadata"]["uid"];
    if has("orphan") {
        let dependents: Vec<ObjectKey> = dependents(store, uid).into_iter().map(|(key, _)| key).collect();
        if let Some(dependent) = dependents.first() {
            let Some(mut changed) = store.get(dependent).map(|object| (**object).clone()) else {
                return false;
            };
            remove_owner(&mut changed, uid);
            store.put(dependent.clone(), changed);
            return true;
        }
        remove_finalizer(store, key, object, "orphan");
        return true;
    }
    if has("foregroundDeletion") {
        let blocking = dependents(store, uid).into_iter().any(|(_, reference)| reference["blockOwnerDeletion"] == true);
        if !blocking {
            remove_finalizer(store, key, object, "foregroundDeletion");
            return true;
        }
    }
    false
}

/// Deletes an object that has only missing owners, or owners that wait for their dependents.
fn collect(store: &mut Store, key: &ObjectKey, object: &Value) -> bool {
    let Some(owners) = object["metadata"]["ownerReferences"].as_array().filter(|owners| !owners.is_empty()) else {
        return false;
    };
    let owner = |reference: &Value| {
        store.objects.iter().find(|((_, namespace, _), owner)| {
            owner["metadata"]["uid"] == reference["uid"] && (namespace.is_empty() || *namespace == key.1)
        })
    };
    let (mut solid, mut waiting, mut dangling) = (0, 0, Vec::new());
    for reference in owners {
        match owner(reference) {
            None => dangling.push(reference["uid"].clone()),
            Some((_, owner)) => {
                let waits = !owner["metadata"]["deletionTimestamp"].is_null()
                    && owner["metadata"]["finalizers"]
                        .as_array()
                        .is_some_and(|all| all.iter().any(|f| f == "foregroundDeletion"));
                if waits { waiting += 1 } else { solid += 1 }
            }
        }
    }
    if solid > 0 {
        let Some(uid) = dangling.first() else {
            return false;
        };
        let mut changed = object.clone();
        remove_owner(&mut changed, uid);
        store.put(key.clone(), changed);
        return true;
    }
    if !object["metadata"]["deletionTimestamp"].is_null() || (waiting == 0 && dangling.is_empty()) {
        return false;
    }
    // Dependents of a foreground deletion delete their own dependents first.
    let foreground = waiting > 0 && !dependents(store, &object["metadata"]["uid"]).is_empty();
    crate::call::delete::mark_deleted(store, key, object, foreground);
    true
}

/// The objects with a reference to an owner, and the reference.
fn dependents(store: &Store, uid: &Value) -> Vec<(ObjectKey, Value)> {
    let reference = |object: &Value| {
        let owners = object["metadata"]["ownerReferences"].as_array()?;
        owners.iter().find(|reference| reference["uid"] == *uid).cloned()
    };
    store.objects.iter().filter_map(|(key, object)| Some((key.clone(), reference(object)?))).collect()
}

fn remove_owner(object: &mut Value, uid: &Value) {
    if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
        owners.retain(|reference| reference["uid"] != *uid);
        if owners.is_empty()
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            metadata.remove("ownerReferences");
        }
    }
}

fn remove_finalizer(store: &mut Store, key: &ObjectKey, object: &Value, finalizer: &str) {
    let mut changed = object.clone();
    if let Some(finalizers) = changed["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|known| known != finalizer);
        if finalizers.is_empty() {
            store.remove(key);
        } else {
            store.put(key.clone(), changed);
        }
    }
}
