//! Histories: sequences of changes of a spec.

use std::sync::Arc;

use serde_json::Value;

use crate::exploration::{SpecSchema, changes};
use crate::schema::{Node, Shape};

/// Operations that are combined to triples. Pairs use all of them.
const TRIPLES: usize = 8;

impl SpecSchema for Arc<Node> {
    fn rules(&self) -> &Value {
        &self.rules
    }

    fn properties(&self) -> Vec<(&String, &Self)> {
        match &self.shape {
            Shape::Object { properties, .. } => properties.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// Changes of the spec of an object that the schema of its version permits.
pub(super) fn spec_changes(schema: &Arc<Node>, object: &Value) -> Vec<Value> {
    let spec = schema.properties().into_iter().find(|(name, _)| *name == "spec");
    spec.map(|(_, spec)| changes(spec, &object["spec"])).unwrap_or_default()
}

/// Sequences of operations: all single ones, all pairs, and the triples of the first ones.
pub(super) fn sequences(operations: &[Value]) -> Vec<Vec<Value>> {
    let mut all: Vec<Vec<Value>> = operations.iter().map(|one| vec![one.clone()]).collect();
    for first in operations {
        all.extend(
            operations.iter().filter(|second| *second != first).map(|second| vec![first.clone(), second.clone()]),
        );
    }
    let few = &operations[..operations.len().min(TRIPLES)];
    for first in few {
        for second in few.iter().filter(|second| *second != first) {
            let thirds = few.iter().filter(|third| *third != second);
            all.extend(thirds.map(|third| vec![first.clone(), second.clone(), third.clone()]));
        }
    }
    all
}
