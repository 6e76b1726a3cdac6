//! Types of k8s-openapi, from the sources of the version and the feature that the project is locked at.
//!
//! Their `JsonSchema` impls are functions like those of a user, and the same evaluator runs them. The linked ones stand
//! in only where the project has exactly the linked version and feature.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use proc_macro2::Span;
use serde_json::{Map, Value};
use syn::spanned::Spanned as _;
use syn::{ExprStruct, Member};

use crate::diagnostic::Code;
use crate::schema::k8s::{FEATURE, VERSION};
use crate::schema::known;
use crate::schema::{Type, TypeId};
use crate::source::{GeneratedType, Resolution};

use super::dependency::{self, K8s};
use super::maker::Use;
use super::schema_code::ByHand;
use super::types::{Info, Refusal, Scope, Types};
use super::value::{Env, Val};

/// Where code of k8s-openapi is evaluated.
#[derive(Debug, Clone)]
pub(super) struct Outside {
    /// The place in the user's code that asked for it.
    pub(super) at: Span,
    dir: Rc<PathBuf>,
}

/// A type of k8s-openapi.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OutsideType {
    /// The folder of the modules of one Kubernetes version.
    dir: Rc<PathBuf>,
    /// Its path below the crate.
    path: Vec<String>,
}

impl Outside {
    /// What a path means in generated code, which writes all of them out.
    pub(super) fn resolve(path: &syn::Path) -> Resolution {
        let mut parts: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["crate", "schemars", ..] => Resolution::Foreign(parts.split_off(1)),
            ["crate", ..] => {
                "k8s_openapi".clone_into(&mut parts[0]);
                Resolution::Foreign(parts)
            }
            ["std", ..] => Resolution::Foreign(parts),
            ["Option"] => Resolution::Foreign(["std", "option", "Option"].map(str::to_owned).to_vec()),
            [name @ ("bool" | "i32" | "i64" | "f64" | "str")] => Resolution::Primitive((*name).to_owned()),
            _ => Resolution::Unresolved(format!("cannot find `{}`", parts.join("::"))),
        }
    }
}

