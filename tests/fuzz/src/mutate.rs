//! Mutators: one for Rust that keeps brackets balanced, so that most results parse, and one for markers.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use crate::webhook::reviews;

/// Tokens with a meaning for the parser or the schema.
const WORDS: &str = "0 1 -1 255 256 65536 2147483648 9223372036854775807 18446744073709551615 18446744073709551616 \
    340282366920938463463374607431768211456 1e400 -0.0 1_000_000_000 0x7fff_ffff 1.5f32 'x' b'x' \"\" \"é\u{301}\u{202e}\" \
    b\"x\" r#\"\"# true false self Self super crate std None Some(0) () [] {} & * ? ! .. ..= ... => -> :: ; , < > << >> = == \
    + - / % ^ | || && @ # $ _ 'a i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 usize isize f32 f64 char bool str String Option Vec Box \
    Rc Arc Cow BTreeMap HashMap HashSet Result PhantomData serde_json::Value serde_json::json! Default::default() \
    Vec::new() String::new() vec![] include_str!(\"x\") const static fn impl trait struct enum union type where mod use pub \
    unsafe async dyn for if else match loop while return break macro_rules! extern crate r#type #[serde(default)] \
    #[serde(flatten)] #[serde(untagged)] #[serde(transparent)] #[serde(rename=\"\")] #[schemars(with=\"T\")] \
    #[schemars(range(min=1,max=0))] #[cfg(test)] #[cfg(any())] #[cfg_attr(all(),serde(skip))] #[derive(Clone,JsonSchema)]";

/// Lines with a meaning between items or fields.
const LINES: [&str; 34] = [
    "use super::*;",
    "use crate::a::*; mod a { pub use crate::b::*; } mod b { pub use crate::a::*; }",
    "pub use self::x as y; pub use self::y as x;",
    "mod m { pub use super::*; }",
    "//- src/m.rs",
    "//- src/a/b.rs",
    "mod m;",
    "#[path = \"lib.rs\"] mod again;",
    "extern crate self as x;",
    "type A<T> = B<T>; type B<T> = A<T>;",
    "struct R<T> { r: Option<Box<R<Vec<T>>>> }",
    "const N: i32 = M + 1; const M: i32 = N + 1;",
    "const fn f(n: u64) -> u64 { if n == 0 { 0 } else { f(n - 1) + f(n - 1) } }",
    "fn default_x() -> Vec<u8> { vec![0; 1_000_000_000] }",
    "const BIG: [[u8; 4096]; 4096] = [[0; 4096]; 4096];",
    "impl Default for X { fn default() -> Self { Self { ..Default::default() } } }",
    "impl JsonSchema for X { fn schema_name() -> std::borrow::Cow<'static, str> { \"X\".into() } fn json_schema(g: &mut schemars::SchemaGenerator) -> schemars::Schema { schemars::json_schema!({ \"type\": \"string\" }) } }",
    "#[kube(group = \"g\", version = \"v1\", kind = \"K\", status = \"S\", scale(spec_replicas_path = \".spec.n\", status_replicas_path = \".status.n\"))]",
    "#[kube(printcolumn(json_path = \".a\", name = \"\", type_ = \"x\"), selectable = \"\", validation = \"self\", rule = Rule::new(\"\"))]",
    "#[x_kube(validation = Rule::new(\"self.a\").message(\"m\").reason(Reason::FieldValueInvalid))]",
    "#[x_kube(merge_strategy = ListMerge::Map(vec![\"k\".into()]))]",
    "#[serde(tag = \"t\", content = \"c\", rename_all = \"kebab-case\", deny_unknown_fields)]",
    "#[serde(default = \"a::b\", skip_serializing_if = \"Option::is_none\", alias = \"z\")]",
    "#[serde(from = \"T\", into = \"T\", bound = \"T: Copy\", remote = \"T\")]",
    "#[schemars(extend(\"x\" = { \"a\": [1, null, f()] }), transform = f, schema_with = \"f\", inner(length(min = 1)))]",
    "#[schemars(regex(pattern = r\"^(\"), length(equal = 18446744073709551615), example = f(), default, title = \"\u{0}\")]",
    "#[validate(range(min = 0, max = 10), length(min = 2), email, url)]",
    "#[derive(kube::CustomResource, Clone, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]",
    "macro_rules! m { () => { #[derive(CustomResource)] struct X; } } m!();",
    "/// Docs with \\ and \" and \t and \u{85} and \u{feff}.",
    "// +kubebuilder:rbac:groups=\"\",resources=pods;pods/log,verbs=get;list;watch,namespace=a,roleName=r",
    "// +kubebuilder:rbac:urls=/metrics,verbs={get,\"a,b\",`c`},resourceNames=a;b;\"",
    "/* /* */ // +kubebuilder:rbac:verbs=get */",
    "// +kubebuilder:object:root=true",
];

