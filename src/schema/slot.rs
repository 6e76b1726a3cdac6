//! Types as values inside generic impls: a [`Slot`] represents type argument N of the running generic.
//!
//! `Option<T>::json_schema` only calls functions of `T`. With `T = Slot<0>` and the argument on a stack, the real impl
//! of schemars works on a type that exists only in a [`Graph`].

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::graph::{Container, Graph, SchemaId, SchemaShape, Type};
use super::linked::Impl;
use super::release::ReleaseChange;
use super::type_id::TypeId;

thread_local! {
    static STACK: RefCell<Vec<(Arc<Graph>, SlotFrame)>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy)]
enum SlotFrame {
    /// `Slot<0>` is this type.
    One(TypeId),
    /// The slots are the arguments of this known type.
    Arguments(TypeId),
}

/// Pops its frame on drop, also on a panic.
struct Pop;

impl Drop for Pop {
    fn drop(&mut self) {
        STACK.with_borrow_mut(Vec::pop);
    }
}

fn with_frame<T>(graph: &Arc<Graph>, frame: SlotFrame, run: impl FnOnce() -> T) -> T {
    STACK.with_borrow_mut(|stack| stack.push((Arc::clone(graph), frame)));
    let _pop = Pop;
    run()
}

/// Runs `run` with [`SlotRoot`] as an alias of `ty`.
pub(super) fn with_root<T>(graph: &Arc<Graph>, ty: TypeId, run: impl FnOnce() -> T) -> T {
    with_frame(graph, SlotFrame::One(ty), run)
}

/// The type argument of [`with_root`].
pub(super) type SlotRoot = Slot<0>;

pub(super) struct Slot<const N: usize>;

impl<const N: usize> Slot<N> {
    fn current() -> (Arc<Graph>, TypeId) {
        STACK.with_borrow(|stack| {
            let (graph, frame) = stack.last().expect("a slot is only used inside `with_frame`");
            let id = match *frame {
                SlotFrame::One(id) => id,
                SlotFrame::Arguments(id) => match graph.get(id) {
                    Type::Known(_, arguments) => arguments[N],
                    Type::User(_) | Type::Unknown => id,
                },
            };
            (Arc::clone(graph), id)
        })
    }
}

impl<const N: usize> JsonSchema for Slot<N> {
    fn inline_schema() -> bool {
        let (graph, id) = Self::current();
        dispatch(&graph, id, |known| (known.inline)(), |user| user.inline, || true)
    }

    fn schema_name() -> Cow<'static, str> {
        let (graph, id) = Self::current();
        dispatch(&graph, id, |known| (known.name)(), |user| user.name.clone().into(), || "Unknown".into())
    }

    fn schema_id() -> Cow<'static, str> {
        let (graph, id) = Self::current();
        dispatch(
            &graph,
            id,
            |known| (known.id)(),
            |user| schema_id(&graph, &user.id).into(),
            || format!("{id:?}").into(),
        )
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (graph, id) = Self::current();
        Schemas { graph: &graph, generator }.schema(id)
    }

    fn _schemars_private_non_optional_json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (graph, id) = Self::current();
        match graph.get(id) {
            Type::Known(known, _) if !known.kind.is_map() => {
                with_frame(&graph, SlotFrame::Arguments(id), || (known.imp.non_optional)(generator))
            }
            Type::User(user) => match user.shape {
                SchemaShape::Transparent(inner) if user.validated.is_none() => {
                    Schemas { graph: &graph, generator }.non_optional(inner)
                }
                _ => Schemas { graph: &graph, generator }.derived(user),
            },
            Type::Known(..) | Type::Unknown => Schemas { graph: &graph, generator }.schema(id),
        }
    }

    fn _schemars_private_is_option() -> bool {
        let (graph, id) = Self::current();
        dispatch(&graph, id, |known| (known.is_option)(), |_| false, || false)
    }
}

/// Follows transparent containers, then calls the impl.
fn dispatch<T>(
    graph: &Arc<Graph>,
    id: TypeId,
    known: impl FnOnce(&Impl) -> T,
    user: impl FnOnce(&Container) -> T,
    unknown: impl FnOnce() -> T,
) -> T {
    match graph.get(id) {
        Type::Known(imp, _) => with_frame(graph, SlotFrame::Arguments(id), || known(&imp.imp)),
        Type::User(container) => match container.shape {
            SchemaShape::Transparent(inner) if container.validated.is_none() => {
                dispatch(graph, inner, known, user, unknown)
            }
            _ => user(container),
        },
        Type::Unknown => unknown(),
    }
}

