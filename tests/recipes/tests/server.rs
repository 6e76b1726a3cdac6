//! Responses of the mock API server.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use manager::Objects;
use manager::testing::MockServer;
use serde_json::{Value, json};

fn map_of(value: Value) -> ConfigMap {
    serde_json::from_value(value).unwrap()
}

fn refusal<T>(answer: kube::Result<T>) -> (u16, String) {
    match answer {
        Err(kube::Error::Api(status)) => (status.code, status.reason),
        _ => panic!("it was not refused"),
    }
}

#[tokio::test]
async fn objects_come_change_and_go() {
    let server = MockServer::default();
    let maps: Api<ConfigMap> = Api::namespaced(server.client(), "one");
    assert_eq!(refusal(maps.get("a").await), (404, "NotFound".to_owned()));
    let patch = Patch::Merge(json!({ "data": { "x": null, "y": "2" } }));
    let params = PatchParams::default();
    let absent = maps.patch("a", &params, &patch).await;
    assert_eq!(refusal(absent), (404, "NotFound".to_owned()));

    let new = map_of(json!({ "metadata": { "name": "a" }, "data": { "x": "1" } }));
    let made = maps.create(&PostParams::default(), &new).await.unwrap();
    let again = maps.create(&PostParams::default(), &new).await;
    assert_eq!(refusal(again), (409, "AlreadyExists".to_owned()));
    assert_eq!(maps.get("a").await.unwrap(), made);

    let patched = maps.patch("a", &params, &patch).await.unwrap();
    let data = patched.data.unwrap();
    assert_eq!(
        data.into_iter().collect::<Vec<_>>(),
        [("y".to_owned(), "2".to_owned())]
    );
    let version = |version: Option<String>| json!({ "metadata": { "resourceVersion": version } });
    let old = Patch::Merge(version(made.metadata.resource_version));
    assert_eq!(
        refusal(maps.patch("a", &params, &old).await),
        (409, "Conflict".to_owned())
    );
    let same = maps.patch("a", &params, &patch).await.unwrap();
    assert_eq!(
        same.metadata.resource_version,
        patched.metadata.resource_version
    );

    let other = Preconditions {
        uid: Some("other".to_owned()),
        resource_version: None,
    };
    let params = DeleteParams::default().preconditions(other);
    assert_eq!(
        refusal(maps.delete("a", &params).await),
        (409, "Conflict".to_owned())
    );
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(refusal(maps.get("a").await), (404, "NotFound".to_owned()));
    maps.create(&PostParams::default(), &new).await.unwrap();
    let path = "/api/v1/namespaces/one/configmaps";
    server.delete(&format!("{path}/a"));
    assert_eq!(refusal(maps.get("a").await), (404, "NotFound".to_owned()));
    assert_eq!(
        server.requests()[..2],
        [format!("GET {path}/a"), format!("PATCH {path}/a")]
    );
}

#[tokio::test]
async fn a_finalizer_keeps_an_object_until_it_is_removed() {
    let server = MockServer::default();
    let path = "/api/v1/namespaces/one/configmaps/a";
    server.put(
        path,
        &json!({ "metadata": { "finalizers": ["example.com/a"] } }),
    );
    let maps: Api<ConfigMap> = Api::namespaced(server.client(), "one");
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let left = maps.get("a").await.unwrap();
    assert!(left.metadata.deletion_timestamp.is_some());
    let removed = Patch::Merge(json!({ "metadata": { "finalizers": [] } }));
    maps.patch("a", &PatchParams::default(), &removed)
        .await
        .unwrap();
    assert_eq!(server.get(path), Value::Null);
}

#[tokio::test]
async fn what_is_deleted_goes_from_the_server_and_from_the_cache() {
    let path = "/api/v1/namespaces/one/configmaps/a";
    for finalizers in [json!([]), json!(["example.com/a"])] {
        let server = MockServer::default();
        let maps = Objects::<ConfigMap>::new(server.client());
        let kept = finalizers.as_array().is_some_and(|left| !left.is_empty());
        let map = json!({ "metadata": { "finalizers": finalizers } });
        maps.put(map_of(server.put(path, &map)));
        let object = maps.get("one", "a").unwrap();
        let deleted = maps.delete(&object, &DeleteParams::default()).await;
        assert!(deleted.unwrap());
        assert_eq!(maps.get("one", "a").is_some(), kept);
        assert_eq!(server.get(path).is_object(), kept);
        if kept {
            let object = maps.get("one", "a").unwrap();
            maps.remove_finalizer(&object, "example.com/a")
                .await
                .unwrap();
        }
        assert!(maps.get("one", "a").is_none());
        assert_eq!(server.get(path), Value::Null);
    }
}

#[tokio::test]
async fn lists_are_of_a_namespace_of_all_or_of_a_name() {
    let server = MockServer::default();
    for path in [
        "one/configmaps/a",
        "one/configmaps/b",
        "two/configmaps/a",
        "two/secrets/a",
    ] {
        server.put(&format!("/api/v1/namespaces/{path}"), &json!({}));
    }
    let count = async |maps: Api<ConfigMap>, params: &ListParams| {
        maps.list(params).await.unwrap().items.len()
    };
    let all = ListParams::default();
    assert_eq!(
        count(Api::namespaced(server.client(), "one"), &all).await,
        2
    );
    assert_eq!(count(Api::all(server.client()), &all).await, 3);
    let named = ListParams::default().fields("metadata.name=a");
    assert_eq!(
        count(Api::namespaced(server.client(), "one"), &named).await,
        1
    );
    let labeled = ListParams::default().labels("a=b");
    let maps: Api<ConfigMap> = Api::all(server.client());
    assert_eq!(refusal(maps.list(&labeled).await).0, 400);
}
