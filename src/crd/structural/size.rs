//! Checks that a CRD fits client-side apply.

use serde_json::Value;

use crate::crd::Crd;
use crate::crd::walk::{SchemaPath, SchemaStep};
use crate::diagnostic::{Code, Diagnostic};

/// The limit for all annotations of an object together, in bytes. `kubectl apply` stores the last applied object in
/// one.
const APPLY_LIMIT: usize = 262_144;

pub(super) fn check(crd: &Crd) -> Option<Diagnostic> {
    let size = crd.value.to_string().len();
    if size <= APPLY_LIMIT {
        return None;
    }
    let mut parts = Vec::new();
    for (version, value) in crd.versions() {
        if let Some(schema) = value.pointer("/schema/openAPIV3Schema") {
            subtrees(schema, version, SchemaPath::default(), &mut parts);
        }
    }
    parts.sort_by(|one, other| {
        other.size.cmp(&one.size).then_with(|| (one.version, &one.path).cmp(&(other.version, &other.path)))
    });
    let biggest: Vec<String> =
        parts.iter().take(3).map(|SchemaPart { size, version, path }| format!("`{version}.{path}` {size}")).collect();
    let message = format!(
        "`{}` has {size} bytes as JSON, and `kubectl apply` keeps at most {APPLY_LIMIT} in an annotation; the biggest parts: {}",
        crd.file_name,
        biggest.join(", ")
    );
    let place = parts.first().and_then(|part| crd.place(part.version, &part.path)).or(crd.origin());
    Some(
        Diagnostic::new(Code::CrdSize, message)
            .at(place.cloned())
            .help("apply it with `--server-side`, or leave descriptions out with `--max-desc-len 0`"),
    )
}

struct SchemaPart<'a> {
    size: usize,
    version: &'a str,
    path: SchemaPath,
}

/// Splits a schema into parts, recursively while one exceeds half of the limit.
fn subtrees<'a>(schema: &Value, version: &'a str, path: SchemaPath, out: &mut Vec<SchemaPart<'a>>) {
    let size = schema.to_string().len();
    let mut inner: Vec<(&Value, SchemaPath)> = Vec::new();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        inner.push((field, path.field(name)));
    }
    inner.extend(schema.get("items").map(|items| (items, path.then(SchemaStep::Items))));
    inner.extend(schema.get("additionalProperties").map(|values| (values, path.then(SchemaStep::Values))));
    if size * 2 <= APPLY_LIMIT || inner.is_empty() {
        return out.push(SchemaPart { size, version, path });
    }
    for (schema, path) in inner {
        subtrees(schema, version, path, out);
    }
}
