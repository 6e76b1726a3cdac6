//! Which resource of the API a Rust type is.

use std::collections::BTreeMap;

use crate::k8s;
use crate::project::builtin::{self, Builtin};
use crate::rbac::REVIEWS;
use crate::source::{ItemRef, SourceTree};

use super::foreign::{ForeignType, Kube};
use super::resource::DerivedResource;
use super::types::Ty;

/// Rust types and their resources.
#[derive(Debug)]
pub(super) struct KindTable<'a> {
    tree: &'a SourceTree,
    builtins: Vec<Builtin>,
    /// Resources of handwritten `impl Resource` blocks.
    pub(super) declared: BTreeMap<ItemRef, DerivedResource>,
    /// Types that are of the same resource as another one.
    pub(super) inherited: BTreeMap<ItemRef, Ty>,
}

impl<'a> KindTable<'a> {
    pub(super) fn new(tree: &'a SourceTree) -> Self {
        Self { tree, builtins: builtin::all(), declared: BTreeMap::new(), inherited: BTreeMap::new() }
    }

    /// The type that names the resource: some wrap it, and some are of the same resource as another one.
    pub(super) fn named<'t>(&'t self, ty: &'t Ty) -> &'t Ty {
        let mut ty = ty;
        for _ in 0..WRAPPED {
            ty = match ty {
                Ty::Foreign(
                    ForeignType::Kube(Kube::DeserializeGuard | Kube::Object | Kube::PartialObjectMeta),
                    parts,
                ) => match parts.first() {
                    Some(inner) => inner,
                    None => return ty,
                },
                Ty::Item(item, _) => match self.inherited.get(item) {
                    Some(of) => of,
                    None => return ty,
                },
                ty => return ty,
            };
        }
        ty
    }

    /// The resources that a type stands for: several when the source names several.
    pub(super) fn resources(&self, ty: &Ty) -> Option<Vec<DerivedResource>> {
        match self.named(ty) {
            Ty::Foreign(ForeignType::K8s(path), _) => Some(vec![self.builtin(path)?]),
            Ty::Root(item) => {
                let found = k8s::custom_resource(self.tree, *item)?;
                let plural = crate::api::plural_of(&found);
                Some(vec![DerivedResource {
                    group: found.group,
                    plural,
                    namespaced: Some(found.namespaced),
                    name: found.root,
                }])
            }
            Ty::Item(item, _) => Some(vec![self.declared.get(item)?.clone()]),
            Ty::Dynamic(kinds) => Some(kinds.iter().flatten().cloned().collect()),
            _ => None,
        }
    }

    /// Returns true if a type stands for resources besides those of [`Self::resources`].
    pub(super) fn has_others(&self, ty: &Ty) -> bool {
        matches!(self.named(ty), Ty::Dynamic(kinds) if kinds.contains(&None))
    }

    /// A type of k8s-openapi by its path below the crate, whatever its version.
    pub(super) fn builtin(&self, path: &str) -> Option<DerivedResource> {
        let (module, name) = path.rsplit_once("::")?;
        let (unversioned, _) = module.rsplit_once("::")?;
        let resource = |group: &str, plural: &str, namespaced| DerivedResource {
            group: group.to_owned(),
            plural: plural.to_owned(),
            namespaced: Some(namespaced),
            name: name.to_owned(),
        };
        let is_review = |group: &str| unversioned.ends_with(group.split('.').next().unwrap_or_default());
        if let Some((group, _, plural, namespaced)) = REVIEWS.iter().find(|row| row.1 == name && is_review(row.0)) {
            return Some(resource(group, plural, *namespaced));
        }
        let same = |module: &str| {
            let path = module.strip_prefix("k8s_openapi::").and_then(|path| path.rsplit_once("::"));
            path.is_some_and(|(other, _)| other == unversioned)
        };
        let found = self.builtins.iter().find(|known| known.kind == name && same(known.module))?;
        Some(resource(found.group, found.plural, found.namespaced))
    }
}

/// More types than wrap each other, unless they go in a circle.
const WRAPPED: usize = 32;
