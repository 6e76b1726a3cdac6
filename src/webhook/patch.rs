//! The argument `patch` of a marker: a strategic merge patch on a webhook, as controller-gen applies it.
//!
//! Unknown fields and values of a wrong type are errors. Supports the directives `$patch` and
//! `$deleteFromPrimitiveList`; a patch of a webhook can express the others without a directive.

use serde_json::{Map, Value, json};

use super::kind::WebhookKind;

type PatchObject = Map<String, Value>;

enum PatchField {
    Text,
    /// Serialized even if empty or absent.
    Name,
    Bytes,
    Int,
    Texts,
    /// Any keys.
    Labels,
    Struct(&'static [(&'static str, PatchField)]),
    Structs(&'static [(&'static str, PatchField)]),
}

const SELECTOR: PatchField = PatchField::Struct(&[
    (
        "matchExpressions",
        PatchField::Structs(&[
            ("key", PatchField::Name),
            ("operator", PatchField::Name),
            ("values", PatchField::Texts),
        ]),
    ),
    ("matchLabels", PatchField::Labels),
]);

/// The fields of a webhook; the first is specific to mutating webhooks.
/// <https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/mutating-webhook-configuration-v1/>
const WEBHOOK: &[(&str, PatchField)] = &[
    ("reinvocationPolicy", PatchField::Text),
    ("admissionReviewVersions", PatchField::Texts),
    (
        "clientConfig",
        PatchField::Struct(&[
            ("caBundle", PatchField::Bytes),
            (
                "service",
                PatchField::Struct(&[
                    ("name", PatchField::Name),
                    ("namespace", PatchField::Name),
                    ("path", PatchField::Text),
                    ("port", PatchField::Int),
                ]),
            ),
            ("url", PatchField::Text),
        ]),
    ),
    ("failurePolicy", PatchField::Text),
    ("matchConditions", PatchField::Structs(&[("expression", PatchField::Name), ("name", PatchField::Name)])),
    ("matchPolicy", PatchField::Text),
    ("name", PatchField::Name),
    ("namespaceSelector", SELECTOR),
    ("objectSelector", SELECTOR),
    (
        "rules",
        PatchField::Structs(&[
            ("apiGroups", PatchField::Texts),
            ("apiVersions", PatchField::Texts),
            ("operations", PatchField::Texts),
            ("resources", PatchField::Texts),
            ("scope", PatchField::Text),
        ]),
    ),
    ("sideEffects", PatchField::Text),
    ("timeoutSeconds", PatchField::Int),
];

/// Patches a webhook. The error is the reason for a rejection.
pub(super) fn apply(webhook: &mut PatchObject, patch: &str, kind: WebhookKind) -> Result<(), String> {
    let patch: strict::Strict = serde_json::from_str(patch).map_err(|error| error.to_string())?;
    let Value::Object(patch) = patch.0 else { return Err("expected a JSON object".to_owned()) };
    let fields = if kind == WebhookKind::Mutating { WEBHOOK } else { &WEBHOOK[1..] };
    check(&patch, fields, "")?;
    merge(webhook, patch, fields)?;
    webhook.entry("clientConfig").or_insert_with(|| json!({}));
    complete(webhook, fields);
    Ok(())
}

/// Checks that the patch has known fields and values of their types.
fn check(changes: &PatchObject, fields: &'static [(&str, PatchField)], parent: &str) -> Result<(), String> {
    for (key, value) in changes {
        let path = format!("{parent}{key}");
        match directive(key) {
            Some(Directive::Patch) if value == "delete" || value == "replace" => continue,
            Some(Directive::Patch) => return Err(format!("`{path}` must be `delete` or `replace`, found {value}")),
            Some(Directive::DeleteFrom(list)) => {
                let is_list = matches!(field(fields, list), Some(PatchField::Texts));
                if !is_list || !is_texts(value) {
                    return Err(format!("`{path}` must be a list of strings"));
                }
                continue;
            }
            Some(Directive::Unknown) => return Err(format!("directive `{path}` is not supported")),
            None => {}
        }
        let Some(field) = field(fields, key) else {
            return Err(match fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)) {
                Some((name, _)) => format!("unknown field \"{path}\": did you mean \"{name}\"?"),
                None => format!("unknown field \"{path}\""),
            });
        };
        let fits = match (field, value) {
            (_, Value::Null) => true,
            (PatchField::Text | PatchField::Name, value) => value.is_string(),
            (PatchField::Bytes, value) => value.as_str().is_some_and(is_base64),
            (PatchField::Int, value) => int(value).is_some(),
            (PatchField::Texts, value) => is_texts(value),
            (PatchField::Labels, value) => is_labels(value),
            (PatchField::Struct(fields), Value::Object(inner)) => {
                check(inner, fields, &format!("{path}."))?;
                true
            }
            (PatchField::Structs(fields), Value::Array(items)) => {
                for (number, item) in items.iter().enumerate() {
                    let Value::Object(item) = item else { return Err(wrong(&path, field, value)) };
                    check(item, fields, &format!("{path}[{number}]."))?;
                }
                true
            }
            (PatchField::Struct(_) | PatchField::Structs(_), _) => false,
        };
        if !fits {
            return Err(wrong(&path, field, value));
        }
    }
    Ok(())
}

