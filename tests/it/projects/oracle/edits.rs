//! Seeded edits of a source file, like the daily changes of an API.

/// Xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % limit
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Returns `count` versions of the text, each with one to four edits.
pub(super) fn many(text: &str, seed: u64, count: usize) -> Vec<String> {
    let mut random = Random(seed | 1);
    for _ in 0..8 {
        random.below(1);
    }
    let mut versions = Vec::new();
    while versions.len() < count {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for number in 0..=random.below(4) {
            edit(&mut lines, &mut random, number);
        }
        let version = lines.join("\n") + "\n";
        if !versions.contains(&version) && version != text {
            versions.push(version);
        }
    }
    versions
}

/// Fields that fit any serializable struct; `{}` makes the name unique.
const FIELDS: [&str; 24] = [
    "pub added_{}: Option<String>,",
    "/// A new field.\npub added_{}: Vec<i64>,",
    "#[serde(default)]\npub added_{}: bool,",
    "#[serde(default, rename = \"other{}\")]\npub added_{}: u32,",
    "#[schemars(range(min = 2, max = 7))]\npub added_{}: u8,",
    "#[schemars(length(min = 1, max = 63), regex(pattern = \"^[a-z0-9-]+$\"))]\npub added_{}: String,",
    "#[serde(default, skip_serializing_if = \"std::collections::BTreeMap::is_empty\")]\npub added_{}: std::collections::BTreeMap<String, String>,",
    "#[serde(default)]\n#[schemars(extend(\"x-kubernetes-list-type\" = \"set\"))]\npub added_{}: Vec<String>,",
    "pub added_{}: Option<k8s_openapi::api::core::v1::ResourceRequirements>,",
    "/// # Heading\n///\n/// Below it.\npub added_{}: Option<k8s_openapi::apimachinery::pkg::api::resource::Quantity>,",
    "pub added_{}: Option<k8s_openapi::apimachinery::pkg::util::intstr::IntOrString>,",
    "pub added_{}: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>,",
    "#[serde(skip_serializing_if = \"Option::is_none\")]\npub added_{}: Option<Phase>,",
    "#[serde(default)]\npub added_{}: Vec<Condition>,",
    "#[serde(default)]\n#[schemars(title = \"Title\", description = \"Text\", example = 3)]\npub added_{}: i32,",
    "#[schemars(inner(length(min = 1)))]\n#[serde(default)]\npub added_{}: Vec<String>,",
    "#[serde(default)]\npub added_{}: f32,",
    "#[serde(skip)]\npub added_{}: String,",
    "#[schemars(email)]\npub added_{}: Option<String>,",
    "#[serde(default)]\npub added_{}: std::collections::BTreeSet<u16>,",
    "#[serde(default, skip_serializing)]\npub added_{}: String,",
    "#[serde(default, skip_serializing_if = \"std::ops::Not::not\")]\npub added_{}: bool,",
    "#[serde(flatten)]\npub added_{}: std::collections::BTreeMap<String, serde_json::Value>,",
    "#[serde(default)]\npub added_{}: Option<Option<Vec<Box<i16>>>>,",
];

const KUBE: [&str; 8] = [
    "category = \"all\",",
    "shortname = \"more\",",
    "selectable = \".spec.size\",",
    "deprecated = \"use v2\",",
    "printcolumn(name = \"More\", type_ = \"string\", json_path = \".spec.image\", priority = 1),",
    "annotation(\"example.com/note\", \"yes\"), label(\"tier\", \"one\"),",
    "validation = \"self.spec.size < 100\",",
    "validation = (\"self.spec.size != 13\", \"unlucky\"),",
];

const WORDS: [&str; 6] = ["quick", "brown `fox`", "\"jumps\"", "over: the", "lazy\\dog", "# twice"];

