//! Which requests a call makes: kube's `Api`, its runtime, its client, and the manager of generated projects.
//!
//! Read from the sources of kube 5, whose paths each part names; the verbs are those that the API server derives from
//! method and path: <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb>.

/// A call of a method of `kube::Api`.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: &'static str,
    /// Without the receiver; a method of another type may have the same name.
    pub(super) arguments: usize,
    pub(super) verbs: &'static [&'static str],
    pub(super) sub: Sub,
    pub(super) answer: Answer,
}

/// What of a resource a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sub {
    /// The resource itself.
    None,
    /// A subresource.
    Named(&'static str),
    /// The subresource that the first argument names.
    First,
}

/// What a call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// An object of the kind.
    Object,
    /// Many of them.
    Objects,
    /// A place for an object, which `commit` writes.
    Entry,
    /// Nothing that matters here.
    Other,
}

const fn method(
    name: &'static str,
    arguments: usize,
    verbs: &'static [&'static str],
    sub: Sub,
    answer: Answer,
) -> Method {
    Method { name, arguments, verbs, sub, answer }
}

use Answer::{Entry, Object, Objects, Other};
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
    methods.chain(functions).copied().chain(created).collect()
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

/// What feeds a watch: kube-runtime/src/watcher.rs. A streaming list is a `watch` alone.
pub(super) const WATCH: &[&str] = &["list", "watch"];

/// A function that is given an `Api`, and what it requests.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    /// The position of the `Api` among the arguments.
    pub(super) api: usize,
    /// How many arguments there are.
    pub(super) arguments: usize,
    pub(super) verbs: &'static [&'static str],
}

/// The functions of kube-runtime: watcher.rs, finalizer.rs (JSON patches), wait.rs.
pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "watcher", api: 0, arguments: 2, verbs: WATCH },
    Function { name: "metadata_watcher", api: 0, arguments: 2, verbs: WATCH },
    Function { name: "watch_object", api: 0, arguments: 2, verbs: WATCH },
    Function { name: "watch_metadata", api: 0, arguments: 2, verbs: WATCH },
    Function { name: "finalizer", api: 0, arguments: 4, verbs: &["patch"] },
    Function { name: "await_condition", api: 0, arguments: 3, verbs: WATCH },
    Function { name: "delete_and_finalize", api: 0, arguments: 3, verbs: &["delete", "list", "watch"] },
];

/// A path names one of these.
pub(super) fn is_function(path: &[String]) -> bool {
    super::foreign::is_kube(path) && path.last().is_some_and(|last| FUNCTIONS.iter().any(|known| known.name == last))
}

/// What `Controller` watches by itself, kube-runtime/src/controller/mod.rs: the first argument is the `Api`. What is
/// given as a stream is watched elsewhere.
pub(super) const CONTROLLER: &[(&str, usize)] = &[("owns", 2), ("owns_with", 3), ("watches", 3), ("watches_with", 4)];

/// `Recorder::publish(event, object)`, kube-runtime/src/events.rs: the second time the same happens, the event is
/// patched. The older `publish(event)` only creates.
pub(super) fn publish(arguments: usize) -> &'static [&'static str] {
    if arguments == 1 { &["create"] } else { &["create", "patch"] }
}

/// What `Client` requests by type, kube-client/src/client/client_ext.rs.
pub(super) const CLIENT: &[(&str, usize, &str)] = &[("get", 2, "get"), ("list", 2, "list"), ("fetch", 1, "get")];

/// What `Client` sends as it is given, kube-client/src/client/mod.rs.
pub(super) fn sends(method: &str) -> bool {
    matches!(
        method,
        "connect" | "request" | "request_events" | "request_status" | "request_stream" | "request_text" | "send"
    )
}

/// What tells of what happens, of k8s-openapi: kube-runtime/src/events.rs.
pub(super) const EVENT: &str = "api::events::v1::Event";
/// What elections are about, of k8s-openapi.
pub(super) const LEASE: &str = "api::coordination::v1::Lease";

/// The manager of generated projects, the crate `manager`.
pub(super) mod manager {
    /// `Manager::objects`: feeds its cache by a list and a watch.
    pub(crate) const OBJECTS: &[&str] = super::WATCH;
    /// What is not a valid object of its kind is reported to its owner.
    pub(crate) const EVENTS: &[&str] = &["create", "patch"];
    /// `Manager::leader_election_id`: the Lease, in the operator's own namespace, with the role that allows it.
    pub(crate) const ELECTION: (&str, &[&str]) = ("leader-election-role", &["create", "get", "update"]);
    /// `Manager::run`: who scrapes the metrics, and may they? With the role that allows to ask.
    pub(crate) const REVIEWS: (&str, [&str; 2]) =
        ("metrics-auth-role", ["api::authentication::v1::TokenReview", "api::authorization::v1::SubjectAccessReview"]);

