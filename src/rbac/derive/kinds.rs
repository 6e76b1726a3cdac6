//! Which resource of the API a Rust type is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::project::builtin::{self, Builtin};
use crate::source::{ItemRef, SourceTree};

use super::types::{Gvk, Ty};

/// A resource of the API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) plural: String,
    /// `None`: only the API server knows.
    pub(super) namespaced: Option<bool>,
    /// What it is called in the code.
    pub(super) name: String,
}

/// The sources that say what the types of k8s-openapi are.
#[derive(Debug)]
pub(super) struct Kinds<'a> {
    tree: &'a SourceTree,
    generated: Option<PathBuf>,
    builtins: Vec<Builtin>,
    declared: BTreeMap<ItemRef, Resource>,
    /// Types that are of the same resource as another one.
    inherited: BTreeMap<ItemRef, Ty>,
}

impl<'a> Kinds<'a> {
    pub(super) fn new(tree: &'a SourceTree) -> Self {
        let dependencies = || {
            let all = tree.manifests().flat_map(|manifest| manifest.dependencies.values());
            all.filter(|dependency| dependency.package == "k8s-openapi")
        };
        let version = dependencies().find_map(|dependency| dependency.locked.clone());
        let named = |feature: &&String| feature.starts_with("v1_") || matches!(feature.as_str(), "latest" | "earliest");
        let feature = dependencies().flat_map(|dependency| &dependency.features).find(named);
        let generated = version.and_then(|version| {
            let feature = feature.map_or("latest", String::as_str);
            tree.generated_modules("k8s-openapi", &version, feature)
        });
        Self { tree, generated, builtins: builtin::all(), declared: BTreeMap::new(), inherited: BTreeMap::new() }
    }

    /// The type that names the resource: some wrap it, and some are of the same resource as another one.
    pub(super) fn named<'t>(&'t self, ty: &'t Ty) -> &'t Ty {
        let mut ty = ty;
        for _ in 0..WRAPPED {
            ty = match ty {
                Ty::Foreign(path, parts)
                    if matches!(&**path, "kube::DeserializeGuard" | "kube::Object" | "kube::PartialObjectMeta") =>
                {
                    match parts.first() {
                        Some(inner) => inner,
                        None => return ty,
                    }
                }
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
    pub(super) fn resources(&self, ty: &Ty) -> Option<Vec<Resource>> {
        match self.named(ty) {
            Ty::Foreign(path, _) => Some(vec![self.foreign(path)?]),
            Ty::Root(item) => {
                let found = self.tree.custom_resource(*item)?;
                let plural = found.plural.unwrap_or_else(|| crate::api::plural(&found.kind.to_ascii_lowercase()));
                Some(vec![Resource {
                    group: found.group,
                    plural,
                    namespaced: Some(found.namespaced),
                    name: found.root,
                }])
            }
            Ty::Item(item, _) => Some(vec![self.declared.get(item)?.clone()]),
            Ty::Dynamic(kinds) => Some(kinds.iter().map(spelled).collect()),
            _ => None,
        }
    }

    /// A type of k8s-openapi: as its sources say, or else as the linked version says.
    pub(super) fn foreign(&self, path: &str) -> Option<Resource> {
        let parts: Vec<String> = path.strip_prefix("k8s_openapi::")?.split("::").map(str::to_owned).collect();
        let name = parts.last()?.clone();
        let read = self.generated.as_ref().and_then(|dir| self.tree.generated_resource(dir, &parts));
        if let Some(found) = read {
            let (group, plural) = (found.group.clone(), found.plural.clone());
            return Some(Resource { group, plural, namespaced: Some(found.namespaced), name });
        }
        let (module, _) = path.rsplit_once("::")?;
        let (unversioned, _) = module.rsplit_once("::")?;
        let same = |module: &str| module.rsplit_once("::").is_some_and(|(other, _)| other == unversioned);
        if let Some((group, _, plural, namespaced)) = REVIEWS
            .iter()
            .find(|review| review.1 == name && unversioned.ends_with(review.0.split('.').next().unwrap_or_default()))
        {
            let (group, plural) = ((*group).to_owned(), (*plural).to_owned());
            return Some(Resource { group, plural, namespaced: Some(*namespaced), name });
        }
        let found = self.builtins.iter().find(|known| known.kind == name && same(known.module))?;
        Some(Resource {
            group: found.group.to_owned(),
            plural: found.plural.to_owned(),
            namespaced: Some(found.namespaced),
            name,
        })
    }

    /// Notes that a type is of the same resource as another one.
    pub(super) fn inherit(&mut self, item: ItemRef, of: Ty) {
        self.inherited.insert(item, of);
    }

    /// Notes that the tree says by hand what resource a type is.
    pub(super) fn declare(&mut self, item: ItemRef, resource: Resource) {
        self.declared.insert(item, resource);
    }
}

/// More types than wrap each other, unless they go in a circle.
const WRAPPED: usize = 32;

/// Resources that can only be created, so that no controller watches them: group, kind, plural and scope.
const REVIEWS: &[(&str, &str, &str, bool)] = &[
    ("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", false),
    ("authentication.k8s.io", "TokenReview", "tokenreviews", false),
    ("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
    ("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
    ("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
    ("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", false),
];

fn spelled(kind: &Gvk) -> Resource {
    let computed = || crate::api::plural(&kind.kind.to_lowercase());
    Resource {
        group: kind.group.to_string(),
        plural: kind.plural.as_ref().map_or_else(computed, ToString::to_string),
        namespaced: None,
        name: kind.kind.to_string(),
    }
}
