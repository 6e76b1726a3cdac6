//! Random attributes and doc comments, each as a removable node.

use super::tree::Node;
use super::ty::{Decl, Kind, Leaf, Shape, Ty};
use super::world::World;

/// Context of a field's attributes.
#[derive(Clone, Copy, Default)]
pub(super) struct Around<'a> {
    /// The type of the field, if its `impl` may hold functions.
    pub(super) owner: Option<&'a str>,
    /// The struct has a default from its fields.
    pub(super) container_default: bool,
    /// A tuple field.
    pub(super) bare: bool,
    /// The only field of a transparent struct.
    pub(super) transparent: bool,
    /// The derive accepts `#[x_kube(…)]`.
    pub(super) ruled: bool,
}

pub(super) struct FieldAttributes {
    pub(super) nodes: Vec<Node>,
    /// Derived code still serializes the struct.
    pub(super) written: bool,
}

const DOCS: [&str; 20] = [
    "/// One line.\n",
    "/// Two lines,\n/// joined.\n",
    "/// A paragraph.\n///\n/// Another one.\n",
    "/// # A heading\n///\n/// And text.\n",
    "/// # Only a heading\n",
    "///    Indented   \n///  twice.\n",
    "///\n",
    "/// - a list\n///   - deeper\n",
    "/** A block\n * with stars\n */\n",
    "/** One block */\n",
    "#[doc = \" As an attribute\"]\n",
    "#[doc = \"without a space\"]\n#[doc = \" and with one\"]\n",
    "/// Quotes \" and \\ and `code` and ümläute — ✓.\n",
    "/// ## A smaller heading\n///\n/// Text.\n",
    "/// #no heading\n",
    "///\tA tab.\n",
    "/// First.\n#[doc = \"Second.\"]\n/// Third.\n",
    "/// Trailing space \n/// \n",
    "#[doc(hidden)]\n",
    "#[doc = r#\"raw \"text\"\"#]\n",
];

const TEXTS: [&str; 6] =
    ["\"Short\"", "\"with \\\"quotes\\\"\"", "r\"raw\"", "\"\"", "concat!(\"a\", 1)", "\"# no heading\""];

const CASES: [&str; 8] = [
    "lowercase",
    "UPPERCASE",
    "PascalCase",
    "camelCase",
    "snake_case",
    "SCREAMING_SNAKE_CASE",
    "kebab-case",
    "SCREAMING-KEBAB-CASE",
];

impl World {
    pub(super) fn docs(&mut self, percent: u64) -> Vec<Node> {
        if !self.chance(percent) {
            return Vec::new();
        }
        let docs = self.pick(&DOCS);
        docs.split_inclusive('\n')
            .fold(Vec::<String>::new(), |mut lines, line| {
                match lines.last_mut() {
                    // A block comment stays in one node.
                    Some(last) if last.starts_with("/**") && !last.contains("*/") => last.push_str(line),
                    _ => lines.push(line.to_owned()),
                }
                lines
            })
            .into_iter()
            .map(Node::part)
            .collect()
    }

    /// Splits the items over one or several attributes, some under a `cfg` that is true.
    pub(super) fn attributes(&mut self, name: &str, mut items: Vec<String>) -> Vec<Node> {
        let mut nodes = Vec::new();
        if items.len() > 1 && self.chance(50) {
            let inside = items.drain(..).map(|item| Node::part(format!("{item}, "))).collect();
            nodes.push(Node::around(format!("#[{name}("), inside, ")]\n"));
        }
        for item in items {
            let cfg =
                ["feature = \"on\"", "all()", "not(feature = \"off\")", "any(feature = \"off\", feature = \"deep\")"];
            nodes.push(Node::part(if self.chance(6) {
                format!("#[cfg_attr({}, {name}({item}))]\n", self.pick(&cfg))
            } else {
                format!("#[{name}({item})]\n")
            }));
        }
        if self.chance(3) {
            nodes.push(Node::part(format!("#[cfg_attr(feature = \"off\", {name}(unknown = \"never\"))]\n")));
        }
        nodes
    }

