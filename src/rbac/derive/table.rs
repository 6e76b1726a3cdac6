//! The requests of calls: kube's `Api`, its runtime and its client. Calls of the `manager` are in `manager.rs`.
//!
//! Read from the sources of kube 5, whose paths each part names; the verbs are those that the API server derives from
//! method and path: <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb>.

use super::foreign::Kube;
use crate::rbac::RequestScope;

/// A call of a method of `kube::Api`, or of a function that is given one.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: &'static str,
    /// Without the receiver; a method of another type may have the same name.
    pub(super) arguments: usize,
    pub(super) verbs: &'static [&'static str],
    pub(super) sub: Sub,
    pub(super) answer: CallAnswer,
}

/// The resource, or a subresource of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sub {
    None,
    Named(&'static str),
    /// The subresource that the first argument names.
    First,
}

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallAnswer {
    /// An object of the kind.
    Object,
    /// Many of them.
    Objects,
    /// A place for an object, which `commit` writes.
    Entry,
    /// Any other type.
    Other,
}

const fn method(
    name: &'static str,
    arguments: usize,
    verbs: &'static [&'static str],
    sub: Sub,
    answer: CallAnswer,
) -> Method {
    Method { name, arguments, verbs, sub, answer }
}

use CallAnswer::{Entry, Object, Objects, Other};
use Sub::{First, Named, None as Itself};

/// A websocket is opened by a GET, and since Kubernetes 1.35 the API server asks for `create` besides `get`:
/// feature gate `AuthorizePodWebsocketUpgradeCreatePermission`, on by default.
const STREAM: &[&str] = &["get", "create"];

/// The methods of `Api`. What a patch needs besides `patch` depends on its value, see [`CREATING`].
pub(super) const METHODS: &[Method] = &[
    // kube-client/src/api/core_methods.rs
    method("get", 1, &["get"], Itself, Object),
    method("get_with", 2, &["get"], Itself, Object),
    method("get_opt", 1, &["get"], Itself, Object),
    method("get_opt_with", 2, &["get"], Itself, Object),
    method("get_metadata", 1, &["get"], Itself, Object),
    method("get_metadata_with", 2, &["get"], Itself, Object),
    method("get_metadata_opt", 1, &["get"], Itself, Object),
    method("get_metadata_opt_with", 2, &["get"], Itself, Object),
    method("list", 1, &["list"], Itself, Objects),
    method("list_metadata", 1, &["list"], Itself, Objects),
    method("create", 2, &["create"], Itself, Object),
    method("delete", 2, &["delete"], Itself, Object),
    method("delete_collection", 2, &["deletecollection"], Itself, Objects),
    method("patch", 3, &["patch"], Itself, Object),
    method("patch_metadata", 3, &["patch"], Itself, Object),
    method("replace", 3, &["update"], Itself, Object),
    method("watch", 2, &["watch"], Itself, Other),
    method("watch_metadata", 2, &["watch"], Itself, Other),
    // kube-client/src/api/entry.rs
    method("entry", 1, &["get"], Itself, Entry),
    // kube-client/src/api/subresource.rs
    method("get_status", 1, &["get"], Named("status"), Object),
    method("patch_status", 3, &["patch"], Named("status"), Object),
    method("replace_status", 3, &["update"], Named("status"), Object),
    method("get_scale", 1, &["get"], Named("scale"), Other),
    method("patch_scale", 3, &["patch"], Named("scale"), Other),
    method("replace_scale", 3, &["update"], Named("scale"), Other),
    method("get_subresource", 2, &["get"], First, Object),
    method("create_subresource", 4, &["create"], First, Other),
    method("patch_subresource", 4, &["patch"], First, Object),
    method("replace_subresource", 4, &["update"], First, Object),
    method("get_ephemeral_containers", 1, &["get"], Named("ephemeralcontainers"), Object),
    method("patch_ephemeral_containers", 3, &["patch"], Named("ephemeralcontainers"), Object),
    method("replace_ephemeral_containers", 3, &["update"], Named("ephemeralcontainers"), Object),
    method("get_resize", 1, &["get"], Named("resize"), Object),
    method("patch_resize", 3, &["patch"], Named("resize"), Object),
    method("replace_resize", 3, &["update"], Named("resize"), Object),
    method("logs", 2, &["get"], Named("log"), Other),
    method("log_stream", 2, &["get"], Named("log"), Other),
    method("evict", 2, &["create"], Named("eviction"), Other),
    method("attach", 2, STREAM, Named("attach"), Other),
    method("exec", 3, STREAM, Named("exec"), Other),
    method("portforward", 2, STREAM, Named("portforward"), Other),
    // kube-client/src/api/util/mod.rs, csr.rs
    method("restart", 1, &["patch"], Itself, Object),
    method("cordon", 1, &["patch"], Itself, Object),
    method("uncordon", 1, &["patch"], Itself, Object),
    method("create_token_request", 3, &["create"], Named("token"), Other),
    method("get_approval", 1, &["get"], Named("approval"), Object),
    method("patch_approval", 3, &["patch"], Named("approval"), Object),
];