/// Texts to take pieces from.
static OTHERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut texts = Vec::new();
    for folder in [
        "fixtures/types",
        "fixtures/diagnostics",
        "fixtures/rbac",
        "fixtures/rbac-derive",
        "fuzz/seeds/sources",
        "fuzz/corpus/sources",
        "fuzz/corpus/markers",
        "fuzz/corpus/permissions",
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
        files.sort();
        texts.extend(files.iter().map(|file| std::fs::read_to_string(file).unwrap()));
    }
    texts
});

/// The parser stops at invalid Rust, so try again before returning it.
const TRIES: usize = 3;

/// Mutates the first `size` bytes of `data`, which has room for `max_size`. Returns the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random((u64::from(seed) << 8) | 1);
    let mut before = String::from_utf8_lossy(&data[..size]).into_owned();
    if before.trim().is_empty() || random.below(16) == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    if random.below(4) != 0 && syn::parse_file(&before).is_err() {
        let other = &OTHERS[random.below(OTHERS.len())];
        if other.len() <= max_size {
            before.clone_from(other);
        }
    }
    let mut text = String::new();
    for _ in 0..TRIES {
        text = change(&before, max_size, &mut random);
        for _ in 0..random.below(3) {
            text = change(&text, max_size, &mut random);
        }
        if text.len() <= max_size && syn::parse_file(&text).is_ok() {
            break;
        }
    }
    store(&text, data, max_size)
}

const PIECES: [&str; 40] = [
    "+kubebuilder:rbac:", "+kubebuilder:rbac", "kubebuilder:", "+kubebuilder:printcolumn:", "groups=", "resources=",
    "resourceNames=", "verbs=", "urls=", "namespace=", "roleName=", "=", ",", ";", ":", "{", "}", "\"", "`", "'", "\\", "\\\"",
    "\\x41", "\\u00e9", "\\377", "\\U0010ffff", "\\ud800", " ", "\t", "\n", "get;list", "*", "core", "apps", "pods/log", "é\u{301}",
    "\u{feff}", "0x1", "1e3", "-",
];

pub fn mutate_marker(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random((u64::from(seed) << 8) | 1);
    if random.below(8) == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let mut text = String::from_utf8_lossy(&data[..size]).into_owned();
    for _ in 0..1 + random.below(3) {
        let (one, other) = (boundary(&text, &mut random), boundary(&text, &mut random));
        let range = one.min(other)..one.max(other);
        match random.below(8) {
            0..4 => text.insert_str(one, PIECES[random.below(PIECES.len())]),
            4 => text.replace_range(one..text.ceil_char_boundary(one + 1), ""),
            5 => text.replace_range(range, ""),
            6 => text.replace_range(range, PIECES[random.below(PIECES.len())]),
            _ => text.insert_str(one, &text[range].to_owned()),
        }
    }
    store(&text, data, max_size)
}

/// Places whose change usually keeps the review valid.
const PLACES: [&str; 8] = [
    "/request",
    "/request/object",
    "/request/object/spec",
    "/request/oldObject",
    "/request/objects",
    "/request/objects/0",
    "/request/objects/0/spec",
    "/request/objects/0/metadata/annotations",
];

pub fn mutate_review(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = reviews::Random((u64::from(seed) << 8) | 1);
    let review = serde_json::from_slice::<Value>(&data[..size]);
    let Some(mut review) = review.ok().filter(|_| random.below(16) > 0) else {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    };
    if let Some(part) = review.pointer_mut(random.one_of(&PLACES)) {
        reviews::mutate(part, &mut random);
    }
    store(&review.to_string(), data, max_size)
}

pub fn mutate_json(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = reviews::Random((u64::from(seed) << 8) | 1);
    let value = serde_json::from_slice::<Value>(&data[..size]);
    let Some(mut value) = value.ok().filter(|_| random.below(16) > 0) else {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    };
    reviews::mutate(&mut value, &mut random);
    store(&value.to_string(), data, max_size)
}

/// A random character boundary.
fn boundary(text: &str, random: &mut Random) -> usize {
    text.floor_char_boundary(random.below(text.len() + 1))
}

/// Writes the text up to `max_size`. Returns the number of bytes.
fn store(text: &str, data: &mut [u8], max_size: usize) -> usize {
    let length = text.floor_char_boundary(max_size);
    data[..length].copy_from_slice(&text.as_bytes()[..length]);
    length
}

