//! Restricts the webhooks of a namespaced operator: the API server calls them only for objects in its namespaces.

use serde_json::{Value, json};

/// The label with a namespace's name, which the API server maintains.
const NAME: &str = "kubernetes.io/metadata.name";

/// Limits the webhooks of configurations to `namespaces`. The selector of a marker stays in effect.
///
/// The requirement comes first, because the kustomization of a project restricted to its own namespace replaces it
/// there.
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
