//! The table of what releases of kube changed for the code of operators, and how each change is found in it.
//!
//! Sources: the changelog of <https://github.com/kube-rs/kube>, <https://graham.cool/schemars/migrating/>, and the public items of
//! the published crates.

use super::release::KubeRelease;

/// A change of a release.
#[derive(Debug)]
pub(super) struct KubeChange {
    /// The first release with the change.
    pub(super) since: KubeRelease,
    /// The crate that changed.
    pub(super) package: &'static str,
    pub(super) what: &'static str,
    /// The text to write instead.
    pub(super) instead: &'static str,
    pub(super) find: Find,
}

/// The form of the places that a change concerns.
#[derive(Debug, Clone, Copy)]
pub(super) enum Find {
    /// Segments of a path below a crate. All names of the crate, if there are none.
    Path(&'static str, &'static [&'static str]),
    /// Like `Path`; the segments become the second ones.
    Rename(&'static str, &'static [&'static str], &'static [&'static str]),
    /// Calls of a method with this number of arguments, in a file with names of kube.
    Method(&'static str, usize),
    /// Like `Method`; gets another last argument.
    AddArgument(&'static str, usize, &'static str),
    /// Calls of an associated function by its last two segments, with this number of arguments.
    Function(&'static str, &'static str, usize),
    /// The definition of a function of a trait.
    Defines(&'static str),
    /// A field of an object, unless only its presence is asked.
    Field(&'static str),
    /// An argument of an attribute. Becomes the third, in the attribute of the fourth name.
    Argument(&'static str, &'static str, &'static str, &'static str),
    /// A struct literal or a pattern of `ErrorResponse`.
    ErrorLiteral,
    /// A call of the constructor of `Time` or `MicroTime`.
    TimeLiteral,
    /// Not to be found in the code.
    Behaviour,
}

const fn row(
    since: [u16; 2],
    package: &'static str,
    what: &'static str,
    instead: &'static str,
    find: Find,
) -> KubeChange {
    KubeChange { since: KubeRelease(since[0], since[1]), package, what, instead, find }
}

/// All changes, by release.
pub(super) const CHANGES: &[KubeChange] = &[
    row(
        [0, 89],
        "kube-client",
        "services and mock API servers of a `Client` have bodies of http 1, not of hyper 0.14",
        "write `kube::client::Body`",
        Find::Path("hyper", &["Body"]),
    ),
    row(
        [0, 91],
        "kube-runtime",
        "`StreamSubscribe` does not exist any more",
        "share a watch with `reflector::store_shared` and `for_shared_stream`",
        Find::Path("kube", &["StreamSubscribe"]),
    ),
    row(
        [0, 92],
        "kube-runtime",
        "`watcher::Event::Applied` is `Apply` after the first list, and `InitApply` during it",
        "match `Event::Apply(object) | Event::InitApply(object)`, or read the stream with `applied_objects()`",
        Find::Path("kube", &["Event", "Applied"]),
    ),
    row(
        [0, 92],
        "kube-runtime",
        "`watcher::Event::Deleted` is `Delete`",
        "match `Event::Delete(object)`",
        Find::Rename("kube", &["Event", "Deleted"], &["Event", "Delete"]),
    ),
    row(
        [0, 92],
        "kube-runtime",
        "`watcher::Event::Restarted` does not exist any more: a list comes as single events",
        "match `Event::Init`, then each `Event::InitApply(object)`, then `Event::InitDone`",
        Find::Path("kube", &["Event", "Restarted"]),
    ),
    row(
        [0, 93],
        "kube-runtime",
        "`watcher::default_backoff()` is a type",
        "write `watcher::DefaultBackoff::default()`",
        Find::Rename("kube", &["watcher", "default_backoff"], &["watcher", "DefaultBackoff", "default"]),
    ),
    row(
        [0, 96],
        "kube-client",
        "`Config` does not read `HTTP_PROXY`, and reads `HTTPS_PROXY` only with a feature of kube",
        "enable the feature `http-proxy` or `socks5`, and set `proxy_url` if needed",
        Find::Behaviour,
    ),
    row(
        [0, 96],
        "kube-runtime",
        "`EventFlatten` is `EventDecode`",
        "write `EventDecode`",
        Find::Rename("kube", &["EventFlatten"], &["EventDecode"]),
    ),
    row(
        [0, 98],
        "kube-runtime",
        "`Recorder::new` does not get the object: one recorder serves all",
        "write `Recorder::new(client, reporter)`, keep the recorder, and give the reference of the object to `publish`",
        Find::Function("Recorder", "new", 3),
    ),
    row(
        [0, 98],
        "kube-runtime",
        "`Recorder::publish` gets the event and the object by reference",
        "write `publish(&event, &object.object_ref(&())).await`; the role needs the verb `patch` on events",
        Find::Method("publish", 1),
    ),
    row(
        [0, 99],
        "kube-runtime",
        "the crate `backoff` is not used any more: its types do not implement kube's `Backoff`",
        "write `kube::runtime::watcher::ExponentialBackoff`, or use `default_backoff()`",
        Find::Path("backoff", &[]),
    ),
    row(
        [1, 0],
        "kube-derive",
        "the derive `CELSchema` is `KubeSchema`",
        "write `KubeSchema`",
        Find::Rename("kube", &["CELSchema"], &["KubeSchema"]),
    ),
    row(
        [1, 0],
        "kube-derive",
        "`#[cel_validate(rule = …)]` is `#[x_kube(validation = …)]`",
        "write `#[x_kube(validation = …)]`",
        Find::Argument("cel_validate", "rule", "validation", "x_kube"),
    ),
    row(
        [1, 0],
        "kube-derive",
        "`#[kube(rule = …)]` is `#[kube(validation = …)]`",
        "write `#[kube(validation = …)]`",
        Find::Argument("kube", "rule", "validation", "kube"),
    ),
    row(
        [1, 0],
        "kube-runtime",
        "`watcher::Event::into_iter_applied` does not exist any more",
        "match the event, or read the stream with `applied_objects()`",
        Find::Method("into_iter_applied", 0),
    ),
    row(
        [1, 0],
        "kube-runtime",
        "`watcher::Event::into_iter_touched` does not exist any more",
        "match the event, or read the stream with `touched_objects()`",
        Find::Method("into_iter_touched", 0),
    ),
    row(
        [2, 0],
        "schemars",
        "`gen::SchemaGenerator` is in the root of schemars 1",
        "write `schemars::SchemaGenerator`",
        Find::Rename("schemars", &["gen", "SchemaGenerator"], &["SchemaGenerator"]),
    ),
    row(
        [2, 0],
        "schemars",
        "the module `gen` is `generate` in schemars 1",
        "write `schemars::generate::SchemaSettings`",
        Find::Rename("schemars", &["gen", "SchemaSettings"], &["generate", "SchemaSettings"]),
    ),
    row(
        [2, 0],
        "schemars",
        "schemas of schemars 1 are JSON values: the types of `schemars::schema` do not exist any more",
        "write `schemars::Schema` for the type, and build it with `schemars::json_schema!({ … })`",
        Find::Path("schemars", &["schema"]),
    ),
    row(
        [2, 0],
        "schemars",
        "visitors are transforms in schemars 1",
        "implement `schemars::transform::Transform`",
        Find::Path("schemars", &["visit"]),
    ),
    row(
        [2, 0],
        "schemars",
        "`JsonSchema::schema_name` returns `Cow<'static, str>` in schemars 1",
        "write `fn schema_name() -> std::borrow::Cow<'static, str>`, and return `\"…\".into()`",
        Find::Defines("schema_name"),
    ),
    row(
        [2, 0],
        "schemars",
        "`JsonSchema::is_referenceable` is `inline_schema` in schemars 1, with the opposite value",
        "write `fn inline_schema() -> bool`, and negate the value",
        Find::Defines("is_referenceable"),
    ),
    row(
        [2, 0],
        "schemars",
        "CRDs have other schemas for optional enums, nested types and defaults",
        "compare the CRDs before and after: `memcached-sdk generate crds --compare`",
        Find::Behaviour,
    ),
    row(
        [3, 0],
        "k8s-openapi",
        "times are those of jiff, and `k8s_openapi::chrono` does not exist any more",
        "write `k8s_openapi::jiff::Timestamp`",
        Find::Path("k8s_openapi", &["chrono"]),
    ),
    row(
        [3, 0],
        "k8s-openapi",
        "`Time` and `MicroTime` contain a `jiff::Timestamp`",
        "give it a `k8s_openapi::jiff::Timestamp`",
        Find::TimeLiteral,
    ),
    row(
        [3, 0],
        "k8s-openapi",
        "the time in `creation_timestamp` is a `jiff::Timestamp`",
        "calculate with jiff, such as `Timestamp::now().duration_since(time.0)`",
        Find::Field("creation_timestamp"),
    ),
    row(
        [3, 0],
        "k8s-openapi",
        "the time in `deletion_timestamp` is a `jiff::Timestamp`",
        "calculate with jiff, such as `Timestamp::now().duration_since(time.0)`",
        Find::Field("deletion_timestamp"),
    ),
    row(
        [3, 0],
        "kube-core",
        "`ErrorResponse` is `Status`, and `Error::Api` contains it in a box",
        "match `Error::Api(status) if status.code == 404`; create `Status::failure(message, reason).with_code(404).boxed()`",
        Find::ErrorLiteral,
    ),
    row(
        [3, 0],
        "kube-core",
        "`ErrorResponse` is deprecated",
        "write `kube::core::Status`",
        Find::Path("kube", &["ErrorResponse"]),
    ),
    row(
        [3, 0],
        "kube-runtime",
        "`predicate_filter` gets a configuration",
        "add the argument `Default::default()`",
        Find::AddArgument("predicate_filter", 1, "Default::default()"),
    ),
    row(
        [3, 0],
        "kube-client",
        "`Api::replace_status` gets the object, not its JSON",
        "write `replace_status(name, &params, &object)`",
        Find::Method("replace_status", 3),
    ),
    row(
        [3, 0],
        "kube-client",
        "`Api::replace_scale` gets the `Scale`, not its JSON",
        "write `replace_scale(name, &params, &scale)`",
        Find::Method("replace_scale", 3),
    ),
    row(
        [3, 0],
        "kube-client",
        "`Api::create_subresource` gets a value, not its JSON",
        "give it a reference to the value",
        Find::Method("create_subresource", 4),
    ),
    row(
        [3, 0],
        "kube-client",
        "`Api::replace_subresource` gets a value, not its JSON",
        "give it a reference to the value",
        Find::Method("replace_subresource", 4),
    ),
    row(
        [3, 0],
        "kube-client",
        "`Client::with_valid_until` gets a `jiff::Timestamp`",
        "give it a `k8s_openapi::jiff::Timestamp`",
        Find::Method("with_valid_until", 1),
    ),
    row(
        [4, 0],
        "kube-runtime",
        "`metadata_watcher` is deprecated: `watcher` asks for the metadata only",
        "write `watcher(Api::<PartialObjectMeta<K>>::…, config)`",
        Find::Path("kube", &["metadata_watcher"]),
    ),
    row(
        [4, 0],
        "kube-client",
        "a `Client` repeats requests that fail with 429, 503 or 504, and has no read timeout by default",
        "set `read_timeout` of `Config` if the operator depends on it",
        Find::Behaviour,
    ),
    row(
        [4, 0],
        "kube-client",
        "the traces of the HTTP client are off",
        "enable the feature `hyper-util-tracing` of kube",
        Find::Behaviour,
    ),
    row(
        [5, 0],
        "kube",
        "kube requires Rust 1.89",
        "raise `rust-version` and the toolchain of the image",
        Find::Behaviour,
    ),
    row(
        [5, 0],
        "k8s-openapi",
        "the feature `latest` is Kubernetes 1.37, whose workloads always have a `spec`",
        "write the version of your clusters in its place, such as `v1_34`, to keep the types",
        Find::Behaviour,
    ),
];
