//! The types that values of the code have, as far as a request depends on them.
//!
//! Wrappers are transparent: references, `Box`, `Arc`, `Option`, `Result`, locks and futures. Collections, iterators and
//! streams are a [`Ty::Many`] of their elements.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::foreign::{ForeignType, Kube};
use super::resource::DerivedResource;
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
    Foreign(ForeignType, Vec<Ty>),
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
    /// A `GroupVersionKind` or `ApiResource` of literals; `None` stands for others that no literals spell out.
    Dynamic(BTreeSet<Option<DerivedResource>>),
    /// A `kube::api::Patch`: of server-side apply, or another one.
    Patch {
        apply: bool,
    },
    /// A closure or function: what it returns, then its parameters as far as they are known.
    Function(Rc<[Ty]>),
    /// A list of texts, or of tuples of texts, of which each element is known.
    Table(Rc<[Ty]>),
    /// A function of another crate, by its path.
    Path(Rc<[String]>),
}

/// The target of the requests of an `Api`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    Here(RequestScope),
    Elsewhere,
}

impl Ty {
    pub(super) fn foreign(found: ForeignType) -> Self {
        Self::Foreign(found, Vec::new())
    }

    /// A type of kube without type arguments.
    pub(super) fn kube(found: Kube) -> Self {
        Self::foreign(ForeignType::Kube(found))
    }

    /// A type of k8s-openapi by its path below the crate.
    pub(super) fn k8s(path: &str) -> Self {
        Self::foreign(ForeignType::K8s(path.into()))
    }

    pub(super) fn api(kind: Self) -> Self {
        Self::Api(Rc::new(kind), BTreeSet::new())
    }

    /// `Api` of a kind, with where its requests go.
    pub(super) fn reaching(kind: Self, scope: RequestScope) -> Self {
        Self::Api(Rc::new(kind), BTreeSet::from([Reach::Here(scope)]))
    }

    /// A `GroupVersionKind` or `ApiResource` of these resources.
    pub(super) fn dynamic(resources: impl IntoIterator<Item = DerivedResource>) -> Self {
        Self::Dynamic(resources.into_iter().map(Some).collect())
    }

    pub(super) fn function(inputs: impl IntoIterator<Item = Self>, output: Self) -> Self {
        Self::Function(std::iter::once(output).chain(inputs).collect())
    }

    /// A list of elements: a table when all of them are known texts.
    pub(super) fn list(elements: Vec<Self>) -> Self {
        if !elements.is_empty() && elements.len() <= TABLE && elements.iter().all(Self::is_row) {
            return Self::Table(elements.into());
        }
        Self::many(elements.iter().fold(Self::Never, |all, element| all.join(element)))
    }

