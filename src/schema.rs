//! A type as data → the structural `OpenAPI` v3 schema that `kube` writes into a CRD.
//!
//! [`Graph`] holds what the `JsonSchema` derive would see of each type: names after serde's renames, constraints and
//! defaults already evaluated. Nothing here reads Rust source and nothing here can fail on its own: the impls of
//! schemars that run on it are the real ones; what kube-core does afterwards is in [`structural`], and what older
//! releases of both do otherwise in the table of [`release`].

pub mod known;
pub mod release;

pub(crate) mod k8s;

mod derived;
mod linked;
mod place;
pub(crate) mod recipe;
mod slot;
mod structural;

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube::core::{ListMerge, MapMerge, Rule, StructMerge};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::AddNullable;
use serde_json::Value;

use crate::diagnostic::Origin;
use known::Known;
pub use place::Places;
pub use recipe::{Change, Edit, Recipe};
use release::Releases;

/// A type of a [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeId(usize);

/// All types that one custom resource reaches.
#[derive(Debug, Default)]
pub struct Graph {
    types: Vec<Type>,
    /// The releases of kube and schemars that make their schemas.
    pub releases: Releases,
}

/// A type whose schema is known: one with a real `JsonSchema` impl linked here, or one of the user's.
#[derive(Debug)]
pub enum Type {
    /// An impl of schemars, std or k8s-openapi, with its type arguments.
    Known(&'static Known, Vec<TypeId>),
    /// A type of the analysed crate.
    User(Arc<Container>),
    /// Not described yet, or refused with a diagnostic: the empty schema.
    Unknown,
}

impl Graph {
    /// A graph without types.
    pub fn of(releases: Releases) -> Self {
        Graph { releases, ..Graph::default() }
    }

    /// Adds a type.
    pub fn add(&mut self, ty: Type) -> TypeId {
        self.types.push(ty);
        TypeId(self.types.len() - 1)
    }

    /// Replaces a type that was added as [`Type::Unknown`].
    pub fn set(&mut self, id: TypeId, ty: Type) {
        self.types[id.0] = ty;
    }

    /// The type that was added at a position.
    pub fn at(&self, position: usize) -> TypeId {
        TypeId(position)
    }

    /// The position of a type, in the order they were added.
    pub fn index(&self, id: TypeId) -> usize {
        id.0
    }

    /// The type behind an id.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }

    /// Whether a type is part of another one.
    fn reaches(&self, from: TypeId, to: TypeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut left = vec![from];
        while let Some(id) = left.pop() {
            let parts = match self.get(id) {
                Type::Known(_, arguments) => arguments.clone(),
                Type::User(container) => container.parts(),
                Type::Unknown => Vec::new(),
            };
            if parts.contains(&to) {
                return true;
            }
            left.extend(parts.into_iter().filter(|part| seen.insert(*part)));
        }
        false
    }

    /// How many schemas are written in that of a type. All are written inline, so a few types that hold each other twice make
    /// millions of them.
    fn size(&self, root: TypeId) -> usize {
        let mut sizes = vec![None; self.types.len()];
        self.measure(root, &mut sizes);
        sizes[root.0].unwrap_or_default()
    }

    fn measure(&self, id: TypeId, sizes: &mut [Option<usize>]) -> usize {
        if let Some(size) = sizes[id.0] {
            return size;
        }
        // A type that contains itself is refused elsewhere.
        sizes[id.0] = Some(1);
        let (own, parts) = match self.get(id) {
            Type::Known(_, arguments) => (usize::from(arguments.is_empty()), arguments.clone()),
            Type::User(container) => (1, container.parts()),
            Type::Unknown => (1, Vec::new()),
        };
        let size = parts.into_iter().fold(own, |size, part| size.saturating_add(self.measure(part, sizes)));
        sizes[id.0] = Some(size);
        size
    }

