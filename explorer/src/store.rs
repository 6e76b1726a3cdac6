//! Objects, revisions and the history of changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use serde_json::Value;

use crate::call::webhook::Effect;
use crate::exploration::ObjectKey;
use crate::resource::{KindVersions, builtins};

/// A change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) key: ObjectKey,
    /// The object before the change, if there was one.
    pub(crate) before: Option<Arc<Value>>,
    /// The object after the change. A deleted object is its last form with the revision of the deletion.
    pub(crate) after: Arc<Value>,
    pub(crate) deleted: bool,
}

/// The whole state of a server. A copy shares all objects and schemas with the original.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) resources: Arc<BTreeMap<String, Arc<KindVersions>>>,
    pub(crate) objects: BTreeMap<ObjectKey, Arc<Value>>,
    pub(crate) history: Vec<Change>,
    /// Changes up to this revision are forgotten.
    pub(crate) compacted: u64,
    pub(crate) revision: u64,
    /// Counts bookmarks that were requested, each with its revision.
    pub(crate) bookmarks: Vec<u64>,
    /// Counts how often all watches were closed.
    pub(crate) closed: u64,
    /// Custom objects whose stored form has empty fields in the metadata. No answer shows them, but each update drops them.
    pub(crate) untidy: BTreeSet<ObjectKey>,
    /// Effects of webhooks that nobody has read.
    pub(crate) effects: Vec<Effect>,
    uids: u64,
    names: u64,
    pub(crate) addresses: u64,
    pub(crate) elapsed: Duration,
    pub(crate) wakers: Wakers,
}

/// Wakers of open watches, which a copy of the state does not have.
#[derive(Default)]
pub(crate) struct Wakers(Vec<Waker>);

impl Clone for Wakers {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Wakers {
    pub(crate) fn add(&mut self, waker: &Waker) {
        if !self.0.iter().any(|known| known.will_wake(waker)) {
            self.0.push(waker.clone());
        }
    }

    pub(crate) fn wake(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}

impl Default for Store {
    fn default() -> Self {
        Self {
            resources: builtins(),
            objects: BTreeMap::new(),
            history: Vec::new(),
            compacted: 0,
            // The first revision of an object is 2, as in an empty etcd.
            revision: 1,
            bookmarks: Vec::new(),
            closed: 0,
            untidy: BTreeSet::new(),
            effects: Vec::new(),
            uids: 0,
            names: 0,
            addresses: 0,
            elapsed: Duration::ZERO,
            wakers: Wakers::default(),
        }
    }
}

/// The letters of generated names.
pub(crate) const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

impl Store {
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// The objects of a resource, in a namespace or in all.
    pub(crate) fn list<'a>(
        &'a self,
        resource: &'a str,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Arc<Value>)> {
        let start = (resource.to_owned(), namespace.to_owned(), String::new());
        self.objects
            .range(start..)
            .take_while(move |((of, within, _), _)| of == resource && (namespace.is_empty() || within == namespace))
    }

    /// Stores an object with a new revision, and returns it.
    pub(crate) fn put(&mut self, key: ObjectKey, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let after = Arc::new(object);
        let before = self.objects.insert(key.clone(), after.clone());
        self.record(Change { revision: self.revision, key, before, after: after.clone(), deleted: false });
        after
    }

    /// Removes an object, and returns its last form.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Value>> {
        let before = self.objects.remove(key)?;
        self.revision += 1;
        let mut last = (*before).clone();
        last["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let after = Arc::new(last);
        let change = Change {
            revision: self.revision,
            key: key.clone(),
            before: Some(before),
            after: after.clone(),
            deleted: true,
        };
        self.record(change);
        Some(after)
    }

    fn record(&mut self, change: Change) {
        self.history.push(change);
        self.wakers.wake();
    }

    /// Returns to an earlier state. Identities that were given out stay used.
    pub(crate) fn restore(&mut self, mut before: Self) {
        (before.uids, before.names, before.addresses) = (self.uids, self.names, self.addresses);
        before.wakers = std::mem::take(&mut self.wakers);
        *self = before;
    }

    /// Forgets all changes so far.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
        self.history.clear();
    }

    pub(crate) fn new_uid(&mut self) -> String {
        self.uids += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.uids)
    }

    /// Leaves out identities that objects of another server may have.
    pub(crate) fn skip_identities(&mut self) {
        const MANY: u64 = 1 << 16;
        self.uids += MANY;
        self.names += MANY;
        self.addresses += MANY >> 4;
    }

    /// A suffix for generated names.
    pub(crate) fn new_suffix(&mut self) -> String {
        self.names += 1;
        let mut rest = self.names;
        let mut suffix = String::new();
        for _ in 0..5 {
            let base = LETTERS.len() as u64;
            suffix.insert(0, char::from(LETTERS[usize::try_from(rest % base).unwrap_or_default()]));
            rest /= base;
        }
        suffix
    }

    /// The time of the server.
    pub(crate) fn now(&self) -> jiff::Timestamp {
        // 2030-01-01T00:00:00Z.
        let start = jiff::Timestamp::constant(1_893_456_000, 0);
        start.checked_add(jiff::SignedDuration::try_from(self.elapsed).unwrap_or_default()).unwrap_or(start)
    }

    /// The time of the server in the form of objects.
    pub(crate) fn time(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}
