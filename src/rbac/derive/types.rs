//! The types that values of the code have, as far as a request depends on them.
//!
//! Wrappers are transparent: references, `Box`, `Arc`, `Option`, `Result`, locks and futures. Collections, iterators and
//! streams are a [`Ty::Many`] of their elements.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::foreign::{Foreign, Kube};
use crate::rbac::RequestScope;
use crate::source::ItemRef;

/// A type, together with what is known of the value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ty {
    /// Anything.
    Unknown,
    /// `!`
    Never,
    /// An inference variable.
    Infer(u32),
    /// A type parameter of a function or `impl` that is read without a call.
    Param(Rc<str>),
    /// A struct, enum or trait of the tree.
    Item(ItemRef, Vec<Ty>),
    /// The kind that `#[derive(CustomResource)]` makes of a spec.
    Root(ItemRef),
    /// A type of another crate.
    Foreign(Foreign, Vec<Ty>),
    /// `kube::Api`, with the kind and where it reaches.
    Api(Rc<Ty>, BTreeSet<Reach>),
    /// A collection, iterator or stream.
    Many(Rc<Ty>),
    /// A map, by its values.
    Map(Rc<Ty>),
    Tuple(Vec<Ty>),
    Text(Rc<str>),
    /// The name of the namespace that the operator is in.
    OwnNamespace,
    /// The name of the namespace of an object.
    ObjectNamespace,
    /// A `Client` of another cluster, or what one is made from.
    Elsewhere(Kube),
    /// A `GroupVersionKind` or `ApiResource` of literals.
    Dynamic(BTreeSet<Gvk>),
    /// A `kube::api::Patch`: of server-side apply, or another one.
    Patch {
        apply: bool,
    },
    /// A closure or function, by what it returns.
    Function(Rc<Ty>),
    /// A function of another crate, by its path.
    Path(Rc<[String]>),
}

/// Where the requests of an `Api` go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    Here(RequestScope),
    Elsewhere,
}

/// The literals of a `GroupVersionKind` or `ApiResource`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gvk {
    pub(super) group: Rc<str>,
    pub(super) kind: Rc<str>,
    /// Absent: as kube computes it.
    pub(super) plural: Option<Rc<str>>,
}

impl Ty {
    pub(super) fn foreign(found: Foreign) -> Self {
        Self::Foreign(found, Vec::new())
    }

    /// A type of kube without type arguments.
    pub(super) fn kube(found: Kube) -> Self {
        Self::foreign(Foreign::Kube(found))
    }

    /// A type of k8s-openapi by its path below the crate.
    pub(super) fn k8s(path: &str) -> Self {
        Self::foreign(Foreign::K8s(path.into()))
    }

    pub(super) fn api(kind: Self) -> Self {
        Self::Api(Rc::new(kind), BTreeSet::new())
    }

    /// `Api` of a kind, with where its requests go.
    pub(super) fn reaching(kind: Self, scope: RequestScope) -> Self {
        Self::Api(Rc::new(kind), BTreeSet::from([Reach::Here(scope)]))
    }

