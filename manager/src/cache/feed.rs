//! The feed of a cache: a watch of one kind, in one namespace or in all, and the objects that it selects.
//!
//! A feed never ends. An unknown kind, a refusal or a panic stops it for a growing pause. Until it goes on, the
//! operator is not ready and says why. Between the end of a list and the start of the next, the watch misses nothing;
//! `epoch` counts both, so that answers to writes enter the cache only in such a period.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::join;
use kube::core::{Expression, Selector, SelectorExt};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, InitialListStrategy, watcher};
use kube::{Api, Client, Resource};
use tokio::sync::Notify;

use super::guard::{self, Guard, Invalid, Reporter};
use super::{Arrived, Cache, CacheState};
use crate::client::connections::Heard;
use crate::error;
use crate::object::{self, Kind, Object, ObjectKey};

/// First pause of a watch that was stopped. Each pause is twice the one before, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);
/// Page size of a list. Memory for a whole page is never returned to the system, including fields that the cache drops.
const PAGE: u32 = 50;
/// Seconds after which the API server ends a watch, which then continues from its last version. A watch that does not
/// end in time is on a dead connection. With HTTP/1.1, nothing else shows a dead connection while no object changes.
const WATCH: u32 = 20;

pub(crate) struct Feed<K> {
    pub(crate) progress: FeedProgress,
    pub(crate) was_filled: bool,
    /// Counts starts and ends of lists.
    pub(crate) epoch: u64,
    /// The newest resource version that the watch has delivered.
    pub(crate) newest: u64,
    pub(crate) selects: Selects,
    pub(crate) heard: Heard,
    listing: BTreeMap<ObjectKey, Arrived<K>>,
    unreadable: Unreadable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedProgress {
    Listing,
    /// Everything was listed, and the watch misses nothing from there on.
    Synced,
    Missing,
    /// The operator is not allowed to list or watch the kind.
    Forbidden,
    Broken,
}

/// Existing objects that cannot be deserialized. Each is reported once per resource version.
#[derive(Default)]
struct Unreadable {
    reported: BTreeMap<ObjectKey, Report>,
    /// Unreadable objects in the list that is being read.
    listed: BTreeSet<ObjectKey>,
}

struct Report {
    resource_version: Option<String>,
    /// The object, until an event reports it.
    unpublished: Option<Invalid>,
}

impl FeedProgress {
    /// Returns why the watch is not complete, for people.
    pub(crate) fn missing<K: Object>(self, kind: &Kind<K>, namespace: &str) -> Option<String> {
        let what = match self {
            Self::Synced => return None,
            Self::Listing => "not listed yet",
            Self::Missing => "not served by the cluster: is its CRD installed?",
            Self::Forbidden => "forbidden: does a role of the operator allow to list and watch it?",
            Self::Broken => "not watched: the watch panicked, and begins again soon",
        };
        let (kind, version) = (kind.name(), kind.api_version());
        Some(match namespace {
            "" => format!("{kind} ({version}) is {what}"),
            namespace => format!("{kind} ({version}) in {namespace} is {what}"),
        })
    }
}

impl<K: Object> Feed<K> {
    fn new(selects: Selects) -> Self {
        Self {
            progress: FeedProgress::Listing,
            was_filled: false,
            epoch: 0,
            newest: 0,
            selects,
            heard: Heard::new(),
            listing: BTreeMap::new(),
            unreadable: Unreadable::default(),
        }
    }
}

impl Unreadable {
    /// Returns true if the object was not reported in this state before.
    fn add(&mut self, invalid: &Invalid) -> bool {
        let key = ObjectKey::of_meta(&invalid.metadata);
        let resource_version = invalid.metadata.resource_version.clone();
        self.listed.insert(key.clone());
        let reported = self.reported.get(&key);
        if reported.is_some_and(|reported| reported.resource_version == resource_version) {
            return false;
        }
        let report = Report {
            resource_version,
            unpublished: Some(invalid.clone()),
        };
        self.reported.insert(key, report);
        true
    }

