//! Example texts for a field, by its format, pattern or name.

use regex_syntax::ast::{Ast, ClassSetItem, RepetitionKind, RepetitionRange};
use serde_json::Value;

use super::SampleObject;

/// Texts by `format`, as named by `OpenAPI` and Kubernetes.
const FORMATS: &[(&str, &str)] = &[
    ("bsonobjectid", "507f1f77bcf86cd799439011"),
    ("byte", "ZXhhbXBsZQ=="),
    ("cidr", "192.0.2.0/24"),
    ("date", "2020-01-01"),
    ("date-time", "2020-01-01T00:00:00Z"),
    ("datetime", "2020-01-01T00:00:00Z"),
    ("duration", "5m"),
    ("email", "user@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("mac", "00:00:5e:00:53:01"),
    ("uri", "https://example.com"),
    ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
    ("uuid4", "123e4567-e89b-42d3-a456-426614174000"),
];

/// Texts by the last words of a name; the first matching row wins.
const NAMES: &[(&[&str], &str)] = &[
    (&["time zone", "timezone", "tz"], "Etc/UTC"),
    (&["cron", "crontab", "cron expression", "cron schedule", "schedule"], "*/5 * * * *"),
    (&["pull policy"], "IfNotPresent"),
    (&["restart policy"], "Always"),
    (&["access mode"], "ReadWriteOnce"),
    (&["image repository"], "docker.io/library/nginx"),
    (&["image tag", "tag"], "stable"),
    (&["image"], "nginx:stable"),
    (
        &["git repository", "git url", "repository", "repo", "repo url", "repository url"],
        "https://example.com/example.git",
    ),
    (&["email", "email address", "mail"], "user@example.com"),
    (&["endpoint", "link", "uri", "url", "webhook"], "https://example.com"),
    (&["ip", "ip address"], "192.0.2.1"),
    (&["cidr", "cidr block", "ip range", "subnet"], "192.0.2.0/24"),
    (&["domain", "domain name", "fqdn", "host", "host name", "hostname", "server"], "example.com"),
    (&["address"], "example.com:8080"),
    (&["port"], "8080"),
    (&["backoff", "delay", "duration", "interval", "max age", "period", "retention", "timeout", "ttl"], "5m"),
    (&["cpu", "cpu limit", "cpu request", "cpus"], "500m"),
    (&["capacity", "disk", "memory", "quantity", "size", "storage"], "1Gi"),
    (&["storage class", "storage class name"], "standard"),
    (&["namespace", "service account", "service account name"], "default"),
    (&["directory", "dir", "folder", "path"], "/data"),
    (&["file", "file name", "filename"], "example.txt"),
    (&["log level"], "info"),
    (&["percent", "percentage"], "50%"),
    (&["protocol"], "TCP"),
    (&["region"], "eu-west-1"),
    (&["date", "day"], "2020-01-01"),
    (&["timestamp"], "2020-01-01T00:00:00Z"),
    (&["version"], "1.0.0"),
    (&["currency"], "EUR"),
    (&["lang", "language", "locale"], "en"),
    (&["pattern", "regex", "regexp"], ".*"),
];

pub(super) fn text(name: &str, schema: &SampleObject) -> String {
    let string = |key: &str| schema.get(key).and_then(Value::as_str);
    let length = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
    let least = length("minLength").unwrap_or_default().min(1000);
    let most = length("maxLength").unwrap_or(usize::MAX);
    let fits = |text: &String| (least..=most).contains(&text.chars().count());
    let by_format = string("format").and_then(|format| FORMATS.iter().find(|(name, _)| *name == format));
    let found = match (by_format, string("pattern")) {
        (Some((_, text)), _) => Some((*text).to_owned()),
        (None, Some(pattern)) => matching(pattern),
        (None, None) => by_name(name).map(str::to_owned),
    };
    found.filter(fits).unwrap_or_else(|| {
        let word = "example";
        word.chars().cycle().take(word.len().clamp(least.min(most), most)).collect()
    })
}

/// A number for a field of this name, before its bounds apply.
pub(super) fn number(name: &str) -> f64 {
    match words(name).last().map(String::as_str) {
        Some("port") => 8080.0,
        Some("percent" | "percentage") => 50.0,
        Some("seconds") => 30.0,
        Some("minutes") => 5.0,
        _ => 1.0,
    }
}

fn by_name(name: &str) -> Option<&'static str> {
    let words = words(name);
    let ends_with = |ending: &&str| {
        let ending: Vec<&str> = ending.split(' ').collect();
        words.len() >= ending.len() && words[words.len() - ending.len()..] == ending[..]
    };
    NAMES.iter().find(|(endings, _)| endings.iter().any(ends_with)).map(|(_, text)| *text)
}

/// Splits `camelCase`, `snake_case` or `kebab-case` into lower-case words: `clusterIP` is `cluster ip`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before: Option<char> = None;
    for (char, next) in name.chars().zip(name.chars().skip(1).map(Some).chain([None])) {
        let lower_before = before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit());
        let starts = char.is_uppercase() && (lower_before || next.is_some_and(char::is_lowercase));
        if !char.is_alphanumeric() {
            before = None;
            continue;
        }
        match words.last_mut() {
            Some(word) if before.is_some() && !starts => word.extend(char.to_lowercase()),
            _ => words.push(char.to_lowercase().collect()),
        }
        before = Some(char);
    }
    words
}

fn matching(pattern: &str) -> Option<String> {
    let ast = regex_syntax::ast::parse::Parser::new().parse(pattern).ok()?;
    let mut text = String::new();
    write(&ast, &mut text)?;
    Some(text)
}

