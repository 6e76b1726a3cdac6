//! Types of k8s-openapi, from the sources of the version and the feature that the project is locked at.
//!
//! Their `JsonSchema` impls are functions like those of a user, and the same evaluator runs them. The linked ones stand
//! in only where the project has exactly the linked version and feature.

use std::path::PathBuf;
use std::rc::Rc;

use proc_macro2::Span;
use serde_json::{Map, Value};

use crate::diagnostic::Code;
use crate::k8s;
use crate::k8s::GeneratedType;
use crate::schema::k8s::{FEATURE, VERSION};
use crate::schema::{TypeId, known};

use super::dependency;
use super::dependency::K8s;
use super::k8s_source::K8sType;
use super::types::{Info, Refusal, Scope, Types};

impl Types<'_> {
    /// A type of k8s-openapi by its canonical path.
    pub(super) fn k8s_type(&mut self, scope: &Scope, span: Span, canonical: &[String]) -> TypeId {
        let path = canonical.join("::");
        let dir = match &scope.k8s {
            Some(outside) => Ok(Rc::clone(&outside.dir)),
            None => match dependency::k8s(self.tree, scope.module) {
                K8s::Linked => match known::lookup(&path) {
                    Some(known) => return self.known_type(known, Vec::new()),
                    None => self.k8s_sources(scope).ok_or_else(|| "its sources are not there".to_owned()),
                },
                K8s::Source(dir) => Ok(dir),
                K8s::Unknown(why) => Err(why),
            },
        };
        let dir = match dir {
            Ok(dir) => dir,
            Err(why) => {
                return self.refused(
                    Refusal::new(Code::DependencyVersion, scope, span, format!("type `{path}` is not known: {why}"))
                        .help("run `cargo fetch`, and give k8s-openapi one of the features `v1_…`"),
                );
            }
        };
        let ty = K8sType { dir, path: canonical[1..].to_vec() };
        if k8s::generated_type(self.tree, &ty.dir, &ty.path).is_none() {
            let message =
                format!("k8s-openapi has no type `{path}` with a schema in the version that the project uses");
            return self.refused(
                Refusal::new(Code::ForeignType, scope, span, message)
                    .help("describe the value with `#[schemars(with = \"…\")]`"),
            );
        }
        if let Some(&id) = self.from_k8s.get(&ty) {
            return id;
        }
        let id = self.add(Info::K8s(ty.clone()));
        self.from_k8s.insert(ty, id);
        id
    }

    /// `T::default()` of a type of k8s-openapi, as serde writes it.
    pub(super) fn k8s_default(&self, id: TypeId) -> Option<Value> {
        let Info::K8s(ty) = self.info(id) else { return None };
        self.generated_default(&ty.dir, &ty.path)
    }

    /// The folder of the types that code in a scope means.
    pub(super) fn k8s_sources(&self, scope: &Scope) -> Option<Rc<PathBuf>> {
        match (&scope.k8s, dependency::k8s(self.tree, scope.module)) {
            (Some(outside), _) => Some(Rc::clone(&outside.dir)),
            (None, K8s::Source(dir)) => Some(dir),
            (None, K8s::Linked) => k8s::modules(self.tree, &VERSION.parse().ok()?, FEATURE).map(Rc::new),
            (None, K8s::Unknown(_)) => None,
        }
    }

    /// `T::default()` of a linked type of k8s-openapi, from the sources of the same version.
    pub(super) fn linked_default(&self, scope: &Scope, path: &str) -> Option<Value> {
        let path: Vec<String> = path.strip_prefix("k8s_openapi::")?.split("::").map(str::to_owned).collect();
        self.generated_default(&self.k8s_sources(scope)?, &path)
    }

    fn generated_default(&self, dir: &Rc<PathBuf>, path: &[String]) -> Option<Value> {
        match path.join("::").as_str() {
            "apimachinery::pkg::api::resource::Quantity" => return Some("".into()),
            "apimachinery::pkg::util::intstr::IntOrString" => return Some(0.into()),
            "apimachinery::pkg::runtime::RawExtension" => return Some(Value::Null),
            _ => {}
        }
        let found = k8s::generated_type(self.tree, dir, path)?;
        let mut object = head(&found);
        for field in &found.item.as_ref()?.fields {
            let syn::Type::Path(ty) = &field.ty else { return None };
            let parts: Vec<String> = ty.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let value: Value = match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                ["Option"] => continue,
                ["std", "string", "String"] => "".into(),
                ["std", "vec", "Vec"] => Value::Array(Vec::new()),
                ["std", "collections", "BTreeMap"] => Value::Object(Map::new()),
                ["bool"] => false.into(),
                ["i32" | "i64"] => 0.into(),
                ["f64"] => 0.0.into(),
                ["crate", path @ ..] => {
                    let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
                    self.generated_default(dir, &path)?
                }
                _ => return None,
            };
            let key = found.keys.get(&field.ident.as_ref()?.to_string())?;
            object.insert(key.clone(), value);
        }
        Some(Value::Object(object))
    }
}

/// What serde writes of a resource beside its fields: `apiVersion` and `kind`.
pub(super) fn head(found: &GeneratedType) -> Map<String, Value> {
    let keys = [("apiVersion", "API_VERSION"), ("kind", "KIND")];
    let written = |(key, constant): (&str, &str)| Some((key.to_owned(), found.constants.get(constant)?.clone().into()));
    keys.into_iter().filter_map(written).collect()
}
