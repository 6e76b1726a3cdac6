//! The behaviour of code from `#[derive(JsonSchema)]` under the `Deserialize` contract.
//!
//! The order of the steps is part of the contract: metadata, constraints, `default`, and `extend` last.

use kube::core::{merge_properties, merge_strategy_property, validate, validate_property};
use schemars::_private as private;
use schemars::{Schema, json_schema};
use serde_json::{Map, Value};

use super::graph::{
    Constraints, Container, Merge, Meta, NumberBounds, SchemaField, SchemaShape, Tag, Unknown, Validated, Variant,
    VariantData,
};
use super::release::{ReleaseChange, Releases};
use super::slot::Schemas;

/// A schema with extensions that are not applied yet.
struct SchemaDraft<'a> {
    schema: Schema,
    late: Vec<&'a (String, Value)>,
}

impl<'a> SchemaDraft<'a> {
    fn new(schema: Schema) -> Self {
        SchemaDraft { schema, late: Vec::new() }
    }

    fn describe(&mut self, meta: &'a Meta, releases: Releases) {
        let schema = &mut self.schema;
        if let Some(title) = &meta.title {
            private::insert_metadata_property_if_nonempty(schema, "title", title);
        }
        if let Some(description) = &meta.description {
            private::insert_metadata_property_if_nonempty(schema, "description", description);
        }
        if meta.deprecated {
            schema.insert("deprecated".to_owned(), true.into());
        }
        if let Some(examples) = &meta.examples {
            schema.insert("examples".to_owned(), Value::Array(examples.clone()));
        }
        if releases.has(ReleaseChange::ExtendLast) {
            self.late.extend(&meta.extensions);
        } else {
            for (key, value) in &meta.extensions {
                self.schema.insert(key.clone(), value.clone());
            }
        }
    }

    fn finish(mut self) -> Schema {
        for (key, value) in self.late {
            self.schema.insert(key.clone(), value.clone());
        }
        self.schema
    }
}

impl Schemas<'_, '_> {
    /// `<T as JsonSchema>::json_schema` of a user's type.
    pub(super) fn derived(&mut self, container: &Container) -> Schema {
        let mut schema = self.container(container, None);
        if let Some(validated) = &container.validated {
            self.validated(container, validated, &mut schema);
        }
        schema
    }

    /// With `only`, a struct of just that field.
    fn container(&mut self, container: &Container, only: Option<usize>) -> Schema {
        let mut draft = match &container.shape {
            SchemaShape::Transparent(inner) => return self.schema(*inner),
            SchemaShape::Recipe(recipe) => SchemaDraft::new(recipe.schema(self)),
            SchemaShape::With(ty) => SchemaDraft::new(self.schema(*ty)),
            SchemaShape::Newtype(field) => self.field(field),
            SchemaShape::Unit => SchemaDraft::new(self.unit()),
            SchemaShape::Tuple(fields) => SchemaDraft::new(self.tuple(fields)),
            SchemaShape::Struct(fields, unknown) => {
                let fields = only.map_or(&fields[..], |index| &fields[index..=index]);
                SchemaDraft::new(self.object(fields, *unknown))
            }
            SchemaShape::Enum(tag, variants, unknown) => SchemaDraft::new(self.variants(tag, variants, *unknown)),
        };
        draft.describe(&container.meta, self.graph.releases);
        draft.finish()
    }

    fn validated(&mut self, container: &Container, validated: &Validated, schema: &mut Schema) {
        const VALID: &str = "rules and merge strategies serialise";
        for rule in &validated.rules {
            validate(schema, rule.clone()).expect(VALID);
        }
        for (index, rules, merge) in &validated.fields {
            let mut property = self.container(container, Some(*index));
            for rule in rules {
                validate_property(&mut property, 0, rule.clone()).expect(VALID);
            }
            if let Some(merge) = merge {
                match merge.clone() {
                    Merge::List(list) => merge_strategy_property(&mut property, 0, list),
                    Merge::Map(map) => merge_strategy_property(&mut property, 0, map),
                    Merge::Struct(fields) => merge_strategy_property(&mut property, 0, fields),
                }
                .expect(VALID);
            }
            merge_properties(schema, &mut property);
        }
    }