    /// How many names are in the schema id of a type, which are many where each generic type is made of two.
    fn id_size(&self, id: TypeId, sizes: &mut [Option<usize>]) -> usize {
        if let Some(size) = sizes[id.0] {
            return size;
        }
        sizes[id.0] = Some(1);
        let arguments: &[TypeId] = match self.get(id) {
            Type::Known(_, arguments) => arguments,
            Type::User(container) => container.id.arguments.as_deref().unwrap_or_default(),
            Type::Unknown => &[],
        };
        let size = arguments.iter().fold(1, |size: usize, part| size.saturating_add(self.id_size(*part, sizes)));
        sizes[id.0] = Some(size);
        size
    }

    /// Where the fields of a type are written.
    pub fn places(&self, root: TypeId) -> Arc<Places> {
        place::places(self, root)
    }

    /// The types of the analysed crate with their ids, in the order they were met.
    pub fn containers(&self) -> impl Iterator<Item = (TypeId, &Arc<Container>)> {
        self.types.iter().enumerate().filter_map(|(index, ty)| match ty {
            Type::User(container) => Some((TypeId(index), container)),
            Type::Known(..) | Type::Unknown => None,
        })
    }
}

/// A struct or enum as its `JsonSchema` derive sees it.
#[derive(Debug)]
pub struct Container {
    /// `JsonSchema::schema_name`.
    pub name: String,
    /// `JsonSchema::schema_id`.
    pub id: SchemaId,
    /// `JsonSchema::inline_schema`.
    pub inline: bool,
    /// What it is made of.
    pub shape: Shape,
    /// Title, description and the like.
    pub meta: Meta,
    /// What `KubeSchema` adds.
    pub validated: Option<Validated>,
}

/// What schemars tells types apart by: inside of a type it writes no other one of the same id, but a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaId {
    /// The path and the name; of a generic type also `<` and the constants.
    pub text: String,
    /// The arguments of a generic type whose ids follow.
    pub arguments: Option<Vec<TypeId>>,
}

impl From<String> for SchemaId {
    fn from(text: String) -> Self {
        SchemaId { text, arguments: None }
    }
}

impl Container {
    /// The types that it is directly made of, each as often as its schema is made.
    fn parts(&self) -> Vec<TypeId> {
        let fields = |fields: &[Field]| -> Vec<TypeId> { fields.iter().map(|field| field.ty).collect() };
        let mut parts = match &self.shape {
            Shape::Transparent(ty) | Shape::With(ty) => vec![*ty],
            Shape::Newtype(field) => vec![field.ty],
            Shape::Unit => Vec::new(),
            Shape::Recipe(recipe) => recipe.types(),
            Shape::Tuple(list) | Shape::Struct(list, _) => fields(list),
            Shape::Enum(_, variants, _) => variants
                .iter()
                .flat_map(|variant| {
                    let inner = match &variant.data {
                        VariantData::Unit => Vec::new(),
                        VariantData::Newtype(field) => vec![field.ty],
                        VariantData::Tuple(list) | VariantData::Struct(list) => fields(list),
                    };
                    variant.with.into_iter().chain(inner)
                })
                .collect(),
        };
        if let (Some(validated), Shape::Struct(list, _)) = (&self.validated, &self.shape) {
            parts.extend(validated.fields.iter().filter_map(|(index, ..)| Some(list.get(*index)?.ty)));
        }
        parts
    }
}

/// The forms of a container.
#[derive(Debug)]
pub enum Shape {
    /// Every method of the impl is that of another type.
    Transparent(TypeId),
    /// The schema of another type: `with`, `from`, `try_from`.
    With(TypeId),
    /// A struct that is written as its one field.
    Newtype(Box<Field>),
    /// `struct S;`
    Unit,
    /// `struct S(A, B);`
    Tuple(Vec<Field>),
    /// `struct S { a: A }`
    Struct(Vec<Field>, Unknown),
    /// What a hand-written `JsonSchema` or a `schema_with` returns.
    Recipe(Recipe),
    /// An enum.
    Enum(Tag, Vec<Variant>, Unknown),
}

