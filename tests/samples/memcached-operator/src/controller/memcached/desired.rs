//! Builds the objects that an object needs. Nothing here calls the API server.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::{Resource, ResourceExt};
use manager::{ObjectKey, dns_label};

use crate::api::v1alpha1::memcached::Memcached;

/// The image of objects without one. An environment variable of the operator overrides it.
pub(super) const IMAGE: &str = "memcached:1.6-alpine";

const OWNER: &str = "cache.example.com/memcached";
const PORT_NAME: &str = "main";

/// The labels that all objects of this controller have.
pub(super) const LABEL_SELECTOR: &str =
    "app.kubernetes.io/name=memcached,app.kubernetes.io/managed-by=memcached-operator";

/// The object that a pod belongs to.
pub(super) fn owner(pod: &PartialObjectMeta<core::Pod>) -> Option<ObjectKey> {
    let name = pod.annotations().get(OWNER)?.clone();
    let namespace = pod.namespace();
    Some(ObjectKey { namespace, name })
}

/// The labels that select the pods of this object, and no others.
pub(super) fn selector(object: &Memcached) -> BTreeMap<String, String> {
    let instance = dns_label(&object.name_any());
    BTreeMap::from([label("instance", &instance), label("name", "memcached")])
}

/// Returns true if a pod with these labels belongs to the object with this selector.
pub(super) fn selects(
    selector: &BTreeMap<String, String>,
    labels: &BTreeMap<String, String>,
) -> bool {
    selector
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
}

/// Runs the pods.
pub(super) fn deployment(object: &Memcached, default_image: &str) -> apps::Deployment {
    let template = core::PodTemplateSpec {
        metadata: Some(ObjectMeta {
            annotations: Some(BTreeMap::from([(OWNER.to_owned(), object.name_any())])),
            labels: Some(labels(object)),
            ..ObjectMeta::default()
        }),
        spec: Some(core::PodSpec {
            automount_service_account_token: Some(false),
            containers: vec![container(object, default_image)],
            security_context: Some(core::PodSecurityContext {
                run_as_non_root: Some(true),
                run_as_user: Some(1001),
                seccomp_profile: Some(core::SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    ..core::SeccompProfile::default()
                }),
                ..core::PodSecurityContext::default()
            }),
            ..core::PodSpec::default()
        }),
    };
    apps::Deployment {
        metadata: metadata(object),
        spec: Some(apps::DeploymentSpec {
            replicas: Some(object.spec.size),
            selector: LabelSelector {
                match_labels: Some(selector(object)),
                ..LabelSelector::default()
            },
            template,
            ..apps::DeploymentSpec::default()
        }),
        status: None,
    }
}

/// Gives every pod a name in DNS.
pub(super) fn service(object: &Memcached) -> core::Service {
    core::Service {
        metadata: metadata(object),
        spec: Some(core::ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            ports: Some(vec![core::ServicePort {
                name: Some(PORT_NAME.to_owned()),
                port: object.spec.container_port,
                target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
                ..core::ServicePort::default()
            }]),
            selector: Some(selector(object)),
            ..core::ServiceSpec::default()
        }),
        status: None,
    }
}

fn container(object: &Memcached, default_image: &str) -> core::Container {
    let spec = &object.spec;
    let limits = spec.memory_limit_megabytes.map(|mebibytes| {
        let memory = Quantity(format!("{mebibytes}Mi"));
        BTreeMap::from([("memory".to_owned(), memory)])
    });
    core::Container {
        name: "memcached".to_owned(),
        image: Some(
            spec.image
                .clone()
                .unwrap_or_else(|| default_image.to_owned()),
        ),
        // The default depends on the tag of the first image, and stays when the image changes.
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(spec.extra_args.clone()),
        ports: Some(vec![core::ContainerPort {
            name: Some(PORT_NAME.to_owned()),
            container_port: spec.container_port,
            ..core::ContainerPort::default()
        }]),
        liveness_probe: Some(probe(20)),
        readiness_probe: Some(probe(5)),
        resources: limits.map(|limits| core::ResourceRequirements {
            limits: Some(limits),
            ..core::ResourceRequirements::default()
        }),
        security_context: Some(core::SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(core::Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                ..core::Capabilities::default()
            }),
            ..core::SecurityContext::default()
        }),
        ..core::Container::default()
    }
}

fn probe(period_seconds: i32) -> core::Probe {
    core::Probe {
        period_seconds: Some(period_seconds),
        tcp_socket: Some(core::TCPSocketAction {
            port: IntOrString::String(PORT_NAME.to_owned()),
            ..core::TCPSocketAction::default()
        }),
        ..core::Probe::default()
    }
}

fn metadata(object: &Memcached) -> ObjectMeta {
    ObjectMeta {
        labels: Some(labels(object)),
        name: Some(dns_label(&object.name_any())),
        namespace: object.namespace(),
        owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn labels(object: &Memcached) -> BTreeMap<String, String> {
    let mut labels = selector(object);
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

    fn object(name: &str, spec: &Value) -> Memcached {
        let metadata = json!({ "name": name, "namespace": "default", "uid": "1" });
        let manifest = json!({
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": metadata,
            "spec": spec,
        });
        serde_json::from_value(manifest).unwrap()
    }

    fn pod_template(object: &Memcached) -> Value {
        let deployment = serde_json::to_value(deployment(object, "default")).unwrap();
        deployment["spec"]["template"].clone()
    }

    #[test]
    fn the_spec_shapes_the_container() {
        let small = pod_template(&object("a", &json!({ "size": 1 })));
        let container = &small["spec"]["containers"][0];
        assert_eq!(container["image"], "default");
        assert_eq!(container["args"], json!([]));
        assert_eq!(container["resources"], Value::Null);
        assert_eq!(container["ports"][0]["containerPort"], 11211);

        let large = object(
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
        let spec = &pod_template(&object("a", &json!({ "size": 1 })))["spec"];
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
        let objects = names.map(|name| object(name, &json!({ "size": 1 })));
        for a in &objects {
            let template = deployment(a, "default")
                .spec
                .unwrap()
                .template
                .metadata
                .unwrap();
            for b in &objects {
                let selected = selects(&selector(b), template.labels.as_ref().unwrap());
                assert_eq!(selected, a.name_any() == b.name_any());
            }
        }
    }

    #[test]
    fn a_pod_leads_back_to_its_owner() {
        let object = object(&"a".repeat(100), &json!({ "size": 1 }));
        let mut metadata = deployment(&object, "default")
            .spec
            .unwrap()
            .template
            .metadata
            .unwrap();
        metadata.namespace = object.namespace();
        let pod = PartialObjectMeta {
            metadata,
            ..PartialObjectMeta::default()
        };
        assert_eq!(owner(&pod), Some(ObjectKey::of(&object)));
    }
}
