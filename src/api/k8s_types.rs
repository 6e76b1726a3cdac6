//! Types of k8s-openapi, from the sources of the version and the feature that the project uses.
//!
//! The evaluator runs their `JsonSchema` impls like handwritten impls of a user. The linked impls replace them only if the
//! project uses exactly the linked version and feature.

use std::path::PathBuf;
use std::rc::Rc;

use proc_macro2::Span;
use serde_json::{Map, Value};

use crate::diagnostic::Code;
use crate::k8s;
use crate::k8s::GeneratedType;
use crate::schema::k8s::{FEATURE, VERSION};
use crate::schema::{TypeId, known};
use crate::source::Unread;

use super::dependency;
use super::dependency::K8s;
use super::k8s_source::K8sType;
use super::types::{Info, Refusal, TypeScope, Types};

impl Types<'_> {
    /// A type of k8s-openapi by its canonical path.
    pub(super) fn k8s_type(&mut self, scope: &TypeScope, span: Span, canonical: &[String]) -> TypeId {
        let path = canonical.join("::");
        if scope.k8s.is_none()
            && let K8s::Linked = dependency::k8s(self.tree, scope.module)
            && let Some(known) = known::lookup(&path)
        {
            return self.known_type(known, Vec::new());
        }
        let dir = match self.k8s_sources(scope) {
            Ok(dir) => dir,
            Err((code, why)) => {
                let refusal = Refusal::new(code, scope, span, format!("type `{path}` is unknown: {why}"));
                return self.refused(refusal.help(match code {
                    Code::NotDownloaded => "run `cargo fetch`",
                    _ => "enable one of the features `v1_…` of k8s-openapi",
                }));
            }
        };
        let ty = K8sType { dir, path: canonical[1..].to_vec() };
        if k8s::generated_type(self.tree, &ty.dir, &ty.path).is_none() {
            let message = format!("k8s-openapi, in the version of the project, has no type `{path}` with a schema");
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

    /// Returns the folder of the k8s-openapi sources for a scope, or the code and the message of an error.
    pub(super) fn k8s_sources(&self, scope: &TypeScope) -> Result<Rc<PathBuf>, (Code, String)> {
        let unread = |why: Unread| match why {
            Unread::NotDownloaded(_) => (Code::NotDownloaded, why.to_string()),
            Unread::Other(_) => (Code::DependencyVersion, why.to_string()),
        };
        if let Some(outside) = &scope.k8s {
            return Ok(Rc::clone(&outside.dir));
        }
        match dependency::k8s(self.tree, scope.module) {
            K8s::Source(dir) => Ok(dir),
            K8s::Linked => {
                let linked = VERSION.parse().map_err(|error| (Code::DependencyVersion, format!("{error}")))?;
                k8s::modules(self.tree, &linked, FEATURE).map(Rc::new).map_err(unread)
            }
            K8s::Unknown(why) => Err((Code::DependencyVersion, why)),
            K8s::Unread(why) => Err(unread(why)),
        }
    }

    /// `T::default()` of a linked type of k8s-openapi, from the sources of the same version.
    pub(super) fn linked_default(&self, scope: &TypeScope, path: &str) -> Option<Value> {
        let path: Vec<String> = path.strip_prefix("k8s_openapi::")?.split("::").map(str::to_owned).collect();
        self.generated_default(&self.k8s_sources(scope).ok()?, &path)
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

/// Returns the entries that serde writes for a resource beside its fields: `apiVersion` and `kind`.
pub(super) fn head(found: &GeneratedType) -> Map<String, Value> {
    let keys = [("apiVersion", "API_VERSION"), ("kind", "KIND")];
    let written = |(key, constant): (&str, &str)| Some((key.to_owned(), found.constants.get(constant)?.clone().into()));
    keys.into_iter().filter_map(written).collect()
}