    /// Forgets objects that a complete list did not contain as unreadable: they are gone, or can be read.
    fn prune(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        self.reported.retain(|key, _| listed.contains(key));
    }
}

impl<K: Object> Cache<K> {
    /// Applies a watch event to the cache. Returns true if there is an unreadable object to report.
    fn handle(&self, namespace: &str, event: Event<Guard<K>>) -> bool {
        match event {
            Event::Init => {
                self.feed(namespace, |feed| {
                    feed.epoch += 1;
                    feed.listing.clear();
                    feed.unreadable.listed.clear();
                });
            }
            Event::InitApply(Guard::Valid(object)) => {
                let key = ObjectKey::of(&object);
                let arrived = self.arrived(object);
                self.feed(namespace, |feed| feed.listing.insert(key, arrived));
            }
            // Left out of the list, so that the cached object is removed at its end.
            Event::InitApply(Guard::Invalid(invalid)) => {
                return self.news(namespace, &invalid);
            }
            Event::InitDone => {
                let (listed, gone) = self.write(|state| take_listing(state, namespace));
                gone.iter().for_each(|key| self.remove(key));
                for object in listed {
                    self.insert(namespace, object, true);
                }
                self.feed(namespace, |feed| feed.epoch += 1);
                self.set_progress(namespace, FeedProgress::Synced);
            }
            Event::Apply(Guard::Valid(object)) => {
                let key = ObjectKey::of(&object);
                self.feed(namespace, |feed| feed.unreadable.reported.remove(&key));
                self.insert(namespace, self.arrived(object), false);
            }
            // Nobody should act on the outdated state.
            Event::Apply(Guard::Invalid(invalid)) => {
                self.delete(namespace, &invalid.metadata);
                return self.news(namespace, &invalid);
            }
            Event::Delete(object) => {
                let key = ObjectKey::of_meta(object.meta());
                self.feed(namespace, |feed| feed.unreadable.reported.remove(&key));
                self.delete(namespace, object.meta());
            }
        }
        false
    }

    fn news(&self, namespace: &str, invalid: &Invalid) -> bool {
        let news = self.feed(namespace, |feed| feed.unreadable.add(invalid));
        let news = news.unwrap_or_default();
        if news {
            guard::log(&self.kind, invalid);
        }
        news
    }

    /// Takes an unreadable object that no event has reported.
    fn unpublished(&self, namespace: &str) -> Option<Invalid> {
        let next = |feed: &mut Feed<K>| {
            let mut reports = feed.unreadable.reported.values_mut();
            reports.find_map(|report| report.unpublished.take())
        };
        self.feed(namespace, next).flatten()
    }

    fn feed<T>(&self, namespace: &str, change: impl FnOnce(&mut Feed<K>) -> T) -> Option<T> {
        self.write(|state| state.feeds.get_mut(namespace).map(change))
    }

    fn progress(&self, namespace: &str) -> Option<FeedProgress> {
        self.read(|state| state.feeds.get(namespace).map(|feed| feed.progress))
    }

    /// Follows the watch until it cannot go on. Returns the progress and the reason.
    async fn follow(
        &self,
        namespace: &str,
        api: Api<Guard<K>>,
        config: watcher::Config,
        news: &Notify,
    ) -> (FeedProgress, String) {
        let mut events = pin!(watcher(api, config.page_size(PAGE)).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    if self.handle(namespace, event) {
                        news.notify_one();
                    }
                }
                Err(error) => match refusal(&error) {
                    Some(progress) => return (progress, error.to_string()),
                    None => {
                        tracing::warn!(kind = %self.kind.name(), namespace, %error, "watch failed, trying again");
                    }
                },
            }
        }
        (FeedProgress::Broken, "the watch ended".to_owned())
    }

    /// Publishes events about unreadable objects while this replica leads.
    async fn report(&self, namespace: &str, reporter: &Reporter, news: &Notify) {
        loop {
            news.notified().await;
            reporter.leadership.held().await;
            while let Some(invalid) = self.unpublished(namespace) {
                reporter.publish(&self.kind, invalid).await;
            }
        }
    }
}

/// Returns the objects of a finished list, and the keys of the objects that disappeared.
fn take_listing<K: Object>(
    state: &mut CacheState<K>,
    namespace: &str,
) -> (Vec<Arrived<K>>, Vec<ObjectKey>) {
    let Some(feed) = state.feeds.get_mut(namespace) else {
        return (Vec::new(), Vec::new());
    };
    feed.unreadable.prune();
    let listing = std::mem::take(&mut feed.listing);
    let keys = state.keys_in(namespace);
    let gone = keys.filter(|key| !listing.contains_key(key));
    let gone = gone.cloned().collect();
    (listing.into_values().collect(), gone)
}

