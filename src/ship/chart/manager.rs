//! The Deployment of the manager. A release may change nearly all of its fields.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value, json};

use super::holes::{Holes, NESTED};
use super::names::ReleaseNames;
use super::part::{ChartSwitch, when};
use super::values;
use crate::diagnostic::{Code, Diagnostic};
use crate::ship::objects::manager::Image;
use crate::ship::objects::{pod, text};

/// Fields of the pod and of the manager's container, with the names of their values and the default without a field in the
/// objects.
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

/// Turns fields of the Deployment into values. `container` is the index of the manager; `values` has the switches of all parts.
pub(super) fn put(deployment: &mut Value, container: usize, holes: &mut Holes, values: &mut Value) {
    let switches: Vec<ChartSwitch> = [ChartSwitch::Metrics, ChartSwitch::Webhook]
        .into_iter()
        .filter(|switch| values::has(values, switch.path()))
        .collect();
    let manager = &mut values["manager"];
    let spec = &mut deployment["spec"];
    manager["replicas"] = spec.get("replicas").cloned().unwrap_or_else(|| 1.into());
    spec["replicas"] = holes.raw("{{ .Values.manager.replicas }}").into();
    let pod = &mut spec["template"]["spec"];
    for field in POD {
        put_field(pod, field, holes, manager);
    }
    switch_items(pod, "volumes", &switches, holes);
    let image = pod["containers"][container]["image"].clone();
    put_image(pod, &image, holes, manager);
    let container = &mut pod["containers"][container];
    for field in CONTAINER {
        put_field(container, field, holes, manager);
    }
    for field in ["ports", "volumeMounts"] {
        switch_items(container, field, &switches, holes);
    }
    put_policy(container, holes, manager);
    put_args(container, &switches, holes, manager);
    put_env(container, &switches, holes, manager);
}

/// Reports arguments and variables of a pod that contain a name that follows the release, in a place that is not known to be a
/// reference.
pub(super) fn unsure(object: &Value, names: &ReleaseNames) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let containers = list(pod(object), "containers");
    for container in &containers {
        let arguments = ["command", "args"].into_iter().flat_map(|field| list(container, field));
        let arguments =
            arguments.filter_map(|argument| argument.as_str().map(|text| (text.to_owned(), text.to_owned())));
        let variables = list(container, "env").into_iter().filter_map(|variable| {
            let value = variable["value"].as_str()?;
            Some((format!("{}={value}", name_of(&variable)), value.to_owned()))
        });
        for (shown, text) in arguments.chain(variables) {
            let value = text.rsplit_once('=').map_or(text.as_str(), |(_, value)| value);
            let Some(like) = value.split(',').find_map(|word| names.like(word)) else { continue };
            let message = format!(
                "`{shown}` of the container `{}` may refer to {like}, and does not change with the name or \
                    namespace of the release",
                name_of(container)
            );
            found.push(Diagnostic::new(Code::ChartName, message).help(
                "rename it after its meaning, such as `--namespace` or `WEBHOOK_SERVICE`, or set it for each \
                    release in `manager.args` or `manager.envOverrides`",
            ));
        }
    }
    found
}

/// Returns the switch in `switches` that controls a flag, port or volume.
fn switch_of(name: &str, switches: &[ChartSwitch]) -> Option<ChartSwitch> {
    let part = |switch: &ChartSwitch| match switch {
        ChartSwitch::Metrics => name.contains("metrics"),
        ChartSwitch::Webhook => name.contains("webhook"),
        _ => false,
    };
    switches.iter().copied().find(part)
}

/// Turns an optional field into a value. A field that names objects of the release does not change.
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

/// Makes the items of a list depend on their switches.
fn switch_items(parent: &mut Value, field: &str, switches: &[ChartSwitch], holes: &mut Holes) {
    for item in parent.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(switch) = switch_of(name_of(item), switches) {
            let text = holes.nested(&json!([item]));
            let lines = when(&[switch], &text);
            *item = holes.lines(lines).into();
        }
    }
}

fn name_of(item: &Value) -> &str {
    text(&item["name"])
}

