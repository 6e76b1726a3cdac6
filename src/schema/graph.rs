//! Types as their `JsonSchema` derives see them, and the references between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::core::{ListMerge, MapMerge, Rule, StructMerge};
use serde_json::Value;

use super::linked::LinkedType;
use super::recipe::Recipe;
use super::release::Releases;
use super::type_id::TypeId;
use crate::diagnostic::Origin;

#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(super) types: Vec<Type>,
    /// The releases of kube and schemars that derive the schemas.
    pub(crate) releases: Releases,
}

#[derive(Debug)]
pub(crate) enum Type {
    /// An impl of schemars, std or k8s-openapi, with its type arguments.
    Known(&'static LinkedType, Vec<TypeId>),
    User(Arc<Container>),
    /// Not described yet, or rejected with a diagnostic: the empty schema.
    Unknown,
}

impl Graph {
    pub(crate) fn of(releases: Releases) -> Self {
        Graph { releases, ..Graph::default() }
    }

    pub(crate) fn add(&mut self, ty: Type) -> TypeId {
        self.types.push(ty);
        TypeId(self.types.len() - 1)
    }

    /// Replaces a type that was added as [`Type::Unknown`].
    pub(crate) fn set(&mut self, id: TypeId, ty: Type) {
        self.types[id.0] = ty;
    }

    pub(crate) fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }

