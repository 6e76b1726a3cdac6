//! Watches: the changes of a resource as a stream of lines.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::resource::{KindVersions, Resource};
use crate::response::Refusal;
use crate::selector::Selector;
use crate::store::{Change, Store};

/// The stream of a watch. It has no thread: the changes are read when the client asks for the next line.
pub struct WatchBody {
    pub(crate) store: Arc<Mutex<Store>>,
    pub(crate) kind: Arc<KindVersions>,
    /// The version of the events.
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: String,
    pub(crate) selector: Selector,
    /// The last revision that the client has seen.
    pub(crate) revision: u64,
    pub(crate) bookmarks: bool,
    /// The number of requested bookmarks that were seen.
    pub(crate) seen: usize,
    pub(crate) pending: VecDeque<Bytes>,
    /// The time at which the watch ends.
    pub(crate) deadline: Option<Duration>,
    /// The number of closings at its start.
    pub(crate) closed: u64,
    pub(crate) ended: bool,
}

impl WatchBody {
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(line) = self.pending.pop_front() {
                return Poll::Ready(Some(line));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let shared = self.store.clone();
            let mut store = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if self.revision < store.compacted {
                let message = format!("too old resource version: {} ({})", self.revision, store.compacted);
                self.pending.push_back(line("ERROR", &Refusal::expired(message).0));
                self.ended = true;
                continue;
            }
            let start = store.history.partition_point(|change| change.revision <= self.revision);
            for change in &store.history[start..] {
                match self.event(change) {
                    Ok(event) => self.pending.extend(event),
                    Err(refusal) => {
                        self.pending.push_back(line("ERROR", &refusal.0));
                        self.ended = true;
                        break;
                    }
                }
            }
            self.revision = self.revision.max(store.revision);
            if self.seen < store.bookmarks.len() {
                let requested = store.bookmarks[store.bookmarks.len() - 1].max(self.revision);
                self.seen = store.bookmarks.len();
                if self.bookmarks {
                    self.pending.push_back(self.bookmark(requested, false));
                }
            }
            if store.closed > self.closed || self.deadline.is_some_and(|deadline| store.elapsed >= deadline) {
                self.ended = true;
            }
            if self.pending.is_empty() && !self.ended {
                store.wakers.add(context.waker());
                return Poll::Pending;
            }
        }
    }

    fn event(&self, change: &Change) -> Result<Option<Bytes>, Refusal> {
        let (resource, namespace, _) = &change.key;
        if *resource != self.resource.qualified() || !(self.namespace.is_empty() || *namespace == self.namespace) {
            return Ok(None);
        }
        let read = |object: &Arc<Value>| self.kind.read(object, &self.resource);
        let before = change.before.as_ref().map(read).transpose()?.filter(|object| self.selector.matches(object));
        let after = read(&change.after)?;
        let matches = !change.deleted && self.selector.matches(&after);
        Ok(match (before, matches) {
            (None, true) => Some(line("ADDED", &after)),
            (Some(_), true) => Some(line("MODIFIED", &after)),
            (Some(_), false) if change.deleted => Some(line("DELETED", &after)),
            (Some(before), false) => {
                // The object as the client knew it, with the revision of the change.
                let mut last = (*before).clone();
                last["metadata"]["resourceVersion"] = after["metadata"]["resourceVersion"].clone();
                Some(line("DELETED", &last))
            }
            (None, false) => None,
        })
    }

    /// An event that only has a revision.
    pub(crate) fn bookmark(&self, revision: u64, initial: bool) -> Bytes {
        let mut object = json!({
            "kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": { "resourceVersion": revision.to_string() },
        });
        if initial {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        line("BOOKMARK", &object)
    }
}

/// A line of the stream.
pub(crate) fn line(kind: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n"))
}
