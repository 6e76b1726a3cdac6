//! JSON and texts as Rust source.

use serde_json::Value;

/// A string literal; raw if that has fewer escapes.
pub(super) fn text(text: &str) -> String {
    let is_plain = |c: char| c == '\\' || c == '"' || !(c.is_control() || c.escape_debug().len() > 1);
    if !text.contains(['\\', '"']) || !text.chars().all(is_plain) {
        return format!("{text:?}");
    }
    let mut hashes = String::new();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"{text}\"{hashes}")
}

/// A value in the syntax of `json!`.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", ")),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", text(key), json(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        // A literal without a suffix is an `i32`.
        Value::Number(number) if number.as_i64().is_some_and(|number| i32::try_from(number).is_err()) => {
            format!("{number}_i64")
        }
        other => other.to_string(),
    }
}

/// The lines of a doc comment, and true if schemars reads the same text from them.
pub(super) fn docs(description: &str) -> (Vec<String>, bool) {
    let is_same = description.trim() == description
        && !description.starts_with('#')
        && !description.contains('\r')
        && description.split('\n').all(|line| line.trim_end() == line);
    if description.trim_start().starts_with('#') {
        return (Vec::new(), false);
    }
    let lines = description.trim().lines().map(|line| match line.trim_end() {
        "" => "///".to_owned(),
        line => format!("/// {line}"),
    });
    (lines.collect(), is_same)
}