/// Turns the image of the manager into a value, in each container of the pod.
fn put_image(pod: &mut Value, image: &Value, holes: &mut Holes, values: &mut Value) {
    let Some(image) = image.as_str() else { return };
    let Image { repository, version } = Image::new(image);
    values["image"]["repository"] = repository.into();
    values["image"]["tag"] = if version.is_empty() { "latest" } else { version }.into();
    // An `@` precedes a digest without a tag. A tag may be followed by a digest.
    let tag = r#"{{ with .Values.manager.image.tag | default .Chart.AppVersion }}{{ ternary "@" ":" (and (contains ":" .) (not (contains "@" .))) }}{{ . }}{{ end }}"#;
    let chosen = holes.raw(format!("\"{{{{ .Values.manager.image.repository }}}}{tag}\""));
    for list in ["containers", "initContainers"] {
        for container in pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if container["image"] == image {
                container["image"] = chosen.clone().into();
            }
        }
    }
}

fn put_policy(container: &mut Value, holes: &mut Holes, values: &mut Value) {
    values["image"]["pullPolicy"] = container["imagePullPolicy"].as_str().unwrap_or_default().into();
    let policy = "{{- with .Values.manager.image.pullPolicy }}\nimagePullPolicy: {{ . | quote }}\n{{- end }}\n";
    if let Some(container) = container.as_object_mut() {
        container.remove("imagePullPolicy");
        container.insert(format!("imagePullPolicy{}", holes.lines(policy)), Value::Null);
    }
}

/// An expression for a value as text. It prints large numbers without an exponent.
const ITEM: &str = "ternary . (toJson .) (kindIs \"string\" .)";
const VALUE: &str = "ternary $value (toJson $value) (kindIs \"string\" $value)";

/// Turns arguments into a value and keeps their order. The value holds the longest run of arguments that neither belong to a
/// switch nor name objects of the release. So the arguments of a release stay together.
fn put_args(container: &mut Value, switches: &[ChartSwitch], holes: &mut Holes, values: &mut Value) {
    let arguments = list(container, "args");
    let flags: Vec<(Vec<Value>, Option<ChartSwitch>)> = flags(arguments)
        .into_iter()
        .map(|words| {
            let flag =
                words.first().and_then(Value::as_str).and_then(|word| word.split('=').next()).unwrap_or_default();
            let switch = switch_of(flag, switches);
            (words, switch)
        })
        .collect();
    let run = longest_run(&flags, |(words, switch)| switch.is_none() && !words.iter().any(|word| holes.are_in(word)));
    let (mut args, mut chosen) = (Vec::new(), Vec::new());
    let here =
        holes.lines(format!("{{{{- range .Values.manager.args }}}}\n- {{{{ {ITEM} | quote }}}}\n{{{{- end }}}}\n"));
    for (index, (words, switch)) in flags.into_iter().enumerate() {
        if run.contains(&index) {
            if index == run.start {
                args.push(here.clone().into());
            }
            chosen.extend(words);
        } else if let Some(switch) = switch {
            let text = holes.nested(&words.into());
            let lines = when(&[switch], &text);
            args.push(holes.lines(lines).into());
        } else {
            args.extend(words);
        }
    }
    if run.is_empty() {
        args.push(here.into());
    }
    container["args"] = args.into();
    values["args"] = chosen.into();
}

/// Groups arguments that belong together: a flag and its value.
fn flags(arguments: Vec<Value>) -> Vec<Vec<Value>> {
    let mut flags: Vec<Vec<Value>> = Vec::new();
    let is_flag = |word: &Value| word.as_str().is_some_and(|word| word.starts_with('-') && word.len() > 1);
    let waits = |words: &[Value]| match words {
        [flag] => is_flag(flag) && flag.as_str().is_some_and(|flag| !flag.contains('=') && flag != "--"),
        _ => false,
    };
    for word in arguments {
        match flags.last_mut() {
            Some(words) if !is_flag(&word) && waits(words) => words.push(word),
            _ => flags.push(vec![word]),
        }
    }
    flags
}

/// Returns the longest run of items that satisfy a predicate, the first one of equal length.
fn longest_run<T>(items: &[T], fulfils: impl Fn(&T) -> bool) -> Range<usize> {
    let mut longest = 0..0;
    let mut start = 0;
    for end in 1..=items.len() {
        if !fulfils(&items[end - 1]) {
            start = end;
        } else if end - start > longest.len() {
            longest = start..end;
        }
    }
    longest
}

/// The variable that disables the webhooks of a kubebuilder manager.
const ENABLE_WEBHOOKS: &str = "ENABLE_WEBHOOKS";