fn schema_id(graph: &Arc<Graph>, id: &SchemaId) -> String {
    let Some(arguments) = &id.arguments else { return id.text.clone() };
    let arguments = arguments.iter().map(|argument| with_frame(graph, SlotFrame::One(*argument), Slot::<0>::schema_id));
    format!("{}{}>", id.text, arguments.collect::<String>())
}

pub(super) struct Schemas<'g, 'a> {
    pub(super) graph: &'g Arc<Graph>,
    pub(super) generator: &'a mut SchemaGenerator,
}

impl Schemas<'_, '_> {
    /// `<T as JsonSchema>::json_schema`.
    pub(super) fn schema(&mut self, id: TypeId) -> Schema {
        match self.graph.get(id) {
            Type::Known(known, arguments) => {
                if let [key, value] = arguments[..]
                    && known.kind.is_map()
                    && !self.graph.releases.has(ReleaseChange::EnumKeys)
                    && let Some(schema) = self.map_of_any_key(key, value)
                {
                    return schema;
                }
                with_frame(self.graph, SlotFrame::Arguments(id), || (known.imp.schema)(self.generator))
            }
            Type::User(container) => self.derived(container),
            Type::Unknown => Schema::default(),
        }
    }

    /// Before [`ReleaseChange::EnumKeys`]: the schema of a map whose keys are neither integers nor a single pattern.
    fn map_of_any_key(&mut self, key: TypeId, value: TypeId) -> Option<Schema> {
        let keys = self.subschema(key);
        let listed = keys.get("type").is_some_and(|ty| ty == "string") && keys.get("enum").is_some();
        if keys.get("anyOf").is_none() && (!listed || keys.get("pattern").is_some()) {
            return None;
        }
        let values = self.subschema(value);
        Some(json_schema!({ "type": "object", "additionalProperties": values }))
    }

    /// `generator.subschema_for::<T>()`.
    pub(super) fn subschema(&mut self, id: TypeId) -> Schema {
        with_frame(self.graph, SlotFrame::One(id), || self.generator.subschema_for::<Slot<0>>())
    }

    /// `<T as JsonSchema>::_schemars_private_non_optional_json_schema`.
    pub(super) fn non_optional(&mut self, id: TypeId) -> Schema {
        with_frame(self.graph, SlotFrame::One(id), || {
            Slot::<0>::_schemars_private_non_optional_json_schema(self.generator)
        })
    }

    /// `<T as JsonSchema>::_schemars_private_is_option`.
    pub(super) fn is_option(&self, id: TypeId) -> bool {
        with_frame(self.graph, SlotFrame::One(id), Slot::<0>::_schemars_private_is_option)
    }

    /// `schemars::_private::json_schema_for_flatten::<T>`.
    pub(super) fn flattened(&mut self, id: TypeId, required: bool) -> Schema {
        if !self.graph.releases.has(ReleaseChange::FlattenedEnum) {
            let mut schema = self.non_optional(id);
            if self.is_option(id) && !required {
                schema.remove("required");
            }
            schema.as_object_mut().into_iter().for_each(open);
            return schema;
        }
        with_frame(self.graph, SlotFrame::One(id), || {
            schemars::_private::json_schema_for_flatten::<Slot<0>>(self.generator, required)
        })
    }

    /// `schemars::_private::json_schema_for_internally_tagged_enum_newtype_variant::<T>`.
    pub(super) fn internally_tagged(&mut self, id: TypeId) -> Schema {
        with_frame(self.graph, SlotFrame::One(id), || {
            schemars::_private::json_schema_for_internally_tagged_enum_newtype_variant::<Slot<0>>(self.generator)
        })
    }
}

/// Removes the ban on unknown properties from a schema and its alternatives.
fn open(schema: &mut Map<String, Value>) {
    for key in ["additionalProperties", "unevaluatedProperties"] {
        if schema.get(key) == Some(&Value::Bool(false)) {
            schema.remove(key);
        }
    }
    for (key, value) in schema {
        match key.as_str() {
            "if" | "then" | "else" => value.as_object_mut().into_iter().for_each(open),
            "allOf" | "anyOf" | "oneOf" => {
                value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut).for_each(open);
            }
            _ => {}
        }
    }
}
