//! Webhooks of an operator that is confined to namespaces: the API server asks it about objects in these alone.

use serde_json::{Value, json};

/// The label with the name of its namespace, which the API server keeps on each.
const NAME: &str = "kubernetes.io/metadata.name";

/// Limits the webhooks of configurations to `namespaces`. A selector that a marker has holds beside it.
///
/// The requirement stands first, where the kustomization of a project that is confined to its own namespace replaces it.
pub fn confine(configurations: &mut [Value], namespaces: &[String]) {
    let requirement = json!({ "key": NAME, "operator": "In", "values": namespaces });
    for configuration in configurations {
        for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
            let expressions = &mut webhook["namespaceSelector"]["matchExpressions"];
            match expressions {
                Value::Array(expressions) => expressions.insert(0, requirement.clone()),
                _ => *expressions = json!([requirement]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_of_a_marker_holds_beside_the_namespaces() {
        let ours = json!({ "key": NAME, "operator": "In", "values": ["a", "b"] });
        let theirs = json!({ "key": NAME, "operator": "NotIn", "values": ["a"] });
        for (before, after) in [
            (json!({}), json!({ "namespaceSelector": { "matchExpressions": [ours] } })),
            (
                json!({ "namespaceSelector": { "matchLabels": { "a": "b" } } }),
                json!({ "namespaceSelector": { "matchExpressions": [ours], "matchLabels": { "a": "b" } } }),
            ),
            (
                json!({ "namespaceSelector": { "matchExpressions": [theirs] } }),
                json!({ "namespaceSelector": { "matchExpressions": [ours, theirs] } }),
            ),
        ] {
            let mut configurations = [json!({ "webhooks": [before, before] })];
            confine(&mut configurations, &["a".to_owned(), "b".to_owned()]);
            assert_eq!(configurations, [json!({ "webhooks": [after, after] })]);
        }
    }
}