/// What happens to unknown fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// They are ignored.
    Allow,
    /// `#[serde(deny_unknown_fields)]`.
    Deny,
}

/// How serde tells the variants of an enum apart.
#[derive(Debug)]
pub enum Tag {
    /// `{"Variant": …}`
    External,
    /// `{"<tag>": "Variant", …}`
    Internal(String),
    /// `{"<tag>": "Variant", "<content>": …}`
    Adjacent(String, String),
    /// By trying.
    None,
}

/// A field that is read by `Deserialize`.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an attribute of its own")]
pub struct Field {
    /// Its name in JSON.
    pub name: String,
    /// Its type, or the one that `with` names.
    pub ty: TypeId,
    /// It may be left out whatever its type.
    pub has_default: bool,
    /// `#[serde(flatten)]`.
    pub flatten: bool,
    /// Skipped by `Deserialize` (only met in a newtype, which has no other field).
    pub read_only: bool,
    /// Skipped by `Serialize`.
    pub write_only: bool,
    /// The value of `default`, when there is one and it is serialised.
    pub default: Option<Value>,
    /// Title, description and the like.
    pub meta: Meta,
    /// Ranges, lengths, patterns.
    pub constraints: Constraints,
    /// Where it is written.
    pub origin: Option<Origin>,
}

/// A variant of an enum.
#[derive(Debug)]
pub struct Variant {
    /// Its name in JSON.
    pub name: String,
    /// What it holds.
    pub data: VariantData,
    /// `with` on the variant.
    pub with: Option<TypeId>,
    /// `#[serde(untagged)]` on the variant.
    pub untagged: bool,
    /// Skipped by `Deserialize`: it has no schema, but counts for the form of the others.
    pub skipped: bool,
    /// Title, description and the like.
    pub meta: Meta,
    /// Where it is written.
    pub origin: Option<Origin>,
}

/// What a variant holds.
#[derive(Debug)]
pub enum VariantData {
    /// `V`
    Unit,
    /// `V(A)`
    Newtype(Box<Field>),
    /// `V(A, B)`
    Tuple(Vec<Field>),
    /// `V { a: A }`
    Struct(Vec<Field>),
}

/// Metadata of a container, variant or field.
#[derive(Debug, Default)]
pub struct Meta {
    /// `title`, from an attribute or a heading in the docs; empty means none.
    pub title: Option<String>,
    /// Whether the title was given by an attribute.
    pub explicit_title: bool,
    /// `description`, from an attribute or the docs; empty means none.
    pub description: Option<String>,
    /// `#[deprecated]`.
    pub deprecated: bool,
    /// `example = …`; absent when there is no such attribute.
    pub examples: Option<Vec<Value>>,
    /// `extend("key" = …)`, applied after everything else.
    pub extensions: Vec<(String, Value)>,
}

impl Meta {
    /// No attribute of this kind was given at all.
    pub fn is_default(&self) -> bool {
        let Meta { title, explicit_title: _, description, deprecated, examples, extensions } = self;
        title.is_none() && description.is_none() && !deprecated && examples.is_none() && extensions.is_empty()
    }
}

/// Constraints on a value.
#[derive(Debug, Default, PartialEq)]
pub struct Constraints {
    /// `length(…)`.
    pub length: Option<Bounds>,
    /// `range(…)`.
    pub range: Option<Bounds>,
    /// `regex(…)` or `pattern(…)`.
    pub pattern: Option<String>,
    /// `contains(…)`.
    pub contains: Option<String>,
    /// `email`, `url`, `ip`, `ipv4`, `ipv6` as a format of JSON Schema.
    pub format: Option<&'static str>,
    /// `required`.
    pub required: bool,
    /// `inner(…)`.
    pub inner: Option<Box<Constraints>>,
}

/// Both ends of a range; absent means unbounded.
#[derive(Debug, Default, PartialEq)]
pub struct Bounds {
    /// The least value.
    pub min: Option<Value>,
    /// The greatest value.
    pub max: Option<Value>,
}