/// Turns variables into a value and keeps their order without duplicates. The value holds the longest run of variables with
/// a literal value that does not name an object of the release. Each variable can be overridden in its place.
fn put_env(container: &mut Value, switches: &[ChartSwitch], holes: &mut Holes, values: &mut Value) {
    let has_webhooks = switches.contains(&ChartSwitch::Webhook);
    let mut entries = list(container, "env");
    let is_switch = |entry: &Value| has_webhooks && name_of(entry) == ENABLE_WEBHOOKS;
    if has_webhooks && !entries.iter().any(is_switch) {
        entries.push(json!({ "name": ENABLE_WEBHOOKS }));
    }
    let is_free = |entry: &Value| entry.get("valueFrom").is_none() && !holes.are_in(entry) && !is_switch(entry);
    let run = longest_run(&entries, is_free);
    let fixed: Vec<String> = entries
        .iter()
        .enumerate()
        .filter(|(index, _)| !run.contains(index))
        .map(|(_, entry)| Value::from(name_of(entry)).to_string())
        .collect();
    let listed =
        "{{- $listed := dict }}\n{{- range .Values.manager.env }}\n{{- $_ := set $listed .name true }}\n{{- end }}\n";
    let mut env: Vec<Value> = vec![holes.lines(listed).into()];
    let chosen = holes.lines(chosen_env(&fixed));
    for (index, entry) in entries.iter().enumerate() {
        if run.contains(&index) {
            env.extend((index == run.start).then(|| chosen.clone().into()));
        } else {
            let lines = fixed_env(entry, is_switch(entry), holes);
            env.push(holes.lines(lines).into());
        }
    }
    env.extend(run.is_empty().then(|| chosen.into()));
    env.push(holes.lines(more_env(&fixed)).into());
    container["env"] = env.into();
    values["env"] = entries[run].to_vec().into();
    values["envOverrides"] = json!({});
}

/// Renders the variables of the values. A variable with the name of one in `fixed` is overridden in the place of that one.
fn chosen_env(fixed: &[String]) -> String {
    let overridden = match fixed {
        [] => "{{- else }}".to_owned(),
        names => format!("{{{{- else if not (has .name (list {})) }}}}", names.join(" ")),
    };
    let of_values = named_env(".name");
    format!(
        "{{{{- range .Values.manager.env }}}}\n\
         {{{{- if not (hasKey $.Values.manager.envOverrides .name) }}}}\n\
         -\n  {{{{- toYaml . | nindent {NESTED} }}}}\n\
         {overridden}\n\
         {{{{- $value := index $.Values.manager.envOverrides .name }}}}\n\
         {of_values}\n\
         {{{{- end }}}}\n\
         {{{{- end }}}}\n"
    )
}

/// Renders a variable with the value `$value`.
fn named_env(name: &str) -> String {
    format!("-\n  {{{{- dict \"name\" {name} \"value\" ({VALUE}) | toYaml | nindent {NESTED} }}}}")
}

/// Renders a variable of the template, unless the values override it.
fn fixed_env(entry: &Value, is_switch: bool, holes: &mut Holes) -> String {
    let name = Value::from(name_of(entry)).to_string();
    let value = format!("{{{{- $value := index .Values.manager.envOverrides {name} }}}}\n");
    let first_line = holes.nested(&json!([{ "name": name_of(entry) }]));
    let of_name = |rest: &str| format!("{first_line}{rest}");
    let overridden = of_name(&format!("  value: {{{{ {VALUE} | quote }}}}\n"));
    let mut text = format!("{{{{- if hasKey .Values.manager.envOverrides {name} }}}}\n{value}{overridden}");
    let unlisted = format!("(hasKey $listed {name})");
    if is_switch {
        let off = of_name("  value: \"false\"\n");
        let _ = write!(text, "{{{{- else if not (or .Values.{} {unlisted}) }}}}\n{off}", ChartSwitch::Webhook.path());
    }
    if entry.as_object().is_some_and(|entry| entry.len() > 1) || !is_switch {
        let _ = write!(text, "{{{{- else if not {unlisted} }}}}\n{}", holes.nested(&json!([entry])));
    }
    text + "{{- end }}\n"
}

/// Renders the overrides of variables that are not defined elsewhere.
fn more_env(fixed: &[String]) -> String {
    let overrides = match fixed {
        [] => ".Values.manager.envOverrides".to_owned(),
        names => format!("omit .Values.manager.envOverrides {}", names.join(" ")),
    };
    let more = named_env("$name");
    format!(
        "{{{{- range $name, $value := {overrides} }}}}\n\
         {{{{- if not (hasKey $listed $name) }}}}\n\
         {more}\n\
         {{{{- end }}}}\n\
         {{{{- end }}}}\n"
    )
}

fn list(parent: &Value, field: &str) -> Vec<Value> {
    parent[field].as_array().cloned().unwrap_or_default()
}
