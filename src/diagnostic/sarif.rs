//! Findings as SARIF 2.1.0 (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/>), which code hosts display beside the
//! lines.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{Code, Diagnostic, Diagnostics, Origin};

/// A SARIF document with a trailing line feed. Its rules are the codes that occur. Omits notes, which are noise in a
/// review.
pub fn document(diagnostics: &Diagnostics) -> String {
    let diagnostics = diagnostics.without_notes();
    let codes: BTreeSet<Code> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    let codes: Vec<Code> = codes.into_iter().collect();
    let results: Vec<Value> = diagnostics.iter().map(|diagnostic| result(diagnostic, &codes)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(|code| rule(*code)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": code.description() },
        "defaultConfiguration": { "level": code.severity() },
    })
}

fn result(diagnostic: &Diagnostic, codes: &[Code]) -> Value {
    let mut text = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        let _ = write!(text, "\nhelp: {help}");
    }
    let mut result = json!({
        "ruleId": diagnostic.code.as_str(),
        "ruleIndex": codes.iter().position(|code| *code == diagnostic.code),
        "level": diagnostic.code.severity(),
        "message": { "text": text },
    });
    if let Some(origin) = &diagnostic.origin {
        result["locations"] = json!([{ "physicalLocation": location(origin) }]);
    }
    result
}

fn location(origin: &Origin) -> Value {
    let mut location = Map::from_iter([("artifactLocation".to_owned(), json!({ "uri": uri(&origin.path) }))]);
    if !origin.text.is_empty() {
        let (line, column) = origin.line_column();
        let (end_line, end_column) = origin.end_line_column();
        let region = json!({ "startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column });
        location.insert("region".to_owned(), region);
    }
    Value::Object(location)
}

fn uri(path: &str) -> String {
    path.bytes().fold(String::new(), |mut uri, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(byte.into());
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
        uri
    })
}

#[cfg(test)]
mod tests {
    use snapbox::{assert_data_eq, str};

    use super::*;

    #[test]
    fn findings_have_rules_and_regions() {
        let origin = Origin { path: "src/a é.rs".into(), text: "é\nab\ncd".into(), range: 4..7 };
        let found = [
            Diagnostic::new(Code::UnusualVersion, "`1`"),
            Diagnostic::new(Code::Syntax, "m").at(origin).help("do that"),
        ];
        assert_data_eq!(
            document(&found.into_iter().collect()),
            str![[r#"
{
  "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
  "runs": [
    {
      "columnKind": "unicodeCodePoints",
      "results": [
        {
          "level": "warning",
          "message": {
            "text": "`1`"
          },
          "ruleId": "unusual-version",
          "ruleIndex": 1
        },
        {
          "level": "error",
          "locations": [
            {
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/a%20%C3%A9.rs"
                },
                "region": {
                  "endColumn": 2,
                  "endLine": 3,
                  "startColumn": 2,
                  "startLine": 2
                }
              }
            }
          ],
          "message": {
            "text": "m/nhelp: do that"
          },
          "ruleId": "rust-syntax",
          "ruleIndex": 0
        }
      ],
      "tool": {
        "driver": {
          "name": "memcached-sdk",
          "rules": [
            {
              "defaultConfiguration": {
                "level": "error"
              },
              "id": "rust-syntax",
              "shortDescription": {
                "text": "A source file is not valid Rust"
              }
            },
            {
              "defaultConfiguration": {
                "level": "warning"
              },
              "id": "unusual-version",
              "shortDescription": {
                "text": "An API version does not have the form `v1`, `v1beta1` or `v1alpha1`"
              }
            }
          ],
          "version": "0.1.0"
        }
      }
    }
  ],
  "version": "2.1.0"
}

"#]]
        );
    }
}