/// Methods whose last argument is a `Patch`, and that make what does not exist if it is a server-side apply: the API
/// server asks for `create` then, but not for a subresource.
/// <https://kubernetes.io/docs/reference/using-api/server-side-apply/#rbac-and-permissions>
pub(super) const CREATING: &[&str] = &["patch", "patch_metadata"];

/// `commit` of an `Entry`, kube-client/src/api/entry.rs: a new object is created, another one replaced.
pub(super) const COMMIT: &[&str] = &["create", "update"];

/// The verbs that a call of a method may need; none if the name does not tell.
pub(super) fn verbs(method: &str) -> Vec<&'static str> {
    let methods = METHODS.iter().filter(|known| known.name == method).flat_map(|known| known.verbs);
    let functions = FUNCTIONS.iter().filter(|known| known.name == method).flat_map(|known| known.verbs);
    let created = CREATING.contains(&method).then_some("create");
    let published: &[_] = if method == "publish" { &["create", "patch"] } else { &[] };
    methods.chain(functions).chain(published).copied().chain(created).collect()
}

/// Methods that nothing but an `Api` has: worth a word on a receiver that could not be followed.
pub(super) fn is_telling(name: &str) -> bool {
    let plain = ["get_opt", "get_with", "get_metadata", "get_status", "get_scale", "get_resize", "list_metadata"];
    name.contains('_') && !plain.contains(&name) && METHODS.iter().any(|method| method.name == name)
}

/// Methods that make a request when they are given parameters or an event.
pub(super) fn takes_params(name: &str) -> bool {
    name == "publish" || METHODS.iter().any(|method| method.name == name)
}

/// Methods of a `Controller` that watch what their first argument reaches, with the number of their arguments.
pub(super) const WATCHES: &[(&str, usize)] = &[("owns", 2), ("owns_with", 3), ("watches", 3), ("watches_with", 4)];

/// Methods of collections, cells, channels and frameworks that only keep or pass on what they are given.
pub(super) fn is_plain(name: &str) -> bool {
    const PLAIN: &str = "add_service and append app_data chain cmp contains data entry eq extend extension fallback \
                         get_or_init get_or_insert get_or_insert_with get_or_try_init insert insert_mut layer manage \
                         map_or map_or_else or or_insert or_insert_with or_else provide push push_back push_front \
                         replace send set spawn store swap then_some try_send unwrap_or unwrap_or_else with_state zip";
    PLAIN.split_ascii_whitespace().any(|plain| plain == name)
}

/// Verbs of a watch: kube-runtime/src/watcher.rs. A streaming list is a `watch` alone.
pub(super) const WATCH: &[&str] = &["list", "watch"];

