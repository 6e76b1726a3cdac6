//! JSON patch, merge patch and strategic merge patch.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, ReplaceOperation, TestOperation};
use serde_json::{Value, json};

use crate::response::Refusal;
use crate::schema::Node;

mod strategic;

/// Applies a patch of this media type to an object.
pub(crate) fn apply(schema: &Node, content_type: &str, object: &Value, patch: &Value) -> Result<Value, Refusal> {
    let mut patched = object.clone();
    match content_type {
        "application/json-patch+json" => {
            let patch: json_patch::Patch = serde_json::from_value(patch.clone())
                .map_err(|_| Refusal::unsupported("the error for an invalid JSON patch"))?;
            for operation in patch.0 {
                let operation = match operation {
                    // A missing field equals null, as the finalizers of kube-runtime expect.
                    PatchOperation::Test(TestOperation { path, value: Value::Null })
                        if is_missing_field(&patched, &path) =>
                    {
                        continue;
                    }
                    // kube-apiserver adds a field that `replace` does not find.
                    PatchOperation::Replace(ReplaceOperation { path, value }) if is_missing_field(&patched, &path) => {
                        PatchOperation::Add(AddOperation { path, value })
                    }
                    operation => operation,
                };
                json_patch::patch(&mut patched, &[operation]).map_err(|_| {
                    let message = "the server rejected our request due to an error in our request";
                    Refusal::new(422, "Invalid", message, json!({}))
                })?;
            }
        }
        "application/merge-patch+json" => {
            if !patch.is_object() {
                return Err(Refusal::unsupported("the error for an invalid merge patch"));
            }
            json_patch::merge(&mut patched, patch);
        }
        "application/strategic-merge-patch+json" => {
            let Some(patch) = patch.as_object() else {
                return Err(Refusal::unsupported("the error for an invalid strategic merge patch"));
            };
            patched = strategic::merge(schema, object, patch)?;
        }
        _ => return Err(Refusal::unsupported(&format!("patches of the type {content_type}"))),
    }
    Ok(patched)
}

/// Returns true if an object has the parent of the path, but not the field itself.
fn is_missing_field(object: &Value, path: &PointerBuf) -> bool {
    let parent = path.parent().and_then(|parent| object.pointer(parent.as_str()));
    parent.is_some_and(Value::is_object) && object.pointer(path.as_str()).is_none()
}

/// Returns true for a patch that is not an apply.
pub(crate) fn is_media_type(content_type: &str) -> bool {
    let known =
        ["application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"];
    known.contains(&content_type)
}
