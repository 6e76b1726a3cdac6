//! CRD → Rust types → `generate crds` → CRD: each difference must have a finding that names its path.

use std::collections::BTreeSet;
use std::path::Path;

use memcached_sdk::types::{CrdTypes, of_crd};
use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::sandbox::Sandbox;

const MANIFEST: &str = "[package]\nname = \"types\"\nedition = \"2024\"\n\n[dependencies]\n\
    kube = { version = \"5\", default-features = false, features = [\"derive\"] }\n\
    k8s-openapi = { version = \"0.29\", features = [\"v1_36\", \"schemars\"] }\nschemars = \"1\"\n\
    serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n";

/// The results of several CRDs.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) equal: usize,
    /// Every difference has a finding.
    pub(crate) named: usize,
    /// The static engine refuses the CRD, as the API server does.
    pub(crate) refused: usize,
    pub(crate) properties: usize,
    pub(crate) findings: usize,
    pub(crate) wrong: Vec<String>,
}

#[test]
fn types_of_the_goldens_give_their_crds() {
    let figures = figures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    assert!(figures.wrong.is_empty(), "{}", figures.wrong.join("\n"));
    assert!(figures.equal > 150, "{} equal, {} refused", figures.equal, figures.refused);
}

/// The results of all CRDs in YAML files of a folder.
pub(crate) fn figures(folder: &Path) -> Figures {
    let mut figures = Figures::default();
    for entry in WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap) {
        let path = entry.path();
        let is_older = ["kube-2", "kube-3", "kube-4"].iter().any(|name| path.display().to_string().contains(name));
        if path.extension().is_none_or(|extension| extension != "yaml") || is_older {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        // Fixtures have a heading above each document.
        let parts = text.replace("\n# ", "\n---\n# ");
        let Ok(documents) = serde_yaml::from_multiple::<Value>(&parts) else { continue };
        let mut crds = Vec::new();
        for crd in documents.into_iter().filter(|document| document["kind"] == "CustomResourceDefinition") {
            let text = serde_json::to_string(&crd).unwrap();
            // Property values that a golden file abbreviates are not schemas.
            if !text.contains(" bytes, ") {
                crds.extend(of_crd("crd.yaml", &text, None).map(|types| (crd, types)));
            }
        }
        let file = path.display().to_string();
        // One error is enough to write nothing, so then each is judged alone.
        if judge(&file, &crds, &mut figures).is_err() {
            for crd in crds.chunks(1) {
                if let Err(message) = judge(&file, crd, &mut figures) {
                    figures.refuse(&file, &crd[0].1.kind, &message);
                }
            }
        }
    }
    figures
}

/// Compares CRDs with those of their types. The error is the output if there are none.
fn judge(file: &str, crds: &[(Value, CrdTypes)], figures: &mut Figures) -> Result<(), String> {
    if crds.is_empty() {
        return Ok(());
    }
    let sandbox = Sandbox::new();
    sandbox.file("Cargo.toml", MANIFEST).lock();
    let mut modules = String::new();
    for (at, (_, types)) in crds.iter().enumerate() {
        for version in &types.versions {
            let module = format!("of{at}_{}", version.name);
            sandbox.file(&format!("src/{module}.rs"), &version.text);
            modules.push_str(&format!("pub mod {module};\n"));
        }
    }
    sandbox.file("src/lib.rs", &modules);
    let run = sandbox.run("generate crds --engine static --output-dir out");
    let files = sandbox.files();
    let written: Vec<&String> =
        files.iter().filter(|(path, _)| path.starts_with("out/")).map(|(_, text)| text).collect();
    if written.is_empty() {
        return Err(run.err());
    }
    let written: Vec<Value> = written.into_iter().map(|text| serde_yaml::from_str(text).unwrap()).collect();
    for (crd, types) in crds {
        let name = |crd: &Value| (crd["spec"]["group"].clone(), crd["spec"]["names"]["kind"].clone());
        match written.iter().find(|other| name(other) == name(crd)) {
            Some(generated) => figures.compare(file, crd, types, generated),
            None => figures.wrong.push(format!("{file}: {} is not generated", types.kind)),
        }
    }
    Ok(())
}

impl Figures {
    /// Counts a CRD that is not generated. Errors about the CRD itself, and not about the code, are those of the API server.
    fn refuse(&mut self, file: &str, kind: &str, message: &str) {
        let codes = [
            "array-items",
            "invalid-",
            "missing-type",
            "recursive-type",
            "selectable-field",
            "storage-version",
            "validation-rule",
            "not-structural",
        ];
        if codes.iter().any(|code| message.contains(&format!("error[{code}"))) {
            self.refused += 1;
        } else {
            self.wrong.push(format!("{file}: {kind} is not generated: {message}"));
        }
    }