/// The functions of kube-runtime: watcher.rs, finalizer.rs (JSON patches), wait.rs.
/// Their first argument is the `Api`.
pub(super) const FUNCTIONS: &[Method] = &[
    method("watcher", 2, WATCH, Itself, Objects),
    method("metadata_watcher", 2, WATCH, Itself, Objects),
    method("watch_object", 2, WATCH, Itself, Objects),
    method("watch_metadata", 2, WATCH, Itself, Other),
    method("finalizer", 4, &["patch"], Itself, Other),
    method("await_condition", 3, WATCH, Itself, Other),
    method("delete_and_finalize", 3, &["delete", "list", "watch"], Itself, Other),
];

/// A path names one of these.
pub(super) fn is_function(path: &[String]) -> bool {
    super::foreign::is_kube(path) && path.last().is_some_and(|last| FUNCTIONS.iter().any(|known| known.name == last))
}

/// The meaning of a method of a type of kube or of kubert.
#[derive(Debug)]
pub(super) enum KubeCall {
    /// Watches what the `Api` in the first argument reaches, and returns the receiver.
    Watches,
    /// Runs a controller: its functions get objects of the kind.
    Runs,
    /// Watches all objects of the type argument.
    WatchesAll,
    /// Requests objects of a type of k8s-openapi, with these verbs.
    Requests(&'static str, RequestScope, &'static [&'static str]),
    OwnNamespace,
    Client,
    /// Sends a request as it is.
    Sends,
    /// Makes requests that are not read, in this crate.
    Unread(&'static str),
    /// Gets an object of the type argument.
    Reads,
    /// Lists them.
    Lists,
    /// Writes what is in an `Entry`.
    Commits,
    /// Returns all objects of a `Store`.
    Objects,
    /// Returns one of them.
    Object,
}

pub(super) fn kube_method(of: &Kube, name: &str, arguments: usize) -> Option<KubeCall> {
    Some(match (of, name, arguments) {
        // kube-runtime/src/controller/mod.rs; what is given as a stream is watched elsewhere.
        (Kube::Controller, name, arguments) if WATCHES.contains(&(name, arguments)) => KubeCall::Watches,
        (Kube::Controller, "run", _) => KubeCall::Runs,
        // kube-runtime/src/events.rs: the second time the same happens, the event is patched. The older form only creates.
        (Kube::Recorder, "publish", 1) => KubeCall::Requests(EVENT, RequestScope::Namespaced, &["create"]),
        (Kube::Recorder, "publish", _) => KubeCall::Requests(EVENT, RequestScope::Namespaced, &["create", "patch"]),
        // kube-client/src/client/mod.rs
        (Kube::Client, "default_namespace", _) => KubeCall::OwnNamespace,
        (
            Kube::Client,
            "connect" | "request" | "request_events" | "request_status" | "request_stream" | "request_text" | "send",
            _,
        ) => KubeCall::Sends,
        // kube-client/src/client/client_ext.rs
        (Kube::Client, "get", 2) | (Kube::Client, "fetch", 1) => KubeCall::Reads,
        (Kube::Client, "list", 2) => KubeCall::Lists,
        // kube-client/src/api/entry.rs
        (Kube::Entry, "commit", _) => KubeCall::Commits,
        // kube-runtime/src/reflector/store.rs
        (Kube::Store, "state", _) => KubeCall::Objects,
        (Kube::Store, "get" | "find", _) => KubeCall::Object,
        // kubert/src/runtime.rs; its builder is not told apart.
        (Kube::Runtime, "client", _) => KubeCall::Client,
        (Kube::Runtime, "watch_all", _) => KubeCall::WatchesAll,
        // kubert/src/lease.rs: the Lease has to exist.
        (Kube::Runtime, "spawn_lease", _) => KubeCall::Requests(LEASE, RequestScope::Own, &["get", "patch"]),
        (Kube::Runtime, name, _) if name.starts_with("cache") || name.starts_with("watch") => {
            KubeCall::Unread("kubert")
        }
        _ => return None,
    })
}

/// The use of arguments by a function of another crate than kube.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignEffect {
    /// `Some`, `Ok`: it is the value in it.
    Wraps,
    /// `Err`, `None`: no value comes from there.
    Fails,
    /// Returns the argument at this position, or the result of this function.
    Argument(usize),
    /// Returns all of them.
    All,
    /// Returns the value of an environment variable.
    Variable,
    /// Returns the text of a file.
    File,
    /// Parses a value of the expected type.
    Parsed,
    /// Nothing that matters comes of it.
    Nothing,
    /// Of a crate that is not known.
    Unknown,
}

pub(super) fn foreign(path: &[String]) -> ForeignEffect {
    let [krate, inner @ ..] = path else { return ForeignEffect::Unknown };
    let name = inner.last().map_or("", String::as_str);
    match (krate.as_str(), name) {
        ("std", "Some" | "Ok") => ForeignEffect::Wraps,
        ("std", "Err" | "None") => ForeignEffect::Fails,
        (_, "var") if inner.iter().any(|part| part == "env") => ForeignEffect::Variable,
        (_, "read_to_string") => ForeignEffect::File,
        ("std" | "tokio" | "futures" | "futures_util", name) => match name {
            "abortable" | "block_in_place" | "block_on" | "Borrowed" | "identity" | "iter" | "join_all" | "Owned"
            | "pin" | "ready" | "replace" | "select_all" | "spawn" | "spawn_blocking" | "spawn_local" | "take"
            | "try_join_all" | "unconstrained" => ForeignEffect::Argument(0),
            "timeout" | "timeout_at" => ForeignEffect::Argument(1),
            "join" | "try_join" | "zip" => ForeignEffect::All,
            _ => ForeignEffect::Nothing,
        },
        ("backoff", "retry") | ("tokio_retry" | "tokio_retry2", "spawn") => ForeignEffect::Argument(1),
        ("serde_json" | "serde_yaml", _) => ForeignEffect::Parsed,
        _ => ForeignEffect::Unknown,
    }
}

/// The type of events, of k8s-openapi: kube-runtime/src/events.rs.
pub(super) const EVENT: &str = "api::events::v1::Event";
/// The type of leader election, of k8s-openapi.
pub(super) const LEASE: &str = "api::coordination::v1::Lease";

/// A function of a crate for leader election, with what all of the election requests.
#[derive(Debug)]
pub(super) struct Election {
    /// The type, by its path.
    of: &'static [&'static str],
    function: &'static str,
    arguments: usize,
    /// The position of the client or the `Api`.
    pub(super) client: usize,
    /// The position of the namespace, where it is a string.
    pub(super) namespace: Option<usize>,
    pub(super) verbs: &'static [&'static str],
}

