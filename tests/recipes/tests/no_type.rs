use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::discovery::Scope;
use manager::Objects;
use manager::testing::MockServer;
use recipes::no_type::certify;
use serde_json::json;

const CERTIFICATE: &str = "/apis/cert-manager.io/v1/namespaces/default/certificates/sample";

#[tokio::test]
async fn a_site_has_a_certificate_when_that_says_so() {
    let server = MockServer::default();
    let certificate = GroupVersionKind::gvk("cert-manager.io", "v1", "Certificate");
    let resource = ApiResource::from_gvk(&certificate);
    let certificates =
        Objects::<DynamicObject>::new_with(server.client(), &resource, &Scope::Namespaced);
    let metadata = json!({ "name": "sample", "namespace": "default", "uid": "1" });
    let site = json!({ "metadata": metadata, "spec": { "image": "nginx" } });
    let site = serde_json::from_value(site).unwrap();

    assert!(matches!(certify(&site, &certificates).await, Ok(false)));
    assert_eq!(server.get(CERTIFICATE)["kind"], "Certificate");

    let ready = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
    let told = server.put(CERTIFICATE, &json!({ "status": ready }));
    certificates.put(serde_json::from_value(told).unwrap());
    assert!(matches!(certify(&site, &certificates).await, Ok(true)));
}
