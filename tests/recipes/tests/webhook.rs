use manager::Objects;
use manager::testing::MockServer;
use manager::webhook::{Denied, Request, Validating, Warnings};
use recipes::api::Site;
use recipes::handler::Context;
use recipes::versions::OldSite;
use serde_json::json;

const DATABASE: &str = "/apis/web.example.com/v1/namespaces/default/databases/main";

fn site(image: &str) -> Site {
    let metadata = json!({ "name": "sample", "namespace": "default" });
    let spec = json!({ "image": image, "database": "main" });
    serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap()
}

fn text(answer: Result<Warnings, Denied>) -> String {
    answer.map_or_else(|denied| denied.to_string(), |warnings| warnings.concat())
}

#[tokio::test]
async fn the_handler_asks_its_context() {
    let server = MockServer::default();
    let request = Request::new(Context {
        databases: Objects::new(server.client()),
        registry: Some("example.com/".to_owned()),
    });
    let (good, bad) = (site("example.com/nginx"), site("nginx"));
    assert_eq!(
        text(good.validate_create(&request).await),
        "there is no Database \"main\" yet"
    );
    let database = json!({ "apiVersion": "web.example.com/v1", "kind": "Database", "spec": {} });
    let database = serde_json::from_value(server.put(DATABASE, &database)).unwrap();
    request.context.databases.put(database);
    assert_eq!(text(good.validate_create(&request).await), "");
    assert_eq!(
        text(bad.validate_update(&good, &request).await),
        "spec.image: Invalid value: \"nginx\": must be an image of example.com/"
    );
}

#[tokio::test]
async fn the_versions_have_the_same_rules() {
    let old = json!({ "metadata": { "name": "sample" }, "spec": { "image": "" } });
    let old: OldSite = serde_json::from_value(old).unwrap();
    assert_eq!(
        text(old.validate_create(&Request::new(())).await),
        "spec.image: Required value: a site needs an image"
    );
}
