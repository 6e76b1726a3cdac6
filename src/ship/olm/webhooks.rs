//! Webhooks in a CSV. OLM creates their configurations, their Service and their certificates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::csv::{WebhookDefinition, WebhookServer};
use super::namespaces::selects_names;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::ship::objects::{items, kind, name, shown, text};

/// Fields of a webhook that OLM copies into its configuration, besides those of [`WebhookDefinition`].
const FIELDS: [&str; 6] =
    ["failurePolicy", "matchPolicy", "objectSelector", "reinvocationPolicy", "rules", "timeoutSeconds"];

/// Mount path of the certificate of a webhook server, in every container of its Deployment.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

/// The default port of a webhook's Service.
const PORT: u64 = 443;

/// Returns the `webhookdefinitions`. If `everywhere` is true, OLM may install the operator for all namespaces; otherwise
/// OLM limits its webhooks to the namespaces of the `OperatorGroup`.
pub(super) fn definitions(
    configurations: &[Value],
    crds: &[Value],
    services: &[Value],
    deployments: &[Value],
    everywhere: bool,
) -> (Vec<WebhookDefinition>, Diagnostics) {
    let mut found = Diagnostics::default();
    let mut definitions = Vec::new();
    for configuration in configurations {
        let of = if kind(configuration).starts_with("Mutating") { "Mutating" } else { "Validating" };
        for webhook in items(&configuration["webhooks"]) {
            let what = format!("webhook `{}` of {}", text(&webhook["name"]), shown(configuration));
            let Some(server) = server(&webhook["clientConfig"], services, deployments) else {
                found.push(unserved(&what));
                continue;
            };
            let given = |field: &str| Some(webhook[field].clone()).filter(|value| !value.is_null());
            definitions.push(WebhookDefinition {
                kind: format!("{of}AdmissionWebhook"),
                generate_name: webhook["name"].clone(),
                admission_review_versions: given("admissionReviewVersions").unwrap_or_else(|| json!(["v1"])),
                side_effects: given("sideEffects").unwrap_or_else(|| "None".into()),
                conversion_crds: Vec::new(),
                server,
                rest: FIELDS.iter().filter_map(|field| Some(((*field).to_owned(), given(field)?))).collect(),
            });
            // OLM creates a selector for the namespaces of an `OperatorGroup`.
            let is_made = !everywhere && selects_names(&webhook["namespaceSelector"]);
            let lost = ["namespaceSelector", "matchConditions"].into_iter().skip(usize::from(is_made));
            for field in lost {
                if webhook[field].as_object().is_some_and(|map| !map.is_empty()) || !items(&webhook[field]).is_empty() {
                    let message = format!("OLM does not support `{field}`, so {what} is called for more objects");
                    found.push(
                        Diagnostic::new(Code::BundleWebhookField, message)
                            .help("let its handler allow the other objects, or use `objectSelector`"),
                    );
                }
            }
        }
    }
    definitions.extend(conversions(crds, services, deployments, &mut found));
    definitions.sort_by(|a, b| text(&a.generate_name).cmp(text(&b.generate_name)));
    (definitions, found)
}

/// Returns one definition for all CRDs with the same conversion path.
fn conversions(
    crds: &[Value],
    services: &[Value],
    deployments: &[Value],
    found: &mut Diagnostics,
) -> Vec<WebhookDefinition> {
    let mut grouped: BTreeMap<String, (WebhookDefinition, BTreeSet<&str>)> = BTreeMap::new();
    for crd in crds.iter().filter(|crd| crd["spec"]["conversion"]["strategy"] == "Webhook") {
        let webhook = &crd["spec"]["conversion"]["webhook"];
        let Some(server) = server(&webhook["clientConfig"], services, deployments) else {
            found.push(unserved(&format!("the conversion of {}", shown(crd))));
            continue;
        };
        let definition = WebhookDefinition {
            kind: "ConversionWebhook".to_owned(),
            generate_name: Value::Null,
            admission_review_versions: webhook["conversionReviewVersions"].clone(),
            side_effects: "None".into(),
            conversion_crds: Vec::new(),
            server,
            rest: Map::new(),
        };
        let key = json!(definition).to_string();
        grouped.entry(key).or_insert_with(|| (definition, BTreeSet::new())).1.insert(name(crd));
    }
    let with_crds = |(mut definition, names): (WebhookDefinition, BTreeSet<&str>)| {
        let plurals: String = names.iter().filter_map(|name| name.split('.').next()).collect();
        definition.generate_name = format!("c{plurals}.kb.io").into();
        definition.conversion_crds = names.into_iter().map(str::to_owned).collect();
        definition
    };
    grouped.into_values().map(with_crds).collect()
}

