//! The Deployment of the manager, nearly all of which a release may choose.

use serde_json::{Value, json};

use super::holes::{Holes, NESTED, nested};
use super::part::{Switch, when};
use super::{kind, name, values};
use crate::diagnostic::Problem;

/// Fields of the pod and of the manager's container, with the names of their values, and what these are when the objects say
/// nothing.
const POD: [(&str, &str, &str); 7] = [
    ("affinity", "affinity", "{}"),
    ("imagePullSecrets", "imagePullSecrets", "[]"),
    ("nodeSelector", "nodeSelector", "{}"),
    ("priorityClassName", "priorityClassName", "\"\""),
    ("securityContext", "podSecurityContext", "{}"),
    ("tolerations", "tolerations", "[]"),
    ("topologySpreadConstraints", "topologySpreadConstraints", "[]"),
];
const CONTAINER: [(&str, &str, &str); 2] =
    [("resources", "resources", "{}"), ("securityContext", "securityContext", "{}")];

/// The Deployment that the chart is about: the one with kubebuilder's label, or the only one.
pub(super) fn find(objects: &[Value]) -> Result<&Value, Problem> {
    let deployments = || objects.iter().filter(|object| kind(object) == "Deployment");
    let labelled = deployments().find(|object| object["metadata"]["labels"]["control-plane"] == "controller-manager");
    let names: Vec<&str> = deployments().map(name).collect();
    let only = deployments().next().filter(|_| names.len() == 1);
    labelled.or(only).ok_or_else(|| match &*names {
        [] => Problem::new("there is no Deployment among the objects").help("name the manifests of the whole operator"),
        names => Problem::new(format!("there are several Deployments: {}", names.join(", ")))
            .help("give the manager's the label `control-plane: controller-manager`"),
    })
}

/// Makes values of what a release may choose; `values` has the switches of all parts.
pub(super) fn put(deployment: &mut Value, holes: &mut Holes, values: &mut Value) -> Result<(), Problem> {
    let switches: Vec<Switch> =
        [Switch::Metrics, Switch::Webhook].into_iter().filter(|switch| values::has(values, switch.path())).collect();
    let manager = &mut values["manager"];
    let spec = &mut deployment["spec"];
    manager["replicas"] = spec.get("replicas").cloned().unwrap_or_else(|| 1.into());
    spec["replicas"] = holes.inline("{{ .Values.manager.replicas }}").into();
    let pod = &mut spec["template"]["spec"];
    for field in POD {
        put_field(pod, field, holes, manager);
    }
    switch_items(pod, "volumes", &switches, holes);
    let containers = pod["containers"].as_array_mut().map(Vec::as_mut_slice).unwrap_or_default();
    let index = containers.iter().position(|container| container["name"] == "manager").unwrap_or_default();
    let Some(container) = containers.get_mut(index) else {
        return Err(Problem::new("the manager's Deployment has no container"));
    };
    for field in CONTAINER {
        put_field(container, field, holes, manager);
    }
    for field in ["ports", "volumeMounts"] {
        switch_items(container, field, &switches, holes);
    }
    put_image(container, holes, manager);
    put_args(container, &switches, holes, manager);
    put_env(container, &switches, holes, manager);
    Ok(())
}

/// The switch, one of `switches`, that a flag, port or volume is for.
fn switch_of(name: &str, switches: &[Switch]) -> Option<Switch> {
    let part = |switch: &Switch| match switch {
        Switch::Metrics => name.contains("metrics"),
        Switch::Webhook => name.contains("webhook"),
        _ => false,
    };
    switches.iter().copied().find(part)
}

/// A field whose value may be left out. One that names objects of the release stays as it is.
fn put_field(parent: &mut Value, (field, value, default): (&str, &str, &str), holes: &mut Holes, values: &mut Value) {
    let Some(parent) = parent.as_object_mut() else { return };
    if parent.get(field).is_some_and(|value| holes.are_in(value)) {
        return;
    }
    let given = parent.remove(field).filter(|value| !value.is_null());
    values[value] = given.unwrap_or_else(|| serde_json::from_str(default).unwrap_or_default());
    let write = if values[value].is_string() {
        format!("{field}: {{{{ . | quote }}}}\n")
    } else {
        format!("{field}:\n  {{{{- toYaml . | nindent {NESTED} }}}}\n")
    };
    let text = format!("{{{{- with .Values.manager.{value} }}}}\n{write}{{{{- end }}}}\n");
    parent.insert(format!("{field}{}", holes.lines(text)), Value::Null);
}

