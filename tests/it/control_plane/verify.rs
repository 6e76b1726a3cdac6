//! `rbac verify` on rendered manifests: a synthetic log uses each permission of the rendered roles.

use std::process::Command;

use serde_json::{Value, json};

use crate::control_plane;
use crate::sandbox::Sandbox;

const USER: &str = "system:serviceaccount:demo-system:demo-controller-manager";

/// File, old text and new text.
type Edit = (&'static str, &'static str, &'static str);

/// The three kinds of webhooks with self-signed certificates, metrics and leader election.
fn project() -> Sandbox {
    let project = Sandbox::project("--prometheus --network-policy");
    project.lock();
    for command in [
        "create api --group cache --version v1alpha1 --kind Memcached",
        "create api --group cache --version v1 --kind Memcached --controller=false",
        "create webhook --group cache --version v1alpha1 --kind Memcached --defaulting --programmatic-validation \
         --conversion --spoke v1",
        "generate",
    ] {
        project.run(command).success();
    }
    project
}

/// The output of kustomize for `config/default`.
fn rendered(project: &Sandbox) -> Vec<Value> {
    let mut kubectl = Command::new(control_plane::kubectl());
    let output = kubectl.args(["kustomize", "config/default"]).current_dir(project.root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_yaml::from_slice::<Value>(&output.stdout).map_or_else(
        |_| serde_yaml::from_multiple(&String::from_utf8(output.stdout).unwrap()).unwrap(),
        |object| vec![object],
    )
}

/// An audit log with a request for each permission of the operator's roles.
fn log(objects: &[Value]) -> String {
    let strings = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten();
        texts.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let bindings = objects.iter().filter(|object| object["kind"].as_str().unwrap().ends_with("RoleBinding"));
    let bound: Vec<_> = bindings.map(|binding| (&binding["roleRef"]["kind"], &binding["roleRef"]["name"])).collect();
    let mut log = String::new();
    for role in objects.iter().filter(|role| bound.contains(&(&role["kind"], &role["metadata"]["name"]))) {
        for rule in role["rules"].as_array().unwrap() {
            let mut names = strings(&rule["resourceNames"]);
            if names.is_empty() {
                names.push(String::new());
            }
            for (group, resource) in strings(&rule["apiGroups"]).into_iter().flat_map(|group| {
                strings(&rule["resources"]).into_iter().map(move |resource| (group.clone(), resource))
            }) {
                let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
                for (verb, name) in strings(&rule["verbs"])
                    .into_iter()
                    .flat_map(|verb| names.iter().map(move |name| (verb.clone(), name)))
                {
                    let event = json!({
                        "kind": "Event",
                        "stage": "ResponseComplete",
                        "verb": verb,
                        "user": { "username": USER },
                        "objectRef": {
                            "apiGroup": group, "resource": resource, "subresource": subresource, "name": name,
                            "namespace": role["metadata"]["namespace"].as_str().unwrap_or_default(),
                        },
                        "responseStatus": { "code": 200 },
                        "annotations": { "authorization.k8s.io/decision": "allow" },
                    });
                    log += &format!("{event}\n");
                }
            }
        }
    }
    log
}

/// kustomize may rename the objects in rules.
#[test]
fn rules_name_objects_as_kustomize_renders_them() {
    let default = "config/default/kustomization.yaml";
    let webhook = "config/webhook/kustomization.yaml";
    let cases: [(&str, &[Edit], &str); 4] = [
        ("no prefix", &[(default, "namePrefix: demo-", "#namePrefix: demo-")], "mutating-webhook-configuration"),
        (
            "a suffix, and a prefix below",
            &[
                (default, "namePrefix: demo-", "namePrefix: a-\nnameSuffix: -z"),
                (webhook, "resources:", "namePrefix: b-\nresources:"),
            ],
            "a-b-mutating-webhook-configuration-z",
        ),
        (
            "names that nothing follows",
            &[("config/default/kustomizeconfig.yaml", "rules/resourceNames", "rules/others")],
            "mutating-webhook-configuration",
        ),
        (
            "a Secret of the project",
            &[(webhook, "resources:", "resources:\n- secret.yaml")],
            "demo-webhook-server-cert",
        ),
    ];
    for (case, edits, name) in cases {
        let project = project();
        project.file(
            "config/webhook/secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: webhook-server-cert\n  namespace: system\n",
        );
        for (path, from, to) in edits {
            project.replace(path, from, to);
        }
        let log = log(&rendered(&project));
        assert!(log.contains(&format!("\"name\":\"{name}\"")), "{case}: {log}");
        project.file("audit.log", &log);
        let run = project.run("rbac verify --audit-log audit.log --user demo-system/demo-controller-manager");
        assert_eq!(run.exit_code(), Some(0), "{case}: {run}");
        let clean = "nothing is missing and nothing is unused\n";
        assert!(run.err().ends_with(clean), "{case}: {run}");

        // Requests about an object that no rule names.
        project.file("audit.log", &log.replace(&format!("\"name\":\"{name}\""), "\"name\":\"another\""));
        let run = project.run("rbac verify --audit-log audit.log --user demo-system/demo-controller-manager").code(1);
        assert!(run.err().contains("rbac-missing"), "{case}: {run}");
    }
}
