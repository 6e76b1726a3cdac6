//! Field paths as the API server parses them in `fieldPath` of rules and in `selectableFields`: `.spec.ports['a.b']`.

use serde_json::{Map, Value};

/// The names on the path and the schema at its end; `None` for values of any kind.
pub(super) type FoundField<'s> = (Vec<String>, Option<&'s Map<String, Value>>);

/// Follows a path from a schema. `quoted` allows names of the form `['name']`.
pub(super) fn follow<'s>(schema: &'s Map<String, Value>, path: &str, quoted: bool) -> Result<FoundField<'s>, String> {
    let mut at = Some(schema);
    let mut names = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        (name, rest) = step(rest, quoted)?;
        let fields =
            at.and_then(|at| at.get("properties")).and_then(Value::as_object).filter(|fields| !fields.is_empty());
        let values = at.and_then(|at| at.get("additionalProperties"));
        at = match (fields, values) {
            (Some(fields), _) => {
                Some(fields.get(&name).and_then(Value::as_object).ok_or_else(|| format!("field `{name}` not found"))?)
            }
            (None, Some(values)) => values.as_object(),
            (None, None) => return Err(format!("field `{name}` not found")),
        };
        names.push(name);
    }
    Ok((names, at))
}

fn step(path: &str, quoted: bool) -> Result<(String, &str), String> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        if end == 0 {
            return Err("a name is missing".to_owned());
        }
        return Ok((rest[..end].to_owned(), &rest[end..]));
    }
    let Some(rest) = path.strip_prefix('[') else { return Err("names must begin with `.`".to_owned()) };
    if !quoted {
        return Err("`[` is not allowed".to_owned());
    }
    let Some(mut rest) = rest.strip_prefix('\'') else {
        return Err("a name in `[…]` must be quoted: `['name']`".to_owned());
    };
    let mut name = String::new();
    loop {
        let mut letters = rest.chars();
        match letters.next() {
            Some('\'') => break,
            Some('\\') => name.extend(letters.next()),
            Some(letter) => name.push(letter),
            None => return Err("a quoted name has no closing quote".to_owned()),
        }
        rest = letters.as_str();
    }
    rest.strip_prefix("']").map(|rest| (name, rest)).ok_or_else(|| "a `]` is missing".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_fields_and_values_of_maps() {
        let schema = json!({ "properties": {
            "a": { "properties": { "b.c": { "type": "string" } } },
            "map": { "additionalProperties": { "type": "integer" } },
            "any": { "additionalProperties": true },
        } });
        for (path, expected) in [
            (".a", Ok("a")),
            (".a['b.c']", Ok("a/b.c:string")),
            (".map.x", Ok("map/x:integer")),
            (".any.x", Ok("any/x:any")),
            ("['a']", Ok("a")),
            ("", Ok("")),
            ("a", Err("names must begin with `.`")),
            (".b", Err("field `b` not found")),
            (".a.b.c", Err("field `b` not found")),
            (".a..b", Err("a name is missing")),
            (".a[0]", Err("a name in `[…]` must be quoted: `['name']`")),
            (".a['b.c'", Err("a `]` is missing")),
            (".a['b", Err("a quoted name has no closing quote")),
        ] {
            let found = follow(schema.as_object().unwrap(), path, true).map(|(names, schema)| {
                let kind = schema.map_or(Some("any"), |schema| schema.get("type").and_then(Value::as_str));
                names.join("/") + &kind.map(|kind| format!(":{kind}")).unwrap_or_default()
            });
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{path}");
        }
        assert_eq!(follow(schema.as_object().unwrap(), "['a']", false).unwrap_err(), "`[` is not allowed");
    }
}
