//! Behaviour that the pages describe without code.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{Timestamp, ToSpan};
use manager::testing::MockServer;
use manager::{Action, Objects, dns_label};
use recipes::api::Site;
use recipes::{elsewhere, schedule, secret, timestamps};
use serde_json::{Value, json};

const SITE: &str = "/apis/web.example.com/v1/namespaces/default/sites/sample";
const SECRET: &str = "/api/v1/namespaces/default/secrets/sample";

/// A server with a site, and a filled cache.
fn world(status: Value) -> (MockServer, Objects<Site>) {
    let server = MockServer::default();
    let site = json!({
        "apiVersion": "web.example.com/v1",
        "kind": "Site",
        "spec": { "image": "nginx" },
        "status": status,
    });
    let sites = Objects::new(server.client());
    sites.put(serde_json::from_value(server.put(SITE, &site)).unwrap());
    (server, sites)
}

fn the(sites: &Objects<Site>) -> Arc<Site> {
    sites.get("default", "sample").unwrap()
}

#[tokio::test]
async fn a_password_is_generated_once_and_never_again() {
    let (server, sites) = world(Value::Null);
    let secrets = Objects::<Secret>::new(server.client());
    let ensure = async || secret::ensure(&the(&sites), &secrets, &sites).await.ok();
    assert_eq!(ensure().await, Some(true));
    let first = server.get(SECRET);
    let password = first["stringData"]["password"].as_str().unwrap();
    assert_eq!(password.len(), 32);
    server.requests();
    assert_eq!(ensure().await, Some(true));
    assert_eq!(server.requests(), [""; 0]);
    assert_eq!(server.get(SECRET), first);

    server.delete(SECRET);
    secrets.remove("default", "sample");
    assert_eq!(ensure().await, Some(false));
    assert_eq!(server.get(SECRET), Value::Null);
}

#[tokio::test]
async fn an_object_elsewhere_is_ours_or_foreign() {
    let name = dns_label("default/sample");
    let map = format!("/api/v1/namespaces/monitoring/configmaps/{name}");
    for (there, ours) in [(None, true), (Some(json!({})), false)] {
        let (server, sites) = world(Value::Null);
        if let Some(there) = there {
            server.put(&map, &there);
        }
        for _ in 0..2 {
            // A restarted operator has an empty cache.
            let maps = Objects::<ConfigMap>::new(server.client());
            for _ in 0..2 {
                let made = elsewhere::ensure(&the(&sites), &maps).await;
                assert_eq!(made.ok(), Some(ours));
            }
        }
    }
}

#[tokio::test]
async fn a_site_is_checked_when_it_is_due() {
    let (server, sites) = world(Value::Null);
    let now = Timestamp::now();
    let first = schedule::reconcile(the(&sites), &sites).await.ok();
    let Some(Action::RequeueAt(due)) = first else {
        panic!("{first:?}")
    };
    assert!(due >= now + 9.minutes());
    server.requests();
    let again = schedule::reconcile(the(&sites), &sites).await.ok();
    assert_eq!(again, Some(Action::RequeueAt(due)));
    assert_eq!(server.requests(), [""; 0]);
    let Time(last) = the(&sites).status.clone().unwrap().last_check.unwrap();
    for (now, expected) in [
        (last, Some(due)),
        (due - 1.second(), Some(due)),
        (due, None),
        (due + 1.hour(), None),
        // The clock of the writing host is ahead.
        (last - 1.hour(), None),
    ] {
        assert_eq!(schedule::due(&the(&sites), now), expected, "{now}");
    }
}

#[test]
fn times_are_read_written_and_compared() {
    let Time(later) = timestamps::an_hour_after("2026-01-31T12:00:00Z").unwrap();
    assert_eq!(later.to_string(), "2026-01-31T13:00:00Z");
    assert!(timestamps::an_hour_after("tomorrow").is_err());
    let mut site = Site::new("sample", Default::default());
    assert_eq!(timestamps::age(&site), None);
    let Time(now) = manager::now();
    for (created, old) in [(now - 1.hour(), true), (now + 1.hour(), false)] {
        site.metadata.creation_timestamp = Some(Time(created));
        assert_eq!(timestamps::age(&site).unwrap().is_positive(), old);
    }
}
