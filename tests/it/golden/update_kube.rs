//! `update --kube`: small crates on older releases of kube, with the complete changes and findings.

use snapbox::{IntoData, str};

use crate::sandbox::{Sandbox, join};

fn crate_with(dependencies: &str, files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    let package = "[package]\nname = \"pond\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n";
    sandbox.file("Cargo.toml", &format!("{package}{dependencies}"));
    for (path, text) in files {
        sandbox.file(path, text);
    }
    sandbox
}

/// Checks the complete changes and findings of the command. Then it must write what it shows, and change nothing the second time.
fn assert_moved(sandbox: &Sandbox, diff: impl IntoData, told: impl IntoData) {
    let before = join(&sandbox.files());
    let shown = sandbox.run("update --kube --diff").success().stdout(diff).out();
    assert_eq!(join(&sandbox.files()), before, "a preview writes nothing");
    sandbox.run("update --kube").success().stderr(told);
    let after = join(&sandbox.files());
    assert_ne!(after, before);
    let again = sandbox.run("update --kube --diff").success().out();
    assert_eq!(again, "", "{shown}");
    sandbox.run("update --kube").success();
    assert_eq!(join(&sandbox.files()), after, "twice is the same as once");
}

#[test]
fn a_crate_on_kube_0_88() {
    let sandbox = crate_with(
        "[dependencies]\n# The client.\nkube = { version = \"0.88\", features = [\"http_proxy\", \"runtime\"] } # stays\n\
         k8s-openapi = { version = \"0.21\", features = [\"v1_26\", \"v1_27\"] }\nbackoff = \"0.4\"\n\n\
         [dev-dependencies]\nkube = { version = \"0.88.1\", features = [\"unstable-x\"] }\n\n\
         [features]\nnew = [\"k8s-openapi/v1_29\"]\n",
        &[(
            "src/main.rs",
            r#"use backoff::ExponentialBackoff;
use kube::runtime::events::{Event as Note, Recorder, Reporter};
use kube::runtime::utils::{EventFlatten, StreamSubscribe};
use kube::runtime::watcher::{self, Event};

fn names(event: Event<Pod>) {
    match event {
        Event::Applied(pod) => add(pod),
        Event::Deleted(pod) => remove(pod),
        watcher::Event::Restarted(pods) => replace(pods),
    }
}

async fn note(client: Client, reporter: Reporter, pod: &Pod, note: Note) {
    let recorder = Recorder::new(client, reporter, pod.object_ref(&()));
    recorder.publish(note).await;
    stream.backoff(watcher::default_backoff());
}

fn flat(stream: EventFlatten<S>, body: hyper::Body) {}
"#,
        )],
    );
    assert_moved(
        &sandbox,
        str![[r#"
diff --git a/Cargo.toml b/Cargo.toml
--- a/Cargo.toml
+++ b/Cargo.toml
@@ -5,12 +5,12 @@
 
 [dependencies]
 # The client.
-kube = { version = "0.88", features = ["http_proxy", "runtime"] } # stays
-k8s-openapi = { version = "0.21", features = ["v1_26", "v1_27"] }
+kube = { version = "5", features = ["http-proxy", "runtime"] } # stays
+k8s-openapi = { version = "0.29", features = ["v1_33"] }
 backoff = "0.4"
 
 [dev-dependencies]
-kube = { version = "0.88.1", features = ["unstable-x"] }
+kube = { version = "5.0.0", features = ["unstable-x"] }
 
 [features]
-new = ["k8s-openapi/v1_29"]
+new = ["k8s-openapi/v1_33"]
diff --git a/src/main.rs b/src/main.rs
--- a/src/main.rs
+++ b/src/main.rs
@@ -1,12 +1,12 @@
 use backoff::ExponentialBackoff;
 use kube::runtime::events::{Event as Note, Recorder, Reporter};
-use kube::runtime::utils::{EventFlatten, StreamSubscribe};
+use kube::runtime::utils::{EventDecode, StreamSubscribe};
 use kube::runtime::watcher::{self, Event};
 
 fn names(event: Event<Pod>) {
     match event {
         Event::Applied(pod) => add(pod),
-        Event::Deleted(pod) => remove(pod),
+        Event::Delete(pod) => remove(pod),
         watcher::Event::Restarted(pods) => replace(pods),
     }
 }
@@ -14,7 +14,7 @@
 async fn note(client: Client, reporter: Reporter, pod: &Pod, note: Note) {
     let recorder = Recorder::new(client, reporter, pod.object_ref(&()));
     recorder.publish(note).await;
-    stream.backoff(watcher::default_backoff());
+    stream.backoff(watcher::DefaultBackoff::default());
 }
 
-fn flat(stream: EventFlatten<S>, body: hyper::Body) {}
+fn flat(stream: EventDecode<S>, body: hyper::Body) {}

"#]],
        str![[r#"
warning[kube-dependency]: kube 5 does not have the feature `unstable-x`
  --> Cargo.toml:13:41
   |
13 | kube = { version = "5.0.0", features = ["unstable-x"] }
   |                                         ^^^^^^^^^^^^
   |
   = help: remove it, or choose another feature of the crate

warning[kube-change]: since kube-runtime 0.99: the crate `backoff` is not used any more: its types do not implement kube's `Backoff`
 --> src/main.rs:1:5
  |
1 | use backoff::ExponentialBackoff;
  |     ^^^^^^^
  |
  = help: write `kube::runtime::watcher::ExponentialBackoff`, or use `default_backoff()`

warning[kube-change]: since kube-runtime 0.91: `StreamSubscribe` does not exist any more
 --> src/main.rs:3:41
  |
3 | use kube::runtime::utils::{EventDecode, StreamSubscribe};
  |                                         ^^^^^^^^^^^^^^^
  |
  = help: share a watch with `reflector::store_shared` and `for_shared_stream`

warning[kube-change]: since kube-runtime 0.92: `watcher::Event::Applied` is `Apply` after the first list, and `InitApply` during it
 --> src/main.rs:8:16
  |
8 |         Event::Applied(pod) => add(pod),
  |                ^^^^^^^
  |
  = help: match `Event::Apply(object) | Event::InitApply(object)`, or read the stream with `applied_objects()`

warning[kube-change]: since kube-runtime 0.92: `watcher::Event::Restarted` does not exist any more: a list comes as single events
  --> src/main.rs:10:25
   |
10 |         watcher::Event::Restarted(pods) => replace(pods),
   |                         ^^^^^^^^^
   |
   = help: match `Event::Init`, then each `Event::InitApply(object)`, then `Event::InitDone`

warning[kube-change]: since kube-runtime 0.98: `Recorder::new` does not get the object: one recorder serves all
  --> src/main.rs:15:30
   |
15 |     let recorder = Recorder::new(client, reporter, pod.object_ref(&()));
   |                              ^^^
   |
   = help: write `Recorder::new(client, reporter)`, keep the recorder, and give the reference of the object to `publish`

warning[kube-change]: since kube-runtime 0.98: `Recorder::publish` gets the event and the object by reference
  --> src/main.rs:16:14
   |
16 |     recorder.publish(note).await;
   |              ^^^^^^^
   |
   = help: write `publish(&event, &object.object_ref(&())).await`; the role needs the verb `patch` on events

warning[kube-change]: since kube-client 0.89: services and mock API servers of a `Client` have bodies of http 1, not of hyper 0.14
  --> src/main.rs:20:46
   |
20 | fn flat(stream: EventDecode<S>, body: hyper::Body) {}
   |                                              ^^^^
   |
   = help: write `kube::client::Body`
2 updated

From kube 0.88 to kube 5:
  0.89 (kube-client): services and mock API servers of a `Client` have bodies of http 1, not of hyper 0.14
    listed in 1 place
  0.91 (kube-runtime): `StreamSubscribe` does not exist any more
    listed in 1 place
  0.92 (kube-runtime): `watcher::Event::Applied` is `Apply` after the first list, and `InitApply` during it
    listed in 1 place
  0.92 (kube-runtime): `watcher::Event::Deleted` is `Delete`
    moved in 1 place
  0.92 (kube-runtime): `watcher::Event::Restarted` does not exist any more: a list comes as single events
    listed in 1 place
  0.93 (kube-runtime): `watcher::default_backoff()` is a type
    moved in 1 place
  0.96 (kube-client): `Config` does not read `HTTP_PROXY`, and reads `HTTPS_PROXY` only with a feature of kube
    check: enable the feature `http-proxy` or `socks5`, and set `proxy_url` if needed
  0.96 (kube-runtime): `EventFlatten` is `EventDecode`
    moved in 2 places
  0.98 (kube-runtime): `Recorder::new` does not get the object: one recorder serves all
    listed in 1 place
  0.98 (kube-runtime): `Recorder::publish` gets the event and the object by reference
    listed in 1 place
  0.99 (kube-runtime): the crate `backoff` is not used any more: its types do not implement kube's `Backoff`
    listed in 1 place
  2 (schemars): CRDs have other schemas for optional enums, nested types and defaults
    check: compare the CRDs before and after: `memcached-sdk generate crds --compare`
  4 (kube-client): a `Client` repeats requests that fail with 429, 503 or 504, and has no read timeout by default
    check: set `read_timeout` of `Config` if the operator depends on it
  4 (kube-client): the traces of the HTTP client are off
    check: enable the feature `hyper-util-tracing` of kube
  5 (kube): kube requires Rust 1.89
    check: raise `rust-version` and the toolchain of the image
  5 (k8s-openapi): the feature `latest` is Kubernetes 1.37, whose workloads always have a `spec`
    check: write the version of your clusters in its place, such as `v1_34`, to keep the types

Next, update Cargo.lock and compile:
  cargo check --all-targets

"#]],
    );
}

#[test]
fn a_crate_on_kube_0_98() {
    let sandbox = crate_with(
        "[dependencies]\nkube = { version = \"0.98\", default-features = false, features = [\n    \"client\",\n    \"rustls-tls\",\n] }\n\
         k8s-openapi = { version = \"0.24.0\", features = [\"v1_32\"] }\n\
         schemars = { version = \"0.8.21\", features = [\"chrono\", \"uuid1\", \"impl_json_schema\", \"indexmap1\"] }\n",
        &[
            (
                "src/main.rs",
                r#"use kube::core::ErrorResponse;
use kube::{CELSchema, CustomResource, Error};
use schemars::{gen::SchemaGenerator, schema::Schema};

#[derive(CELSchema, CustomResource, Clone)]
#[kube(group = "example.com", version = "v1", kind = "Duck", rule = "self.spec.size > 0")]
struct DuckSpec {
    #[cel_validate(rule = "self > 0")]
    #[schemars(schema_with = "size")]
    size: i32,
}

fn size(_: &mut SchemaGenerator) -> Schema {
    serde_json::from_value(serde_json::json!({ "type": "integer" })).unwrap()
}

fn missing(name: &str) -> Error {
    Error::Api(ErrorResponse {
        code: 404,
        message: format!("no {name}"),
        reason: "NotFound".to_string(),
        status: "Failure".to_owned(),
    })
}

fn is_missing(error: Result<(), Error>) -> bool {
    match error {
        Err(Error::Api(ErrorResponse { code: 404, .. })) => true,
        _ => false,
    }
}
"#,
            ),
            (
                "src/other.rs",
                r#"use kube::error::ErrorResponse;
use schemars::schema::{Schema, SchemaObject};

impl JsonSchema for Size {
    fn schema_name() -> String {
        "Size".to_string()
    }

    fn is_referenceable() -> bool {
        false
    }

    fn json_schema(_: &mut schemars::gen::SchemaGenerator) -> Schema {
        SchemaObject::default().into()
    }
}

fn conflict(error: kube::Error, status: &str) -> bool {
    let other = ErrorResponse { status: status.to_string(), ..Default::default() };
    matches!(error, kube::Error::Api(ErrorResponse { code: 409, .. }))
}
"#,
            ),
        ],
    );
    assert_moved(
        &sandbox,
        str![[r#"
diff --git a/Cargo.toml b/Cargo.toml
--- a/Cargo.toml
+++ b/Cargo.toml
@@ -4,9 +4,10 @@
 edition = "2021"
 
 [dependencies]
-kube = { version = "0.98", default-features = false, features = [
+kube = { version = "5", default-features = false, features = [
     "client",
     "rustls-tls",
+    "ring",
 ] }
-k8s-openapi = { version = "0.24.0", features = ["v1_32"] }
-schemars = { version = "0.8.21", features = ["chrono", "uuid1", "impl_json_schema", "indexmap1"] }
+k8s-openapi = { version = "0.29.0", features = ["v1_33"] }
+schemars = { version = "1.0.0", features = ["chrono04", "uuid1", "indexmap1"] }
diff --git a/src/main.rs b/src/main.rs
--- a/src/main.rs
+++ b/src/main.rs
@@ -1,11 +1,10 @@
-use kube::core::ErrorResponse;
-use kube::{CELSchema, CustomResource, Error};
-use schemars::{gen::SchemaGenerator, schema::Schema};
+use kube::{KubeSchema, CustomResource, Error};
+use schemars::{SchemaGenerator, Schema};
 
-#[derive(CELSchema, CustomResource, Clone)]
-#[kube(group = "example.com", version = "v1", kind = "Duck", rule = "self.spec.size > 0")]
+#[derive(KubeSchema, CustomResource, Clone)]
+#[kube(group = "example.com", version = "v1", kind = "Duck", validation = "self.spec.size > 0")]
 struct DuckSpec {
-    #[cel_validate(rule = "self > 0")]
+    #[x_kube(validation = "self > 0")]
     #[schemars(schema_with = "size")]
     size: i32,
 }
@@ -15,17 +14,12 @@
 }
 
 fn missing(name: &str) -> Error {
-    Error::Api(ErrorResponse {
-        code: 404,
-        message: format!("no {name}"),
-        reason: "NotFound".to_string(),
-        status: "Failure".to_owned(),
-    })
+    Error::Api(Box::new(kube::core::Status::failure(&format!("no {name}"), "NotFound").with_code(404)))
 }
 
 fn is_missing(error: Result<(), Error>) -> bool {
     match error {
-        Err(Error::Api(ErrorResponse { code: 404, .. })) => true,
+        Err(Error::Api(api_status)) if api_status.code == 404 => true,
         _ => false,
     }
 }
diff --git a/src/other.rs b/src/other.rs
--- a/src/other.rs
+++ b/src/other.rs
@@ -10,7 +10,7 @@
         false
     }
 
-    fn json_schema(_: &mut schemars::gen::SchemaGenerator) -> Schema {
+    fn json_schema(_: &mut schemars::SchemaGenerator) -> Schema {
         SchemaObject::default().into()
     }
 }

"#]],
        str![[r#"
warning[kube-dependency]: schemars 1 does not have the feature `indexmap1`
  --> Cargo.toml:13:66
   |
13 | schemars = { version = "1.0.0", features = ["chrono04", "uuid1", "indexmap1"] }
   |                                                                  ^^^^^^^^^^^
   |
   = help: remove it, or choose another feature of the crate

warning[kube-change]: since kube-core 3: `ErrorResponse` is deprecated
 --> src/other.rs:1:18
  |
1 | use kube::error::ErrorResponse;
  |                  ^^^^^^^^^^^^^
  |
  = help: write `kube::core::Status`

warning[kube-change]: since kube 2: schemas of schemars 1 are JSON values: the types of `schemars::schema` do not exist any more
 --> src/other.rs:2:24
  |
2 | use schemars::schema::{Schema, SchemaObject};
  |                        ^^^^^^
  |
  = help: write `schemars::Schema` for the type, and build it with `schemars::json_schema!({ … })`

warning[kube-change]: since kube 2: schemas of schemars 1 are JSON values: the types of `schemars::schema` do not exist any more
 --> src/other.rs:2:32
  |
2 | use schemars::schema::{Schema, SchemaObject};
  |                                ^^^^^^^^^^^^
  |
  = help: write `schemars::Schema` for the type, and build it with `schemars::json_schema!({ … })`

warning[kube-change]: since kube 2: `JsonSchema::schema_name` returns `Cow<'static, str>` in schemars 1
 --> src/other.rs:5:8
  |
5 |     fn schema_name() -> String {
  |        ^^^^^^^^^^^
  |
  = help: write `fn schema_name() -> std::borrow::Cow<'static, str>`, and return `"…".into()`

warning[kube-change]: since kube 2: `JsonSchema::is_referenceable` is `inline_schema` in schemars 1, with the opposite value
 --> src/other.rs:9:8
  |
9 |     fn is_referenceable() -> bool {
  |        ^^^^^^^^^^^^^^^^
  |
  = help: write `fn inline_schema() -> bool`, and negate the value

warning[kube-change]: since kube-core 3: `ErrorResponse` is `Status`, and `Error::Api` contains it in a box
  --> src/other.rs:19:17
   |
19 |     let other = ErrorResponse { status: status.to_string(), ..Default::default() };
   |                 ^^^^^^^^^^^^^
   |
   = help: match `Error::Api(status) if status.code == 404`; create `Status::failure(message, reason).with_code(404).boxed()`

warning[kube-change]: since kube-core 3: `ErrorResponse` is `Status`, and `Error::Api` contains it in a box
  --> src/other.rs:20:38
   |
20 |     matches!(error, kube::Error::Api(ErrorResponse { code: 409, .. }))
   |                                      ^^^^^^^^^^^^^
   |
   = help: match `Error::Api(status) if status.code == 404`; create `Status::failure(message, reason).with_code(404).boxed()`
3 updated

From kube 0.98 to kube 5:
  1 (kube-derive): the derive `CELSchema` is `KubeSchema`
    moved in 2 places
  1 (kube-derive): `#[cel_validate(rule = …)]` is `#[x_kube(validation = …)]`
    moved in 1 place
  1 (kube-derive): `#[kube(rule = …)]` is `#[kube(validation = …)]`
    moved in 1 place
  2 (schemars): `gen::SchemaGenerator` is in the root of schemars 1
    moved in 2 places
  2 (schemars): schemas of schemars 1 are JSON values: the types of `schemars::schema` do not exist any more
    moved in 1 place, listed in 2
  2 (schemars): `JsonSchema::schema_name` returns `Cow<'static, str>` in schemars 1
    listed in 1 place
  2 (schemars): `JsonSchema::is_referenceable` is `inline_schema` in schemars 1, with the opposite value
    listed in 1 place
  2 (schemars): CRDs have other schemas for optional enums, nested types and defaults
    check: compare the CRDs before and after: `memcached-sdk generate crds --compare`
  3 (kube-core): `ErrorResponse` is `Status`, and `Error::Api` contains it in a box
    moved in 2 places, listed in 2
  3 (kube-core): `ErrorResponse` is deprecated
    listed in 1 place
  4 (kube-client): a `Client` repeats requests that fail with 429, 503 or 504, and has no read timeout by default
    check: set `read_timeout` of `Config` if the operator depends on it
  4 (kube-client): the traces of the HTTP client are off
    check: enable the feature `hyper-util-tracing` of kube
  5 (kube): kube requires Rust 1.89
    check: raise `rust-version` and the toolchain of the image
  5 (k8s-openapi): the feature `latest` is Kubernetes 1.37, whose workloads always have a `spec`
    check: write the version of your clusters in its place, such as `v1_34`, to keep the types

Next, update Cargo.lock and compile:
  cargo check --all-targets

"#]],
    );
}

#[test]
fn a_workspace_on_kube_1_1() {
    let sandbox = Sandbox::new();
    sandbox
        .file(
            "Cargo.toml",
            "[workspace]\nmembers = [\"op\"]\n\n[workspace.package]\nrust-version = \"1.85\"\n\n[workspace.dependencies]\n\
             kube = { version = \"^1.1.0\", features = [\"runtime\"] }\n\
             openapi = { package = \"k8s-openapi\", version = \"=0.25.0\", features = [\"latest\"] }\n\
             schemars = \">=0.8, <1\"\n",
        )
        .file(
            "op/Cargo.toml",
            "[package]\nname = \"op\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nkube.workspace = true\n\
             kubert = \"0.25\"\nother = \"1\"\n\n[target.'cfg(unix)'.dependencies]\nschemars = { workspace = true, features = [\"chrono\"] }\n\
             kube-runtime = { git = \"https://example.com/kube\" }\n",
        )
        .file(
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"kube\"\nversion = \"1.1.0\"\nsource = \"registry\"\ndependencies = [\n \"k8s-openapi\",\n]\n\n\
             [[package]]\nname = \"kubert\"\nversion = \"0.25.0\"\nsource = \"registry\"\ndependencies = [\n \"kube\",\n]\n\n\
             [[package]]\nname = \"kube\"\nversion = \"5.0.0\"\nsource = \"registry\"\n\n\
             [[package]]\nname = \"other\"\nversion = \"1.0.0\"\nsource = \"registry\"\ndependencies = [\n \"kube 5.0.0\",\n]\n",
        )
        .file(
            "op/src/lib.rs",
            r#"use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::chrono::Utc;
use kube::runtime::{WatchStreamExt, predicates};

fn times(pod: &Pod) -> Time {
    let age = Utc::now() - pod.metadata.creation_timestamp.as_ref().unwrap().0;
    let is_gone = pod.metadata.deletion_timestamp.is_some();
    let old = Time(chrono::Utc.timestamp_opt(0, 0).unwrap());
    let other = Time(now);
    Time(Utc::now())
}

async fn watch(api: Api<Pod>) {
    let stream = watcher(api).applied_objects().predicate_filter(predicates::generation);
    api.replace_status("a", &params, serde_json::to_vec(&pod)?).await;
}
"#,
        )
        .file(
            "op/src/clock.rs",
            "use k8s_openapi::{api::core::v1::Pod, chrono::Utc, apimachinery::pkg::apis::meta::v1::MicroTime};\n\n\
             fn now(_: Pod) -> MicroTime {\n    MicroTime(Utc::now())\n}\n",
        )
        .file("rust-toolchain.toml", "[toolchain]\nchannel = \"1.85.0\"\n")
        .file("target/a.rs", "use k8s_openapi::chrono::Utc;\n");
    assert_moved(
        &sandbox,
        str![[r#"
diff --git a/Cargo.toml b/Cargo.toml
--- a/Cargo.toml
+++ b/Cargo.toml
@@ -5,6 +5,6 @@
 rust-version = "1.85"
 
 [workspace.dependencies]
-kube = { version = "^1.1.0", features = ["runtime"] }
-openapi = { package = "k8s-openapi", version = "=0.25.0", features = ["latest"] }
-schemars = ">=0.8, <1"
+kube = { version = "^5.0.0", features = ["runtime"] }
+openapi = { package = "k8s-openapi", version = "=0.29.0", features = ["latest"] }
+schemars = "1"
diff --git a/op/Cargo.toml b/op/Cargo.toml
--- a/op/Cargo.toml
+++ b/op/Cargo.toml
@@ -9,5 +9,5 @@
 other = "1"
 
 [target.'cfg(unix)'.dependencies]
-schemars = { workspace = true, features = ["chrono"] }
+schemars = { workspace = true, features = ["chrono04"] }
 kube-runtime = { git = "https://example.com/kube" }
diff --git a/op/src/clock.rs b/op/src/clock.rs
--- a/op/src/clock.rs
+++ b/op/src/clock.rs
@@ -1,5 +1,5 @@
-use k8s_openapi::{api::core::v1::Pod, chrono::Utc, apimachinery::pkg::apis::meta::v1::MicroTime};
+use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::MicroTime};
 
 fn now(_: Pod) -> MicroTime {
-    MicroTime(Utc::now())
+    MicroTime(k8s_openapi::jiff::Timestamp::now())
 }
diff --git a/op/src/lib.rs b/op/src/lib.rs
--- a/op/src/lib.rs
+++ b/op/src/lib.rs
@@ -5,12 +5,12 @@
 fn times(pod: &Pod) -> Time {
     let age = Utc::now() - pod.metadata.creation_timestamp.as_ref().unwrap().0;
     let is_gone = pod.metadata.deletion_timestamp.is_some();
-    let old = Time(chrono::Utc.timestamp_opt(0, 0).unwrap());
+    let old = Time(k8s_openapi::jiff::Timestamp::new(0, 0).unwrap());
     let other = Time(now);
-    Time(Utc::now())
+    Time(k8s_openapi::jiff::Timestamp::now())
 }
 
 async fn watch(api: Api<Pod>) {
-    let stream = watcher(api).applied_objects().predicate_filter(predicates::generation);
+    let stream = watcher(api).applied_objects().predicate_filter(predicates::generation, Default::default());
     api.replace_status("a", &params, serde_json::to_vec(&pod)?).await;
 }

"#]],
        str![[r#"
warning[kube-dependency]: kube 5 requires Rust 1.89
 --> Cargo.toml:5:16
  |
5 | rust-version = "1.85"
  |                ^^^^^^
  |
  = help: write `rust-version = "1.89"`, and raise the toolchain of CI and of the image

warning[kube-dependency]: `kubert` 0.25.0 depends on an older `kube`: its types differ from those of kube 5
 --> op/Cargo.toml:8:10
  |
8 | kubert = "0.25"
  |          ^^^^^^
  |
  = help: take a release of `kubert` for kube 5, or remove the dependency

warning[kube-dependency]: `kube-runtime` has the source `git`; its release is not changed
  --> op/Cargo.toml:13:16
   |
13 | kube-runtime = { git = "https://example.com/kube" }
   |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = help: write `version = "5"` instead, or take a revision of that release

warning[kube-change]: since kube 3: times are those of jiff, and `k8s_openapi::chrono` does not exist any more
 --> op/src/lib.rs:2:18
  |
2 | use k8s_openapi::chrono::Utc;
  |                  ^^^^^^
  |
  = help: write `k8s_openapi::jiff::Timestamp`

warning[kube-change]: since kube 3: the time in `creation_timestamp` is a `jiff::Timestamp`
 --> op/src/lib.rs:6:41
  |
6 |     let age = Utc::now() - pod.metadata.creation_timestamp.as_ref().unwrap().0;
  |                                         ^^^^^^^^^^^^^^^^^^
  |
  = help: calculate with jiff, such as `Timestamp::now().duration_since(time.0)`

warning[kube-change]: since kube 3: `Time` and `MicroTime` contain a `jiff::Timestamp`
 --> op/src/lib.rs:9:17
  |
9 |     let other = Time(now);
  |                 ^^^^
  |
  = help: give it a `k8s_openapi::jiff::Timestamp`

warning[kube-change]: since kube-client 3: `Api::replace_status` gets the object, not its JSON
  --> op/src/lib.rs:15:9
   |
15 |     api.replace_status("a", &params, serde_json::to_vec(&pod)?).await;
   |         ^^^^^^^^^^^^^^
   |
   = help: write `replace_status(name, &params, &object)`

warning[kube-dependency]: kube 5 requires Rust 1.89
 --> rust-toolchain.toml:2:12
  |
2 | channel = "1.85.0"
  |            ^^^^^^
  |
  = help: write the channel `1.89` or a newer one
4 updated

From kube 1.1 to kube 5:
  2 (schemars): CRDs have other schemas for optional enums, nested types and defaults
    check: compare the CRDs before and after: `memcached-sdk generate crds --compare`
  3 (k8s-openapi): times are those of jiff, and `k8s_openapi::chrono` does not exist any more
    listed in 1 place
  3 (k8s-openapi): `Time` and `MicroTime` contain a `jiff::Timestamp`
    moved in 3 places, listed in 1
  3 (k8s-openapi): the time in `creation_timestamp` is a `jiff::Timestamp`
    listed in 1 place
  3 (kube-runtime): `predicate_filter` gets a configuration
    moved in 1 place
  3 (kube-client): `Api::replace_status` gets the object, not its JSON
    listed in 1 place
  4 (kube-client): a `Client` repeats requests that fail with 429, 503 or 504, and has no read timeout by default
    check: set `read_timeout` of `Config` if the operator depends on it
  4 (kube-client): the traces of the HTTP client are off
    check: enable the feature `hyper-util-tracing` of kube
  5 (kube): kube requires Rust 1.89
    check: raise `rust-version` and the toolchain of the image
  5 (k8s-openapi): the feature `latest` is Kubernetes 1.37, whose workloads always have a `spec`
    check: write the version of your clusters in its place, such as `v1_34`, to keep the types

Next, update Cargo.lock and compile:
  cargo check --all-targets

"#]],
    );
}

#[test]
fn crates_on_kube_3_1_and_4() {
    let main = "use kube::runtime::{metadata_watcher, watcher};\n\nfn main() {\n    let stream = metadata_watcher(api, config);\n}\n";
    let dependencies = |kube: &str, openapi: &str| {
        format!(
            "[dependencies]\nkube = \"{kube}\"\nk8s-openapi = {{ version = \"{openapi}\", features = [\"v1_35\"] }}\nschemars = \"1\"\n"
        )
    };
    assert_moved(
        &crate_with(&dependencies("3.1", "0.27"), &[("src/main.rs", main)]),
        str![[r#"
diff --git a/Cargo.toml b/Cargo.toml
--- a/Cargo.toml
+++ b/Cargo.toml
@@ -4,6 +4,6 @@
 edition = "2021"
 
 [dependencies]
-kube = "3.1"
-k8s-openapi = { version = "0.27", features = ["v1_35"] }
+kube = "5"
+k8s-openapi = { version = "0.29", features = ["v1_35"] }
 schemars = "1"

"#]],
        str![[r#"
warning[kube-change]: since kube-runtime 4: `metadata_watcher` is deprecated: `watcher` asks for the metadata only
 --> src/main.rs:1:21
  |
1 | use kube::runtime::{metadata_watcher, watcher};
  |                     ^^^^^^^^^^^^^^^^
  |
  = help: write `watcher(Api::<PartialObjectMeta<K>>::…, config)`
1 updated

From kube 3.1 to kube 5:
  4 (kube-runtime): `metadata_watcher` is deprecated: `watcher` asks for the metadata only
    listed in 1 place
  4 (kube-client): a `Client` repeats requests that fail with 429, 503 or 504, and has no read timeout by default
    check: set `read_timeout` of `Config` if the operator depends on it
  4 (kube-client): the traces of the HTTP client are off
    check: enable the feature `hyper-util-tracing` of kube
  5 (kube): kube requires Rust 1.89
    check: raise `rust-version` and the toolchain of the image
  5 (k8s-openapi): the feature `latest` is Kubernetes 1.37, whose workloads always have a `spec`
    check: write the version of your clusters in its place, such as `v1_34`, to keep the types

Next, update Cargo.lock and compile:
  cargo check --all-targets

"#]],
    );
    assert_moved(
        &crate_with(&dependencies("4", "0.28"), &[("src/main.rs", main)]),
        str![[r#"
diff --git a/Cargo.toml b/Cargo.toml
--- a/Cargo.toml
+++ b/Cargo.toml
@@ -4,6 +4,6 @@
 edition = "2021"
 
 [dependencies]
-kube = "4"
-k8s-openapi = { version = "0.28", features = ["v1_35"] }
+kube = "5"
+k8s-openapi = { version = "0.29", features = ["v1_35"] }
 schemars = "1"

"#]],
        str![[r#"
1 updated

From kube 4 to kube 5:
  5 (kube): kube requires Rust 1.89
    check: raise `rust-version` and the toolchain of the image
  5 (k8s-openapi): the feature `latest` is Kubernetes 1.37, whose workloads always have a `spec`
    check: write the version of your clusters in its place, such as `v1_34`, to keep the types

Next, update Cargo.lock and compile:
  cargo check --all-targets

"#]],
    );
}

#[test]
fn undo_takes_the_move_back() {
    let sandbox = crate_with("[dependencies]\nkube = \"4\"\n", &[("src/main.rs", "fn main() {}\n")]);
    let layout = "layout:\n- rust.memcached-sdk.dev/v1\nplugins:\n  rust.memcached-sdk.dev/v1:\n    manager: none\n";
    sandbox.file("PROJECT", &format!("domain: example.com\n{layout}projectName: pond\nversion: \"3\"\n"));
    let before = join(&sandbox.files());
    sandbox.run("update --kube 5").success();
    assert_ne!(join(&sandbox.files()), before);
    sandbox.run("undo").success();
    assert_eq!(join(&sandbox.files()), before);
}

#[test]
fn findings_are_for_programs_too() {
    let kube = "[dependencies]\nkube = \"2\"\nk8s-openapi = \"0.26\"\n";
    let sandbox = crate_with(kube, &[("src/main.rs", "use k8s_openapi::chrono::Utc;\n")]);
    sandbox.run("update --kube --output json").success().stdout(str![[r#"
{
  "changes": [
    {
      "path": "Cargo.toml",
      "change": "update"
    }
  ],
  "diagnostics": [
    {
      "code": "kube-change",
      "severity": "warning",
      "message": "since kube 3: times are those of jiff, and `k8s_openapi::chrono` does not exist any more",
      "file": "src/main.rs",
      "line": 1,
      "column": 18,
      "help": "write `k8s_openapi::jiff::Timestamp`"
    }
  ]
}

"#]]);
}

#[test]
fn windows_line_ends_stay() {
    let sandbox = crate_with("", &[("src/main.rs", "\u{feff}use kube::CELSchema;\r\n\r\nfn main() {}\r\n")]);
    let manifest = "[package]\r\nname = \"pond\"\r\nversion = \"0.1.0\"\r\n\r\n[dependencies]\r\nkube = \"0.99\"\r\n";
    sandbox.file("Cargo.toml", manifest);
    sandbox.run("update --kube").success();
    assert_eq!(sandbox.read("Cargo.toml"), manifest.replace("0.99", "5"));
    assert_eq!(sandbox.read("src/main.rs"), "\u{feff}use kube::KubeSchema;\r\n\r\nfn main() {}\r\n");
}

#[test]
fn what_cannot_be_moved_is_an_error() {
    let kube = |release: &str| crate_with(&format!("[dependencies]\nkube = \"{release}\"\n"), &[]);
    for (sandbox, arguments, code, expected) in [
        (
            kube("4"),
            "update --kube 6",
            1,
            str![[r#"
error: kube 6 is not known to this version of memcached-sdk
help: leave out the release: `update --kube` takes kube 5, the newest one that it knows

"#]],
        ),
        (
            kube("4"),
            "update --kube new",
            1,
            str![[r#"
error: `new` is not a release of kube
help: write `--kube 5`, or leave out the release

"#]],
        ),
        (
            kube("6"),
            "update --kube",
            1,
            str![[r#"
error: the crate requires kube 6, which is newer than kube 5
help: install a newer version of memcached-sdk

"#]],
        ),
        (
            crate_with("", &[]),
            "update --kube",
            1,
            str![[r#"
error: `Cargo.toml` does not have a requirement of kube
help: add kube with `cargo add kube`, or change to the folder of the operator

"#]],
        ),
        (
            Sandbox::new(),
            "update --kube",
            1,
            str![[r#"
error: not in a project: could not find `PROJECT` in this folder or any parent folder
help: change to the folder of the project, or create a project with `memcached-sdk init`

"#]],
        ),
        (
            kube("0.80"),
            "update --kube --dry-run",
            0,
            str![[r#"
warning[kube-dependency]: kube 0.80 is older than kube 0.88: changes before that release are not known
--> Cargo.toml
 = help: read the changelog of kube up to that release
1 updated: nothing was written

"#]],
        ),
    ] {
        sandbox.run(arguments).code(code).stderr(expected);
    }
}