impl Types<'_> {
    /// A type of k8s-openapi by its canonical path.
    pub(super) fn k8s_type(&mut self, scope: &Scope, span: Span, canonical: &[String]) -> TypeId {
        let path = canonical.join("::");
        let dir = match &scope.outside {
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
        let ty = OutsideType { dir, path: canonical[1..].to_vec() };
        if self.tree.generated_type(&ty.dir, &ty.path).is_none() {
            let message =
                format!("k8s-openapi has no type `{path}` with a schema in the version that the project uses");
            return self.refused(
                Refusal::new(Code::ForeignType, scope, span, message)
                    .help("describe the value with `#[schemars(with = \"…\")]`"),
            );
        }
        if let Some(&id) = self.outsides.get(&ty) {
            return id;
        }
        let id = self.add(Info::Outside(ty.clone()));
        self.outsides.insert(ty, id);
        id
    }

    /// Describes a type of k8s-openapi and all that it reaches.
    pub(super) fn use_outside_type(&mut self, id: TypeId, ty: &OutsideType, at: Use) {
        let (module, span) = at;
        let name = ty.path.last().cloned().unwrap_or_default();
        if self.active.contains(&id) {
            let message = format!("`{name}` contains itself, which no CRD can express");
            let help = Some("describe the value with `#[schemars(with = \"serde_json::Value\")]`".to_owned());
            return self.refuse(Refusal { code: Code::RecursiveType, module, span, message, help, fails: false });
        }
        self.described.insert(id);
        let Some(found) = self.tree.generated_type(&ty.dir, &ty.path) else { return };
        let outside = Outside { at: span, dir: Rc::clone(&ty.dir) };
        let scope = Scope { outside: Some(outside), ..Scope::module(module) };
        match ByHand::read(self, &scope, &found.schema) {
            Ok(by_hand) => {
                self.active.push(id);
                let container = self.describe_by_hand(&by_hand, &found.schema);
                self.active.pop();
                if let Some(container) = container {
                    self.graph.set(id, Type::User(Arc::new(container)));
                }
            }
            Err(refusal) => self.refuse_by_hand(&refusal, &name),
        }
    }

    /// `T::default()` of a type of k8s-openapi, as serde writes it.
    pub(super) fn outside_default(&self, id: TypeId) -> Option<Value> {
        let Info::Outside(ty) = self.info(id) else { return None };
        self.generated_default(&ty.dir, &ty.path)
    }

    /// The folder of the types that code in a scope means.
    fn k8s_sources(&self, scope: &Scope) -> Option<Rc<PathBuf>> {
        match (&scope.outside, dependency::k8s(self.tree, scope.module)) {
            (Some(outside), _) => Some(Rc::clone(&outside.dir)),
            (None, K8s::Source(dir)) => Some(dir),
            (None, K8s::Linked) => {
                self.tree.generated_modules("k8s-openapi", &VERSION.parse().ok()?, FEATURE).map(Rc::new)
            }
            (None, K8s::Unknown(_)) => None,
        }
    }

    /// `T::default()` of a linked type of k8s-openapi, from the sources of the same version.
    pub(super) fn linked_default(&self, scope: &Scope, path: &str) -> Option<Value> {
        let path: Vec<String> = path.strip_prefix("k8s_openapi::")?.split("::").map(str::to_owned).collect();
        self.generated_default(&self.k8s_sources(scope)?, &path)
    }

    /// `KIND`, `API_VERSION` and the like of a resource of Kubernetes.
    pub(super) fn outside_constant(&self, scope: &Scope, path: &[String]) -> Option<String> {
        let ([krate, of @ ..], constant) = path.split_last().map(|(last, of)| (of, last))? else { return None };
        if krate != "k8s_openapi" {
            return None;
        }
        let dir = self.k8s_sources(scope)?;
        self.tree.generated_type(&dir, of)?.constants.get(constant).cloned()
    }

    /// A struct of k8s-openapi that is written out, as serde writes it: fields that are `None` are left out.
    pub(super) fn outside_literal(
        &mut self,
        scope: &Scope,
        env: &Env,
        literal: &ExprStruct,
        canonical: &[String],
    ) -> Result<Val, Refusal> {
        let Some(dir) = self.k8s_sources(scope) else { return self.no(scope, literal) };
        let found = self.tree.generated_type(&dir, &canonical[1..]);
        let Some(item) = found.as_ref().and_then(|found| found.item.as_ref()) else { return self.no(scope, literal) };
        let outside = Scope { outside: Some(Outside { at: literal.span(), dir }), ..Scope::module(scope.module) };
        let id = self.k8s_type(&outside, literal.span(), canonical);
        let rest = match &literal.rest {
            Some(rest) => match self.eval(scope, env, rest, Some(id))? {
                Val::Json(Value::Object(rest)) => Some(rest),
                _ => return self.no(scope, rest),
            },
            None => None,
        };
        let mut object = found.as_ref().map(|found| head(found)).unwrap_or_default();
        for field in &item.fields {
            let name = field.ident.as_ref();
            let key = name.and_then(|name| found.as_ref()?.keys.get(&name.to_string()));
            let Some(key) = key else { return self.no(scope, literal) };
            let given = literal
                .fields
                .iter()
                .find(|given| matches!(&given.member, Member::Named(member) if Some(member) == name));
            match (given, &rest) {
                (Some(given), _) => {
                    let ty = self.ty(&outside, &field.ty);
                    match self.eval(scope, env, &given.expr, Some(ty))? {
                        Val::None => {}
                        value => drop(object.insert(key.clone(), self.json(scope, &given.expr, &value)?)),
                    }
                }
                (None, Some(rest)) => object.extend(rest.get(key).map(|value| (key.clone(), value.clone()))),
                (None, None) => return self.no(scope, literal),
            }
        }
        Ok(Val::Json(Value::Object(object)))
    }

    fn generated_default(&self, dir: &Rc<PathBuf>, path: &[String]) -> Option<Value> {
        match path.join("::").as_str() {
            "apimachinery::pkg::api::resource::Quantity" => return Some("".into()),
            "apimachinery::pkg::util::intstr::IntOrString" => return Some(0.into()),
            "apimachinery::pkg::runtime::RawExtension" => return Some(Value::Null),
            _ => {}
        }
        let found = self.tree.generated_type(dir, path)?;
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
fn head(found: &GeneratedType) -> Map<String, Value> {
    let keys = [("apiVersion", "API_VERSION"), ("kind", "KIND")];
    let written = |(key, constant): (&str, &str)| Some((key.to_owned(), found.constants.get(constant)?.clone().into()));
    keys.into_iter().filter_map(written).collect()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::Arc;

    use crate::schema;
    use crate::source::SourceTree;

    use super::*;

    /// What the evaluator makes of the sources is what the linked impls return.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests write what they read")]
    fn sources_say_what_the_linked_types_say() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "package = { name = \"x\", edition = \"2024\" }").unwrap();
        std::fs::write(folder.path().join("src/lib.rs"), "struct S;").unwrap();
        let (tree, _) = SourceTree::load(folder.path()).unwrap();
        let dir = tree.generated_modules("k8s-openapi", &VERSION.parse().unwrap(), FEATURE).unwrap();
        let dir = Rc::new(dir);
        let item = tree.items().next().unwrap();
        let mut equal = 0;
        for known in schema::k8s::types() {
            let mut types = Types::new(&tree, crate::schema::release::Releases::default());
            let path: Vec<String> = known.path.split("::").skip(1).map(str::to_owned).collect();
            let linked = types.known_type(known, Vec::new());
            let ty = OutsideType { dir: Rc::clone(&dir), path };
            let read = types.add(Info::Outside(ty));
            let default = known.default.map(|default| default());
            assert_eq!(types.outside_default(read), default, "{}", known.path);
            types.use_type(read, (tree.module(item), Span::call_site()));
            assert!(types.diagnostics.is_empty(), "{}: {}", known.path, types.diagnostics.render(false));
            let graph = Arc::new(types.graph);
            let text = |id| serde_json::to_string(&schema::root(&graph, id).unwrap()).unwrap();
            assert_eq!(text(read), text(linked), "{}", known.path);
            equal += 1;
        }
        assert!(equal > 300, "{equal}");
    }
}