const ELECTIONS: &[Election] = &[
    // kube-leader-election 0.44: src/lease.rs
    Election {
        of: &["kube_leader_election::LeaseLock", "kube_leader_election::lease::LeaseLock"],
        function: "new",
        arguments: 3,
        client: 0,
        namespace: Some(1),
        verbs: &["create", "get", "patch"],
    },
    // kube-coordinate 2.0: src/lib.rs; a server-side apply.
    Election {
        of: &["kube_coordinate::LeaderElector"],
        function: "spawn",
        arguments: 2,
        client: 1,
        namespace: None,
        verbs: &["create", "get", "patch"],
    },
    // kube-lease-manager 0.13: src/state.rs
    Election {
        of: &["kube_lease_manager::LeaseManagerBuilder", "kube_lease_manager::manager::LeaseManagerBuilder"],
        function: "new",
        arguments: 2,
        client: 0,
        namespace: None,
        verbs: &["create", "get", "patch"],
    },
    Election {
        of: &["kube_lease_manager::LeaseManager", "kube_lease_manager::manager::LeaseManager"],
        function: "new",
        arguments: 5,
        client: 0,
        namespace: Some(2),
        verbs: &["create", "get", "patch"],
    },
    // kubert 0.25: src/lease.rs; the Lease has to exist.
    Election {
        of: &["kubert::LeaseManager", "kubert::lease::LeaseManager"],
        function: "init",
        arguments: 2,
        client: 0,
        namespace: None,
        verbs: &["get", "patch"],
    },
];

impl Election {
    /// The name of the type.
    pub(super) fn name(&self) -> &'static str {
        self.of[0].rsplit("::").next().unwrap_or_default()
    }
}