/// The items of a list that are for a switch.
fn switch_items(parent: &mut Value, field: &str, switches: &[Switch], holes: &mut Holes) {
    for item in parent.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(switch) = switch_of(name_of(item), switches) {
            let lines = when(&[switch], &nested(&json!([item])));
            *item = holes.lines(lines).into();
        }
    }
}

fn name_of(item: &Value) -> &str {
    item["name"].as_str().unwrap_or_default()
}

/// The image, of which kustomize knows a name and a tag or digest.
fn put_image(container: &mut Value, holes: &mut Holes, values: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default().to_owned();
    let (repository, tag) = match image.split_once('@') {
        Some(split) => split,
        // A port has a slash behind it.
        None => image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')).unwrap_or((&image, "latest")),
    };
    let policy = container["imagePullPolicy"].as_str().unwrap_or_default();
    values["image"] = json!({ "repository": repository, "tag": tag, "pullPolicy": policy });
    let tag = r#"{{ with .Values.manager.image.tag | default .Chart.AppVersion }}{{ ternary "@" ":" (contains ":" .) }}{{ . }}{{ end }}"#;
    container["image"] = holes.inline(format!("\"{{{{ .Values.manager.image.repository }}}}{tag}\"")).into();
    let policy = "{{- with .Values.manager.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}\n";
    if let Some(container) = container.as_object_mut() {
        container.remove("imagePullPolicy");
        container.insert(format!("imagePullPolicy{}", holes.lines(policy)), Value::Null);
    }
}

/// Arguments that are for a switch or name objects of the release stay; the others can be chosen.
fn put_args(container: &mut Value, switches: &[Switch], holes: &mut Holes, values: &mut Value) {
    let chosen_here = Value::from(holes.lines("{{- range .Values.manager.args }}\n- {{ . | quote }}\n{{- end }}\n"));
    let (mut args, mut chosen) = (Vec::new(), Vec::new());
    for arg in list(container, "args") {
        let flag = arg.as_str().and_then(|arg| arg.split('=').next()).unwrap_or_default();
        if let Some(switch) = switch_of(flag, switches) {
            let lines = when(&[switch], &nested(&json!([arg])));
            args.push(holes.lines(lines).into());
        } else if holes.are_in(&arg) {
            args.push(arg);
        } else {
            if chosen.is_empty() {
                args.push(chosen_here.clone());
            }
            chosen.push(arg);
        }
    }
    if chosen.is_empty() {
        args.push(chosen_here);
    }
    container["args"] = args.into();
    values["args"] = chosen.into();
}

/// Variables whose value names objects of the release or comes from elsewhere stay; the others can be chosen.
fn put_env(container: &mut Value, switches: &[Switch], holes: &mut Holes, values: &mut Value) {
    let is_fixed = |entry: &Value| entry.get("value").is_none() || holes.are_in(entry);
    let (mut env, chosen): (Vec<Value>, Vec<Value>) = list(container, "env").into_iter().partition(is_fixed);
    if switches.contains(&Switch::Webhook) {
        let switch = Switch::Webhook.path();
        let off = format!(
            "{{{{- if not .Values.{switch} }}}}\n- name: ENABLE_WEBHOOKS\n  value: \"false\"\n{{{{- end }}}}\n"
        );
        env.push(holes.lines(off).into());
    }
    let text = format!(
        "{{{{- range .Values.manager.env }}}}\n\
         {{{{- if not (hasKey $.Values.manager.envOverrides .name) }}}}\n\
         -\n  {{{{- toYaml . | nindent {NESTED} }}}}\n\
         {{{{- end }}}}\n\
         {{{{- end }}}}\n\
         {{{{- range $name, $value := .Values.manager.envOverrides }}}}\n\
         - name: {{{{ $name }}}}\n  value: {{{{ $value | quote }}}}\n\
         {{{{- end }}}}\n"
    );
    env.push(holes.lines(text).into());
    container["env"] = env.into();
    values["env"] = chosen.into();
    values["envOverrides"] = json!({});
}

fn list(parent: &Value, field: &str) -> Vec<Value> {
    parent[field].as_array().cloned().unwrap_or_default()
}