/// What `KubeSchema` adds to a struct.
#[derive(Debug, Default)]
pub struct Validated {
    /// Rules on the whole struct.
    pub rules: Vec<Rule>,
    /// Rules and merge strategies of fields, by index into the fields of the struct.
    pub fields: Vec<(usize, Vec<Rule>, Option<Merge>)>,
}

/// A server-side apply merge strategy.
#[derive(Debug, Clone)]
pub enum Merge {
    /// `x-kubernetes-list-type`.
    List(ListMerge),
    /// `x-kubernetes-map-type`.
    Map(MapMerge),
    /// `x-kubernetes-struct-type`.
    Struct(StructMerge),
}

/// Why `crd()` of the compiled type would panic instead of returning a CRD.
#[derive(Debug)]
pub enum Failure {
    /// kube-core cannot make the schema structural.
    NotStructural {
        /// The smallest type of the user that shows the failure.
        culprit: Option<TypeId>,
        /// The words of kube-core.
        panic: String,
    },
    /// The schema does not fit `JSONSchemaProps`.
    NotProps(serde_json::Error),
    /// The type contains itself.
    Recursive,
    /// The schema has so many parts that making it would take all the memory.
    TooLarge,
}

/// As many as in a CRD of 1.5 MiB, which is the most that etcd takes: few schemas are shorter than `"a":{"type":"object"},`.
const MOST_PARTS: usize = 65_536;

/// The schema of a root type, exactly as the code generated by kube-derive makes it.
pub fn root(graph: &Arc<Graph>, root: TypeId) -> Result<JSONSchemaProps, Failure> {
    let mut sizes = vec![None; graph.types.len()];
    let long = (0..graph.types.len()).any(|at| graph.id_size(TypeId(at), &mut sizes) > MOST_PARTS);
    if long || graph.size(root) > MOST_PARTS {
        return Err(Failure::TooLarge);
    }
    let schema = run(graph, root).map_err(|panic| {
        let failing: Vec<TypeId> =
            graph.containers().map(|(id, _)| id).filter(|&id| id != root && run(graph, id).is_err()).collect();
        let culprit =
            failing.iter().copied().find(|&id| failing.iter().all(|&other| other == id || !graph.reaches(id, other)));
        Failure::NotStructural { culprit, panic }
    })?;
    if contains_reference(&schema) {
        return Err(Failure::Recursive);
    }
    serde_json::from_value(schema).map_err(Failure::NotProps)
}

fn run(graph: &Arc<Graph>, root: TypeId) -> Result<Value, String> {
    let make = || slot::with_root(graph, root, || generator().into_root_schema_for::<slot::Root>().to_value());
    let mut schema = quietly(make)?;
    structural::rewrite(&mut schema, graph.releases)?;
    Ok(schema)
}

fn generator() -> SchemaGenerator {
    SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .into_generator()
}

/// Schemas are positions: a key `$ref` anywhere else is a property name or a part of a default.
fn contains_reference(value: &Value) -> bool {
    let Value::Object(map) = value else { return false };
    map.iter().any(|(key, value)| match key.as_str() {
        "$ref" => value.is_string(),
        "properties" | "patternProperties" => {
            value.as_object().is_some_and(|properties| properties.values().any(contains_reference))
        }
        "items" | "additionalProperties" | "not" | "propertyNames" | "contains" | "additionalItems" => match value {
            Value::Array(items) => items.iter().any(contains_reference),
            other => contains_reference(other),
        },
        "oneOf" | "anyOf" | "allOf" | "prefixItems" => {
            value.as_array().is_some_and(|schemas| schemas.iter().any(contains_reference))
        }
        _ => false,
    })
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that panics on some input, without a message on the terminal.
pub(crate) fn quietly<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                previous(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    QUIET.set(before);
    result.map_err(|payload| message(payload.as_ref()))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}
