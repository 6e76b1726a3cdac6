//! From a Memcached to the objects that it needs. Nothing here talks to a server.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, Pod, PodSecurityContext, PodSpec, PodTemplateSpec,
    Probe, ResourceRequirements, SeccompProfile, SecurityContext, Service, ServicePort,
    ServiceSpec, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::{Resource, ResourceExt};

use crate::api::v1alpha1::memcached::Memcached;
use crate::manager::{ObjectKey, dns_label};

/// The image of Memcacheds that name none, when the operator has not been given one either.
pub(super) const IMAGE: &str = "memcached:1.6-alpine";

const PORT_NAME: &str = "main";
const OWNER: &str = "cache.example.com/memcached";

/// What all objects of this controller are labelled with.
pub(super) fn label_selector() -> String {
    "app.kubernetes.io/name=memcached,app.kubernetes.io/managed-by=memcached-operator".to_owned()
}

/// The Memcached that a pod belongs to.
pub(super) fn owner(pod: &PartialObjectMeta<Pod>) -> Option<ObjectKey> {
    let name = pod.annotations().get(OWNER)?.clone();
    let namespace = pod.namespace();
    Some(ObjectKey { namespace, name })
}

/// The labels by which the pods of this Memcached differ from all others.
pub(super) fn selector(memcached: &Memcached) -> BTreeMap<String, String> {
    let instance = dns_label(&memcached.name_any());
    BTreeMap::from([label("instance", &instance), label("name", "memcached")])
}

/// Whether an object with these labels is a pod of this Memcached.
pub(super) fn selects(memcached: &Memcached, labels: &BTreeMap<String, String>) -> bool {
    selector(memcached)
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
}

/// Runs the pods.
pub(super) fn deployment(memcached: &Memcached, default_image: &str) -> Deployment {
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            annotations: Some(BTreeMap::from([(OWNER.to_owned(), memcached.name_any())])),
            labels: Some(labels(memcached)),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            automount_service_account_token: Some(false),
            containers: vec![container(memcached, default_image)],
            security_context: Some(PodSecurityContext {
                run_as_non_root: Some(true),
                run_as_user: Some(1001),
                seccomp_profile: Some(SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    ..SeccompProfile::default()
                }),
                ..PodSecurityContext::default()
            }),
            ..PodSpec::default()
        }),
    };
    Deployment {
        metadata: metadata(memcached),
        spec: Some(DeploymentSpec {
            replicas: Some(memcached.spec.size),
            selector: LabelSelector {
                match_labels: Some(selector(memcached)),
                ..LabelSelector::default()
            },
            template,
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// Gives every pod a name in DNS.
pub(super) fn service(memcached: &Memcached) -> Service {
    Service {
        metadata: metadata(memcached),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            ports: Some(vec![ServicePort {
                name: Some(PORT_NAME.to_owned()),
                port: memcached.spec.container_port,
                target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
                ..ServicePort::default()
            }]),
            selector: Some(selector(memcached)),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

fn container(memcached: &Memcached, default_image: &str) -> Container {
    let spec = &memcached.spec;
    let limits = spec.memory_limit_megabytes.map(|mebibytes| {
        let memory = Quantity(format!("{mebibytes}Mi"));
        BTreeMap::from([("memory".to_owned(), memory)])
    });
    Container {
        name: "memcached".to_owned(),
        image: Some(
            spec.image
                .clone()
                .unwrap_or_else(|| default_image.to_owned()),
        ),
        args: Some(spec.extra_args.clone()),
        ports: Some(vec![ContainerPort {
            name: Some(PORT_NAME.to_owned()),
            container_port: spec.container_port,
            ..ContainerPort::default()
        }]),
        liveness_probe: Some(probe(20)),
        readiness_probe: Some(probe(5)),
        resources: limits.map(|limits| ResourceRequirements {
            limits: Some(limits),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                ..Capabilities::default()
            }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

fn probe(period_seconds: i32) -> Probe {
    Probe {
        period_seconds: Some(period_seconds),
        tcp_socket: Some(TCPSocketAction {
            port: IntOrString::String(PORT_NAME.to_owned()),
            ..TCPSocketAction::default()
        }),
        ..Probe::default()
    }
}

fn metadata(memcached: &Memcached) -> ObjectMeta {
    ObjectMeta {
        labels: Some(labels(memcached)),
        name: Some(dns_label(&memcached.name_any())),
        namespace: memcached.namespace(),
        owner_references: memcached.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn labels(memcached: &Memcached) -> BTreeMap<String, String> {
    let mut labels = selector(memcached);
    labels.extend([label("managed-by", "memcached-operator")]);
    labels
}

fn label(key: &str, value: &str) -> (String, String) {
    (format!("app.kubernetes.io/{key}"), value.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn memcached(name: &str, spec: &Value) -> Memcached {
        let metadata = json!({ "name": name, "namespace": "default", "uid": "1" });
        let object = json!({
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": metadata,
            "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    fn pod_template(memcached: &Memcached) -> Value {
        let deployment = serde_json::to_value(deployment(memcached, "default")).unwrap();
        deployment["spec"]["template"].clone()
    }

    #[test]
    fn the_spec_shapes_the_container() {
        let small = pod_template(&memcached("a", &json!({ "size": 1 })));
        let container = &small["spec"]["containers"][0];
        assert_eq!(container["image"], "default");
        assert_eq!(container["args"], json!([]));
        assert_eq!(container["resources"], Value::Null);
        assert_eq!(container["ports"][0]["containerPort"], 11211);

        let large = memcached(
            "a",
            &json!({
                "size": 3,
                "containerPort": 1234,
                "image": "mine",
                "memoryLimitMegabytes": 64,
                "extraArgs": ["-v"],
            }),
        );
        let container = &pod_template(&large)["spec"]["containers"][0];
        assert_eq!(container["image"], "mine");
        assert_eq!(container["args"], json!(["-v"]));
        assert_eq!(container["resources"]["limits"]["memory"], "64Mi");
        assert_eq!(container["ports"][0]["containerPort"], 1234);
        assert_eq!(service(&large).spec.unwrap().ports.unwrap()[0].port, 1234);
    }

    #[test]
    fn pods_are_allowed_where_the_restricted_standard_is_enforced() {
        let spec = &pod_template(&memcached("a", &json!({ "size": 1 })))["spec"];
        assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
        assert_eq!(
            spec["securityContext"]["seccompProfile"]["type"],
            "RuntimeDefault"
        );
        let container = &spec["containers"][0]["securityContext"];
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    }

    #[test]
    fn the_pods_of_two_objects_are_kept_apart() {
        let long = "a".repeat(100);
        let names = ["one", "two", "one.two", &long, &format!("{long}b")];
        let objects = names.map(|name| memcached(name, &json!({ "size": 1 })));
        for a in &objects {
            let template = deployment(a, "default")
                .spec
                .unwrap()
                .template
                .metadata
                .unwrap();
            for b in &objects {
                let selected = selects(b, template.labels.as_ref().unwrap());
                assert_eq!(selected, a.name_any() == b.name_any());
            }
        }
    }

    #[test]
    fn a_pod_leads_back_to_its_owner() {
        let memcached = memcached(&"a".repeat(100), &json!({ "size": 1 }));
        let mut metadata = deployment(&memcached, "default")
            .spec
            .unwrap()
            .template
            .metadata
            .unwrap();
        metadata.namespace = memcached.namespace();
        let pod = PartialObjectMeta {
            metadata,
            ..PartialObjectMeta::default()
        };
        assert_eq!(owner(&pod), Some(ObjectKey::of(&memcached)));
    }
}