fn write(ast: &Ast, text: &mut String) -> Option<()> {
    /// Candidate characters, in order of preference.
    const CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-./:_@ ";
    // Nested repetitions multiply.
    const LONGEST: usize = 4096;
    if text.len() > LONGEST {
        return None;
    }
    match ast {
        Ast::Empty(_) | Ast::Assertion(_) => {}
        Ast::Literal(literal) => text.push(literal.c),
        Ast::Dot(_) => text.push('a'),
        Ast::Group(group) => write(&group.ast, text)?,
        Ast::Concat(all) => all.asts.iter().try_for_each(|ast| write(ast, text))?,
        Ast::Alternation(one) => write(one.asts.first()?, text)?,
        Ast::Repetition(repetition) => {
            let count = match &repetition.op.kind {
                RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore => 0,
                RepetitionKind::OneOrMore => 1,
                RepetitionKind::Range(
                    RepetitionRange::Exactly(count)
                    | RepetitionRange::AtLeast(count)
                    | RepetitionRange::Bounded(count, _),
                ) => *count,
            };
            (0..count.min(1000)).try_for_each(|_| write(&repetition.ast, text))?;
        }
        Ast::ClassPerl(_) | Ast::ClassBracketed(_) => text.push(CHARACTERS.chars().find(|char| has(ast, *char))?),
        Ast::Flags(_) | Ast::ClassUnicode(_) => return None,
    }
    Some(())
}

/// Returns true if the character class certainly contains the character.
fn has(class: &Ast, char: char) -> bool {
    match class {
        Ast::ClassPerl(class) => perl(class, char),
        Ast::ClassBracketed(class) => match &class.kind {
            regex_syntax::ast::ClassSet::Item(item) => item_has(item, char).is_some_and(|has| has != class.negated),
            regex_syntax::ast::ClassSet::BinaryOp(_) => false,
        },
        _ => false,
    }
}

fn perl(class: &regex_syntax::ast::ClassPerl, char: char) -> bool {
    use regex_syntax::ast::ClassPerlKind::{Digit, Space, Word};
    let has = match class.kind {
        Digit => char.is_ascii_digit(),
        Space => char.is_ascii_whitespace(),
        Word => char.is_ascii_alphanumeric() || char == '_',
    };
    has != class.negated
}

/// Returns true if a part of a class contains the character; `None` if unknown.
fn item_has(item: &ClassSetItem, char: char) -> Option<bool> {
    Some(match item {
        ClassSetItem::Empty(_) => false,
        ClassSetItem::Literal(literal) => literal.c == char,
        ClassSetItem::Range(range) => (range.start.c..=range.end.c).contains(&char),
        ClassSetItem::Perl(class) => perl(class, char),
        ClassSetItem::Union(union) => {
            let known: Option<Vec<bool>> = union.items.iter().map(|item| item_has(item, char)).collect();
            known?.contains(&true)
        }
        ClassSetItem::Ascii(_) | ClassSetItem::Unicode(_) | ClassSetItem::Bracketed(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_says_what_its_text_is() {
        for (name, expected) in [
            ("schedule", "*/5 * * * *"),
            ("backupSchedule", "*/5 * * * *"),
            ("cron_expression", "*/5 * * * *"),
            ("image", "nginx:stable"),
            ("sidecar_image", "nginx:stable"),
            ("imagePullPolicy", "IfNotPresent"),
            ("webhookURL", "https://example.com"),
            ("adminEmail", "user@example.com"),
            ("requeueInterval", "5m"),
            ("hostname", "example.com"),
            ("clusterIP", "192.0.2.1"),
            ("timeZone", "Etc/UTC"),
            ("storageSize", "1Gi"),
            ("storageClassName", "standard"),
            ("mountPath", "/data"),
            ("targetNamespace", "default"),
            ("minVersion", "1.0.0"),
            // The end of a word does not match.
            ("support", "example"),
            ("resize", "example"),
            ("name", "example"),
            ("from", "example"),
        ] {
            assert_eq!(text(name, &SampleObject::new()), expected, "{name}");
        }
    }

    #[test]
    fn a_schema_says_more_than_a_name() {
        for (schema, expected) in [
            (json!({ "format": "date-time" }), "2020-01-01T00:00:00Z"),
            (json!({ "format": "email" }), "user@example.com"),
            (json!({ "format": "no-such-format" }), "*/5 * * * *"),
            (json!({ "pattern": "^[0-9]+(s|m|h)$" }), "0s"),
            (json!({ "pattern": r"^\d{4}-\d{2}$" }), "0000-00"),
            (json!({ "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" }), "a"),
            (json!({ "pattern": r"^(https?)://[^\s/]+$" }), "http://a"),
            (json!({ "pattern": "^[^a-z]{2}$", "maxLength": 9 }), "00"),
            (json!({ "pattern": "^((a{999}){999}){999}$" }), "example"),
            // An unsupported pattern, or one that exceeds the length.
            (json!({ "pattern": r"^\p{L}+$" }), "example"),
            (json!({ "pattern": "^a$", "minLength": 9 }), "exampleex"),
            (json!({ "maxLength": 2 }), "ex"),
            (json!({ "minLength": 12 }), "exampleexamp"),
        ] {
            assert_eq!(text("schedule", schema.as_object().unwrap()), expected, "{schema}");
        }
    }

    #[test]
    fn names_have_words() {
        for (name, expected) in [
            ("backupSchedule", "backup schedule"),
            ("HTTPServer", "http server"),
            ("max_age", "max age"),
            ("a-b", "a b"),
            ("ipv4Address", "ipv4 address"),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }
}