    /// `Manager::migrate_storage`: all objects are written again.
    pub(crate) const MIGRATION: &[&str] = &["get", "list", "update"];
    /// The CRD whose versions it forgets.
    pub(crate) const DEFINITION: &str =
        "apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition";
    /// What it requests of the CRD.
    pub(crate) const FORGETTING: [Request; 2] = [("get", None), ("patch", Some("status"))];

    /// `Manager::webhooks`: the certificates, with the role that allows it. Those who bring certificates need none of it.
    pub(crate) const CERTIFICATES: (&str, &str, &[&str]) =
        ("webhook-cert-role", "api::core::v1::Secret", &["create", "get", "list", "update", "watch"]);
    /// What their authority is published with.
    pub(crate) const PUBLISHING: (&str, &[&str]) = ("webhook-ca-role", &["get", "list", "patch", "watch"]);

    /// What has to know the authority because of a method of `Webhooks`.
    pub(crate) fn webhooks(method: &str) -> Option<&'static str> {
        Some(match method {
            "defaulting" => "api::admissionregistration::v1::MutatingWebhookConfiguration",
            "validating" => "api::admissionregistration::v1::ValidatingWebhookConfiguration",
            "conversion" => DEFINITION,
            _ => return None,
        })
    }

    /// Methods of `Controller` that request nothing and return it.
    pub(crate) const CONTROLLER: &[&str] = &[
        "ignore_status",
        "max_concurrent_reconciles",
        "owns",
        "owns_when",
        "reconcile_on",
        "reconcile_timeout",
        "runs",
        "watches",
        "watches_when",
        "when",
    ];

    /// A request: verb and subresource.
    type Request = (&'static str, Option<&'static str>);

    /// What a method of `Objects` requests.
    pub(crate) fn objects(method: &str) -> Option<&'static [Request]> {
        Some(match method {
            // Reads come from the cache.
            "apply" => &[("create", None), ("patch", None)],
            "create" => &[("create", None)],
            "delete" => &[("delete", None)],
            "get_live" => &[("get", None)],
            "apply_status" => &[("patch", Some("status"))],
            // What `patch` may need besides depends on its value.
            "add_finalizer" | "finalizer" | "patch" | "remove_finalizer" => &[("patch", None)],
            "api" | "get" | "index" | "is_served" | "list" | "list_matching" | "put" => &[],
            _ => return None,
        })
    }
}

/// The environment variable that holds the namespace of the pod, by convention from the downward API:
/// <https://kubernetes.io/docs/tasks/inject-data-application/environment-variable-expose-pod-information/>
pub(super) const OWN_NAMESPACE: &str = "POD_NAMESPACE";

/// Whether the name of an environment variable speaks of the operator's namespace: that may be the one it is in, or the one
/// it works in.
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

/// What a method returns that only unwraps, converts or picks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    /// What it is called on, as far as it matters.
    Receiver,
    /// One element of a collection.
    Element,
    Other,
}

pub(super) fn returns(method: &str) -> Returns {
    match method {
        "abortable" | "applied_objects" | "as_deref" | "as_mut" | "as_ref" | "as_slice" | "backoff" | "borrow"
        | "borrow_mut" | "boxed" | "buffer_unordered" | "by_ref" | "chain" | "clone" | "cloned" | "collect"
        | "concat" | "context" | "copied" | "default_backoff" | "deref" | "expect" | "filter" | "flatten"
        | "get_mut" | "get_ref" | "in_current_span" | "inspect" | "inspect_err" | "instrument" | "into"
        | "into_future" | "into_inner" | "into_iter" | "into_stream" | "iter" | "iter_mut" | "load" | "load_full"
        | "lock" | "map_err" | "modify" | "ok" | "ok_or" | "ok_or_else" | "peekable" | "predicate_filter" | "read"
        | "reflect" | "retain" | "rev" | "shared" | "skip" | "stream" | "subscribe" | "take" | "timeout"
        | "to_owned" | "to_vec" | "touched_objects" | "try_collect" | "try_filter" | "try_into" | "try_lock"
        | "unwrap" | "unwrap_unchecked" | "with_context" | "wrap_err" | "wrap_err_with" | "write" => Returns::Receiver,
        "find" | "first" | "first_mut" | "get" | "join_next" | "last" | "last_mut" | "max_by_key" | "min_by_key"
        | "next" | "nth" | "peek" | "pop" | "pop_back" | "pop_front" | "recv" | "reduce" | "remove"
        | "select_next_some" | "swap_remove" | "try_next" | "try_recv" => Returns::Element,
        _ => Returns::Other,
    }
}
