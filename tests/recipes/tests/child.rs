use std::sync::Arc;

use manager::testing::MockServer;
use manager::{Action, Objects};
use recipes::child::{Context, reconcile};
use serde_json::json;

const SITE: &str = "/apis/web.example.com/v1/namespaces/default/sites/sample";
const SERVICE: &str = "/api/v1/namespaces/default/services/sample";

#[tokio::test]
async fn a_site_gets_a_service_once() {
    let server = MockServer::default();
    let context = Arc::new(Context {
        sites: Objects::new(server.client()),
        services: Objects::new(server.client()),
    });
    let site = server.put(
        SITE,
        &json!({
            "apiVersion": "web.example.com/v1",
            "kind": "Site",
            "spec": { "image": "nginx" },
        }),
    );
    context.sites.put(serde_json::from_value(site).unwrap());
    let site = context.sites.get("default", "sample").unwrap();

    assert!(matches!(
        reconcile(site.clone(), context.clone()).await,
        Ok(Action::Done)
    ));
    assert_eq!(server.requests(), [format!("PATCH {SERVICE}")]);
    let owner = &server.get(SERVICE)["metadata"]["ownerReferences"][0];
    assert_eq!(owner["name"], "sample");

    assert!(reconcile(site, context).await.is_ok());
    assert_eq!(server.requests(), [""; 0], "nothing has changed");
}