/// Finds the server of a webhook: the Deployment behind the Service, its ports and the path.
fn server(client: &Value, services: &[Value], deployments: &[Value]) -> Option<WebhookServer> {
    let reference = &client["service"];
    let service = services.iter().find(|service| name(service) == text(&reference["name"]))?;
    let selector = service["spec"]["selector"].as_object().filter(|selector| !selector.is_empty())?;
    let selects = |deployment: &&Value| {
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        selector.iter().all(|(key, value)| labels[key] == *value)
    };
    let deployment = deployments.iter().find(selects)?;
    let port = reference["port"].as_u64().unwrap_or(PORT);
    let open = items(&service["spec"]["ports"]).iter().find(|open| open["port"] == port)?;
    let target = if open["targetPort"].is_null() { &open["port"] } else { &open["targetPort"] };
    Some(WebhookServer {
        deployment_name: name(deployment).to_owned(),
        container_port: port,
        target_port: target.clone(),
        webhook_path: Some(reference["path"].clone()).filter(|path| !path.is_null()),
    })
}

fn unserved(what: &str) -> Diagnostic {
    let message = format!("{what} is left out: no Service of the manifests connects it to a Deployment");
    Diagnostic::new(Code::BundleLeftOut, message).help("OLM supports only webhooks that the operator itself serves")
}

/// Uses the certificate of OLM instead of any other. Returns the Secrets that are no longer mounted, and true if the
/// operator would have created its own certificates.
pub(super) fn use_certificates(deployment: &mut Value) -> (BTreeSet<String>, bool) {
    let mut own = false;
    let mut unmounted = BTreeSet::new();
    let pod = &mut deployment["spec"]["template"]["spec"];
    for container in pod["containers"].as_array_mut().into_iter().flatten() {
        own |= use_path(container);
        let Some(mounts) = container["volumeMounts"].as_array_mut() else { continue };
        mounts.retain(|mount| {
            let replaced = mount["mountPath"] == CERTIFICATES;
            if replaced {
                unmounted.insert(text(&mount["name"]).to_owned());
            }
            !replaced
        });
    }
    let mounted = |name: &Value| {
        let containers = ["containers", "initContainers"].into_iter().flat_map(|list| items(&pod[list]));
        containers.flat_map(|container| items(&container["volumeMounts"])).any(|mount| mount["name"] == *name)
    };
    let is_left = |volume: &Value| !unmounted.contains(text(&volume["name"])) || mounted(&volume["name"]);
    let (kept, gone): (Vec<Value>, Vec<Value>) = items(&pod["volumes"]).iter().cloned().partition(is_left);
    if !gone.is_empty() {
        pod["volumes"] = kept.into();
    }
    (gone.iter().map(|volume| text(&volume["secret"]["secretName"]).to_owned()).collect(), own)
}

/// Changes the certificate arguments of a generated operator.
fn use_path(container: &mut Value) -> bool {
    let of_own = |argument: &str| {
        let flags = ["--webhook-service", "--webhook-secret", "--webhook-configurations"];
        flags.contains(&argument.split('=').next().unwrap_or_default())
    };
    let Some(arguments) = container["args"].as_array_mut() else { return false };
    let before = arguments.len();
    let dropped: String = arguments.iter().map(text).filter(|argument| of_own(argument)).collect();
    arguments.retain(|argument| !of_own(text(argument)));
    let own = arguments.len() != before;
    let path = format!("--webhook-cert-path={CERTIFICATES}");
    if own {
        arguments.push(path.into());
        if let Some(variables) = container["env"].as_array_mut() {
            variables.retain(|variable| !dropped.contains(&format!("$({})", text(&variable["name"]))));
        }
    } else if let Some(argument) = arguments.iter_mut().find(|one| text(one).starts_with("--webhook-cert-path=")) {
        *argument = path.into();
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn olm_confines_webhooks_itself() {
        let label = json!({ "app": "a" });
        let service = json!({
            "metadata": { "name": "webhook" }, "spec": { "selector": label, "ports": [{ "port": 443 }] },
        });
        let deployment = json!({
            "metadata": { "name": "operator" }, "spec": { "template": { "metadata": { "labels": label } } },
        });
        let by_name = json!({ "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a"] });
        let by_team = json!({ "key": "team", "operator": "Exists" });
        for (selector, [everywhere, confined]) in [
            (json!({ "matchExpressions": [by_name] }), [1, 0]),
            (json!({ "matchExpressions": [by_name, by_team] }), [1, 1]),
            (json!({ "matchExpressions": [by_name], "matchLabels": { "team": "a" } }), [1, 1]),
            (json!({ "matchExpressions": [by_team] }), [1, 1]),
            (json!({}), [0, 0]),
        ] {
            let webhook = json!({
                "name": "a.b.c", "clientConfig": { "service": { "name": "webhook" } }, "namespaceSelector": selector,
            });
            let configurations = [json!({ "kind": "MutatingWebhookConfiguration", "webhooks": [webhook] })];
            let (services, deployments) = ([service.clone()], [deployment.clone()]);
            let found = [true, false].map(|everywhere| {
                let (definitions, found) = definitions(&configurations, &[], &services, &deployments, everywhere);
                assert_eq!(definitions.len(), 1);
                found.iter().count()
            });
            assert_eq!(found, [everywhere, confined], "{selector}");
        }
    }
}