    fn unit(&mut self) -> Schema {
        self.generator.subschema_for::<()>()
    }

    fn field<'f>(&mut self, field: &'f SchemaField) -> SchemaDraft<'f> {
        let schema = if field.constraints.required { self.non_optional(field.ty) } else { self.subschema(field.ty) };
        self.mutate(field, schema)
    }

    fn mutate<'f>(&self, field: &'f SchemaField, schema: Schema) -> SchemaDraft<'f> {
        let mut draft = SchemaDraft::new(schema);
        draft.describe(&field.meta, self.graph.releases);
        constrain(&field.constraints, &mut draft.schema);
        if field.read_only {
            draft.schema.insert("readOnly".to_owned(), true.into());
        }
        if field.write_only {
            draft.schema.insert("writeOnly".to_owned(), true.into());
        }
        draft
    }

    fn tuple(&mut self, fields: &[SchemaField]) -> Schema {
        let items: Vec<Value> = fields.iter().map(|field| self.field(field).finish().to_value()).collect();
        let length = items.len();
        let mut map = Map::new();
        map.insert("type".to_owned(), "array".into());
        if !items.is_empty() || !self.graph.releases.has(ReleaseChange::EmptyTuple) {
            map.insert("prefixItems".to_owned(), items.into());
            map.insert("minItems".to_owned(), length.into());
        }
        map.insert("maxItems".to_owned(), length.into());
        Schema::from(map)
    }

    fn object(&mut self, fields: &[SchemaField], unknown: Unknown) -> Schema {
        let mut schema = match unknown {
            Unknown::Allow => json_schema!({ "type": "object" }),
            Unknown::Deny => json_schema!({ "type": "object", "additionalProperties": false }),
        };
        for field in fields {
            let required = field.constraints.required;
            if field.flatten {
                let other = self.flattened(field.ty, required);
                private::flatten(&mut schema, other);
                continue;
            }
            let optional = field.has_default || (!required && self.is_option(field.ty));
            let mut draft = self.field(field);
            if let Some(default) = &field.default {
                draft.schema.insert("default".to_owned(), default.clone());
            }
            private::insert_object_property(&mut schema, &field.name, optional, draft.finish());
        }
        schema
    }

    fn variants(&mut self, tag: &Tag, variants: &[Variant], unknown: Unknown) -> Schema {
        if variants.is_empty() {
            return Schema::from(false);
        }
        let mut unique = !matches!(tag, Tag::None) && !variants.iter().any(|variant| variant.untagged);
        let mut schemas = Vec::new();
        let plain = |variant: &Variant| {
            matches!(tag, Tag::External)
                && matches!(variant.data, VariantData::Unit)
                && variant.meta.is_default()
                && variant.with.is_none()
                && !variant.untagged
        };
        if variants.iter().any(plain) {
            let names: Vec<Value> = variants
                .iter()
                .filter(|variant| plain(variant) && !variant.skipped)
                .map(|variant| variant.name.as_str().into())
                .collect();
            let mut map = Map::new();
            map.insert("type".to_owned(), "string".into());
            map.insert("enum".to_owned(), Value::Array(names));
            let schema = Schema::from(map);
            if variants.iter().all(plain) {
                return schema;
            }
            schemas.push(schema.to_value());
        }
        for variant in variants.iter().filter(|variant| !plain(variant) && !variant.skipped) {
            schemas.push(self.variant(tag, variant, unknown).to_value());
        }
        if variants.iter().all(|variant| variant.untagged) {
            unique = false;
        }
        let mut map = Map::new();
        map.insert(if unique { "oneOf" } else { "anyOf" }.to_owned(), Value::Array(schemas));
        Schema::from(map)
    }

    fn variant(&mut self, tag: &Tag, variant: &Variant, unknown: Unknown) -> Schema {
        let name = variant.name.as_str();
        let empty = matches!(variant.data, VariantData::Unit) && variant.with.is_none();
        if variant.untagged || matches!(tag, Tag::None) {
            let mut draft = self.content(variant, unknown);
            if !variant.meta.explicit_title && self.generator.settings().untagged_enum_variant_titles {
                draft.schema.insert("title".to_owned(), name.into());
            }
            draft.describe(&variant.meta, self.graph.releases);
            return draft.finish();
        }
        let mut draft = match tag {
            Tag::External if empty => SchemaDraft::new(private::new_unit_enum_variant(name)),
            Tag::External => {
                let content = self.content(variant, unknown).finish();
                SchemaDraft::new(private::new_externally_tagged_enum_variant(name, content))
            }
            Tag::Internal(key) => {
                let mut draft = self.internal(variant, unknown);
                private::apply_internal_enum_variant_tag(&mut draft.schema, key, name, unknown == Unknown::Deny);
                draft
            }
            Tag::Adjacent(key, content) => {
                let mut properties = Map::new();
                let mut required = vec![Value::from(key.as_str())];
                let tag = json_schema!({ "type": "string", "const": name });
                properties.insert(key.clone(), tag.to_value());
                if !empty {
                    properties.insert(content.clone(), self.content(variant, unknown).finish().to_value());
                    required.push(content.as_str().into());
                }
                let mut map = Map::new();
                map.insert("type".to_owned(), "object".into());
                map.insert("properties".to_owned(), Value::Object(properties));
                map.insert("required".to_owned(), Value::Array(required));
                if unknown == Unknown::Deny {
                    map.insert("additionalProperties".to_owned(), false.into());
                }
                SchemaDraft::new(Schema::from(map))
            }
            Tag::None => unreachable!("untagged enums are handled above"),
        };
        draft.describe(&variant.meta, self.graph.releases);
        draft.finish()
    }

    fn content<'v>(&mut self, variant: &'v Variant, unknown: Unknown) -> SchemaDraft<'v> {
        if let Some(with) = variant.with {
            return SchemaDraft::new(self.subschema(with));
        }
        match &variant.data {
            VariantData::Unit => SchemaDraft::new(self.unit()),
            VariantData::Newtype(field) => self.field(field),
            VariantData::Tuple(fields) => SchemaDraft::new(self.tuple(fields)),
            VariantData::Struct(fields) => SchemaDraft::new(self.object(fields, unknown)),
        }
    }

    fn internal<'v>(&mut self, variant: &'v Variant, unknown: Unknown) -> SchemaDraft<'v> {
        match (&variant.with, &variant.data) {
            (Some(with), _) => SchemaDraft::new(self.schema(*with)),
            (None, VariantData::Newtype(field)) if !field.constraints.required => {
                let schema = self.internally_tagged(field.ty);
                self.mutate(field, schema)
            }
            (None, _) => self.content(variant, unknown),
        }
    }
}

fn constrain(constraints: &Constraints, schema: &mut Schema) {
    let Constraints { length, range, pattern, contains, format, required: _, inner } = constraints;
    if let Some(length) = length {
        bound(schema, length, "string", "minLength", "maxLength");
        bound(schema, length, "array", "minItems", "maxItems");
    }
    if let Some(range) = range {
        bound(schema, range, "number", "minimum", "maximum");
    }
    if let Some(pattern) = pattern {
        private::insert_validation_property(schema, "string", "pattern", pattern.clone());
    }
    if let Some(contains) = contains {
        private::must_contain(schema, contains);
    }
    if let Some(format) = format {
        schema.insert("format".to_owned(), (*format).into());
    }
    if let Some(inner) = inner
        && *inner.as_ref() != Constraints::default()
        && let Some(items) = schema.get_mut("items").and_then(|items| items.try_into().ok())
    {
        constrain(inner, items);
    }
}

fn bound(schema: &mut Schema, bounds: &NumberBounds, ty: &str, min: &str, max: &str) {
    if let Some(value) = &bounds.min {
        private::insert_validation_property(schema, ty, min, value.clone());
    }
    if let Some(value) = &bounds.max {
        private::insert_validation_property(schema, ty, max, value.clone());
    }
}
