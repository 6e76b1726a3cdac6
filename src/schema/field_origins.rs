//! Source places of the fields of a type, by their names in JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::graph::{Container, Graph, SchemaField, SchemaShape, Tag, Type, Variant, VariantData};
use super::type_id::TypeId;
use crate::diagnostic::Origin;

/// The fields of a type by their names in JSON, including those of flattened types, list items and variants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FieldOrigins(BTreeMap<String, FieldOrigin>);

#[derive(Debug, Clone, PartialEq)]
struct FieldOrigin {
    origin: Option<Origin>,
    inside: Arc<FieldOrigins>,
}

impl FieldOrigins {
    /// The place of the innermost known field on the path `names`.
    pub fn find<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Option<&Origin> {
        let place = self.0.get(names.next()?)?;
        place.inside.find(names).or(place.origin.as_ref())
    }

    fn merge(&mut self, other: &Self) {
        for (name, place) in &other.0 {
            self.0.entry(name.clone()).or_insert_with(|| place.clone());
        }
    }
}

pub(crate) fn field_origins(graph: &Graph, root: TypeId) -> Arc<FieldOrigins> {
    OriginReader { graph, done: BTreeMap::new() }.of(root)
}

struct OriginReader<'g> {
    graph: &'g Graph,
    /// A type in progress is empty, which ends recursion.
    done: BTreeMap<TypeId, Arc<FieldOrigins>>,
}

impl OriginReader<'_> {
    fn of(&mut self, id: TypeId) -> Arc<FieldOrigins> {
        if let Some(done) = self.done.get(&id) {
            return Arc::clone(done);
        }
        self.done.insert(id, Arc::default());
        let origins = match self.graph.get(id) {
            Type::Known(_, arguments) => self.all(arguments),
            Type::User(container) => self.container(container),
            Type::Unknown => Arc::default(),
        };
        self.done.insert(id, Arc::clone(&origins));
        origins
    }

    fn all(&mut self, types: &[TypeId]) -> Arc<FieldOrigins> {
        let mut parts: Vec<Arc<FieldOrigins>> = types.iter().map(|ty| self.of(*ty)).collect();
        parts.retain(|part| !part.0.is_empty());
        if parts.len() < 2 {
            return parts.pop().unwrap_or_default();
        }
        let mut all = FieldOrigins::default();
        for part in &parts {
            all.merge(part);
        }
        Arc::new(all)
    }

    fn container(&mut self, container: &Container) -> Arc<FieldOrigins> {
        match &container.shape {
            SchemaShape::Transparent(ty) | SchemaShape::With(ty) => self.of(*ty),
            SchemaShape::Newtype(field) => self.of(field.ty),
            SchemaShape::Unit | SchemaShape::Recipe(_) => Arc::default(),
            SchemaShape::Tuple(fields) => self.all(&fields.iter().map(|field| field.ty).collect::<Vec<_>>()),
            SchemaShape::Struct(fields, _) => Arc::new(self.fields(fields)),
            SchemaShape::Enum(tag, variants, _) => {
                let mut all = FieldOrigins::default();
                for variant in variants {
                    let inside = self.variant(variant);
                    let name = match tag {
                        Tag::External if !variant.untagged => &variant.name,
                        Tag::Adjacent(_, content) if !variant.untagged => content,
                        Tag::External | Tag::Adjacent(..) | Tag::Internal(_) | Tag::None => {
                            all.merge(&inside);
                            continue;
                        }
                    };
                    let origin = variant.origin.clone();
                    all.merge(&FieldOrigins(BTreeMap::from([(name.clone(), FieldOrigin { origin, inside })])));
                }
                Arc::new(all)
            }
        }
    }

    fn variant(&mut self, variant: &Variant) -> Arc<FieldOrigins> {
        match (&variant.data, variant.with) {
            (_, Some(ty)) => self.of(ty),
            (VariantData::Unit, None) => Arc::default(),
            (VariantData::Newtype(field), None) => self.of(field.ty),
            (VariantData::Tuple(fields), None) => self.all(&fields.iter().map(|field| field.ty).collect::<Vec<_>>()),
            (VariantData::Struct(fields), None) => Arc::new(self.fields(fields)),
        }
    }

    fn fields(&mut self, fields: &[SchemaField]) -> FieldOrigins {
        let mut origins = FieldOrigins::default();
        for field in fields.iter().filter(|field| !field.flatten) {
            let place = FieldOrigin { origin: field.origin.clone(), inside: self.of(field.ty) };
            origins.0.insert(field.name.clone(), place);
        }
        for field in fields.iter().filter(|field| field.flatten) {
            origins.merge(&self.of(field.ty));
        }
        origins
    }
}