    /// Returns true if `to` is reachable from `from`.
    pub(super) fn reaches(&self, from: TypeId, to: TypeId) -> bool {
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

    /// The number of schemas in the schema of a type. All are inline, so a few types that contain each other twice can
    /// produce millions.
    pub(super) fn size(&self, root: TypeId) -> usize {
        let mut sizes = vec![None; self.types.len()];
        self.measure(root, &mut sizes);
        sizes[root.0].unwrap_or_default()
    }

    fn measure(&self, id: TypeId, sizes: &mut [Option<usize>]) -> usize {
        if let Some(size) = sizes[id.0] {
            return size;
        }
        // Recursive types are rejected elsewhere.
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

    /// The number of names in the schema id of a type; exponential if generic types nest in pairs.
    pub(super) fn id_size(&self, id: TypeId, sizes: &mut [Option<usize>]) -> usize {
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

    /// The types of the analysed crate with their ids, in discovery order.
    pub(crate) fn containers(&self) -> impl Iterator<Item = (TypeId, &Arc<Container>)> {
        self.types.iter().enumerate().filter_map(|(index, ty)| match ty {
            Type::User(container) => Some((TypeId(index), container)),
            Type::Known(..) | Type::Unknown => None,
        })
    }
}

#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) id: SchemaId,
    pub(crate) inline: bool,
    pub(crate) shape: SchemaShape,
    pub(crate) meta: Meta,
    pub(crate) validated: Option<Validated>,
}

/// Schema identity, as schemars computes it. A nested schema with the same id becomes a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaId {
    /// Path and name; for a generic type also `<` and its constants.
    pub(crate) text: String,
    /// The type arguments of a generic type; their ids follow the text.
    pub(crate) arguments: Option<Vec<TypeId>>,
}

impl From<String> for SchemaId {
    fn from(text: String) -> Self {
        SchemaId { text, arguments: None }
    }
}

impl Container {
    /// The direct part types, one entry per schema that is built.
    fn parts(&self) -> Vec<TypeId> {
        let fields = |fields: &[SchemaField]| -> Vec<TypeId> { fields.iter().map(|field| field.ty).collect() };
        let mut parts = match &self.shape {
            SchemaShape::Transparent(ty) | SchemaShape::With(ty) => vec![*ty],
            SchemaShape::Newtype(field) => vec![field.ty],
            SchemaShape::Unit => Vec::new(),
            SchemaShape::Recipe(recipe) => recipe.types(),
            SchemaShape::Tuple(list) | SchemaShape::Struct(list, _) => fields(list),
            SchemaShape::Enum(_, variants, _) => variants
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
        if let (Some(validated), SchemaShape::Struct(list, _)) = (&self.validated, &self.shape) {
            parts.extend(validated.fields.iter().filter_map(|(index, ..)| Some(list.get(*index)?.ty)));
        }
        parts
    }
}

#[derive(Debug)]
pub(crate) enum SchemaShape {
    /// Every method of the impl delegates to another type.
    Transparent(TypeId),
    /// The schema of another type: `with`, `from` or `try_from`.
    With(TypeId),
    /// A struct that serializes as its only field.
    Newtype(Box<SchemaField>),
    /// `struct S;`
    Unit,
    /// `struct S(A, B);`
    Tuple(Vec<SchemaField>),
    /// `struct S { a: A }`
    Struct(Vec<SchemaField>, Unknown),
    /// The result of a handwritten `JsonSchema` or a `schema_with`.
    Recipe(Recipe),
    Enum(Tag, Vec<Variant>, Unknown),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    Allow,
    Deny,
}

/// The tag by which serde distinguishes the variants of an enum.
#[derive(Debug)]
pub(crate) enum Tag {
    /// `{"Variant": …}`
    External,
    /// `{"<tag>": "Variant", …}`
    Internal(String),
    /// `{"<tag>": "Variant", "<content>": …}`
    Adjacent(String, String),
    /// `untagged`
    None,
}

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an attribute of its own")]
pub(crate) struct SchemaField {
    /// Its name in JSON.
    pub(crate) name: String,
    /// The declared type, or the one in `with`.
    pub(crate) ty: TypeId,
    /// Optional for `Deserialize`, independent of its type.
    pub(crate) has_default: bool,
    pub(crate) flatten: bool,
    /// Skipped by `Deserialize`. Occurs only in a newtype, which has no other field.
    pub(crate) read_only: bool,
    /// Skipped by `Serialize`.
    pub(crate) write_only: bool,
    /// The serialized `default`, if it exists.
    pub(crate) default: Option<Value>,
    pub(crate) meta: Meta,
    pub(crate) constraints: Constraints,
    pub(crate) origin: Option<Origin>,
}

#[derive(Debug)]
pub(crate) struct Variant {
    /// Its name in JSON.
    pub(crate) name: String,
    pub(crate) data: VariantData,
    /// `with` on the variant.
    pub(crate) with: Option<TypeId>,
    /// `#[serde(untagged)]` on the variant.
    pub(crate) untagged: bool,
    /// Skipped by `Deserialize`: has no schema, but affects the form of the others.
    pub(crate) skipped: bool,
    pub(crate) meta: Meta,
    pub(crate) origin: Option<Origin>,
}

#[derive(Debug)]
pub(crate) enum VariantData {
    Unit,
    Newtype(Box<SchemaField>),
    Tuple(Vec<SchemaField>),
    Struct(Vec<SchemaField>),
}

#[derive(Debug, Default)]
pub(crate) struct Meta {
    /// `title`, from an attribute or a heading in the docs; empty means none.
    pub(crate) title: Option<String>,
    /// True if an attribute sets the title.
    pub(crate) explicit_title: bool,
    /// `description`, from an attribute or the docs; empty means none.
    pub(crate) description: Option<String>,
    pub(crate) deprecated: bool,
    /// `example = …`; `None` without such an attribute.
    pub(crate) examples: Option<Vec<Value>>,
    /// `extend("key" = …)`, applied after everything else.
    pub(crate) extensions: Vec<(String, Value)>,
}

impl Meta {
    /// Returns true if no attribute of this kind exists.
    pub(crate) fn is_default(&self) -> bool {
        let Meta { title, explicit_title: _, description, deprecated, examples, extensions } = self;
        title.is_none() && description.is_none() && !deprecated && examples.is_none() && extensions.is_empty()
    }
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Constraints {
    pub(crate) length: Option<NumberBounds>,
    pub(crate) range: Option<NumberBounds>,
    /// `regex(…)` or `pattern(…)`.
    pub(crate) pattern: Option<String>,
    pub(crate) contains: Option<String>,
    /// `email`, `url`, `ip`, `ipv4`, `ipv6` as a format of JSON Schema.
    pub(crate) format: Option<&'static str>,
    pub(crate) required: bool,
    pub(crate) inner: Option<Box<Constraints>>,
}

/// An interval; `None` means unbounded.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NumberBounds {
    pub(crate) min: Option<Value>,
    pub(crate) max: Option<Value>,
}

/// Validations that `KubeSchema` adds to a struct.
#[derive(Debug, Default)]
pub(crate) struct Validated {
    /// Rules on the whole struct.
    pub(crate) rules: Vec<Rule>,
    /// Rules and merge strategies of fields, by index into the fields of the struct.
    pub(crate) fields: Vec<(usize, Vec<Rule>, Option<Merge>)>,
}

/// A server-side apply merge strategy.
#[derive(Debug, Clone)]
pub(crate) enum Merge {
    /// `x-kubernetes-list-type`.
    List(ListMerge),
    /// `x-kubernetes-map-type`.
    Map(MapMerge),
    /// `x-kubernetes-struct-type`.
    Struct(StructMerge),
}
