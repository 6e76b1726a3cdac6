//! A cache of the objects of one kind. Watches fill it (see `feed`), and its listeners get every change.
//!
//! Answers to the operator's own writes also enter the cache, so that the next reconcile sees a write before the watch
//! delivers it. The cache never goes back: an older resource version does not replace a newer one.

pub(crate) mod digest;
pub(crate) mod feed;
pub(crate) mod guard;
pub(crate) mod index;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use tokio::sync::watch;
use tokio::time::Instant;

use self::feed::{Feed, FeedProgress};
use self::index::Follow;
use crate::error;
use crate::object::{Kind, Object, ObjectKey};

/// A change of an object: the state before it, if any, and the state after it, unless the object is gone.
pub(crate) struct Seen<'a, K> {
    pub(crate) before: Option<&'a K>,
    pub(crate) after: Option<&'a K>,
    /// True if the change is not news: the initial list contained the object, or the operator wrote this state.
    pub(crate) known: bool,
}

/// A watch that has not listed everything.
pub(crate) struct Unsynced {
    /// The kind, the namespace and the reason, for people.
    pub(crate) why: String,
    /// True if a replica that serves webhooks waits for this watch before it becomes ready.
    ///
    /// The API server may need a conversion webhook of this operator to list a custom resource, and reaches it only on
    /// ready replicas. So a pending list of a custom resource does not delay readiness. A refused list does, because
    /// the refusal needs no webhook, and so does a pending list of a built-in kind. A cache that was filled before
    /// never delays readiness: otherwise all replicas could become unready together.
    pub(crate) delays_webhooks: bool,
}