    pub(super) fn case(&mut self) -> &'static str {
        self.pick(&CASES)
    }

    /// Declares a constant and returns an expression with it.
    pub(super) fn constant(&mut self, from: usize, leaf: &'static Leaf) -> String {
        let module = self.any_module();
        let name = format!("LIMIT_{}", self.number());
        let value = self.pick(&["5", "7 * 3", "(100 - 1) - 2"]);
        let keyword = if self.chance(80) { "const" } else { "static" };
        self.item(module, Node::part(format!("pub {keyword} {name}: {} = {value};\n", leaf.text)));
        self.path(from, module, &name)
    }

    /// An expression with a constant, for a place with the constant's type.
    pub(super) fn sum(&mut self, from: usize, leaf: &'static Leaf) -> String {
        let path = self.constant(from, leaf);
        match self.below(4) {
            0 => format!("{path} + 1"),
            1 => format!("({path} - 1)"),
            _ => path,
        }
    }

    fn bound(&mut self, from: usize, around: Around<'_>) -> String {
        match self.below(8) {
            0 => self.constant(from, &super::ty::LEAVES[6]),
            1 => format!("\"{}\"", self.below(9)),
            2 => "u8::MAX".to_owned(),
            3 if around.owner.is_some() => {
                let owner = around.owner.unwrap();
                let name = format!("BOUND_{}", self.number());
                self.item(from, Node::part(format!("impl {owner} {{\n    pub const {name}: u32 = 12;\n}}\n\n")));
                (if around.ruled { owner } else { self.pick(&["Self", owner]) }).to_owned() + "::" + &name
            }
            _ => self.below(40).to_string(),
        }
    }

    /// Names, docs and conditions, which fit any type.
    fn naming(&mut self, serde: &mut Vec<String>, schemars: &mut Vec<String>) {
        let number = self.number();
        match self.below(24) {
            0 | 1 => serde.push(format!("rename = \"renamed{number}\"")),
            2 => serde.push(format!("rename(serialize = \"written{number}\", deserialize = \"read{number}\")")),
            3 => serde.push(format!("rename(deserialize = \"read-{number}\")")),
            4 => {
                serde.push(format!("rename = \"hidden{number}\""));
                schemars.push(format!("rename = \"shown{number}\""));
            }
            5 => schemars.push(format!("rename = \"only.shown{number}\"")),
            6 => {
                serde.push(format!("rename = \"gone{number}\""));
                schemars.push("!rename".to_owned());
            }
            _ => {}
        }
        if self.chance(5) {
            serde.push(format!("alias = \"alias{number}\""));
        }
    }

    /// Random attributes that a field of this type may have.
    pub(super) fn field_attributes(&mut self, from: usize, ty: &Ty, around: Around<'_>) -> FieldAttributes {
        let facts = self.facts(ty);
        let (mut serde, mut schemars, mut written) = (Vec::new(), Vec::new(), facts.written);
        if !around.bare {
            self.naming(&mut serde, &mut schemars);
        }
        let mut defaulted = around.container_default;
        if around.transparent {
        } else if facts.default && !ty.mentions_param() && self.chance(25) {
            serde.push("default".to_owned());
            defaulted = true;
            if self.chance(8) {
                schemars.push("!default".to_owned());
            }
        } else if facts.written
            && !ty.mentions_param()
            && self.chance(20)
            && let Some(path) = self.default_function(from, ty, around)
        {
            serde.push(format!("default = \"{path}\""));
            defaulted = true;
        }
        if !facts.written {
            // Without a value, drop defaults.
            serde.retain(|item| !item.starts_with("default"));
            schemars.retain(|item| !item.starts_with("!default"));
        }
        let condition = self.chance(if defaulted { 45 } else { 12 });
        if condition && let Some(path) = self.skip_condition(from, ty, around) {
            serde.push(format!("skip_serializing_if = \"{path}\""));
            if self.chance(8) {
                schemars.push("!skip_serializing_if".to_owned());
            }
        }
        if !around.container_default && !serde.iter().any(|item| item.contains("default")) {
            match self.below(30) {
                0 => {
                    let with = if facts.schema && self.chance(50) { ty.clone() } else { self.any_type(1) };
                    schemars.push(format!("with = \"{}\"", self.text(from, &with)));
                }
                1 => {
                    schemars.push(format!("schema_with = \"{}\"", self.schema_function(from, around)));
                }
                2 if facts.schema => {
                    written = false;
                    serde.push(format!("serialize_with = \"{}\"", self.serialize_function(from)));
                }
                3 if facts.default && !ty.mentions_param() => serde.push("skip_deserializing".to_owned()),
                4 => serde.push("skip_serializing".to_owned()),
                5 if !around.bare => schemars.push("skip_serializing".to_owned()),
                _ => {}
            }
        }
        self.metadata(from, ty, around, &mut schemars);
        let mut nodes = self.docs(30);
        nodes.extend(self.attributes("serde", serde));
        nodes.extend(self.attributes("schemars", schemars));
        if self.chance(6) {
            let items = [
                "length(min = 1)",
                "range(min = 1, max = 9)",
                "email",
                "url",
                "length(equal = 3)",
                "required",
                "regex(path = PATTERN)",
                "contains(pattern = \"x\")",
                "custom(function = \"f\")",
            ];
            let item = self.pick(&items).to_owned();
            let item = if item.contains("PATTERN") { item.replace("PATTERN", &self.pattern(from)) } else { item };
            let item = if ty.is_option() || item != "required" { item } else { "url".to_owned() };
            nodes.extend(self.attributes("validate", vec![item]));
        }
        if !around.ruled && self.chance(3) {
            let item =
                self.pick(&["length(min = 2)", "range(max = 4)", "pattern(\"^g\")", "inner(length(min = 1))", "ascii"]);
            nodes.extend(self.attributes("garde", vec![item.to_owned()]));
        }
        if self.chance(3) {
            nodes.push(Node::part(self.pick(&[
                "#[deprecated]\n",
                "#[deprecated(note = \"old\")]\n",
                "#[allow(unused)]\n",
            ])));
        }
        if around.ruled && !around.bare && self.chance(25) {
            let rule = self.field_rule(from, ty);
            nodes.extend(self.attributes("x_kube", rule));
        }
        self.shuffle(&mut nodes);
        FieldAttributes { nodes, written }
    }

    /// Constraints, metadata and extensions.
    fn metadata(&mut self, from: usize, ty: &Ty, around: Around<'_>, schemars: &mut Vec<String>) {
        if !self.chance(40) {
            return;
        }
        let wild = self.chance(15);
        let number = wild || matches!(ty.kind(), Some(Kind::Integer(..) | Kind::Float));
        let text = wild || matches!(ty.kind(), Some(Kind::Text | Kind::Char));
        for _ in 0..=self.below(3) {
            let item = match self.below(16) {
                0 | 1 if number => match self.below(3) {
                    0 => format!("range(min = {})", self.bound(from, around)),
                    1 => format!("range(max = {}, min = -1)", self.bound(from, around)),
                    _ => "range(min = 0.5, max = 1e3)".to_owned(),
                },
                2 | 3 if text || ty.is_list() => match self.below(3) {
                    0 => format!("length(min = {})", self.bound(from, around)),
                    1 => format!("length(equal = {})", self.bound(from, around)),
                    _ => format!("length(min = 1, max = {})", self.bound(from, around)),
                },
                4 | 5 if text => match self.below(4) {
                    0 => "pattern(\"^[a-z]+$\")".to_owned(),
                    1 => "regex(pattern = r\"^\\d+$\")".to_owned(),
                    2 => format!("regex(pattern = {})", self.pattern(from)),
                    _ => "contains(pattern = \"a.b\")".to_owned(),
                },
                6 if text => self.pick(&["email", "url", "ip", "ipv4", "ipv6"]).to_owned(),
                7 if ty.is_list() => match self.below(3) {
                    0 => format!("inner(length(max = {}))", self.bound(from, around)),
                    1 => "inner(range(min = 1), inner(pattern(\"^a\")))".to_owned(),
                    _ => "inner(url, length(min = 1))".to_owned(),
                },
                7 if ty.is_map() => "contains(pattern = \"key\")".to_owned(),
                8 if ty.is_option() => "required".to_owned(),
                9 => format!("title = {}", self.pick(&TEXTS)),
                10 => format!("description = {}", self.pick(&TEXTS)),
                11 => match self.value(from, ty, 2) {
                    // The place does not fix the type here.
                    Some(_) if ty.kind() == Some(Kind::Text) => "example = \"a text\"".to_owned(),
                    _ => format!("example = {}", self.pick(&["3", "true", "&\"x\"", "2.5", "-7", "[\"a\", \"b\"]"])),
                },
                12..=14 => {
                    let count = 1 + self.below(2);
                    let mut items: Vec<String> = (0..count).map(|_| self.extension(from)).collect();
                    items.dedup();
                    format!("extend({})", items.join(", "))
                }
                _ => continue,
            };
            let key = item.split(['(', ' ']).next().unwrap().to_owned();
            let same = |other: &String| {
                let other = other.split(['(', ' ']).next().unwrap();
                let group = |key: &str| match key {
                    "pattern" | "regex" | "contains" => 1,
                    "email" | "url" | "ip" | "ipv4" | "ipv6" => 2,
                    _ => 0,
                };
                other == key || group(other) != 0 && group(other) == group(&key)
            };
            if !schemars.iter().any(same) {
                schemars.push(item);
            }
        }
    }

    /// `"key" = json` with a key that is unique in the file.
    pub(super) fn extension(&mut self, from: usize) -> String {
        let number = self.number();
        let value = match self.below(9) {
            0 => "true".to_owned(),
            1 => self.constant(from, &super::ty::LEAVES[2]),
            2 => "{ \"a\": [1, 2.5, null, -3], \"b\": { \"c\": \"d\" } }".to_owned(),
            3 => "[\"a\", 'b', \"c\"]".to_owned(),
            4 => "null".to_owned(),
            5 => "-1".to_owned(),
            6 => format!("[{}, {}]", self.below(9), self.constant(from, &super::ty::LEAVES[7])),
            7 => "concat!(\"x\", \"y\")".to_owned(),
            _ => "\"text\"".to_owned(),
        };
        match self.below(12) {
            0 => "\"x-kubernetes-preserve-unknown-fields\" = true".to_owned(),
            1 => "\"x-kubernetes-list-type\" = \"set\"".to_owned(),
            2 => "\"x-kubernetes-map-type\" = \"atomic\"".to_owned(),
            3 => "\"default\" = { \"from\": \"extension\" }".to_owned(),
            4 => "\"minimum\" = 2".to_owned(),
            5 => "\"description\" = \"extended\"".to_owned(),
            6 => "\"enum\" = [\"a\", \"b\"]".to_owned(),
            _ => format!("\"x-{number}\" = {value}"),
        }
    }

    fn pattern(&mut self, from: usize) -> String {
        let module = self.any_module();
        let name = format!("PATTERN_{}", self.number());
        self.item(module, Node::part(format!("pub const {name}: &str = \"^[a-z]([-a-z0-9]*)$\";\n")));
        self.path(from, module, &name)
    }

    /// Returns the path of a function with a value of this type.
    fn default_function(&mut self, from: usize, ty: &Ty, around: Around<'_>) -> Option<String> {
        let name = format!("default_{}", self.number());
        if let Some(owner) = around.owner.filter(|_| self.random.percent(25)) {
            let (text, value) = (self.text(from, ty), self.value(from, ty, 2)?);
            let owner = owner.to_owned();
            let item = format!("impl {owner} {{\n    pub fn {name}() -> {text} {{\n        {value}\n    }}\n}}\n\n");
            self.item(from, Node::part(item));
            return Some(format!("{owner}::{name}"));
        }
        let module = self.any_module();
        let (text, value) = (self.text(module, ty), self.value(module, ty, 3)?);
        let body = match self.below(8) {
            0 => format!("let value: {text} = {value};\n    value"),
            1 => format!("{{ {value} }}"),
            2..=3 => self.made(module, ty, value)?,
            _ => value,
        };
        let constant = if body == "true" || body == "false" { "const " } else { "" };
        self.item(module, Node::part(format!("pub {constant}fn {name}() -> {text} {{\n    {body}\n}}\n\n")));
        Some(self.path(from, module, &name))
    }

    /// A value from a constructor of the type or from a function of the module.
    fn made(&mut self, module: usize, ty: &Ty, value: String) -> Option<String> {
        if let Some(built) = self.built(module, ty) {
            return Some(built);
        }
        let (name, text) = (format!("made_{}", self.number()), self.text(module, ty));
        let function = format!("pub fn {name}(value: {text}) -> {text} {{\n    value\n}}\n\n");
        self.item(module, Node::part(function));
        Some(format!("{name}({value})"))
    }

    /// A value from a struct's constructor.
    fn built(&mut self, from: usize, ty: &Ty) -> Option<String> {
        let Ty::Decl(decl, arguments) = ty else { return None };
        let Decl { module, name, shape: Shape::Struct(fields), params, alias: None, .. } = self.decls[*decl].clone()
        else {
            return None;
        };
        if !params.is_empty() || !arguments.is_empty() || fields.is_empty() {
            return None;
        }
        let number = self.number();
        let (mut values, mut given, mut declared) = (Vec::new(), Vec::new(), Vec::new());
        for (field, ty) in &fields {
            if self.chance(30) {
                given.push(self.value(from, ty, 2)?);
                declared.push(format!("{field}: {}", self.text(module, ty)));
                values.push(field.clone());
            } else {
                values.push(format!("{field}: {}", self.value(module, ty, 1)?));
            }
        }
        let (declared, values, given) = (declared.join(", "), values.join(", "), given.join(", "));
        let function = format!("pub fn new_{number}({declared}) -> Self {{\n        Self {{ {values} }}\n    }}");
        self.item(module, Node::part(format!("impl {name} {{\n    {function}\n}}\n\n")));
        Some(format!("{}::new_{number}({given})", self.path(from, module, &name)))
    }

    /// The path of a `skip_serializing_if` function.
    fn skip_condition(&mut self, from: usize, ty: &Ty, around: Around<'_>) -> Option<String> {
        if ty.is_option() {
            return Some(self.pick(&["Option::is_none", "std::option::Option::is_none", "Option::is_some"]).to_owned());
        }
        if self.chance(15) && !ty.mentions_param() {
            return self.own_condition(from, ty, around);
        }
        if let Ty::Of(..) = ty
            && (ty.is_list() || ty.is_map())
        {
            let text = self.text(from, ty);
            let of = text.split('<').next().unwrap().to_owned();
            return Some(format!("{of}::is_empty"));
        }
        match ty.kind()? {
            Kind::Bool if !matches!(ty, Ty::Of(..)) => Some("std::ops::Not::not".to_owned()),
            Kind::Text if *ty == Ty::leaf("String") => {
                Some(self.pick(&["String::is_empty", "str::is_empty"]).to_owned())
            }
            _ => None,
        }
    }

    fn own_condition(&mut self, from: usize, ty: &Ty, around: Around<'_>) -> Option<String> {
        let facts = self.facts(ty);
        let name = format!("is_left_out_{}", self.number());
        let module = self.any_module();
        let text = self.text(module, ty);
        let body = match ty.kind() {
            Some(Kind::Bool) if matches!(ty, Ty::Leaf(_)) => {
                self.pick(&["!*value", "!value", "*value == false"]).to_owned()
            }
            Some(Kind::Integer(..)) if matches!(ty, Ty::Leaf(_)) => {
                self.pick(&["*value == 0", "*value != 7"]).to_owned()
            }
            Some(Kind::Text) if matches!(ty, Ty::Leaf(_)) => {
                self.pick(&["value.is_empty()", "value == \"a\"", "!value.is_empty()"]).to_owned()
            }
            _ if facts.default && facts.ord && facts.written => {
                let generic = format!(
                    "pub fn {name}<T: Default + PartialEq>(value: &T) -> bool {{\n    *value == T::default()\n}}\n\n"
                );
                self.item(module, Node::part(generic));
                return Some(self.path(from, module, &name));
            }
            _ => return None,
        };
        let _ = around;
        self.item(module, Node::part(format!("pub fn {name}(value: &{text}) -> bool {{\n    {body}\n}}\n\n")));
        Some(self.path(from, module, &name))
    }

    fn serialize_function(&mut self, from: usize) -> String {
        let module = self.any_module();
        let name = format!("write_{}", self.number());
        self.item(
            module,
            Node::part(format!(
                "pub fn {name}<T, S: serde::Serializer>(_: &T, serializer: S) -> Result<S::Ok, S::Error> {{\n    \
                 serializer.serialize_str(\"x\")\n}}\n\n"
            )),
        );
        self.path(from, module, &name)
    }

    /// The path of a schema function.
    pub(super) fn schema_function(&mut self, from: usize, around: Around<'_>) -> String {
        let name = format!("schema_{}", self.number());
        let owner = around.owner.filter(|_| self.random.percent(20)).map(str::to_owned);
        let module = if owner.is_some() { from } else { self.any_module() };
        let body = self.schema_body(module);
        let (generator, schema) = (self.foreign(module, "SchemaGenerator"), self.foreign(module, "Schema"));
        let function = format!("pub fn {name}(generator: &mut {generator}) -> {schema} {{\n    {body}\n}}\n");
        if let Some(owner) = owner {
            self.item(module, Node::part(format!("impl {owner} {{\n{function}}}\n\n")));
            return format!("{owner}::{name}");
        }
        self.item(module, Node::part(function + "\n"));
        self.path(from, module, &name)
    }

    /// The body of a schema function that uses `generator`.
    pub(super) fn schema_body(&mut self, module: usize) -> String {
        let ty = self.any_type(1);
        let ty = if self.facts(&ty).schema { self.text(module, &ty) } else { "String".to_owned() };
        let (schema, json) = (self.foreign(module, "json_schema"), self.foreign(module, "json"));
        let number = self.below(30);
        let constant = self.constant(module, &super::ty::LEAVES[6]);
        match self.below(8) {
            0 => format!("{schema}!({{ \"type\": \"string\", \"maxLength\": {number} }})"),
            1 => format!(
                "{schema}!({{ \"type\": \"array\", \"items\": generator.subschema_for::<{ty}>(), \"maxItems\": {constant} }})"
            ),
            2 => format!(
                "let mut schema = generator.subschema_for::<{ty}>();\n    \
                 schema.insert(\"x-number\".into(), {number}.into());\n    schema"
            ),
            3 => format!(
                "let mut schema = <{ty} as schemars::JsonSchema>::json_schema(generator);\n    schema.remove(\"description\");\n    \
                 schema.insert(\"description\".to_owned(), {json}!(\"made\"));\n    schema"
            ),
            4 => {
                format!("serde_json::from_value({json}!({{ \"type\": \"integer\", \"minimum\": -{number} }})).unwrap()")
            }
            5 => format!(
                "let inner = generator.subschema_for::<{ty}>();\n    {schema}!({{\n        \"type\": \"object\",\n        \
                 \"properties\": {{ \"a\": inner, \"b\": {{ \"type\": \"boolean\" }} }},\n        \"required\": [\"a\"],\n    }})"
            ),
            6 => format!("generator.subschema_for::<{ty}>()"),
            _ => format!(
                "let mut schema = {schema}!({{ \"type\": \"object\" }});\n    let object = schema.ensure_object();\n    \
                 object.insert(\"x-kubernetes-preserve-unknown-fields\".into(), true.into());\n    schema"
            ),
        }
    }

    /// CEL rules and merge strategies of a field.
    fn field_rule(&mut self, from: usize, ty: &Ty) -> Vec<String> {
        let mut items: Vec<String> = (0..self.below(3)).map(|_| format!("validation = {}", self.rule(from))).collect();
        let merge: &[&str] = if ty.is_list() {
            &["ListMerge::Atomic", "ListMerge::Set", "ListMerge::Map(vec![\"name\".into(), \"key\".to_string()])"]
        } else if ty.is_map() {
            &["MapMerge::Atomic", "MapMerge::Granular"]
        } else {
            &["StructMerge::Atomic", "StructMerge::Granular"]
        };
        if items.is_empty() || self.chance(40) {
            items.push(format!("merge_strategy = {}", self.pick(merge)));
        }
        items
    }

    pub(super) fn rule(&mut self, from: usize) -> String {
        match self.below(8) {
            0 => "(\"self > 0\", \"must be positive\")".to_owned(),
            1 => self.pattern(from),
            2 => "Rule::new(\"self == oldSelf\").message(\"immutable\")".to_owned(),
            3 => "Rule::new(\"self != ''\").message(Message::Expression(\"'got ' + self\".into())).reason(Reason::FieldValueRequired)".to_owned(),
            4 => "Rule::new(\"true\").field_path(\".spec.a\").optional_old_self(true)".to_owned(),
            5 => "Rule::new(\"self.size() < 9\").reason(Reason::FieldValueDuplicate)".to_owned(),
            _ => format!("\"size(self) < {}\"", self.below(99)),
        }
    }
}