    /// A known text, or a tuple that has one and nothing that is not a text or literal.
    fn is_row(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Tuple(parts) => {
                let plain = |part: &Self| matches!(part, Self::Foreign(ForeignType::Literal, _)) || part.is_row();
                parts.iter().all(plain) && parts.iter().any(Self::is_row)
            }
            _ => false,
        }
    }

    pub(super) fn many(element: Self) -> Self {
        Self::Many(Rc::new(element))
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn is_kube(&self, wanted: &Kube) -> bool {
        matches!(self, Self::Foreign(ForeignType::Kube(found), _) if found == wanted)
    }

    pub(super) fn part(&self, position: usize) -> Self {
        match self {
            Self::Tuple(parts) => parts.get(position).cloned().unwrap_or(Self::Unknown),
            _ => Self::Unknown,
        }
    }

    /// Returns true if more is known of the value than its type.
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
                | Self::Table(_)
                | Self::Path(_)
        )
    }

    /// Returns true for strings of known value or origin.
    pub(super) fn is_known_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::OwnNamespace | Self::ObjectNamespace)
    }

    /// The types that it is made of.
    pub(super) fn parts(&self) -> &[Self] {
        match self {
            Self::Item(_, parts) | Self::Foreign(_, parts) | Self::Tuple(parts) => parts,
            Self::Function(parts) => parts,
            Self::Api(part, _) | Self::Many(part) | Self::Map(part) => std::slice::from_ref(part),
            _ => &[],
        }
    }

    /// Copies the type with other parts.
    fn with_parts(&self, mut parts: impl Iterator<Item = Self>) -> Self {
        let mut one = || Rc::new(parts.next().unwrap_or(Self::Unknown));
        match self {
            Self::Api(_, reach) => Self::Api(one(), reach.clone()),
            Self::Many(_) => Self::Many(one()),
            Self::Map(_) => Self::Map(one()),
            Self::Function(_) => Self::Function(parts.collect()),
            Self::Item(item, _) => Self::Item(*item, parts.collect()),
            Self::Foreign(path, _) => Self::Foreign(path.clone(), parts.collect()),
            Self::Tuple(_) => Self::Tuple(parts.collect()),
            other => other.clone(),
        }
    }

    /// The parts of two types that differ in nothing else.
    pub(super) fn paired<'t>(&'t self, other: &'t Self) -> Option<impl Iterator<Item = (&'t Self, &'t Self)>> {
        let same = match (self, other) {
            (Self::Item(one, _), Self::Item(other, _)) => one == other,
            (Self::Foreign(one, _), Self::Foreign(other, _)) => one == other,
            (Self::Api(..), Self::Api(..))
            | (Self::Many(_), Self::Many(_))
            | (Self::Map(_), Self::Map(_))
            | (Self::Function(_), Self::Function(_))
            | (Self::Tuple(_), Self::Tuple(_)) => true,
            _ => false,
        };
        same.then(|| self.parts().iter().zip(other.parts()))
    }

    /// The type with each part joined or refined by that of another one.
    fn merged(&self, other: &Self, merge: fn(&Self, &Self) -> Self) -> Self {
        let Some(pairs) = self.paired(other).filter(|_| self.parts().len() == other.parts().len()) else {
            return self.clone();
        };
        match (self.with_parts(pairs.map(|(one, other)| merge(one, other))), other) {
            (Self::Api(kind, reach), Self::Api(_, more)) => Self::Api(kind, reach.union(more).cloned().collect()),
            (merged, _) => merged,
        }
    }

    /// Returns true if `test` holds for the type or a part of it.
    pub(super) fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        test(self) || self.parts().iter().any(|part| part.any(test))
    }

    /// Returns true for more parts than a written type has. Each call of a function may double them.
    pub(super) fn is_huge(&self) -> bool {
        let left = Cell::new(1_000_u32);
        self.any(&|_| {
            left.set(left.get().saturating_sub(1));
            left.get() == 0
        })
    }

    /// Replaces each part for which `change` returns another type.
    pub(super) fn map(&self, change: &impl Fn(&Self) -> Option<Self>) -> Self {
        change(self).unwrap_or_else(|| self.with_parts(self.parts().iter().map(|part| part.map(change))))
    }

    /// A declared type with what is known of the value that has it.
    pub(super) fn refine(&self, value: &Self) -> Self {
        match (self, value) {
            (_, Self::Unknown | Self::Never) => self.clone(),
            (Self::Unknown | Self::Never | Self::Infer(_), _) => value.clone(),
            (declared, value) if value.is_value() && !matches!(declared, Self::Item(..) | Self::Api(..)) => {
                value.clone()
            }
            (Self::Foreign(ForeignType::Kube(Kube::DynamicObject), _), Self::Dynamic(_)) => value.clone(),
            _ => self.merged(value, Self::refine),
        }
    }

    /// The type where each kind that literals spell out may be another one as well.
    pub(super) fn with_others(&self) -> Self {
        self.map(&|part| match part {
            Self::Dynamic(kinds) => Some(Self::Dynamic(kinds.iter().cloned().chain([None]).collect())),
            _ => None,
        })
    }

    /// Widens a known value to its type.
    pub(super) fn general(&self) -> Self {
        match self {
            text if text.is_known_text() => Self::foreign(ForeignType::String),
            Self::Elsewhere(of) => Self::kube(of.clone()),
            Self::Dynamic(kinds) if !kinds.contains(&None) => Self::kube(Kube::ApiResource),
            Self::Patch { apply: false } => Self::kube(Kube::Patch),
            Self::Table(rows) => Self::many(rows.iter().fold(Self::Never, |all, row| all.join(row))),
            Self::Api(kind, reach) => match &**kind {
                Self::Dynamic(kinds) if !kinds.contains(&None) => {
                    Self::Api(Rc::new(Self::kube(Kube::DynamicObject)), reach.clone())
                }
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
            (Self::Unknown | Self::Infer(_), known) | (known, Self::Unknown | Self::Infer(_)) => {
                known.with_others().general()
            }
            (Self::Table(_), other) => self.general().join(&other.general()),
            (one, Self::Table(_)) => one.join(&other.general()),
            // The cluster may be the operator's own one.
            (Self::Elsewhere(_), other) | (other, Self::Elsewhere(_)) => other.general(),
            (Self::Dynamic(one), Self::Dynamic(other)) => Self::Dynamic(one.union(other).cloned().collect()),
            (Self::Patch { apply: one }, Self::Patch { apply: other }) => Self::Patch { apply: *one || *other },
            (one, other) if one.is_known_text() && (other.is_known_text() || matches!(other, Self::Foreign(..))) => {
                one.general()
            }
            (known @ Self::Dynamic(_), Self::Foreign(..)) | (Self::Foreign(..), known @ Self::Dynamic(_)) => {
                known.with_others()
            }
            (Self::Dynamic(_) | Self::Patch { apply: false }, other) | (other, Self::Dynamic(_)) => other.clone(),
            (one, other) if one.is_known_text() => other.clone(),
            // A known string and another one; or types that only differ in what is not told apart.
            (one, other) => one.merged(other, Self::join),
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

    /// Accepts each given value for its parameter.
    pub(super) fn accept_each(&mut self, parameters: &mut [Ty], given: &[Ty]) {
        for (parameter, given) in parameters.iter_mut().zip(given) {
            *parameter = self.accept(parameter, given);
        }
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
                let is_value = known.is_known_text() || matches!(known, Ty::Elsewhere(_) | Ty::Table(_));
                let known = if is_value { known.general() } else { known.clone() };
                if !circular && let Some(slot) = self.0.get_mut(*id as usize) {
                    *slot = Some(known);
                }
            }
            (table @ Ty::Table(_), other) | (other, table @ Ty::Table(_)) if !matches!(other, Ty::Table(_)) => {
                self.unify(&table.general(), other);
            }
            _ => one.paired(other).into_iter().flatten().for_each(|(one, other)| self.unify(one, other)),
        }
    }
}

/// The longest list of which each element is kept.
const TABLE: usize = 64;

pub(super) type Generics = BTreeMap<String, Ty>;
