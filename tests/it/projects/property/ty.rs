//! Random types, their traits, and expressions of their values.

use super::world::World;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ty {
    /// A type of std or another crate without arguments.
    Leaf(&'static Leaf),
    /// A generic type of std.
    Of(&'static Of, Vec<Ty>),
    Array(Box<Ty>, usize),
    Tuple(Vec<Ty>),
    /// An entry of [`World::decls`] with arguments.
    Decl(usize, Vec<Ty>),
    /// A type parameter by number.
    Param(usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Facts {
    pub(super) default: bool,
    /// `PartialEq`, `Eq`, `PartialOrd` and `Ord`.
    pub(super) ord: bool,
    pub(super) hash: bool,
    /// Usable as a map key.
    pub(super) key: bool,
    /// The schema is an object, so the field can be flattened.
    pub(super) object: bool,
    /// Derived code serializes it.
    pub(super) written: bool,
    /// Has a schema, and is serializable in both directions.
    pub(super) schema: bool,
}

impl Facts {
    const NONE: Facts =
        Facts { default: false, ord: false, hash: false, key: false, object: false, written: true, schema: true };
}

#[derive(Debug, PartialEq)]
pub(super) struct Leaf {
    pub(super) text: &'static str,
    facts: Facts,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Bool,
    Integer(i64, u64),
    Float,
    Text,
    Char,
    Json,
    Quantity,
    IntOrString,
    Duration,
    Address,
    NonZero,
    Path,
    /// Has no expression except its default.
    Opaque,
}

#[derive(Debug, PartialEq)]
pub(super) struct Of {
    /// A path, or a name that modules import.
    name: &'static str,
    kind: Container,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Container {
    Option,
    Pointer,
    Cow,
    List,
    Set,
    Map,
}

const fn leaf(text: &'static str, kind: Kind, default: bool, ord: bool, key: bool) -> Leaf {
    Leaf { text, kind, facts: Facts { default, ord, hash: ord, key, ..Facts::NONE } }
}

/// Scalars first.
pub(super) static LEAVES: [Leaf; 63] = [
    leaf("bool", Kind::Bool, true, true, false),
    leaf("String", Kind::Text, true, true, true),
    leaf("i32", Kind::Integer(i32::MIN as i64, i32::MAX as u64), true, true, true),
    leaf("i64", Kind::Integer(i64::MIN, i64::MAX as u64), true, true, true),
    leaf("u8", Kind::Integer(0, u8::MAX as u64), true, true, true),
    leaf("u16", Kind::Integer(0, u16::MAX as u64), true, true, true),
    leaf("u32", Kind::Integer(0, u32::MAX as u64), true, true, true),
    leaf("u64", Kind::Integer(0, u64::MAX), true, true, true),
    leaf("i8", Kind::Integer(i8::MIN as i64, i8::MAX as u64), true, true, true),
    leaf("i16", Kind::Integer(i16::MIN as i64, i16::MAX as u64), true, true, true),
    leaf("usize", Kind::Integer(0, u64::MAX), true, true, true),
    leaf("isize", Kind::Integer(i64::MIN, i64::MAX as u64), true, true, true),
    leaf("f32", Kind::Float, true, false, false),
    leaf("f64", Kind::Float, true, false, false),
    leaf("char", Kind::Char, true, true, true),
    leaf("i128", Kind::Integer(-9, 9), true, true, false),
    leaf("std::string::String", Kind::Text, true, true, true),
    leaf("Box<str>", Kind::Opaque, true, true, true),
    leaf("std::borrow::Cow<'static, str>", Kind::Opaque, true, true, true),
    leaf("std::num::NonZeroU8", Kind::NonZero, false, true, false),
    leaf("std::num::NonZeroI32", Kind::NonZero, false, true, false),
    leaf("core::num::NonZeroU64", Kind::NonZero, false, true, false),
    leaf("std::net::IpAddr", Kind::Address, false, true, false),
    leaf("std::net::Ipv4Addr", Kind::Address, false, true, false),
    leaf("std::net::SocketAddr", Kind::Opaque, false, true, false),
    leaf("std::path::PathBuf", Kind::Path, true, true, true),
    leaf("std::time::Duration", Kind::Duration, true, true, false),
    leaf("std::marker::PhantomData<String>", Kind::Opaque, true, true, false),
    leaf("()", Kind::Opaque, true, true, false),
    leaf("serde_json::Value", Kind::Json, true, false, false),
    leaf("serde_json::Map<String, serde_json::Value>", Kind::Opaque, true, false, false),
    leaf("serde_json::Number", Kind::Opaque, false, false, false),
    leaf("k8s_openapi::apimachinery::pkg::api::resource::Quantity", Kind::Quantity, true, false, false),
    leaf("k8s_openapi::apimachinery::pkg::util::intstr::IntOrString", Kind::IntOrString, true, false, false),
    leaf("k8s_openapi::apimachinery::pkg::apis::meta::v1::Time", Kind::Opaque, false, false, false),
    leaf("k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime", Kind::Opaque, false, false, false),
    leaf("k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition", Kind::Opaque, false, false, false),
    leaf("k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector", Kind::Opaque, true, false, false),
    leaf("k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta", Kind::Opaque, true, false, false),
    leaf("k8s_openapi::apimachinery::pkg::runtime::RawExtension", Kind::Opaque, true, false, false),
    leaf("k8s_openapi::api::core::v1::ResourceRequirements", Kind::Opaque, true, false, false),
    leaf("k8s_openapi::api::core::v1::EnvVar", Kind::Opaque, true, false, false),
    leaf("k8s_openapi::api::core::v1::Toleration", Kind::Opaque, true, false, false),
    leaf("k8s_openapi::api::core::v1::SecretKeySelector", Kind::Opaque, true, false, false),
    leaf("k8s_openapi::api::apps::v1::DeploymentStrategy", Kind::Opaque, true, false, false),
    leaf("kube::core::ObjectMeta", Kind::Opaque, true, false, false),
    leaf("chrono::DateTime<chrono::Utc>", Kind::Opaque, false, true, false),
    leaf("chrono::DateTime<chrono::FixedOffset>", Kind::Opaque, false, true, false),
    leaf("chrono::NaiveDate", Kind::Opaque, false, true, false),
    leaf("chrono::NaiveDateTime", Kind::Opaque, false, true, false),
    leaf("chrono::NaiveTime", Kind::Opaque, false, true, false),
    leaf("chrono::Weekday", Kind::Opaque, false, false, false),
    leaf("jiff::Timestamp", Kind::Opaque, false, true, false),
    leaf("jiff::Zoned", Kind::Opaque, false, true, false),
    leaf("jiff::Span", Kind::Opaque, false, false, false),
    leaf("jiff::SignedDuration", Kind::Opaque, false, true, false),
    leaf("jiff::civil::Date", Kind::Opaque, false, true, false),
    leaf("uuid::Uuid", Kind::Opaque, true, true, false),
    leaf("url::Url", Kind::Opaque, false, true, false),
    leaf("semver::Version", Kind::Opaque, false, true, false),
    leaf("ipnet::IpNet", Kind::Opaque, false, true, false),
    leaf("indexmap::IndexMap<String, uuid::Uuid>", Kind::Opaque, true, false, false),
    leaf("indexmap::IndexSet<String>", Kind::Opaque, true, false, false),
];

/// Number of scalars at the front of [`LEAVES`].
pub(super) const SCALARS: usize = 15;

static OPTION: Of = Of { name: "Option", kind: Container::Option };
static LIST: Of = Of { name: "Vec", kind: Container::List };
static MAP: Of = Of { name: "BTreeMap", kind: Container::Map };

static CONTAINERS: [Of; 15] = [
    Of { name: "Option", kind: Container::Option },
    Of { name: "std::option::Option", kind: Container::Option },
    Of { name: "Option", kind: Container::Option },
    Of { name: "Vec", kind: Container::List },
    Of { name: "Vec", kind: Container::List },
    Of { name: "std::vec::Vec", kind: Container::List },
    Of { name: "VecDeque", kind: Container::List },
    Of { name: "BTreeSet", kind: Container::Set },
    Of { name: "HashSet", kind: Container::Set },
    Of { name: "BTreeMap", kind: Container::Map },
    Of { name: "BTreeMap", kind: Container::Map },
    Of { name: "HashMap", kind: Container::Map },
    Of { name: "Box", kind: Container::Pointer },
    Of { name: "std::borrow::Cow", kind: Container::Cow },
    Of { name: "std::boxed::Box", kind: Container::Pointer },
];

#[derive(Debug, Clone)]
pub(super) struct Decl {
    pub(super) module: usize,
    pub(super) name: String,
    pub(super) facts: Facts,
    pub(super) shape: Shape,
    /// Type parameters with their bounds.
    pub(super) params: Vec<Param>,
    /// The target of a type alias.
    pub(super) alias: Option<Ty>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Param {
    pub(super) default: bool,
    pub(super) written: bool,
}

/// Syntax of a declared type's values.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Struct(Vec<(String, Ty)>),
    Tuple(Vec<Ty>),
    Unit,
    Enum(Vec<(String, Shape)>),
    /// Has no expression except its default.
    Opaque,
}

impl Ty {
    pub(super) fn leaf(text: &str) -> Self {
        Ty::Leaf(LEAVES.iter().find(|leaf| leaf.text == text).unwrap())
    }

    pub(super) fn option(self) -> Self {
        Ty::Of(&OPTION, vec![self])
    }

    pub(super) fn list(self) -> Self {
        Ty::Of(&LIST, vec![self])
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Ty::Of(&MAP, vec![key, value])
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Ty::Leaf(leaf) => Some(leaf.kind),
            Ty::Of(of, arguments) if matches!(of.kind, Container::Option | Container::Pointer) => arguments[0].kind(),
            _ => None,
        }
    }

    pub(super) fn is_option(&self) -> bool {
        matches!(self, Ty::Of(Of { kind: Container::Option, .. }, _))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self, Ty::Of(Of { kind: Container::List | Container::Set, .. }, _))
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self, Ty::Of(Of { kind: Container::Map, .. }, _))
    }

    /// Returns true if the type contains a parameter.
    pub(super) fn mentions_param(&self) -> bool {
        match self {
            Ty::Leaf(_) => false,
            Ty::Param(_) => true,
            Ty::Of(_, inner) | Ty::Tuple(inner) | Ty::Decl(_, inner) => inner.iter().any(Ty::mentions_param),
            Ty::Array(item, _) => item.mentions_param(),
        }
    }

    /// Substitutes the parameters.
    fn with(&self, arguments: &[Ty]) -> Self {
        let list = |types: &[Ty]| types.iter().map(|ty| ty.with(arguments)).collect();
        match self {
            Ty::Leaf(leaf) => Ty::Leaf(leaf),
            Ty::Param(number) => arguments[*number].clone(),
            Ty::Of(of, types) => Ty::Of(of, list(types)),
            Ty::Tuple(types) => Ty::Tuple(list(types)),
            Ty::Array(item, length) => Ty::Array(Box::new(item.with(arguments)), *length),
            Ty::Decl(decl, inner) => Ty::Decl(*decl, list(inner)),
        }
    }
}

impl World {
    pub(super) fn facts(&self, ty: &Ty) -> Facts {
        match ty {
            Ty::Leaf(leaf) => leaf.facts,
            Ty::Param(_) => Facts::NONE,
            Ty::Of(of, arguments) => {
                let all: Vec<Facts> = arguments.iter().map(|ty| self.facts(ty)).collect();
                let every = |of: fn(&Facts) -> bool| all.iter().all(of);
                let value = Facts { written: every(|it| it.written), schema: every(|it| it.schema), ..Facts::NONE };
                let ord = every(|it| it.ord);
                match of.kind {
                    Container::Option => {
                        Facts { default: true, ord, hash: every(|it| it.hash), object: all[0].object, ..value }
                    }
                    Container::Pointer => Facts { key: false, ..all[0] },
                    Container::Cow => Facts { key: false, object: false, ..all[0] },
                    Container::List => Facts { default: true, ord, hash: every(|it| it.hash), ..value },
                    Container::Set => Facts { default: true, ord: ord && of.name == "BTreeSet", ..value },
                    Container::Map => Facts {
                        default: true,
                        ord: ord && of.name == "BTreeMap",
                        object: arguments[0] == Ty::leaf("String"),
                        ..value
                    },
                }
            }
            Ty::Array(item, _) => Facts { key: false, object: false, ..self.facts(item) },
            Ty::Tuple(items) => items.iter().map(|item| self.facts(item)).fold(
                Facts { default: true, ord: true, hash: true, ..Facts::NONE },
                |all, item| Facts {
                    default: all.default && item.default,
                    ord: all.ord && item.ord,
                    hash: all.hash && item.hash,
                    written: all.written && item.written,
                    schema: all.schema && item.schema,
                    ..all
                },
            ),
            Ty::Decl(decl, arguments) => {
                let decl = &self.decls[*decl];
                let own = match &decl.alias {
                    Some(alias) => self.facts(&alias.with(arguments)),
                    None => decl.facts,
                };
                let every = |of: fn(&Facts) -> bool| arguments.iter().all(|ty| of(&self.facts(ty)));
                let plain = arguments.is_empty();
                Facts {
                    default: own.default && (decl.alias.is_some() || every(|it| it.default)),
                    ord: own.ord && plain,
                    hash: own.hash && plain,
                    key: own.key && plain,
                    written: own.written && every(|it| it.written),
                    ..own
                }
            }
        }
    }

    /// A type for a field, up to this depth.
    pub(super) fn any_type(&mut self, depth: usize) -> Ty {
        match self.below(20) {
            0..=6 => {
                let index = self.below(SCALARS);
                Ty::Leaf(&LEAVES[index])
            }
            7 | 8 => {
                let index = self.below(LEAVES.len());
                Ty::Leaf(&LEAVES[index])
            }
            9..=13 if !self.decls.is_empty() => self.decl_type(depth),
            14 if depth > 0 => {
                let item = self.any_type(depth - 1);
                let length = self.below(4);
                let copied = matches!(&item, Ty::Leaf(leaf) if leaf.facts.ord && leaf.kind != Kind::Opaque);
                if copied { Ty::Array(Box::new(item), length) } else { item.option() }
            }
            15 if depth > 0 => {
                let count = 1 + self.below(3);
                Ty::Tuple((0..count).map(|_| self.any_type(depth - 1)).collect())
            }
            _ if depth > 0 => {
                let of = &CONTAINERS[self.below(CONTAINERS.len())];
                self.container_type(of, depth)
            }
            _ => Ty::leaf("String"),
        }
    }

    fn container_type(&mut self, of: &'static Of, depth: usize) -> Ty {
        let item = self.any_type(depth - 1);
        let facts = self.facts(&item);
        match of.kind {
            Container::Map => {
                let key = self.key_type(of.name == "HashMap");
                Ty::Of(of, vec![key, item])
            }
            Container::Set if of.name == "HashSet" && !facts.hash || !facts.ord => item.list(),
            Container::Set => Ty::Of(of, vec![item]),
            _ => Ty::Of(of, vec![item]),
        }
    }

    fn key_type(&mut self, hash: bool) -> Ty {
        let keys: Vec<usize> = (0..self.decls.len())
            .filter(|&decl| self.decls[decl].facts.key && (self.decls[decl].facts.hash || !hash))
            .collect();
        match self.below(10) {
            0..=3 if !keys.is_empty() => Ty::Decl(keys[self.below(keys.len())], Vec::new()),
            4 | 5 => {
                let index = self.below(SCALARS);
                let leaf = &LEAVES[index];
                if leaf.facts.key { Ty::Leaf(leaf) } else { Ty::leaf("u16") }
            }
            _ => Ty::leaf("String"),
        }
    }

    /// A declared type, preferably a recent one.
    pub(super) fn decl_type(&mut self, depth: usize) -> Ty {
        let count = self.decls.len();
        let decl = if self.chance(60) { count - 1 - self.below(count.min(3)) } else { self.below(count) };
        if !self.decls[decl].facts.schema {
            return Ty::leaf("bool");
        }
        let params = self.decls[decl].params.clone();
        let mut arguments = Vec::new();
        for Param { default, written } in params {
            let ty = self.any_type(depth.saturating_sub(1));
            let facts = self.facts(&ty);
            let fits = (facts.default || !default) && (facts.written || !written);
            arguments.push(if fits { ty } else { Ty::leaf("String") });
        }
        Ty::Decl(decl, arguments)
    }

    /// The type as written in a module.
    pub(super) fn text(&mut self, from: usize, ty: &Ty) -> String {
        match ty {
            Ty::Leaf(leaf) => leaf.text.to_owned(),
            Ty::Param(number) => ["A", "B", "C"][*number].to_owned(),
            Ty::Of(of, arguments) => {
                let imported = ["BTreeMap", "BTreeSet", "HashMap", "HashSet", "VecDeque"];
                let name = if imported.contains(&of.name) { self.foreign(from, of.name) } else { of.name.to_owned() };
                let arguments: Vec<String> = arguments.iter().map(|ty| self.text(from, ty)).collect();
                let lifetime = if of.kind == Container::Cow { "'static, " } else { "" };
                format!("{name}<{lifetime}{}>", arguments.join(", "))
            }
            Ty::Array(item, length) => format!("[{}; {length}]", self.text(from, item)),
            Ty::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|ty| self.text(from, ty)).collect();
                format!("({},)", items.join(", "))
            }
            Ty::Decl(decl, arguments) => {
                let Decl { module, name, .. } = self.decls[*decl].clone();
                let path = self.path(from, module, &name);
                if arguments.is_empty() {
                    return path;
                }
                let arguments: Vec<String> = arguments.iter().map(|ty| self.text(from, ty)).collect();
                format!("{path}<{}>", arguments.join(", "))
            }
        }
    }

    /// An expression of this type, if one exists. `known` means that the context fixes the type.
    pub(super) fn value(&mut self, from: usize, ty: &Ty, depth: usize) -> Option<String> {
        let facts = self.facts(ty);
        if facts.default && (depth == 0 || self.chance(15)) {
            return Some("Default::default()".to_owned());
        }
        let below = depth.saturating_sub(1);
        Some(match ty {
            Ty::Leaf(leaf) => return self.leaf_value(from, leaf, facts),
            Ty::Param(_) => return None,
            Ty::Of(of, arguments) => match of.kind {
                Container::Option => match (self.below(3), self.value(from, &arguments[0], below)) {
                    (0, _) | (_, None) => "None".to_owned(),
                    (_, Some(value)) => format!("Some({value})"),
                },
                Container::Pointer => format!("Box::new({})", self.value(from, &arguments[0], below)?),
                Container::Cow => return facts.default.then(|| "Default::default()".to_owned()),
                Container::List => return self.list_value(from, of, &arguments[0], below),
                Container::Set => format!("{}::new()", self.foreign(from, of.name)),
                Container::Map => {
                    let name = self.foreign(from, of.name);
                    let (key, value) = (self.value(from, &arguments[0], below), self.value(from, &arguments[1], below));
                    match key.zip(value) {
                        Some((key, value)) if self.chance(60) => format!("{name}::from([({key}, {value})])"),
                        _ => format!("{name}::new()"),
                    }
                }
            },
            Ty::Array(item, length) => {
                let items: Option<Vec<String>> = (0..*length).map(|_| self.value(from, item, below)).collect();
                format!("[{}]", items?.join(", "))
            }
            Ty::Tuple(items) => {
                let items: Option<Vec<String>> = items.iter().map(|item| self.value(from, item, below)).collect();
                format!("({},)", items?.join(", "))
            }
            Ty::Decl(decl, arguments) => return self.decl_value(from, *decl, arguments, below),
        })
    }

    fn list_value(&mut self, from: usize, of: &Of, item: &Ty, depth: usize) -> Option<String> {
        let count = self.below(3);
        let items: Option<Vec<String>> = (0..count).map(|_| self.value(from, item, depth)).collect();
        let items = items.unwrap_or_default().join(", ");
        Some(if of.name == "Vec" {
            match self.below(3) {
                0 => format!("Vec::from([{items}])"),
                1 if items.is_empty() => "Vec::new()".to_owned(),
                _ => format!("vec![{items}]"),
            }
        } else if of.name == "VecDeque" {
            format!("{}::from([{items}])", self.foreign(from, of.name))
        } else {
            format!("{}::from([{items}])", of.name)
        })
    }

    fn leaf_value(&mut self, from: usize, leaf: &'static Leaf, facts: Facts) -> Option<String> {
        Some(match leaf.kind {
            Kind::Bool => self.pick(&["true", "false", "(true)"]).to_owned(),
            Kind::Integer(min, max) => {
                let number = self.below(100);
                match self.below(9) {
                    0 if min < 0 => format!("-{number}"),
                    1 if leaf.text != "i128" => format!("{}::MAX", leaf.text),
                    2 => format!("{} + {number}", self.below(20)),
                    3 => format!("({} * 3)", self.below(30)),
                    4 if leaf.text != "i128" => self.sum(from, leaf),
                    5 => format!("0x{number:x}"),
                    6 if max > 1000 => "1_000".to_owned(),
                    _ => number.to_string(),
                }
            }
            Kind::Float => self.pick(&["0.1", "-2.5", "1e3", "4.0", "1.0e-7", "3."]).to_owned(),
            Kind::Text => {
                let text = self.pick(&["a", "two words", "", "\\\"quoted\\\"", "ümläut", "line\\nbreak", "{}"]);
                match self.below(7) {
                    0 => format!("\"{text}\".into()"),
                    1 => format!("String::from(\"{text}\")"),
                    2 => format!("\"{text}\".to_owned()"),
                    3 => "String::new()".to_owned(),
                    4 => format!("format!(\"x-{{}}\", {})", self.below(9)),
                    5 => format!("concat!(\"a\", 1, \"{text}\").to_string()"),
                    _ => format!("\"{text}\".to_string()"),
                }
            }
            Kind::Char => self.pick(&["'a'", "'\\n'", "'ß'"]).to_owned(),
            Kind::Json => {
                self.pick(&["serde_json::json!({ \"a\": [1, 2.5, null] })", "serde_json::Value::Null"]).to_owned()
            }
            Kind::Quantity => format!("{}(\"{}Mi\".into())", leaf.text, self.below(99)),
            Kind::IntOrString if self.chance(50) => format!("{}::Int({})", leaf.text, self.below(99)),
            Kind::IntOrString => format!("{}::String(\"50%\".to_string())", leaf.text),
            Kind::Duration => self.duration(),
            Kind::Path => format!("std::path::PathBuf::from({})", self.pick(&["\"/var/run\"", "\"\"", "\"a b/c\""])),
            Kind::Opaque | Kind::Address | Kind::NonZero => {
                return facts.default.then(|| "Default::default()".to_owned());
            }
        })
    }

    fn duration(&mut self) -> String {
        let (unit, number) = (self.pick(&["secs", "millis"]).to_owned(), self.below(9000));
        format!("std::time::Duration::from_{unit}({number})")
    }

    fn decl_value(&mut self, from: usize, decl: usize, arguments: &[Ty], depth: usize) -> Option<String> {
        let Decl { module, name, shape, facts, alias, .. } = self.decls[decl].clone();
        if let Some(alias) = alias {
            return self.value(from, &alias.with(arguments), depth);
        }
        let path = self.path(from, module, &name);
        match &shape {
            Shape::Opaque => facts.default.then(|| format!("{path}::default()")),
            Shape::Enum(variants) => {
                let mut order: Vec<usize> = (0..variants.len()).collect();
                self.shuffle(&mut order);
                order.into_iter().find_map(|index| {
                    let (variant, shape) = &variants[index];
                    self.shape_value(from, &format!("{path}::{variant}"), shape, arguments, depth, false)
                })
            }
            shape => self.shape_value(from, &path, shape, arguments, depth, facts.default && arguments.is_empty()),
        }
    }

    /// `rest` permits `..Default::default()`.
    pub(super) fn shape_value(
        &mut self,
        from: usize,
        path: &str,
        shape: &Shape,
        arguments: &[Ty],
        depth: usize,
        rest: bool,
    ) -> Option<String> {
        match shape {
            Shape::Unit => Some(path.to_owned()),
            Shape::Tuple(types) => {
                let values: Option<Vec<String>> =
                    types.iter().map(|ty| self.value(from, &ty.with(arguments), depth)).collect();
                Some(format!("{path}({})", values?.join(", ")))
            }
            Shape::Struct(fields) => {
                let mut values = Vec::new();
                let mut left_out = false;
                for (name, ty) in fields {
                    match self.value(from, &ty.with(arguments), depth) {
                        Some(_) if rest && self.chance(40) => left_out = true,
                        Some(value) => values.push(format!("{name}: {value}")),
                        None if rest => left_out = true,
                        None => return None,
                    }
                }
                if left_out {
                    values.push(if self.chance(50) {
                        "..Default::default()".to_owned()
                    } else {
                        format!("..{path}::default()")
                    });
                }
                Some(format!("{path} {{ {} }}", values.join(", ")))
            }
            Shape::Enum(_) | Shape::Opaque => None,
        }
    }
}
