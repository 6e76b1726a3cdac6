//! The random content of Ingresses and NetworkPolicies.

use serde_json::{Value, json};

use super::one;
use crate::random::Random;

pub(super) fn ingress(random: &mut Random) -> Value {
    let service = one(
        random,
        &[
            json!({ "name": "web", "port": { "number": 80 } }),
            json!({ "name": "web", "port": { "name": "http" } }),
            json!({ "name": "web" }),
        ],
    );
    let path = json!({
        "path": random.pick(&["/", "/shop", "shop"]), "pathType": random.pick(&["Prefix", "Exact", "ImplementationSpecific"]),
        "backend": { "service": service },
    });
    let mut object = json!({ "spec": {} });
    if random.percent(80) {
        object["spec"]["rules"] =
            json!([{ "host": random.pick(&["a.example.com", "b.example.com", ""]), "http": { "paths": [path] } }]);
    }
    if random.percent(20) {
        object["spec"]["defaultBackend"] = json!({ "service": service });
    }
    if random.percent(20) {
        object["spec"]["ingressClassName"] = "nginx".into();
    }
    if random.percent(20) {
        object["spec"]["tls"] = json!([{ "secretName": "a" }]);
    }
    object
}

pub(super) fn policy(random: &mut Random) -> Value {
    let peers = [
        json!([{ "podSelector": {} }]),
        json!([{ "podSelector": { "matchLabels": { "app": "x" } }, "namespaceSelector": {} }]),
        json!([{ "ipBlock": { "cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"] } }]),
        json!([{ "ipBlock": { "cidr": "10.0.0.0/8", "except": ["11.1.0.0/16"] } }]),
        json!([{ "ipBlock": { "cidr": "" } }, {}]),
        json!([{ "ipBlock": { "cidr": "10.0.0.0/8" }, "podSelector": {} }]),
    ];
    let ports = [
        json!([{ "port": 80 }]),
        json!([{ "port": "http", "protocol": "UDP" }, {}]),
        json!([{ "port": 80, "endPort": 90 }]),
        json!([{ "port": 80, "endPort": 70 }]),
        json!([{ "port": 0 }, { "endPort": 5 }]),
    ];
    let mut object = json!({ "spec": {} });
    if random.percent(60) {
        object["spec"]["podSelector"] = one(random, &[json!({}), json!({ "matchLabels": { "app": "x" } })]);
    }
    if random.percent(60) {
        let mut rule = json!({});
        if random.percent(60) {
            rule["from"] = one(random, &peers);
        }
        if random.percent(50) {
            rule["ports"] = one(random, &ports);
        }
        object["spec"]["ingress"] = json!([rule]);
    }
    if random.percent(40) {
        let mut rule = json!({});
        if random.percent(60) {
            rule["to"] = one(random, &peers);
        }
        if random.percent(50) {
            rule["ports"] = one(random, &ports);
        }
        object["spec"]["egress"] = one(random, &[json!([rule]), json!([]), json!([rule, {}])]);
    }
    if random.percent(30) {
        object["spec"]["policyTypes"] =
            one(random, &[json!(["Ingress"]), json!(["Egress", "Ingress"]), json!(["Other"]), json!([])]);
    }
    object
}