    pub(super) fn many(element: Self) -> Self {
        Self::Many(Rc::new(element))
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn is_kube(&self, wanted: &Kube) -> bool {
        matches!(self, Self::Foreign(Foreign::Kube(found), _) if found == wanted)
    }

    pub(super) fn part(&self, position: usize) -> Self {
        match self {
            Self::Tuple(parts) => parts.get(position).cloned().unwrap_or(Self::Unknown),
            _ => Self::Unknown,
        }
    }

    /// Whether more is known of the value than its type.
    fn is_value(&self) -> bool {
        matches!(
            self,
            Self::Text(_)
                | Self::OwnNamespace
                | Self::ObjectNamespace
                | Self::Elsewhere(_)
                | Self::Dynamic(_)
                | Self::Patch { .. }
                | Self::Function(_)
                | Self::Path(_)
        )
    }

    /// Whether more is known of a string than that it is one.
    pub(super) fn is_known_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::OwnNamespace | Self::ObjectNamespace)
    }

    /// Whether `test` holds for the type or a part of it.
    pub(super) fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        test(self)
            || match self {
                Self::Item(_, parts) | Self::Foreign(_, parts) | Self::Tuple(parts) => {
                    parts.iter().any(|part| part.any(test))
                }
                Self::Api(part, _) | Self::Many(part) | Self::Map(part) | Self::Function(part) => part.any(test),
                _ => false,
            }
    }

    /// Whether it has more parts than a written type: each call of a function may double it.
    pub(super) fn is_huge(&self) -> bool {
        let left = Cell::new(1_000_u32);
        self.any(&|_| {
            left.set(left.get().saturating_sub(1));
            left.get() == 0
        })
    }

    /// Replaces each part for which `change` returns another type.
    pub(super) fn map(&self, change: &impl Fn(&Self) -> Option<Self>) -> Self {
        if let Some(new) = change(self) {
            return new;
        }
        let all = |parts: &[Self]| parts.iter().map(|part| part.map(change)).collect();
        let one = |part: &Rc<Self>| Rc::new(part.map(change));
        match self {
            Self::Item(item, parts) => Self::Item(*item, all(parts)),
            Self::Foreign(path, parts) => Self::Foreign(path.clone(), all(parts)),
            Self::Tuple(parts) => Self::Tuple(all(parts)),
            Self::Api(kind, reach) => Self::Api(one(kind), reach.clone()),
            Self::Many(part) => Self::Many(one(part)),
            Self::Map(part) => Self::Map(one(part)),
            Self::Function(part) => Self::Function(one(part)),
            other => other.clone(),
        }
    }

    /// A declared type with what is known of the value that has it.
    pub(super) fn refine(&self, value: &Self) -> Self {
        let each = |declared: &[Self], values: &[Self]| {
            declared.iter().zip(values).map(|(declared, value)| declared.refine(value)).collect()
        };
        match (self, value) {
            (_, Self::Unknown | Self::Never) => self.clone(),
            (Self::Unknown | Self::Never | Self::Infer(_), _) => value.clone(),
            (declared, value) if value.is_value() && !matches!(declared, Self::Item(..) | Self::Api(..)) => {
                value.clone()
            }
            (Self::Api(kind, declared), Self::Api(found, reach)) => {
                Self::Api(Rc::new(kind.refine(found)), declared.union(reach).cloned().collect())
            }
            (Self::Item(item, declared), Self::Item(same, values))
                if item == same && declared.len() == values.len() =>
            {
                Self::Item(*item, each(declared, values))
            }
            (Self::Foreign(path, declared), Self::Foreign(same, values))
                if path == same && declared.len() == values.len() =>
            {
                Self::Foreign(path.clone(), each(declared, values))
            }
            (Self::Foreign(Foreign::Kube(Kube::DynamicObject), _), Self::Dynamic(_)) => value.clone(),
            (Self::Tuple(declared), Self::Tuple(values)) if declared.len() == values.len() => {
                Self::Tuple(each(declared, values))
            }
            (Self::Many(declared), Self::Many(value)) => Self::many(declared.refine(value)),
            (Self::Map(declared), Self::Map(value)) => Self::Map(Rc::new(declared.refine(value))),
            _ => self.clone(),
        }
    }

    /// Widens a known value to its type.
    pub(super) fn general(&self) -> Self {
        match self {
            text if text.is_known_text() => Self::foreign(Foreign::String),
            Self::Elsewhere(of) => Self::kube(of.clone()),
            Self::Dynamic(_) => Self::kube(Kube::ApiResource),
            Self::Patch { apply: false } => Self::kube(Kube::Patch),
            Self::Api(kind, reach) => match &**kind {
                Self::Dynamic(_) => Self::Api(Rc::new(Self::kube(Kube::DynamicObject)), reach.clone()),
                _ => self.clone(),
            },
            other => other.clone(),
        }
    }

    /// The join of two branches.
    pub(super) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one.clone(),
            (Self::Never, other) | (other, Self::Never) => other.clone(),
            // A type that is still to be inferred says more than nothing.
            (open @ Self::Infer(_), Self::Unknown) => open.clone(),
            (Self::Unknown | Self::Infer(_), known) | (known, Self::Unknown | Self::Infer(_)) => known.general(),
            // It may be the cluster that the operator is in.
            (Self::Elsewhere(_), other) | (other, Self::Elsewhere(_)) => other.general(),
            (Self::Dynamic(one), Self::Dynamic(other)) => Self::Dynamic(one.union(other).cloned().collect()),
            (Self::Patch { apply: one }, Self::Patch { apply: other }) => Self::Patch { apply: *one || *other },
            (one, other) if one.is_known_text() && (other.is_known_text() || matches!(other, Self::Foreign(..))) => {
                one.general()
            }
            (Self::Dynamic(_) | Self::Patch { apply: false }, other) | (other, Self::Dynamic(_)) => other.clone(),
            (one, other) if one.is_known_text() => other.clone(),
            (Self::Api(one, reach), Self::Api(other, more)) => {
                Self::Api(Rc::new(one.join(other)), reach.union(more).cloned().collect())
            }
            (Self::Many(one), Self::Many(other)) => Self::many(one.join(other)),
            (Self::Map(one), Self::Map(other)) => Self::Map(Rc::new(one.join(other))),
            (Self::Function(one), Self::Function(other)) => Self::Function(Rc::new(one.join(other))),
            (Self::Tuple(one), Self::Tuple(other)) if one.len() == other.len() => {
                Self::Tuple(one.iter().zip(other).map(|(one, other)| one.join(other)).collect())
            }
            (Self::Item(item, one), Self::Item(same, other)) if item == same && one.len() == other.len() => {
                Self::Item(*item, one.iter().zip(other).map(|(one, other)| one.join(other)).collect())
            }
            // A known string and another one; or types that only differ in what is not told apart.
            (one, _) => one.clone(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Inferred(Vec<Option<Ty>>);

impl Inferred {
    pub(super) fn fresh(&mut self) -> Ty {
        self.0.push(None);
        Ty::Infer(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// Substitutes the bound variables.
    pub(super) fn resolve(&self, ty: &Ty) -> Ty {
        self.resolve_at(ty, 0)
    }

    fn resolve_at(&self, ty: &Ty, depth: usize) -> Ty {
        ty.map(&|part| match part {
            Ty::Infer(id) if depth < 32 => {
                let known = self.0.get(*id as usize)?.as_ref()?;
                Some(self.resolve_at(known, depth + 1))
            }
            _ => None,
        })
    }

    /// Unifies a declared type with that of a value, and refines it.
    pub(super) fn accept(&mut self, declared: &Ty, value: &Ty) -> Ty {
        self.unify(declared, value);
        self.resolve(declared).refine(&self.resolve(value))
    }

    /// Makes two types equal; where they can't be, nothing is bound.
    pub(super) fn unify(&mut self, one: &Ty, other: &Ty) {
        let (one, other) = (self.resolve(one), self.resolve(other));
        self.learn(&one, &other);
    }

    fn learn(&mut self, one: &Ty, other: &Ty) {
        match (one, other) {
            (Ty::Unknown | Ty::Never, _) | (_, Ty::Unknown | Ty::Never) => {}
            (Ty::Infer(id), known) | (known, Ty::Infer(id)) => {
                let circular = known.any(&|part| matches!(part, Ty::Infer(other) if other == id));
                // A type is learnt, not the one string that happened to have it.
                let is_value = known.is_known_text() || matches!(known, Ty::Elsewhere(_));
                let known = if is_value { known.general() } else { known.clone() };
                if !circular && let Some(slot) = self.0.get_mut(*id as usize) {
                    *slot = Some(known);
                }
            }
            (Ty::Item(a, one), Ty::Item(b, other)) if a == b => self.learn_each(one, other),
            (Ty::Foreign(a, one), Ty::Foreign(b, other)) if a == b => self.learn_each(one, other),
            (Ty::Tuple(one), Ty::Tuple(other)) => self.learn_each(one, other),
            (Ty::Api(one, _), Ty::Api(other, _))
            | (Ty::Many(one), Ty::Many(other))
            | (Ty::Map(one), Ty::Map(other))
            | (Ty::Function(one), Ty::Function(other)) => {
                self.unify(one, other);
            }
            _ => {}
        }
    }

    fn learn_each(&mut self, one: &[Ty], other: &[Ty]) {
        for (one, other) in one.iter().zip(other) {
            self.unify(one, other);
        }
    }
}

pub(super) type Generics = BTreeMap<String, Ty>;