pub(crate) fn run<K: Object>(
    cache: Arc<Cache<K>>,
    client: Client,
    namespace: Option<String>,
    config: watcher::Config,
    reporter: Reporter,
) -> impl Future<Output = ()> + Send {
    let name = namespace.clone().unwrap_or_default();
    let feed = Feed::new(Selects::of(&config));
    let client = feed.heard.by(client);
    let config = limited(config);
    cache.write(|state| state.feeds.insert(name.clone(), feed));
    cache.set_progress(&name, FeedProgress::Listing);
    async move {
        let api = object::api::<Guard<K>>(&client, namespace.as_deref(), &cache.kind.dynamic);
        let news = Notify::new();
        let mut pause = FIRST_PAUSE;
        let following = async {
            loop {
                let following = cache.follow(&name, api.clone(), config.clone(), &news);
                let ended = error::catch_running(following).await;
                let (stopped, error) = ended.unwrap_or_else(|panic| (FeedProgress::Broken, panic));
                let before = cache.progress(&name);
                if before == Some(FeedProgress::Synced) {
                    pause = FIRST_PAUSE;
                }
                cache.set_progress(&name, stopped);
                let why = stopped.missing(&cache.kind, &name).unwrap_or_default();
                if !cache.is_optional() || stopped != FeedProgress::Missing {
                    tracing::error!(error, again_in = ?pause, "{why}");
                } else if before != Some(stopped) {
                    tracing::info!("{why}");
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        join(following, cache.report(&name, &reporter, &news)).await;
    }
}

pub(super) fn silent<K: Object>(kind: &Kind<K>, namespace: &str, silence: Duration) -> String {
    let (kind, version, seconds) = (kind.name(), kind.api_version(), silence.as_secs());
    let place = match namespace {
        "" => String::new(),
        namespace => format!(" in {namespace}"),
    };
    format!(
        "the watch of {kind} ({version}){place} has been silent for {seconds} s: is the API server reachable?"
    )
}

/// Sets a time limit for the watch, unless it has one or streams its initial list.
fn limited(mut config: watcher::Config) -> watcher::Config {
    if config.initial_list_strategy == InitialListStrategy::ListWatch {
        config.timeout.get_or_insert(WATCH);
    }
    config
}

/// Returns the progress that a refusal means. `None` stands for an error that may pass soon.
fn refusal(error: &watcher::Error) -> Option<FeedProgress> {
    let code = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code,
        watcher::Error::WatchError(status) => status.code,
        _ => return None,
    };
    match code {
        403 => Some(FeedProgress::Forbidden),
        404 => Some(FeedProgress::Missing),
        _ => None,
    }
}

/// The selector of a watch, as far as labels can evaluate it.
pub(crate) struct Selects {
    /// `None` if only the server can evaluate the selector.
    selector: Option<Selector>,
    text: String,
}

impl Selects {
    /// Reads the selectors of a watch. Field selectors and unknown operators are left to the server.
    pub(crate) fn of(config: &watcher::Config) -> Self {
        let labels = config.label_selector.as_deref().unwrap_or_default();
        let by_fields = config.field_selector.is_some();
        Self {
            selector: parse(labels).filter(|_| !by_fields),
            text: labels.to_owned(),
        }
    }

    /// Returns true if the watch is sure to deliver an object with these labels.
    pub(crate) fn surely(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector
            .as_ref()
            .is_some_and(|selector| selector.matches(labels))
    }

    /// Returns why the watch is sure not to deliver an object with these labels.
    pub(crate) fn never(&self, labels: &BTreeMap<String, String>) -> Option<String> {
        let selector = self.selector.as_ref()?;
        let text = &self.text;
        (!selector.matches(labels))
            .then(|| format!("its labels are not those that are watched: `{text}`"))
    }
}

/// Parses a selector like the API server: requirements that are separated by commas and must all hold.
fn parse(text: &str) -> Option<Selector> {
    let mut requirements = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        // A set contains commas, too.
        let closed = rest.find('(').filter(|open| !rest[..*open].contains(','));
        let after = closed.map_or(Some(0), |_| rest.find(')'))?;
        let end = rest[after..].find(',').map(|comma| after + comma);
        requirements.push(requirement(rest[..end.unwrap_or(rest.len())].trim())?);
        rest = end.map_or("", |end| rest[end + 1..].trim());
    }
    Some(requirements.into_iter().collect())
}

fn requirement(text: &str) -> Option<Expression> {
    let words = |key: &str, value: &str| Some((label(key)?, value.trim().to_owned()));
    if let Some((start, values)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let (key, operator) = start.trim().rsplit_once(char::is_whitespace)?;
        let values: BTreeSet<_> = values.split(',').map(|v| v.trim().to_owned()).collect();
        return match operator {
            "in" => Some(Expression::In(label(key)?, values)),
            "notin" => Some(Expression::NotIn(label(key)?, values)),
            _ => None,
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        let (key, value) = words(key, value)?;
        return Some(Expression::NotEqual(key, value));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        let (key, value) = words(key, value)?;
        return Some(Expression::Equal(key, value));
    }
    match text.strip_prefix('!') {
        Some(key) => Some(Expression::DoesNotExist(label(key)?)),
        None => Some(Expression::Exists(label(text)?)),
    }
}

fn label(text: &str) -> Option<String> {
    let text = text.trim();
    let known = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    (!text.is_empty() && text.chars().all(known)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    use super::*;

    fn cache(selector: &str) -> Cache<ConfigMap> {
        let cache = Cache::new(Kind::default());
        let config = watcher::Config::default().labels(selector);
        let feed = Feed::new(Selects::of(&config));
        cache.write(|state| state.feeds.insert(String::new(), feed));
        cache
    }

    fn map(uid: &str, version: u64, labels: &Value) -> ConfigMap {
        let version = version.to_string();
        let metadata =
            json!({ "name": "a", "uid": uid, "resourceVersion": version, "labels": labels });
        serde_json::from_value(json!({ "metadata": metadata })).expect("a config map")
    }

    fn valid(uid: &str, version: u64) -> Guard<ConfigMap> {
        Guard::Valid(map(uid, version, &json!({})))
    }

    fn invalid(name: &str, version: &str) -> Guard<ConfigMap> {
        let metadata = json!({ "name": name, "resourceVersion": version });
        serde_json::from_value(json!({ "metadata": metadata, "data": 1 })).expect("a guarded one")
    }

    fn tell(
        cache: &Cache<ConfigMap>,
        events: impl IntoIterator<Item = Event<Guard<ConfigMap>>>,
    ) -> usize {
        for event in events {
            cache.handle("", event);
        }
        std::iter::from_fn(|| cache.unpublished("")).count()
    }

    fn wrote(cache: &Cache<ConfigMap>, object: ConfigMap) {
        let ticket = cache.ticket(None);
        cache.wrote(cache.arrived(object), &ticket);
    }

    fn cached(cache: &Cache<ConfigMap>) -> Option<(String, String)> {
        let map = cache.list(None).pop()?;
        map.metadata
            .uid
            .clone()
            .zip(map.metadata.resource_version.clone())
    }

    fn is(uid: &str, version: &str) -> Option<(String, String)> {
        Some((uid.to_owned(), version.to_owned()))
    }

    #[test]
    fn a_late_deletion_leaves_what_was_written_after_it() {
        for (deleted, left) in [
            (valid("one", 7), is("two", "8")),
            // The version of a deletion may be newer than that of our write.
            (valid("one", 9), is("two", "8")),
            // The object left the selector at version 7, and matches again since our write.
            (valid("two", 7), is("two", "8")),
            (valid("two", 8), None),
            (valid("two", 9), None),
        ] {
            let cache = cache("");
            tell(
                &cache,
                [
                    Event::Init,
                    Event::InitApply(valid("one", 5)),
                    Event::InitDone,
                ],
            );
            wrote(&cache, map("two", 8, &json!({})));
            assert_eq!(cached(&cache), is("two", "8"));
            let what = format!("{deleted:?}");
            tell(&cache, [Event::Delete(deleted)]);
            assert_eq!(cached(&cache), left, "{what}");
        }
    }

    /// A predicate that compares the states before and after must not get two different objects.
    #[test]
    fn a_successor_that_only_a_listing_shows_is_told_of_as_a_deletion_and_a_new_object() {
        type Told = Vec<(Option<String>, Option<String>, bool)>;
        let uid = |map: Option<&ConfigMap>| map.and_then(|map| map.metadata.uid.clone());
        let one_then_two: Told = vec![
            (None, Some("one".to_owned()), true),
            (Some("one".to_owned()), None, false),
            (None, Some("two".to_owned()), false),
        ];
        for (ours, shown) in [
            (
                None,
                vec![
                    Event::Init,
                    Event::InitApply(valid("two", 8)),
                    Event::InitDone,
                ],
            ),
            (None, vec![Event::Apply(valid("two", 8))]),
            // The answer to our own write came first.
            (Some(7), vec![Event::Apply(valid("two", 8))]),
        ] {
            let cache = cache("");
            let told = Arc::<std::sync::Mutex<Told>>::default();
            let log = told.clone();
            cache.listen(move |_, seen| {
                let told = (uid(seen.before), uid(seen.after), seen.known);
                log.lock().unwrap().push(told);
            });
            let listing = [
                Event::Init,
                Event::InitApply(valid("one", 5)),
                Event::InitDone,
            ];
            tell(&cache, listing);
            if let Some(version) = ours {
                wrote(&cache, map("two", version, &json!({})));
            }
            tell(&cache, shown);
            assert_eq!(*told.lock().unwrap(), one_then_two);
        }
    }

    #[test]
    fn what_we_wrote_stays_only_where_the_watch_goes_on_to_tell_of_it() {
        let listed = |cache: &Cache<ConfigMap>| tell(cache, [Event::Init, Event::InitDone]);
        for (selector, labels, stays) in [
            ("", json!({}), true),
            ("app=a", json!({ "app": "a" }), true),
            ("app=a", json!({ "app": "b" }), false),
            ("app=a", json!({}), false),
        ] {
            let cache = cache(selector);
            listed(&cache);
            wrote(&cache, map("one", 8, &labels));
            assert_eq!(cached(&cache).is_some(), stays, "{selector} {labels}");
        }
        // The watch knows the object, and will report that it left the selector.
        let cache = cache("app=a");
        let known = Guard::Valid(map("one", 5, &json!({ "app": "a" })));
        tell(
            &cache,
            [Event::Init, Event::InitApply(known), Event::InitDone],
        );
        wrote(&cache, map("one", 8, &json!({ "app": "b" })));
        assert_eq!(cached(&cache), is("one", "8"));
        tell(
            &cache,
            [Event::Delete(Guard::Valid(map(
                "one",
                8,
                &json!({ "app": "b" }),
            )))],
        );
        assert_eq!(cached(&cache), None);
        // In a namespace that nobody watches.
        let cache = Cache::<ConfigMap>::new(Kind::default());
        let feed = || Feed::new(Selects::of(&watcher::Config::default()));
        cache.write(|state| state.feeds.insert("here".to_owned(), feed()));
        wrote(&cache, map("one", 8, &json!({})));
        assert_eq!(cached(&cache), None);
    }

    #[test]
    fn an_object_that_cannot_be_read_is_told_once_in_each_state_and_forgotten_when_it_is_gone() {
        let cache = cache("");
        let known = || {
            let known = cache.feed("", |feed| {
                let keys = feed.unreadable.reported.keys();
                keys.map(ToString::to_string).collect::<Vec<_>>()
            });
            known.expect("a feed")
        };
        let listing = |listed: Vec<Guard<ConfigMap>>| {
            let listed = listed.into_iter().map(Event::InitApply);
            let events = [Event::Init]
                .into_iter()
                .chain(listed)
                .chain([Event::InitDone]);
            tell(&cache, events)
        };
        assert_eq!(
            listing(vec![
                invalid("a", "1"),
                invalid("b", "1"),
                invalid("c", "1")
            ]),
            3
        );
        assert_eq!(
            tell(
                &cache,
                [
                    Event::Apply(invalid("a", "1")),
                    Event::Apply(invalid("b", "2"))
                ]
            ),
            1
        );
        // A list that starts again does not report twice.
        tell(&cache, [Event::Init, Event::InitApply(invalid("a", "1"))]);
        assert_eq!(listing(vec![invalid("a", "1"), invalid("b", "2")]), 0);
        assert_eq!(known(), ["a", "b"]);
        tell(&cache, [Event::Apply(valid("one", 3))]);
        assert_eq!(known(), ["b"]);
        tell(&cache, [Event::Delete(invalid("b", "4"))]);
        assert_eq!(known(), [""; 0]);
    }

    #[test]
    fn webhooks_wait_for_built_in_kinds_and_refusals_until_the_cache_was_filled_once() {
        use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
        use kube::discovery::Scope;

        let delays = |group: &str, steps: &[FeedProgress]| {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", "Thing"));
            let cache = Cache::<DynamicObject>::new(Kind::new(&resource, &Scope::Namespaced));
            let feed = Feed::new(Selects::of(&watcher::Config::default()));
            cache.write(|state| state.feeds.insert(String::new(), feed));
            steps.iter().for_each(|step| cache.set_progress("", *step));
            let unsynced = cache.unsynced().into_iter();
            Vec::from_iter(unsynced.map(|watch| watch.delays_webhooks))
        };
        use FeedProgress::{Forbidden, Listing, Missing, Synced};
        for (steps, built_in, custom) in [
            (&[Listing][..], &[true][..], &[false][..]),
            (&[Forbidden], &[true], &[true]),
            (&[Missing], &[true], &[true]),
            (&[Synced], &[], &[]),
            (&[Synced, Forbidden], &[false], &[false]),
        ] {
            assert_eq!(delays("apps", steps), built_in, "{steps:?}");
            assert_eq!(delays("example.com", steps), custom, "{steps:?}");
            assert_eq!(
                delays("gateway.networking.k8s.io", steps),
                custom,
                "{steps:?}"
            );
        }
    }

    #[test]
    fn what_is_written_and_never_watched_is_told_once() {
        let key = |namespace: &str| ObjectKey {
            namespace: Some(namespace.to_owned()),
            name: "a".to_owned(),
        };
        let labels = |value: &str| BTreeMap::from([("app".to_owned(), value.to_owned())]);
        let all = cache("app=a");
        assert_eq!(all.overlooks(&key("x"), &labels("a")), None);
        let told = || all.overlooks(&key("x"), &labels("b"));
        assert_eq!(
            told().as_deref(),
            Some("its labels are not those that are watched: `app=a`")
        );
        assert_eq!(told(), None);

        let some = Cache::<ConfigMap>::new(Kind::default());
        assert_eq!(some.overlooks(&key("x"), &labels("a")), None, "no watch");
        let feed = Feed::new(Selects::of(&watcher::Config::default()));
        some.write(|state| state.feeds.insert("here".to_owned(), feed));
        assert_eq!(some.overlooks(&key("here"), &labels("a")), None);
        assert_eq!(
            some.overlooks(&key("there"), &labels("a")).as_deref(),
            Some("the namespace is not watched")
        );
    }

    #[test]
    fn labels_are_matched_as_the_server_does_it() {
        let labels = BTreeMap::from([("app", "a"), ("x.io/tier", "web")]);
        let labels = labels
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        for (selector, expected) in [
            ("", true),
            ("app=a", true),
            ("app = a , x.io/tier == web", true),
            ("app=a,x.io/tier=db", false),
            ("app!=a", false),
            ("other!=a", true),
            ("app", true),
            ("other", false),
            ("!other", true),
            ("!app", false),
            ("app in (a,b),x.io/tier", true),
            ("x.io/tier,app in (b, c)", false),
            ("app notin (b,c)", true),
            ("app notin (a)", false),
            ("other=", false),
            // Left to the server.
            ("app in (a", false),
            ("app in a", false),
            ("app like (a)", false),
            ("app > 3", false),
            (",", false),
        ] {
            let config = watcher::Config::default().labels(selector);
            let selects = Selects::of(&config);
            assert_eq!(selects.surely(&labels), expected, "{selector}");
            let known = selects.selector.is_some();
            assert_eq!(
                selects.never(&labels).is_some(),
                known && !expected,
                "{selector}"
            );
        }
        let by_name = watcher::Config::default().fields("metadata.name=a");
        let selects = Selects::of(&by_name);
        assert!(!selects.surely(&labels) && selects.never(&labels).is_none());
    }
}