fn change(text: &str, max_size: usize, random: &mut Random) -> String {
    let tokens = tokens(text);
    if tokens.is_empty() {
        return LINES[random.below(LINES.len())].to_owned();
    }
    let at = random.below(tokens.len());
    let one = tokens[at].clone();
    let count = 1 + random.below(4);
    let some = trees(text, &tokens, at, count);
    let other = random.below(tokens.len());
    let replace = |range: Range<usize>, with: &str| format!("{}{with}{}", &text[..range.start], &text[range.end..]);
    match random.below(14) {
        0 => replace(some, ""),
        1 => replace(some.end..some.end, &format!(" {}", &text[some])),
        2 => replace(tokens[other].start..tokens[other].start, &format!("{} ", &text[some])),
        3 => replace(one, WORDS.split_ascii_whitespace().nth(random.below(120)).unwrap_or("0")),
        4 => replace(
            one.end..one.end,
            &format!(" {} ", WORDS.split_ascii_whitespace().nth(random.below(150)).unwrap_or("x")),
        ),
        5 | 6 => {
            // Rename one occurrence: this makes cycles.
            let names: Vec<_> = tokens.iter().filter(|token| is_name(&text[(*token).clone()])).collect();
            if names.len() < 2 {
                return replace(one, "x");
            }
            let (from, to) = (names[random.below(names.len())].clone(), names[random.below(names.len())].clone());
            replace(from, &text[to])
        }
        7 => {
            let with = trees(text, &tokens, other, 1);
            replace(some, &text[with])
        }
        8 => {
            let start = text[..one.start].rfind('\n').map_or(0, |newline| newline + 1);
            replace(start..start, &format!("{}\n", LINES[random.below(LINES.len())]))
        }
        9 => {
            let from = &OTHERS[random.below(OTHERS.len())];
            let lines: Vec<&str> = from.split_inclusive('\n').collect();
            let first = random.below(lines.len().max(1));
            let last = (first + 1 + random.below(12)).min(lines.len());
            let start = text[..one.start].rfind('\n').map_or(0, |newline| newline + 1);
            replace(start..start, &lines[first.min(last)..last].concat())
        }
        10 => {
            let times = 1 << random.below(10);
            let (open, close) = [
                ("(", ")"),
                ("[", "]"),
                ("{", "}"),
                ("Vec<", ">"),
                ("Option<Box<", ">>"),
                ("Some(", ")"),
                ("&", ""),
                ("-", ""),
                ("!", ""),
                ("if true {", "} else { 0 }"),
                ("mod m {", "}"),
                ("#[cfg(not(", "))]"),
                ("json!(", ")"),
                ("*", ""),
                ("a::", ""),
                ("", " + 1"),
                ("", ".into()"),
                ("\"", "\""),
                ("/*", "*/"),
                ("|x| ", "(1)"),
            ][random.below(20)];
            let times = times.min(max_size / (open.len() + close.len()));
            replace(some.clone(), &format!("{}{}{}", open.repeat(times), &text[some], close.repeat(times)))
        }
        11 => {
            let piece = format!("{} ", &text[some.clone()]);
            let times = (1 << random.below(9)).min(max_size / piece.len());
            replace(some.end..some.end, &piece.repeat(times))
        }
        12 => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let first = random.below(lines.len());
            let last = (first + 1 + random.below(6)).min(lines.len());
            [&lines[..first], &lines[last..]].concat().concat()
        }
        _ => {
            let (low, high) = if one.start < tokens[other].start {
                (one, tokens[other].clone())
            } else {
                (tokens[other].clone(), one)
            };
            if low.end > high.start {
                return text.to_owned();
            }
            format!(
                "{}{}{}{}{}",
                &text[..low.start],
                &text[high.clone()],
                &text[low.end..high.start],
                &text[low],
                &text[high.end..]
            )
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c == '_' || c.is_alphabetic())
}

/// The range of `count` token trees from a token. A bracket includes its contents.
fn trees(text: &str, tokens: &[Range<usize>], at: usize, count: usize) -> Range<usize> {
    let (mut depth, mut left, mut end) = (0_usize, count, at);
    while end < tokens.len() {
        match text.as_bytes()[tokens[end].start] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            left -= 1;
            if left == 0 {
                break;
            }
        }
        end += 1;
    }
    tokens[at].start..tokens[end.min(tokens.len() - 1)].end
}

/// Words, literals and single characters, without whitespace.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((start, character)) = characters.next() {
        let mut end = start + character.len_utf8();
        if character.is_whitespace() {
            continue;
        }
        let is_word = |c: char| c == '_' || c.is_alphanumeric();
        if is_word(character) {
            while let Some((at, next)) = characters.next_if(|(_, next)| is_word(*next)) {
                end = at + next.len_utf8();
            }
        } else if character == '"' {
            let mut escaped = false;
            for (at, next) in characters.by_ref() {
                end = at + next.len_utf8();
                match next {
                    '"' if !escaped => break,
                    '\\' => escaped = !escaped,
                    _ => escaped = false,
                }
            }
        }
        tokens.push(start..end);
    }
    tokens
}

/// Marsaglia's xorshift*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}
