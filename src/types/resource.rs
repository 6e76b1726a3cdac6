//! The custom resource of each version: the attributes of the derive, and the schemas of spec and status.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::clean::{clean, finding};
use super::structs::{TypesFile, list, without};
use super::{CrdTypes, SchemaMap, TypesFinding, VersionTypes, literal};
use crate::diagnostic::Problem;
use crate::project::ident;

/// Names that a file may import.
const IMPORTED: [&str; 14] = [
    "BTreeMap",
    "ByteString",
    "Condition",
    "CustomResource",
    "Deserialize",
    "IntOrString",
    "JsonSchema",
    "Option",
    "Schema",
    "SchemaGenerator",
    "Serialize",
    "String",
    "Time",
    "Value",
];

/// The annotation that the groups of Kubernetes require.
const APPROVED: &str = "api-approved.kubernetes.io";

/// Properties of every object, which kube leaves to the API server.
const GENERAL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Makes the types of a CRD.
pub(super) fn types(crd: &Value) -> Result<CrdTypes, Problem> {
    let spec = &crd["spec"];
    let text = |value: &Value, name: &str| {
        value.as_str().map(str::to_owned).ok_or_else(|| Problem::new(format!("the CRD has no `{name}`")))
    };
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    if crd["apiVersion"] != "apiextensions.k8s.io/v1" {
        let version = crd["apiVersion"].as_str().unwrap_or_default();
        let problem = Problem::new(format!("the CRD `{name}` has the version `{version}`"));
        return Err(problem.help(
            "only `apiextensions.k8s.io/v1` has a structural schema: convert the CRD, or read it from a cluster",
        ));
    }
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if versions.is_empty() {
        return Err(Problem::new(format!("the CRD `{name}` has no versions")));
    }
    let (group, names) = (text(&spec["group"], "spec.group")?, &spec["names"]);
    let kind = text(&names["kind"], "spec.names.kind")?;
    let plural = text(&names["plural"], "spec.names.plural")?;
    let versions = versions.iter().map(|version| {
        let label = text(&version["name"], "spec.versions[].name")?;
        let Some(schema) = version["schema"]["openAPIV3Schema"].as_object() else {
            return Err(Problem::new(format!("the version `{label}` of the CRD `{name}` has no schema")));
        };
        Ok(version_types(crd, version, &label, schema))
    });
    Ok(CrdTypes {
        versions: versions.collect::<Result<_, _>>()?,
        short_names: names["shortNames"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        namespaced: spec["scope"] == "Namespaced",
        group,
        kind,
        plural,
    })
}

fn version_types(crd: &Value, version: &Value, label: &str, schema: &SchemaMap) -> VersionTypes {
    let mut findings = Vec::new();
    let kind = crd["spec"]["names"]["kind"].as_str().unwrap_or_default();
    let cleaned = clean(schema, "", &mut findings);
    let empty = Map::new();
    let properties = cleaned.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let others: Vec<&String> = properties
        .keys()
        .filter(|name| !GENERAL.contains(&name.as_str()) && *name != "spec" && *name != "status")
        .collect();
    let has_spec = properties.get("spec").is_some_and(|spec| spec["type"] == "object") && others.is_empty();
    let root = ident::kind_type(kind);
    let mut file = TypesFile::default();
    for name in IMPORTED.iter().copied().chain([kind, &root]) {
        _ = file.type_name(name);
    }
    let spec_name = file.type_name(&format!("{kind}Spec"));
    let status = properties.get("status").and_then(Value::as_object);
    let has_subresource = version["subresources"]["status"].is_object();
    let status_name = match (status, has_subresource) {
        (None, false) => None,
        (None, true) => {
            findings
                .push(finding("status", "the CRD has the subresource, but no property: the types add an empty one"));
            Some(file.type_name(&format!("{kind}Status")))
        }
        (Some(_), has_subresource) => {
            if !has_subresource {
                findings.push(finding(
                    "status",
                    "a status without its subresource is not written: the types add the subresource",
                ));
            }
            Some(file.type_name(&format!("{kind}Status")))
        }
    };
    let attributes = kube_attributes(crd, version, label, &cleaned, &mut findings);
    let mut keys = attributes;
    if root != kind {
        keys.push(format!("root = {root:?}"));
    }
    if !has_spec {
        keys.push("no_spec".to_owned());
    }
    if let Some(status) = &status_name {
        keys.push(format!("status = {status:?}"));
    }
    let attribute = format!("#[kube(\n    {}\n)]\n", keys.join(",\n    "));
    if has_spec {
        let required = list(&cleaned, "required");
        if !required.contains(&"spec") {
            findings.push(finding("spec", "kube requires it, the CRD does not"));
        }
        for name in required.iter().filter(|name| **name != "spec" && !GENERAL.contains(name)) {
            findings.push(finding(name, "the CRD requires it, which kube does not write"));
        }
        let spec = properties["spec"].as_object().cloned().unwrap_or_default();
        let spec = root_part("spec", &spec, &mut findings);
        file.resource(&spec, &spec_name, "CustomResource, ", &attribute);
    } else {
        let mut spec = json!({ "type": "object" });
        let own: Map<String, Value> = properties
            .iter()
            .filter(|(name, _)| !GENERAL.contains(&name.as_str()) && *name != "status")
            .map(|(name, part)| (name.clone(), part.clone()))
            .collect();
        let required: Vec<&str> =
            list(&cleaned, "required").into_iter().filter(|name| own.contains_key(*name)).collect();
        spec["required"] = json!(required);
        spec["properties"] = Value::Object(own);
        let spec = spec.as_object().cloned().unwrap_or_default();
        file.resource(&spec, &spec_name, "CustomResource, ", &attribute);
    }
    let mut has_conditions = false;
    if let Some(name) = &status_name {
        let own = json!({ "type": "object" }).as_object().cloned().unwrap_or_default();
        let status = root_part("status", status.unwrap_or(&own), &mut findings);
        file.resource(&status, name, "", "");
        has_conditions = file.has_conditions;
    }
    VersionTypes {
        name: label.to_owned(),
        storage: version["storage"] == true,
        text: file.text(kind),
        findings,
        has_conditions,
        schema: schema.clone(),
    }
}

/// The schema of spec or status as that of a struct.
fn root_part(name: &str, schema: &SchemaMap, findings: &mut Vec<TypesFinding>) -> SchemaMap {
    if schema.get("type") == Some(&json!("object")) {
        if schema.get("additionalProperties").is_none() {
            return without(schema, if name == "status" { &["nullable"] } else { &[] });
        }
        findings.push(finding(name, "a map in place of a struct is not written"));
    } else {
        findings.push(finding(name, "a type other than `object` is not written"));
    }
    json!({ "type": "object" }).as_object().cloned().unwrap_or_default()
}

/// The entries of `#[kube(…)]`, except the types.
fn kube_attributes(
    crd: &Value,
    version: &Value,
    label: &str,
    schema: &SchemaMap,
    findings: &mut Vec<TypesFinding>,
) -> Vec<String> {
    let has_status = schema.get("properties").is_some_and(|properties| properties.get("status").is_some());
    let (spec, names) = (&crd["spec"], &crd["spec"]["names"]);
    let text = |value: &Value| literal::text(value.as_str().unwrap_or_default());
    let kind = names["kind"].as_str().unwrap_or_default();
    let mut keys = vec![
        format!("group = {}", text(&spec["group"])),
        format!("version = {label:?}"),
        format!("kind = {kind:?}"),
        format!("plural = {}", text(&names["plural"])),
    ];
    if names["singular"].as_str().is_some_and(|singular| singular != kind.to_lowercase()) {
        keys.push(format!("singular = {}", text(&names["singular"])));
    }
    if names["listKind"].as_str().is_some_and(|list| list != format!("{kind}List")) {
        findings.push(finding("", format!("the kind of the list is `{kind}List`")));
    }
    let each = |value: &Value, key: &str| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|entry| format!("{key} = {}", text(entry))).collect()
    };
    keys.extend(each(&names["shortNames"], "shortname"));
    keys.extend(each(&names["categories"], "category"));
    if spec["scope"] == "Namespaced" {
        keys.push("namespaced".to_owned());
    }
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    if description.trim() != description || description.starts_with('#') {
        findings.push(finding(
            "",
            "the description is written without the blanks around it, or not at all if it is a heading",
        ));
    }
    keys.push(format!(
        "doc = {}",
        literal::text(if description.trim().starts_with('#') { "" } else { description.trim() })
    ));
    keys.push("derive = \"PartialEq\"".to_owned());
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("description" | "type" | "properties" | "required", _) => {}
            // kube writes the name of the type.
            ("title", title) if title == kind => {}
            ("x-kubernetes-validations", Value::Array(rules)) => keys.extend(rules.iter().map(validation)),
            (key, _) => findings.push(finding("", format!("`{key}` of the whole object is not written"))),
        }
    }
    let metadata =
        &schema.get("properties").and_then(|properties| properties.get("metadata")).cloned().unwrap_or_default();
    if metadata.as_object().is_some_and(|metadata| metadata.keys().any(|key| key != "type")) {
        findings.push(finding("metadata", "the schema of the metadata is not written"));
    }
    if let Some(Value::String(approved)) = crd["metadata"]["annotations"].get(APPROVED) {
        keys.push(format!("annotation({APPROVED:?}, {})", literal::text(approved)));
    }
    keys.extend(version["additionalPrinterColumns"].as_array().into_iter().flatten().map(column));
    if let Some(scale) = version["subresources"]["scale"].as_object() {
        let mut parts = String::new();
        for (key, name) in [
            ("specReplicasPath", "spec_replicas_path"),
            ("statusReplicasPath", "status_replicas_path"),
            ("labelSelectorPath", "label_selector_path"),
        ] {
            if let Some(path) = scale.get(key) {
                _ = write!(parts, "{}{name} = {}", if parts.is_empty() { "" } else { ", " }, text(path));
            }
        }
        keys.push(format!("scale({parts})"));
        if !version["subresources"]["status"].is_object() && !has_status {
            findings.push(finding("", "kube writes the scale subresource only beside a status"));
        }
    }
    for field in version["selectableFields"].as_array().into_iter().flatten() {
        keys.push(format!("selectable = {}", text(&field["jsonPath"])));
    }
    if version["deprecated"] == true {
        let warning = version["deprecationWarning"].as_str();
        keys.push(
            warning
                .map_or_else(|| "deprecated".to_owned(), |warning| format!("deprecated = {}", literal::text(warning))),
        );
    }
    keys.extend((version["storage"] != true).then(|| "storage = false".to_owned()));
    keys.extend((version["served"] == false).then(|| "served = false".to_owned()));
    keys
}