type Listener<K> = Box<dyn Fn(&ObjectKey, &Seen<'_, K>) + Send + Sync>;

pub(crate) struct Cache<K: Resource> {
    pub(crate) kind: Kind<K>,
    state: RwLock<CacheState<K>>,
    listeners: RwLock<Vec<Listener<K>>>,
    synced: watch::Sender<bool>,
    /// True if the operator applies objects of this kind, so that digests are kept.
    applied: AtomicBool,
    /// True if the server may lack the kind.
    optional: AtomicBool,
    /// True after the first warning about objects that no watch delivers.
    warned: AtomicBool,
}

pub(crate) struct CacheState<K> {
    objects: BTreeMap<ObjectKey, Entry<K>>,
    /// Objects that a request found and no watch has delivered. They stay until they are written or delivered.
    found: BTreeMap<ObjectKey, Arc<K>>,
    /// One feed per watched namespace; the empty name stands for all namespaces.
    pub(crate) feeds: BTreeMap<String, Feed<K>>,
    indexes: Vec<Follow<K>>,
}

struct Entry<K> {
    object: Arc<K>,
    /// The state that listeners saw last. It is older than `object` until the watch delivers the operator's own write.
    told: Option<Arc<K>>,
    status: Option<Instant>,
    /// Digest of `object` without its status; `None` if the kind was not applied when the object arrived.
    digest: Option<u64>,
    settled: Vec<Settled>,
    /// Hashes of the field managers that created the object.
    made: Vec<u64>,
}

/// The configuration that a field manager applied last, and the object in the server's answer. Both are hashes.
#[derive(Clone, Copy)]
struct Settled {
    manager: u64,
    desired: u64,
    digest: u64,
}

/// An object from the server, without `managedFields`, which are often larger than the rest. The digest covers them.
pub(crate) struct Arrived<K> {
    pub(crate) object: K,
    pub(crate) digest: Option<u64>,
}

/// The state of the watch when a write was sent. It decides if the answer may enter the cache.
pub(crate) struct Ticket(Option<u64>);

impl<K: Object> Cache<K> {
    pub(crate) fn new(kind: Kind<K>) -> Self {
        Self {
            kind,
            state: RwLock::new(CacheState {
                objects: BTreeMap::new(),
                found: BTreeMap::new(),
                feeds: BTreeMap::new(),
                indexes: Vec::new(),
            }),
            listeners: RwLock::new(Vec::new()),
            synced: watch::Sender::new(true),
            applied: AtomicBool::new(false),
            optional: AtomicBool::new(false),
            warned: AtomicBool::new(false),
        }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.read(|state| state.objects.get(key).map(|entry| entry.object.clone()))
    }

    /// Keeps the result of a request until [`Cache::take_found`] takes it or the watch delivers the object.
    pub(crate) fn find(&self, object: K) {
        let object = Arc::new(self.arrived(object).object);
        let key = ObjectKey::of(&*object);
        self.write(|state| {
            if !state.objects.contains_key(&key) {
                state.found.insert(key, object);
            }
        });
    }

    pub(crate) fn found(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.read(|state| state.found.get(key).cloned())
    }

    pub(crate) fn take_found(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.write(|state| state.found.remove(key))
    }

    /// Returns true if the watch is sure to deliver an object with these labels.
    pub(crate) fn tells_of(&self, key: &ObjectKey, labels: &BTreeMap<String, String>) -> bool {
        self.read(|state| {
            let feed = state.feed(key.namespace.as_deref());
            feed.is_some_and(|feed| feed.selects.surely(labels))
        })
    }

    /// Returns why no watch delivers an object with these labels. Returns the reason once per cache.
    pub(crate) fn overlooks(
        &self,
        key: &ObjectKey,
        labels: &BTreeMap<String, String>,
    ) -> Option<String> {
        let why = self.read(|state| match state.feed(key.namespace.as_deref()) {
            Some(feed) => feed.selects.never(labels),
            None if state.feeds.is_empty() => None,
            None => Some("the namespace is not watched".to_owned()),
        })?;
        let warned = self.warned.swap(true, Ordering::Relaxed);
        (!warned).then_some(why)
    }

    /// Returns the objects of a namespace, or of all, sorted by namespace and name.
    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<Arc<K>> {
        let Some(namespace) = namespace else {
            let all = |state: &CacheState<K>| {
                let entries = state.objects.values();
                entries.map(|entry| entry.object.clone()).collect()
            };
            return self.read(all);
        };
        let first = ObjectKey::new(Some(namespace), "");
        self.read(|state| {
            let from_first = state.objects.range(&first..);
            let in_namespace = from_first.take_while(|(key, _)| key.namespace == first.namespace);
            in_namespace
                .map(|(_, entry)| entry.object.clone())
                .collect()
        })
    }

    /// Returns the objects with these keys. `keys` runs under the read lock, so that nothing changes in between.
    pub(crate) fn some(&self, keys: impl FnOnce() -> Vec<ObjectKey>) -> Vec<Arc<K>> {
        self.read(|state| {
            let keys = keys().into_iter();
            let entries = keys.filter_map(|key| state.objects.get(&key));
            entries.map(|entry| entry.object.clone()).collect()
        })
    }

    /// Calls `follow` with every object, now and on each change, while the state is locked.
    pub(crate) fn tell_index(&self, follow: Follow<K>) {
        self.write(|state| {
            for (key, entry) in &state.objects {
                follow(key, Some(&entry.object));
            }
            state.indexes.push(follow);
        });
    }

    pub(crate) fn unsynced(&self) -> Vec<Unsynced> {
        let built_in = self.kind.is_built_in();
        let unsynced = |(namespace, feed): (&String, &Feed<K>)| {
            let why = feed.progress.missing(&self.kind, namespace)?;
            let answered = built_in || feed.progress != FeedProgress::Listing;
            Some(Unsynced {
                why,
                delays_webhooks: answered && !feed.was_filled,
            })
        };
        self.read(|state| {
            let feeds = state.feeds.iter();
            feeds
                .filter(|(_, feed)| !self.is_filled(feed.progress))
                .filter_map(unsynced)
                .collect()
        })
    }

    /// Returns the longest silence of any watch. A kind that the server lacks counts as zero.
    pub(crate) fn silence(&self) -> Duration {
        let served = |feed: &&Feed<K>| feed.progress != FeedProgress::Missing;
        self.read(|state| {
            let feeds = state.feeds.values().filter(served);
            let silences = feeds.map(|feed| feed.heard.silence());
            silences.max().unwrap_or_default()
        })
    }

    /// Describes the watches that have been silent for longer than `limit`.
    pub(crate) fn silent(&self, limit: Duration) -> Vec<String> {
        self.read(|state| {
            let feeds = state.feeds.iter();
            feeds
                .filter(|(_, feed)| feed.progress == FeedProgress::Synced)
                .filter_map(|(namespace, feed)| {
                    let silence = feed.heard.silence();
                    (silence > limit).then(|| feed::silent(&self.kind, namespace, silence))
                })
                .collect()
        })
    }

    /// Stops the wait for this kind while the server lacks it.
    pub(crate) fn optional(&self) {
        self.optional.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_optional(&self) -> bool {
        self.optional.load(Ordering::Relaxed)
    }

    /// Returns false if a watch found that the server lacks the kind.
    pub(crate) fn is_served(&self) -> bool {
        let missing = |feed: &Feed<K>| feed.progress == FeedProgress::Missing;
        self.read(|state| !state.feeds.values().any(missing))
    }

    fn is_filled(&self, progress: FeedProgress) -> bool {
        progress == FeedProgress::Synced
            || (progress == FeedProgress::Missing && self.is_optional())
    }

    /// Completes when everything has been listed.
    pub(crate) fn synced(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut synced = self.synced.subscribe();
        async move {
            if synced.wait_for(|synced| *synced).await.is_err() {
                // The cache was dropped, so that nobody waits for it.
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn set_progress(&self, namespace: &str, progress: FeedProgress) {
        let all = self.write(|state| {
            if let Some(feed) = state.feeds.get_mut(namespace) {
                feed.progress = progress;
                feed.was_filled |= self.is_filled(progress);
            }
            let mut feeds = state.feeds.values();
            feeds.all(|feed| self.is_filled(feed.progress))
        });
        self.synced.send_replace(all);
    }

    pub(crate) fn listen(
        &self,
        listener: impl Fn(&ObjectKey, &Seen<'_, K>) + Send + Sync + 'static,
    ) {
        let listeners = self.listeners.write();
        let mut listeners = listeners.unwrap_or_else(PoisonError::into_inner);
        listeners.push(Box::new(listener));
    }

    pub(crate) fn status_written_at(&self, key: &ObjectKey) -> Option<Instant> {
        self.read(|state| state.objects.get(key).and_then(|entry| entry.status))
    }

    pub(crate) fn status_written(&self, key: &ObjectKey) {
        self.write(|state| {
            if let Some(entry) = state.objects.get_mut(key) {
                entry.status = Some(Instant::now());
            }
        });
    }

    /// Keeps digests from now on, to compare objects with their state after an apply.
    pub(crate) fn applies(&self) {
        self.applied.store(true, Ordering::Relaxed);
    }

    pub(crate) fn arrived(&self, mut object: K) -> Arrived<K> {
        let applied = self.applied.load(Ordering::Relaxed);
        let digest = applied.then(|| digest::of(&object)).flatten();
        object.meta_mut().managed_fields = None;
        Arrived { object, digest }
    }

    /// Returns true if the manager applied `desired` last, and the object has not changed since, except for its status.
    pub(crate) fn is_settled(&self, key: &ObjectKey, (manager, desired): (u64, u64)) -> bool {
        self.read(|state| {
            let entry = state.objects.get(key)?;
            let digest = entry.digest?;
            let mut settled = entry.settled.iter();
            let settled = settled.find(|settled| settled.manager == manager)?;
            Some(settled.desired == desired && settled.digest == digest)
        })
        .unwrap_or_default()
    }

    /// Returns true if the manager has applied the object, as far as this process knows.
    pub(crate) fn was_applied(&self, key: &ObjectKey, manager: u64) -> bool {
        self.read(|state| {
            let entry = state.objects.get(key);
            entry.is_some_and(|entry| entry.settled.iter().any(|it| it.manager == manager))
        })
    }

    pub(crate) fn made(&self, object: &K, manager: u64) {
        self.write(|state| {
            if let Some(entry) = state.entry_of(object)
                && !entry.made.contains(&manager)
            {
                entry.made.push(manager);
            }
        });
    }

    /// Returns true if the manager created this object, as far as this process knows.
    pub(crate) fn was_made(&self, object: &K, manager: u64) -> bool {
        self.write(|state| {
            let entry = state.entry_of(object);
            entry.is_some_and(|entry| entry.made.contains(&manager))
        })
    }

    /// Records an applied configuration and the digest of the server's answer.
    pub(crate) fn settle(&self, answer: &K, (manager, desired): (u64, u64), digest: Option<u64>) {
        self.write(|state| {
            if let Some(entry) = state.objects.get_mut(&ObjectKey::of(answer)) {
                // The apply changed nothing. The cached object may have arrived before digests were kept.
                if entry.version() == version_of(answer.meta()) {
                    entry.digest = digest;
                }
                entry.settled.retain(|settled| settled.manager != manager);
                entry.settled.extend(digest.map(|digest| Settled {
                    manager,
                    desired,
                    digest,
                }));
            }
        });
    }

    /// Returns the ticket for a write. Take it before the request is sent.
    pub(crate) fn ticket(&self, namespace: Option<&str>) -> Ticket {
        Ticket(self.read(|state| state.feed(namespace).map(|feed| feed.epoch)))
    }

    /// Stores the answer to the operator's own write. The answer is dropped if the watch has already seen that version,
    /// if the watch was interrupted since the write was sent, or if the watch might never deliver the object.
    pub(crate) fn wrote(&self, arrived: Arrived<K>, ticket: &Ticket) -> Arc<K> {
        let object = Arc::new(arrived.object);
        let key = ObjectKey::of(&*object);
        let version = version_of(object.meta());
        self.write(|state| {
            let entry = state.objects.get(&key);
            let newer = entry.is_none_or(|entry| entry.version() < version);
            let told = entry.is_some_and(|entry| entry.told.is_some());
            let current = match state.feed(key.namespace.as_deref()) {
                Some(feed) => {
                    Some(feed.epoch) == ticket.0
                        && feed.newest < version
                        && (told || feed.selects.surely(object.labels()))
                }
                // Without feeds this is a test. With feeds, nobody watches this namespace.
                None => state.feeds.is_empty(),
            };
            if !current || !newer {
                return;
            }
            // No watch reports the deletion.
            if state.feeds.is_empty() && is_over(object.meta()) {
                state.take(&key);
            } else {
                state.put(key, object.clone(), arrived.digest);
            }
        });
        object
    }

    /// Stores an object that the watch delivered. `listed` is true if it came from a list.
    pub(crate) fn insert(&self, namespace: &str, arrived: Arrived<K>, listed: bool) {
        let object = Arc::new(arrived.object);
        let key = ObjectKey::of(&*object);
        let version = version_of(object.meta());
        let before = self.write(|state| {
            state.delivered(namespace, version);
            let entry = state.objects.get(&key);
            let told = entry.and_then(|entry| entry.told.clone());
            let heard = told
                .as_ref()
                .is_some_and(|told| told.meta().resource_version == object.meta().resource_version);
            let overtaken = entry.is_some_and(|entry| entry.version() > version);
            if heard || overtaken {
                return None;
            }
            let ours = entry.is_some_and(|entry| entry.version() == version);
            let entry = state.put(key.clone(), object.clone(), arrived.digest);
            entry.told = Some(object.clone());
            Some((told, ours))
        });
        let Some((told, ours)) = before else { return };
        // A list shows a successor with the same name, but not the deletion of its predecessor.
        let is_same = |told: &Arc<K>| told.meta().uid == object.meta().uid;
        let succeeds = told.as_ref().is_some_and(|told| !is_same(told));
        let before = if succeeds {
            self.tell_gone(&key, told);
            None
        } else {
            told
        };
        let seen = Seen {
            known: ours || listed && before.is_none() && !succeeds,
            before: before.as_deref(),
            after: Some(&*object),
        };
        self.tell(&key, &seen);
    }

    /// Handles an object that the watch reports as gone: it was deleted, or the selector does not match any more.
    ///
    /// A later write of this operator stays: a successor with another UID, or a newer version of the same object. It is
    /// removed only if the watch might never deliver it.
    pub(crate) fn delete(&self, namespace: &str, metadata: &ObjectMeta) {
        let key = ObjectKey::of_meta(metadata);
        let version = version_of(metadata);
        let before = self.write(|state| {
            state.delivered(namespace, version);
            let feed = state.feeds.get(namespace);
            let entry = state.objects.get_mut(&key)?;
            let later = entry.object.meta().uid != metadata.uid || entry.version() > version;
            let labels = entry.object.labels();
            if later && feed.is_some_and(|feed| feed.selects.surely(labels)) {
                return entry.told.take();
            }
            state.take(&key)
        });
        self.tell_gone(&key, before);
    }

    /// Removes an object that the server reports as gone. Listeners do not hear of it again from the watch.
    pub(crate) fn gone(&self, object: &K) {
        let key = ObjectKey::of(object);
        let before = self.write(|state| {
            let entry = state.objects.get(&key)?;
            let same = entry.object.meta().uid == object.meta().uid;
            if same { state.take(&key) } else { None }
        });
        self.tell_gone(&key, before);
    }

    /// Removes an object that is missing from a complete list.
    pub(crate) fn remove(&self, key: &ObjectKey) {
        let before = self.write(|state| state.take(key));
        self.tell_gone(key, before);
    }

    fn tell_gone(&self, key: &ObjectKey, before: Option<Arc<K>>) {
        if let Some(before) = before {
            let seen = Seen {
                before: Some(&*before),
                after: None,
                known: false,
            };
            self.tell(key, &seen);
        }
    }

    fn tell(&self, key: &ObjectKey, seen: &Seen<'_, K>) {
        let listeners = self.listeners.read();
        for listener in &*listeners.unwrap_or_else(PoisonError::into_inner) {
            // Predicates and maps are user code. The watch must survive their panics.
            if let Err(panic) = error::catch(|| listener(key, seen)) {
                tracing::error!(kind = %self.kind.name(), %key, panic, "a predicate or map panicked: the change is lost");
            }
        }
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&CacheState<K>) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut CacheState<K>) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K: Object> Entry<K> {
    fn version(&self) -> u64 {
        version_of(self.object.meta())
    }
}

impl<K: Object> CacheState<K> {
    fn feed(&self, namespace: Option<&str>) -> Option<&Feed<K>> {
        self.feeds.get("").or_else(|| self.feeds.get(namespace?))
    }

    fn put(&mut self, key: ObjectKey, object: Arc<K>, digest: Option<u64>) -> &mut Entry<K> {
        self.found.remove(&key);
        for index in &self.indexes {
            index(&key, Some(&object));
        }
        let entry = self.objects.entry(key).or_insert_with(|| Entry {
            object: object.clone(),
            told: None,
            status: None,
            digest,
            settled: Vec::new(),
            made: Vec::new(),
        });
        if entry.object.meta().uid != object.meta().uid {
            // Writes to the predecessor say nothing about its successor.
            entry.status = None;
            entry.settled.clear();
            entry.made.clear();
        }
        entry.digest = digest;
        entry.object = object;
        entry
    }

    /// Returns the entry of this object, but not that of another object with the same name.
    fn entry_of(&mut self, object: &K) -> Option<&mut Entry<K>> {
        let entry = self.objects.get_mut(&ObjectKey::of(object))?;
        (entry.object.meta().uid == object.meta().uid).then_some(entry)
    }

    fn delivered(&mut self, namespace: &str, version: u64) {
        if let Some(feed) = self.feeds.get_mut(namespace) {
            feed.newest = feed.newest.max(version);
        }
    }

    /// Removes the object and returns the state that listeners should get as the state before.
    fn take(&mut self, key: &ObjectKey) -> Option<Arc<K>> {
        let entry = self.objects.remove(key)?;
        for index in &self.indexes {
            index(key, None);
        }
        Some(entry.told.unwrap_or(entry.object))
    }

    /// Returns the keys of the objects that the watch of this namespace is responsible for.
    pub(crate) fn keys_in<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a ObjectKey> {
        let keys = self.objects.keys();
        keys.filter(move |key| namespace.is_empty() || key.namespace.as_deref() == Some(namespace))
    }
}

/// Returns true if this answer means that the server has removed the object: it removed the last finalizer.
fn is_over(metadata: &ObjectMeta) -> bool {
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let grace = metadata.deletion_grace_period_seconds.unwrap_or_default();
    metadata.deletion_timestamp.is_some() && finalizers.is_empty() && grace == 0
}

/// Parses a resource version. Within one kind, resource versions are increasing numbers.
fn version_of(metadata: &ObjectMeta) -> u64 {
    let version = metadata.resource_version.as_deref();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or_default()
}
