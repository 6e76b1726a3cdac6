//! Indexes: the objects of a cache, by the values that a function extracts from them.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use kube::Resource;

use super::Cache;
use crate::error;
use crate::object::{Object, ObjectKey};

/// Gets the object of a key, or `None` once it is gone.
pub(crate) type Follow<K> = Box<dyn Fn(&ObjectKey, Option<&K>) + Send + Sync>;

/// An index of the objects of one kind, by values that an object has none, one or several of. Cheap to clone. See
/// [`Objects::index`](crate::Objects::index).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::Pod;
/// use manager::Index;
///
/// fn on(node: &str, by_node: &Index<Pod, String>) -> Vec<Arc<Pod>> {
///     by_node.list(node)
/// }
/// ```
pub struct Index<K: Resource, V> {
    cache: Arc<Cache<K>>,
    values: Arc<RwLock<IndexValues<V>>>,
}

struct IndexValues<V> {
    of: BTreeMap<ObjectKey, BTreeSet<V>>,
    keys: BTreeMap<V, BTreeSet<ObjectKey>>,
}

impl<K: Resource, V> Clone for Index<K, V> {
    fn clone(&self) -> Self {
        Self {
            cache: self.cache.clone(),
            values: self.values.clone(),
        }
    }
}

impl<K: Object, V: Ord + Clone + Send + Sync + 'static> Index<K, V> {
    pub(crate) fn new<Several: IntoIterator<Item = V>>(
        cache: Arc<Cache<K>>,
        of: impl Fn(&K) -> Several + Send + Sync + 'static,
    ) -> Self {
        let values = Arc::new(RwLock::new(IndexValues::default()));
        let follower = values.clone();
        let kind = cache.kind.name().into_owned();
        cache.tell_index(Box::new(move |key, object| {
            // User code. The watch must survive its panic.
            let found = error::catch(|| object.into_iter().flat_map(&of).collect());
            let found = found.unwrap_or_else(|panic| {
                tracing::error!(kind, %key, panic, "an index panicked and does not have the object");
                BTreeSet::new()
            });
            let mut values = follower.write().unwrap_or_else(PoisonError::into_inner);
            values.set(key, found);
        }));
        Self { cache, values }
    }

    /// Returns the objects that have this value, sorted by namespace and name.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use manager::Index;
    ///
    /// fn is_used(image: &str, by_image: &Index<Pod, String>) -> bool {
    ///     !by_image.list(image).is_empty()
    /// }
    /// ```
    pub fn list<Value: Ord + ?Sized>(&self, value: &Value) -> Vec<Arc<K>>
    where
        V: Borrow<Value>,
    {
        self.cache.some(|| {
            let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
            let keys = values.keys.get(value);
            keys.into_iter().flatten().cloned().collect()
        })
    }
}

impl<V: Ord + Clone> IndexValues<V> {
    fn set(&mut self, key: &ObjectKey, now: BTreeSet<V>) {
        let before = self.of.remove(key).unwrap_or_default();
        for value in before.difference(&now) {
            if let Some(keys) = self.keys.get_mut(value) {
                keys.remove(key);
                if keys.is_empty() {
                    self.keys.remove(value);
                }
            }
        }
        for value in now.difference(&before) {
            let keys = self.keys.entry(value.clone()).or_default();
            keys.insert(key.clone());
        }
        if !now.is_empty() {
            self.of.insert(key.clone(), now);
        }
    }
}

impl<V> Default for IndexValues<V> {
    fn default() -> Self {
        Self {
            of: BTreeMap::new(),
            keys: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::ResourceExt;
    use serde_json::json;

    use super::*;
    use crate::object::Kind;

    #[test]
    fn an_index_follows_its_cache() {
        let cache = Arc::new(Cache::<ConfigMap>::new(Kind::default()));
        let put = |name: &str, version: u64, values: &str| {
            let object = json!({
                "metadata": { "name": name, "resourceVersion": version.to_string(), "uid": name },
                "data": { "values": values },
            });
            let object: ConfigMap = serde_json::from_value(object).unwrap();
            let ticket = cache.ticket(None);
            cache.wrote(cache.arrived(object.clone()), &ticket);
            object
        };
        put("a", 2, "x y");
        let index = Index::new(cache.clone(), |map: &ConfigMap| {
            let values = map.data.as_ref().and_then(|data| data.get("values"));
            let values = values.map(String::as_str).unwrap_or_default();
            assert_ne!(values, "panic");
            let values = values.split_whitespace().map(str::to_owned);
            values.collect::<Vec<_>>()
        });
        let named = |value: &str| {
            let found = index.list(value);
            found.iter().map(|map| map.name_any()).collect::<Vec<_>>()
        };
        let found = || ["x", "y", "z"].map(|value| named(value).concat());
        assert_eq!(found(), ["a", "a", ""]);
        put("b", 3, "y z");
        assert_eq!(found(), ["a", "ab", "b"]);
        let b = put("b", 4, "x");
        assert_eq!(found(), ["ab", "a", ""]);
        put("a", 5, "panic");
        assert_eq!(found(), ["b", "", ""]);
        cache.gone(&b);
        assert_eq!(found(), ["", "", ""]);
        let values = index.values.read().unwrap();
        assert!(values.of.is_empty() && values.keys.is_empty());
    }
}