fn wrong(path: &str, field: &PatchField, value: &Value) -> String {
    let wanted = match field {
        PatchField::Text | PatchField::Name => "a string",
        PatchField::Bytes => "base64-encoded bytes",
        PatchField::Int => "a 32-bit integer",
        PatchField::Texts => "a list of strings",
        PatchField::Labels => "an object of strings",
        PatchField::Struct(_) => "an object",
        PatchField::Structs(_) => "a list of objects",
    };
    format!("field \"{path}\" must be {wanted}, found {value}")
}

fn is_labels(value: &Value) -> bool {
    let is_label = |(key, value): (&String, &Value)| {
        value.is_string() || value.is_null() || matches!(directive(key), Some(Directive::Patch))
    };
    value.as_object().is_some_and(|labels| labels.iter().all(is_label))
}

enum Directive<'a> {
    Patch,
    DeleteFrom(&'a str),
    Unknown,
}

fn directive(key: &str) -> Option<Directive<'_>> {
    let name = key.strip_prefix('$')?;
    Some(match name.split_once('/') {
        None if name == "patch" => Directive::Patch,
        Some(("deleteFromPrimitiveList", list)) => Directive::DeleteFrom(list),
        _ => Directive::Unknown,
    })
}

fn field(fields: &'static [(&str, PatchField)], name: &str) -> Option<&'static PatchField> {
    fields.iter().find(|(known, _)| *known == name).map(|(_, field)| field)
}

/// An integer; JSON may write it as `1.0` or `1e1`.
fn int(value: &Value) -> Option<i32> {
    let whole = value.as_f64().filter(|float| float.fract() == 0.0)?;
    // Formats all digits of such a number.
    format!("{whole}").parse().ok()
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Merges objects key by key. Replaces lists, except for match conditions, which a marker cannot set.
fn merge(
    original: &mut PatchObject,
    mut patch: PatchObject,
    fields: &'static [(&str, PatchField)],
) -> Result<(), String> {
    match patch.remove("$patch").as_ref().and_then(Value::as_str) {
        Some("delete") => {
            original.clear();
            return Ok(());
        }
        Some(_) => {
            *original = patch;
            return Ok(());
        }
        None => {}
    }
    for (key, value) in patch {
        if let Some(Directive::DeleteFrom(list)) = directive(&key) {
            if let (Some(Value::Array(items)), Some(gone)) = (original.get_mut(list), value.as_array()) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        let field = field(fields, &key);
        match (original.get_mut(&key), field, value) {
            (_, _, Value::Null) => {
                original.remove(&key);
            }
            (Some(Value::Object(old)), Some(PatchField::Struct(fields)), Value::Object(new)) => {
                merge(old, new, fields)?;
            }
            (Some(Value::Array(_)), _, value) => {
                original.insert(key, value);
            }
            (_, _, mut value) => {
                original.remove(&key);
                if without_directives(&mut value) {
                    original.insert(key, value);
                }
            }
        }
    }
    Ok(())
}

/// Removes nulls and directives from a new value. Returns false if nothing is left.
fn without_directives(value: &mut Value) -> bool {
    match value {
        Value::Object(object) => {
            if object.remove("$patch").is_some_and(|directive| directive == "delete") {
                return false;
            }
            object.retain(|key, value| !key.starts_with('$') && !value.is_null() && without_directives(value));
        }
        Value::Array(items) => items.retain_mut(without_directives),
        _ => {}
    }
    true
}

/// Applies Go's serialization: required texts are present, empty lists and label maps are absent.
fn complete(object: &mut PatchObject, fields: &'static [(&str, PatchField)]) {
    for (name, field) in fields {
        match (field, object.get_mut(*name)) {
            (PatchField::Name, None | Some(Value::Null)) => {
                object.insert((*name).to_owned(), Value::String(String::new()));
            }
            (PatchField::Struct(fields), Some(Value::Object(inner))) => complete(inner, fields),
            (PatchField::Structs(fields), Some(Value::Array(items))) if !items.is_empty() => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(|item| complete(item, fields));
            }
            (PatchField::Texts | PatchField::Structs(_), Some(Value::Array(items))) if items.is_empty() => {
                object.remove(*name);
            }
            (PatchField::Bytes, Some(Value::String(bytes))) if bytes.is_empty() => {
                object.remove(*name);
            }
            (PatchField::Int, Some(value)) if int(value).is_some() => *value = json!(int(value)),
            (PatchField::Labels, Some(Value::Object(labels))) => {
                labels.retain(|_, value| !value.is_null());
                if labels.is_empty() {
                    object.remove(*name);
                }
            }
            (_, Some(Value::Null)) => {
                object.remove(*name);
            }
            _ => {}
        }
    }
}

/// JSON without duplicate keys.
mod strict {
    use std::fmt;

    use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
    use serde_json::{Map, Value};

    pub(super) struct Strict(pub(super) Value);

    impl<'de> Deserialize<'de> for Strict {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(Any).map(Self)
        }
    }

    struct Any;

    impl<'de> Visitor<'de> for Any {
        type Value = Value;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("JSON")
        }

        fn visit_unit<E>(self) -> Result<Value, E> {
            Ok(Value::Null)
        }

        fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_str<E>(self, value: &str) -> Result<Value, E> {
            Ok(value.into())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
            let mut all = Vec::new();
            while let Some(Strict(item)) = items.next_element()? {
                all.push(item);
            }
            Ok(all.into())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
            let mut all = Map::new();
            while let Some((key, Strict(value))) = entries.next_entry::<String, _>()? {
                if all.contains_key(&key) {
                    return Err(A::Error::custom(format!("duplicate field {key:?}")));
                }
                all.insert(key, value);
            }
            Ok(all.into())
        }
    }
}