/// A column of `kubectl get`.
fn column(column: &Value) -> String {
    let text = |key: &str| column[key].as_str().map(literal::text);
    let mut parts = Vec::new();
    for (key, name) in [
        ("name", "name"),
        ("type", "type_"),
        ("jsonPath", "json_path"),
        ("description", "description"),
        ("format", "format"),
    ] {
        parts.extend(text(key).map(|value| format!("{name} = {value}")));
    }
    parts.extend(column["priority"].as_i64().map(|priority| format!("priority = {priority}")));
    format!("printcolumn({})", parts.join(", "))
}

/// A rule in CEL for the whole object.
fn validation(rule: &Value) -> String {
    let text = |key: &str| rule[key].as_str().map(literal::text);
    let mut code = format!("Rule::new({})", text("rule").unwrap_or_default());
    if let Some(message) = text("message") {
        _ = write!(code, ".message({message})");
    }
    if let Some(expression) = text("messageExpression") {
        _ = write!(code, ".message(Message::Expression({expression}.into()))");
    }
    if let Some(reason) = rule["reason"].as_str() {
        _ = write!(code, ".reason(Reason::{reason})");
    }
    if let Some(path) = text("fieldPath") {
        _ = write!(code, ".field_path({path})");
    }
    if let Some(optional) = rule["optionalOldSelf"].as_bool() {
        _ = write!(code, ".optional_old_self({optional})");
    }
    format!("validation = {code}")
}
