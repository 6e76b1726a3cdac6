use manager::Objects;
use manager::condition::{self, Observed};
use manager::testing::MockServer;
use recipes::api::Site;
use recipes::event::tell;
use serde_json::json;

const SITE: &str = "/apis/web.example.com/v1/namespaces/default/sites/sample";

#[tokio::test]
async fn each_change_is_told_once() {
    let server = MockServer::default();
    let site = json!({
        "apiVersion": "web.example.com/v1",
        "kind": "Site",
        "spec": { "image": "nginx" },
    });
    let sites = Objects::<Site>::new(server.client());
    sites.put(serde_json::from_value(server.put(SITE, &site)).unwrap());
    let mut told = vec![];
    for (ready, reason, event) in [
        (true, "Reconciled", Some("Normal Reconciled: it is so")),
        (true, "Reconciled", None),
        (false, "NoImage", Some("Warning NoImage: it is so")),
        (false, "NoImage", None),
    ] {
        let site = sites.get("default", "sample").unwrap();
        let mut status = site.status.clone().unwrap_or_default();
        let observed = Observed {
            type_: "Ready",
            status: Some(ready),
            reason: reason.to_owned(),
            message: "it is so".to_owned(),
        };
        condition::set(&mut status.conditions, observed, None);
        assert!(tell(&site, &status, &sites).await.is_ok());
        told.extend(event);
        assert_eq!(server.events(), told);
    }
}
