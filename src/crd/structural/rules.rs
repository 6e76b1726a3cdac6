//! `x-kubernetes-validations`: checks of rules that need no CEL compiler.

use serde_json::{Map, Value};

use super::{Context, StructuralCheck, field_path};
use crate::crd::walk::SchemaPath;
use crate::diagnostic::Code;

const REASONS: [&str; 4] = ["FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"];

impl StructuralCheck<'_> {
    pub(super) fn rules(&mut self, schema: &Map<String, Value>, path: &SchemaPath, context: Context) {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
        for rule in rules.into_iter().flatten().filter_map(Value::as_object) {
            let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
            let expression = text("rule");
            for (what, help) in wrong(rule) {
                self.say(Code::ValidationRule, path, &what, help);
            }
            let uses_old = mentions(expression, "oldSelf");
            if uses_old && !context.correlated {
                let what =
                    format!("the rule `{expression}` uses `oldSelf` inside a list whose items have no old value");
                let help = "move the rule to the struct around the list, or give the items keys: `ListMerge::Map(…)`";
                self.say(Code::ValidationRule, path, &what, help);
            }
            if !uses_old && rule.get("optionalOldSelf").is_some_and(|optional| !optional.is_null()) {
                let what = format!("the rule `{expression}` sets `optionalOldSelf` but does not use `oldSelf`");
                self.say(Code::ValidationRule, path, &what, "remove `optional_old_self`, or compare with `oldSelf`");
            }
            let field = text("fieldPath");
            if !field.is_empty()
                && let Err(why) = field_path::follow(schema, field, true)
            {
                let what = format!("the `fieldPath` `{field}` of a rule does not exist: {why}");
                self.say(
                    Code::ValidationRule,
                    path,
                    &what,
                    "write the path from the rule to the field: `.ports['http']`",
                );
            }
        }
    }
}

/// Problems with the texts of a rule, and their help.
fn wrong(rule: &Map<String, Value>) -> Vec<(String, &'static str)> {
    let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
    let expression = text("rule").trim();
    let mut wrong = Vec::new();
    if expression.is_empty() {
        wrong.push(("a rule is empty".to_owned(), "write a CEL expression, or remove the rule"));
    }
    for key in ["message", "messageExpression", "fieldPath"] {
        if !text(key).is_empty() && text(key).trim().is_empty() {
            wrong.push((format!("the `{key}` of the rule `{expression}` is empty"), "set it, or remove it"));
        }
    }
    let breaks = |text: &str| text.contains(['\n', '\r']);
    if breaks(text("message").trim()) || breaks(text("fieldPath")) {
        wrong.push((format!("the message of the rule `{expression}` contains a line break"), "write it on one line"));
    }
    if breaks(expression) && text("message").trim().is_empty() {
        wrong.push((
            "a multi-line rule has no message".to_owned(),
            "add `.message(\"…\")`, or write the rule on one line",
        ));
    }
    if let Some(reason) = rule.get("reason").and_then(Value::as_str).filter(|reason| !REASONS.contains(reason)) {
        wrong.push((format!("`{reason}` is not a valid reason for a rule"), "use one of `kube::core::Reason`"));
    }
    wrong
}

/// Returns true if a CEL expression contains an identifier, outside of its string literals.
fn mentions(expression: &str, name: &str) -> bool {
    let mut letters = expression.chars().peekable();
    let mut word = String::new();
    while let Some(letter) = letters.next() {
        if letter == '_' || letter.is_ascii_alphanumeric() {
            word.push(letter);
            continue;
        }
        if word == name {
            return true;
        }
        word.clear();
        if letter == '"' || letter == '\'' {
            while let Some(inside) = letters.next() {
                match inside {
                    '\\' => drop(letters.next()),
                    end if end == letter => break,
                    _ => {}
                }
            }
        }
    }
    word == name
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn identifiers_are_no_texts_and_no_parts_of_words() {
        for (expression, expected) in [
            ("self == oldSelf", true),
            ("oldSelf.a == self.a", true),
            ("self != 'oldSelf'", false),
            (r#"self != "a\"oldSelf" && self.x"#, false),
            ("self.myoldSelf", false),
            ("has(oldSelf)", true),
        ] {
            assert_eq!(mentions(expression, "oldSelf"), expected, "{expression}");
        }
    }
}