fn edit(lines: &mut Vec<String>, random: &mut Random, number: usize) {
    match random.below(11) {
        0..=2 => {
            // Add a field below another one, or at the top of a struct.
            let at = *random.pick(&fields(lines));
            let text = random.pick(&FIELDS).replace("{}", &number.to_string());
            for (offset, line) in text.lines().enumerate() {
                lines.insert(at + 1 + offset, format!("    {line}"));
            }
        }
        3 => {
            // Change the documentation.
            let docs: Vec<usize> = positions(lines, |line| line.trim_start().starts_with("/// "));
            let at = *random.pick(&docs);
            let word = random.pick(&WORDS);
            lines[at] = format!("{} {word} {number}", lines[at]);
        }
        4 => {
            let docs: Vec<usize> = positions(lines, |line| line.trim_start().starts_with("/// "));
            let at = *random.pick(&docs);
            lines.remove(at);
        }
        5 => {
            // Change a bound.
            let ranges: Vec<usize> = positions(lines, |line| line.contains("range(min = "));
            let at = *random.pick(&ranges);
            let min = random.below(9);
            lines[at] = lines[at].replacen("range(min = ", &format!("range(min = {min}"), 1);
        }
        6 => {
            // Change the width of an integer.
            let integers: Vec<usize> = fields(lines)
                .into_iter()
                .filter(|at| {
                    lines[*at].contains("i32")
                        && !lines[*at - 2].contains("default =")
                        && !lines[*at - 1].contains("default =")
                })
                .collect();
            if integers.is_empty() {
                return;
            }
            let at = *random.pick(&integers);
            let ty = random.pick(&["i64", "u32", "u8", "i16", "f64", "u64"]);
            lines[at] = lines[at].replace("i32", ty);
        }
        7 => {
            // Rename a field, in Rust or by serde.
            let at = *random.pick(&fields(lines));
            if random.below(2) == 0 {
                lines[at] = lines[at].replacen(':', "_renamed:", 1);
            } else if !lines[at - 1].contains("serde") && !lines[at - 2].contains("serde") {
                lines.insert(at, format!("    #[serde(rename = \"renamed{number}\")]"));
            }
        }
        8 => {
            // Add an enum variant, with or without documentation.
            let variants: Vec<usize> = positions(lines, |line| {
                line.starts_with("    ")
                    && line.trim().strip_suffix(',').is_some_and(|name| name.chars().all(char::is_alphanumeric))
            });
            let at =
                variants.into_iter().rev().find(|at| lines[*at].trim().chars().next().is_some_and(char::is_uppercase));
            if let Some(at) = at {
                let text = *random.pick(&[
                    "Added{},",
                    "/// Added.\n    Added{},",
                    "#[serde(rename = \"added-{}\")]\n    Added{},",
                ]);
                for (offset, line) in text.replace("{}", &number.to_string()).lines().enumerate() {
                    lines.insert(at + 1 + offset, format!("    {}", line.trim_start()));
                }
            }
        }
        9 => {
            // Change the casing of a struct.
            let cases: Vec<usize> = positions(lines, |line| line.contains("rename_all = "));
            if let Some(&at) = cases.get(random.below(cases.len().max(1))) {
                let case = random.pick(&["kebab-case", "PascalCase", "snake_case", "SCREAMING_SNAKE_CASE"]);
                let extra = *random.pick(&["", ", deny_unknown_fields"]);
                lines[at] = format!("#[serde(rename_all = \"{case}\"{extra})]");
            }
        }
        _ => {
            let at = positions(lines, |line| line.trim_start().starts_with("kind = "))[0];
            let attribute = *random.pick(&KUBE);
            if !lines.iter().any(|line| line.contains(attribute)) {
                lines.insert(at, format!("    {attribute}"));
            }
        }
    }
}

fn positions(lines: &[String], select: impl Fn(&str) -> bool) -> Vec<usize> {
    lines.iter().enumerate().filter(|(_, line)| select(line)).map(|(at, _)| at).collect()
}

/// The lines `pub name: Type,`.
fn fields(lines: &[String]) -> Vec<usize> {
    positions(lines, |line| line.starts_with("    pub ") && line.ends_with(',') && line.contains(": "))
}