pub(super) fn election(of: &str, function: &str, arguments: usize) -> Option<&'static Election> {
    let is = |known: &&Election| known.of.contains(&of) && known.function == function && known.arguments == arguments;
    ELECTIONS.iter().find(is)
}

/// The environment variable that holds the namespace of the pod, by convention from the downward API:
/// <https://kubernetes.io/docs/tasks/inject-data-application/environment-variable-expose-pod-information/>
pub(super) const OWN_NAMESPACE: &str = "POD_NAMESPACE";

/// Returns true if an environment variable is probably a namespace of the operator, by its name: its own one, or one
/// that it works in.
pub(super) fn may_be_own(variable: &str) -> bool {
    let words: Vec<&str> = variable.split('_').collect();
    words.contains(&"NAMESPACE") && ["CONTROLLER", "MY", "OPERATOR", "POD"].iter().any(|word| words.contains(word))
}

/// Functions of a `Kubeconfig` that read the one that `Config::infer` reads, too: kube-client/src/config/file_config.rs.
pub(super) const OWN_KUBECONFIG: &[&str] = &["default", "from_env", "read"];

/// The end of the path of the file that holds it in every pod:
/// <https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/#directly-accessing-the-rest-api>
pub(super) const NAMESPACE_FILE: &str = "serviceaccount/namespace";

/// Derives that make no value of the type, or only a copy of one. Others are constructors that the source doesn't show.
pub(super) const NO_CONSTRUCTOR: &[&str] = &[
    "Clone",
    "Copy",
    "Debug",
    "Display",
    "Eq",
    "Error",
    "Hash",
    "JsonSchema",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Serialize",
];

/// The result of a method that only unwraps, converts or picks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    /// The receiver, as far as it matters.
    Receiver,
    /// One element of a collection.
    Element,
    Other,
}

pub(super) fn returns(method: &str) -> Returns {
    match method {
        "abortable"
        | "applied_objects"
        | "as_deref"
        | "as_mut"
        | "as_ref"
        | "as_slice"
        | "backoff"
        | "borrow"
        | "borrow_mut"
        | "boxed"
        | "boxed_local"
        | "buffer_unordered"
        | "by_ref"
        | "chain"
        | "clone"
        | "cloned"
        | "collect"
        | "concat"
        | "context"
        | "copied"
        | "default_backoff"
        | "deref"
        | "expect"
        | "filter"
        | "flatten"
        | "get_mut"
        | "get_ref"
        | "in_current_span"
        | "inspect"
        | "inspect_err"
        | "instrument"
        | "into"
        | "fuse"
        | "inspect_ok"
        | "into_future"
        | "into_inner"
        | "into_iter"
        | "into_stream"
        | "iter"
        | "iter_mut"
        | "load"
        | "load_full"
        | "lock"
        | "map_err"
        | "modify"
        | "notify"
        | "ok"
        | "or_current"
        | "ok_or"
        | "ok_or_else"
        | "peekable"
        | "predicate_filter"
        | "read"
        | "reflect"
        | "retain"
        | "rev"
        | "shared"
        | "skip"
        | "stream"
        | "subscribe"
        | "take"
        | "timeout"
        | "tap"
        | "to_owned"
        | "to_vec"
        | "touched_objects"
        | "try_collect"
        | "try_filter"
        | "try_into"
        | "try_lock"
        | "unwrap"
        | "unwrap_unchecked"
        | "when"
        | "with_cancellation_token"
        | "with_context"
        | "with_current_subscriber"
        | "with_subscriber"
        | "wrap_err"
        | "wrap_err_with"
        | "write" => Returns::Receiver,
        "find" | "first" | "first_mut" | "get" | "join_next" | "last" | "last_mut" | "max_by_key" | "min_by_key"
        | "next" | "nth" | "peek" | "pop" | "pop_back" | "pop_front" | "recv" | "reduce" | "remove"
        | "select_next_some" | "swap_remove" | "try_next" | "try_recv" => Returns::Element,
        _ => Returns::Other,
    }
}
