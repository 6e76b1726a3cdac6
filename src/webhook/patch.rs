//! The argument `patch` of a marker: a strategic merge patch on a webhook, as controller-gen applies it.
//!
//! Unknown fields and values of a wrong type are errors. Supports the directives `$patch` and
//! `$deleteFromPrimitiveList`; a patch of a webhook can express the others without a directive.

use serde_json::{Map, Value, json};

use super::WebhookKind;

type Object = Map<String, Value>;

enum Field {
    Text,
    /// Serialized even if empty or absent.
    Name,
    Bytes,
    Int,
    Texts,
    /// Any keys.
    Labels,
    Struct(&'static [(&'static str, Field)]),
    Structs(&'static [(&'static str, Field)]),
}

const SELECTOR: Field = Field::Struct(&[
    ("matchExpressions", Field::Structs(&[("key", Field::Name), ("operator", Field::Name), ("values", Field::Texts)])),
    ("matchLabels", Field::Labels),
]);

/// The fields of a webhook; the first is specific to mutating webhooks.
/// <https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/mutating-webhook-configuration-v1/>
const WEBHOOK: &[(&str, Field)] = &[
    ("reinvocationPolicy", Field::Text),
    ("admissionReviewVersions", Field::Texts),
    (
        "clientConfig",
        Field::Struct(&[
            ("caBundle", Field::Bytes),
            (
                "service",
                Field::Struct(&[
                    ("name", Field::Name),
                    ("namespace", Field::Name),
                    ("path", Field::Text),
                    ("port", Field::Int),
                ]),
            ),
            ("url", Field::Text),
        ]),
    ),
    ("failurePolicy", Field::Text),
    ("matchConditions", Field::Structs(&[("expression", Field::Name), ("name", Field::Name)])),
    ("matchPolicy", Field::Text),
    ("name", Field::Name),
    ("namespaceSelector", SELECTOR),
    ("objectSelector", SELECTOR),
    (
        "rules",
        Field::Structs(&[
            ("apiGroups", Field::Texts),
            ("apiVersions", Field::Texts),
            ("operations", Field::Texts),
            ("resources", Field::Texts),
            ("scope", Field::Text),
        ]),
    ),
    ("sideEffects", Field::Text),
    ("timeoutSeconds", Field::Int),
];

/// Patches a webhook. The error is the reason for a rejection.
pub(super) fn apply(webhook: &mut Object, patch: &str, kind: WebhookKind) -> Result<(), String> {
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
fn check(changes: &Object, fields: &'static [(&str, Field)], parent: &str) -> Result<(), String> {
    for (key, value) in changes {
        let path = format!("{parent}{key}");
        match directive(key) {
            Some(Directive::Patch) if value == "delete" || value == "replace" => continue,
            Some(Directive::Patch) => return Err(format!("`{path}` must be `delete` or `replace`, found {value}")),
            Some(Directive::DeleteFrom(list)) => {
                let is_list = matches!(field(fields, list), Some(Field::Texts));
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
            (Field::Text | Field::Name, value) => value.is_string(),
            (Field::Bytes, value) => value.as_str().is_some_and(is_base64),
            (Field::Int, value) => int(value).is_some(),
            (Field::Texts, value) => is_texts(value),
            (Field::Labels, value) => is_labels(value),
            (Field::Struct(fields), Value::Object(inner)) => {
                check(inner, fields, &format!("{path}."))?;
                true
            }
            (Field::Structs(fields), Value::Array(items)) => {
                for (number, item) in items.iter().enumerate() {
                    let Value::Object(item) = item else { return Err(wrong(&path, field, value)) };
                    check(item, fields, &format!("{path}[{number}]."))?;
                }
                true
            }
            (Field::Struct(_) | Field::Structs(_), _) => false,
        };
        if !fits {
            return Err(wrong(&path, field, value));
        }
    }
    Ok(())
}

fn wrong(path: &str, field: &Field, value: &Value) -> String {
    let wanted = match field {
        Field::Text | Field::Name => "a string",
        Field::Bytes => "base64-encoded bytes",
        Field::Int => "a 32-bit integer",
        Field::Texts => "a list of strings",
        Field::Labels => "an object of strings",
        Field::Struct(_) => "an object",
        Field::Structs(_) => "a list of objects",
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

fn field(fields: &'static [(&str, Field)], name: &str) -> Option<&'static Field> {
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
fn merge(original: &mut Object, mut patch: Object, fields: &'static [(&str, Field)]) -> Result<(), String> {
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
            (Some(Value::Object(old)), Some(Field::Struct(fields)), Value::Object(new)) => merge(old, new, fields)?,
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
fn complete(object: &mut Object, fields: &'static [(&str, Field)]) {
    for (name, field) in fields {
        match (field, object.get_mut(*name)) {
            (Field::Name, None | Some(Value::Null)) => {
                object.insert((*name).to_owned(), Value::String(String::new()));
            }
            (Field::Struct(fields), Some(Value::Object(inner))) => complete(inner, fields),
            (Field::Structs(fields), Some(Value::Array(items))) if !items.is_empty() => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(|item| complete(item, fields));
            }
            (Field::Texts | Field::Structs(_), Some(Value::Array(items))) if items.is_empty() => {
                object.remove(*name);
            }
            (Field::Bytes, Some(Value::String(bytes))) if bytes.is_empty() => {
                object.remove(*name);
            }
            (Field::Int, Some(value)) if int(value).is_some() => *value = json!(int(value)),
            (Field::Labels, Some(Value::Object(labels))) => {
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
