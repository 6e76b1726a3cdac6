use clap::Parser;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use manager::testing::MockServer;
use manager::{Manager, Objects, Options};
use serde_json::json;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Options,
}

#[tokio::test]
async fn equal_watches_share_a_cache() {
    let client = MockServer::default().client();
    let options = Args::parse_from(["test"]).manager;
    let mut manager = Manager::with_client("test", "0.1.0", options, client);
    let all = watcher::Config::default();
    let ours = watcher::Config::default().labels("app=site");
    let [first, second, labeled] = [&all, &all, &ours].map(|config| manager.objects(config));

    let metadata = json!({ "name": "a", "namespace": "default", "resourceVersion": "1" });
    let map = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
    first.put(map);
    let is_there = |maps: &Objects<ConfigMap>| maps.get("default", "a").is_some();
    assert_eq!(
        [&first, &second, &labeled].map(is_there),
        [true, true, false]
    );
}
