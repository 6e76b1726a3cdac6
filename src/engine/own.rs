//! The project's own crdgen: a binary that prints its CRDs as YAML documents or JSON.

use serde_json::Value;

use super::cargo::Cargo;
use super::kinds::CompiledType;
use crate::crd::{CrdDefinition, Declaration};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::FeatureSelection;

/// Runs `crdgen`, a binary with arguments. Returns the printed versions. A missing one of `kinds` is an error.
pub(super) fn ask(
    cargo: &Cargo<'_>,
    crdgen: &[String],
    features: &FeatureSelection,
    kinds: &[CompiledType],
) -> Result<(Vec<CrdDefinition>, Diagnostics), Diagnostic> {
    let Some((binary, arguments)) = crdgen.split_first() else { return Ok(Default::default()) };
    let output = cargo.run_own(binary, arguments, features)?;
    let crds = crds(&output).map_err(|error| {
        Diagnostic::new(Code::CompileFailed, format!("the output of `{binary}` is neither YAML nor JSON: {error}"))
            .help("print CRDs to stdout, and everything else to stderr")
    })?;
    let mut definitions: Vec<CrdDefinition> =
        crds.into_iter().flat_map(|crd| CrdDefinition::split(crd, None)).collect();
    for definition in &mut definitions {
        let (group, name, version) = definition.key();
        let known = kinds.iter().filter(|kind| kind.key.as_ref().is_some_and(|key| key[0] == group && key[2] == name));
        let same = known.clone().find(|kind| kind.key.as_ref().is_some_and(|key| key[1] == version));
        let other = || known.clone().next().map(|kind| Declaration::at(kind.origin()));
        definition.declared = same.map(|kind| kind.declared.clone()).or_else(other);
    }
    let is_printed = |[group, version, kind]: &[String; 3]| {
        definitions.iter().any(|definition| definition.key() == (group.as_str(), kind.as_str(), version.as_str()))
    };
    let mut found = Diagnostics::default();
    for kind in kinds {
        if let Some(key) = kind.key.as_ref().filter(|key| !is_printed(key)) {
            let [group, version, name] = key;
            let message = format!("`{binary}` does not print the CRD of `{name}`, version `{version}` of `{group}`");
            let help = "print every CRD, or remove `crdgen` from `[package.metadata.memcached-sdk]`";
            let missing = Diagnostic::new(Code::MissingCrd, message).at(kind.origin()).help(help);
            found.push(missing.about(kind.resource()));
        }
    }
    Ok((definitions, found))
}

fn crds(text: &str) -> Result<Vec<Value>, String> {
    let documents: Vec<Value> = match serde_json::Deserializer::from_str(text).into_iter().collect() {
        Ok(documents) => documents,
        Err(_) => serde_yaml::from_multiple(text).map_err(|error| error.to_string())?,
    };
    let mut crds = Vec::new();
    collect(Value::Array(documents), &mut crds);
    Ok(crds)
}

fn collect(value: Value, crds: &mut Vec<Value>) {
    match value {
        Value::Array(values) => values.into_iter().for_each(|value| collect(value, crds)),
        Value::Object(mut object) => match object.get("kind").and_then(Value::as_str) {
            Some("CustomResourceDefinition") => crds.push(Value::Object(object)),
            Some(kind) if kind.ends_with("List") => collect(object.remove("items").unwrap_or_default(), crds),
            _ => {}
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn crds_are_found_in_every_usual_form() {
        let crd = |name: &str| json!({ "kind": "CustomResourceDefinition", "metadata": { "name": name } });
        let yaml = |name: &str| format!("kind: CustomResourceDefinition\nmetadata:\n  name: {name}\n");
        for (text, expected) in [
            (yaml("a"), vec![crd("a")]),
            (format!("---\n{}---\nkind: Role\n---\n{}", yaml("a"), yaml("b")), vec![crd("a"), crd("b")]),
            (crd("a").to_string() + "\n" + &crd("b").to_string(), vec![crd("a"), crd("b")]),
            (json!([crd("a"), [crd("b")], 1]).to_string(), vec![crd("a"), crd("b")]),
            (json!({ "kind": "List", "items": [crd("a")] }).to_string(), vec![crd("a")]),
            (String::new(), vec![]),
        ] {
            assert_eq!(crds(&text), Ok(expected), "{text}");
        }
        assert!(crds("a: [").is_err());
    }
}
