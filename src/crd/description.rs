//! Truncates descriptions in a CRD, by the rules of controller-gen's `maxDescLen`.

use serde_json::Value;

use super::walk;

/// Truncates the descriptions in all schemas of a CRD to `limit` bytes; 0 removes them.
///
/// A long description ends after the last whole sentence within the limit, or else at a blank with `...`, which does
/// not count.
pub fn limit(crd: &mut Value, limit: usize) {
    walk::edit(crd, &mut |_, _, schema| match schema.get_mut("description") {
        Some(_) if limit == 0 => {
            schema.remove("description");
        }
        Some(Value::String(text)) if text.len() > limit => *text = cut(text, limit),
        _ => {}
    });
}

fn cut(text: &str, limit: usize) -> String {
    let head = &text[..text.floor_char_boundary(limit)];
    if let Some((at, end)) = head.char_indices().rfind(|(at, letter)| *at > 0 && ends_sentence(*letter)) {
        return head[..at + end.len_utf8()].to_owned();
    }
    let blank = head.char_indices().rfind(|(at, letter)| *at > 0 && letter.is_whitespace());
    format!("{}...", blank.map_or(head, |(at, _)| &head[..at]))
}

/// Unicode's property `Sentence_Terminal`, for scripts in everyday use.
fn ends_sentence(letter: char) -> bool {
    matches!(
        letter,
        '.' | '!' | '?' | '\u{589}' | '\u{61d}'..='\u{61f}' | '\u{6d4}' | '\u{964}' | '\u{965}' | '\u{104a}' | '\u{104b}'
            | '\u{1362}' | '\u{1367}' | '\u{1368}' | '\u{203c}' | '\u{203d}' | '\u{2047}'..='\u{2049}' | '\u{2e2e}'
            | '\u{2e3c}' | '\u{3002}' | '\u{fe52}' | '\u{fe56}' | '\u{fe57}' | '\u{ff01}' | '\u{ff0e}' | '\u{ff1f}'
            | '\u{ff61}'
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cuts_at_sentences_else_at_blanks_else_anywhere() {
        for (text, limit, expected) in [
            ("One. Two. Three", 9, "One. Two."),
            ("One. Two. Three", 8, "One."),
            ("one two three", 9, "one two..."),
            ("one two three", 7, "one..."),
            ("abcdef", 3, "abc..."),
            (".abcdef", 3, ".ab..."),
            ("éééé", 3, "é..."),
            ("文。文文", 7, "文。"),
        ] {
            assert_eq!(cut(text, limit), expected, "{text:?} at {limit}");
        }
    }

    #[test]
    fn only_descriptions_of_schemas_are_cut() {
        let schema = |description: &str| {
            json!({
                "type": "object",
                "description": description,
                "properties": { "description": { "type": "string", "description": description, "default": { "description": "stay as I am" } } },
                "additionalProperties": { "items": { "description": description }, "anyOf": [{ "description": description }] },
            })
        };
        let crd = |schema: Value| json!({ "spec": { "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": schema } }] } });
        let mut cut = crd(schema("Long. Longer"));
        limit(&mut cut, 5);
        assert_eq!(cut, crd(schema("Long.")));
        let mut without = crd(schema("Long."));
        limit(&mut without, 0);
        let properties = json!({ "description": { "type": "string", "default": { "description": "stay as I am" } } });
        assert_eq!(without.pointer("/spec/versions/0/schema/openAPIV3Schema/properties"), Some(&properties));
        assert_eq!(without.to_string().matches("description").count(), 2);
    }
}