    fn compare(&mut self, file: &str, crd: &Value, types: &CrdTypes, generated: &Value) {
        let figures = self;
        figures.findings += types.versions.iter().map(|version| version.findings.len()).sum::<usize>();
        let mut differences = Vec::new();
        for (own, version) in crd["spec"]["versions"].as_array().unwrap().iter().zip(&types.versions) {
            let all = generated["spec"]["versions"].as_array().unwrap();
            let other = all.iter().find(|other| other["name"] == own["name"]).unwrap();
            let mut found = Vec::new();
            difference(&root(own), &root(other), "", &mut found);
            figures.properties += own["schema"].to_string().matches("\"type\":").count();
            let named: BTreeSet<&str> = version.findings.iter().map(|finding| finding.path.as_str()).collect();
            let is_named = |path: &str| named.contains(path);
            differences
                .extend(found.iter().filter(|path| !is_named(path)).map(|path| format!("{}: {path}", version.name)));
            if !named.is_empty() && found.iter().any(|path| is_named(path)) {
                figures.named += 1;
            }
            for key in [
                "additionalPrinterColumns",
                "subresources",
                "selectableFields",
                "served",
                "storage",
                "deprecationWarning",
            ] {
                let value = |version: &Value| version.get(key).filter(|value| **value != json!({})).cloned();
                if value(own) != value(other) && !named.contains("status") {
                    differences.push(format!("{}: {key}", version.name));
                }
            }
        }
        for key in ["scope", "group"] {
            if crd["spec"][key] != generated["spec"][key] {
                differences.push(key.to_owned());
            }
        }
        for key in ["kind", "plural", "shortNames", "categories"] {
            let value = |crd: &Value| crd["spec"]["names"].get(key).filter(|value| **value != json!([])).cloned();
            if value(crd) != value(generated) {
                differences.push(format!("names.{key}"));
            }
        }
        if differences.is_empty() {
            figures.equal += 1;
        } else {
            figures.wrong.push(format!("{file}: {} differs in {}", types.kind, differences.join(", ")));
        }
    }
}

/// The schema of a version without what kube and the API server add to each.
fn root(version: &Value) -> Value {
    let mut schema = version["schema"]["openAPIV3Schema"].clone();
    let object = schema.as_object_mut().unwrap();
    object.remove("title");
    object.entry("type").or_insert("object".into());
    for name in ["apiVersion", "kind", "metadata"] {
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.retain(|other| other != name);
        }
        object.get_mut("properties").and_then(Value::as_object_mut).map(|properties| properties.remove(name));
    }
    if let Some(Value::Object(status)) =
        object.get_mut("properties").and_then(|properties| properties.get_mut("status"))
    {
        status.remove("nullable");
    }
    normal(&schema)
}

/// The schema without keywords that are equal to their absence.
fn normal(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let either = json!([{ "type": "integer" }, { "type": "string" }]);
    let kept = map.iter().filter(|(key, value)| match key.as_str() {
        "nullable" | "uniqueItems" => **value != json!(false),
        "required" => **value != json!([]),
        "properties" => **value != json!({}),
        "anyOf" => map.get("x-kubernetes-int-or-string").is_none() || **value != either,
        _ => true,
    });
    let each = |value: &Value| match value {
        Value::Object(parts) => Value::Object(parts.iter().map(|(name, part)| (name.clone(), normal(part))).collect()),
        other => other.clone(),
    };
    let parts = kept.map(|(key, value)| {
        let value = match (key.as_str(), value) {
            ("properties", parts) => each(parts),
            ("items" | "additionalProperties" | "not", part) => normal(part),
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => all.iter().map(normal).collect(),
            ("required", Value::Array(names)) => {
                let names: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
                json!(names)
            }
            (_, other) => other.clone(),
        };
        (key.clone(), value)
    });
    Value::Object(parts.collect())
}

/// Adds the property path of each difference.
fn difference(own: &Value, other: &Value, path: &str, found: &mut Vec<String>) {
    let (Value::Object(a), Value::Object(b)) = (own, other) else {
        let number = |value: &Value| value.as_f64();
        if own != other && (number(own).is_none() || number(own) != number(other)) {
            found.push(path.to_owned());
        }
        return;
    };
    for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        match (key.as_str(), a.get(key), b.get(key)) {
            ("properties", Some(Value::Object(a)), Some(Value::Object(b))) => {
                for name in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    match (a.get(name), b.get(name)) {
                        (Some(a), Some(b)) => difference(a, b, &path, found),
                        _ => found.push(path),
                    }
                }
            }
            ("items", Some(a), Some(b)) => difference(a, b, &format!("{path}[]"), found),
            ("additionalProperties", Some(a), Some(b)) => difference(a, b, &format!("{path}.*"), found),
            // The list of required properties at the root names spec or status.
            ("required", a, b) if path.is_empty() && a != b => found.push("spec".to_owned()),
            (_, Some(a), Some(b)) => difference(a, b, path, found),
            _ => found.push(path.to_owned()),
        }
    }
}
