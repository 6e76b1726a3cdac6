//! Struct literals of k8s-openapi.

use serde_json::Value;
use syn::spanned::Spanned as _;
use syn::{ExprStruct, Member};

use super::evaluator::{Env, Eval, Evaluator};
use crate::api::k8s_source::K8sSource;
use crate::api::k8s_types::head;
use crate::api::types::TypeScope;
use crate::api::value::Val;
use crate::k8s;

impl Evaluator<'_, '_> {
    /// Evaluates a struct literal of k8s-openapi, as serde writes it: fields with the value `None` are omitted.
    pub(super) fn k8s_literal(
        &mut self,
        scope: &TypeScope,
        env: &Env,
        literal: &ExprStruct,
        canonical: &[String],
    ) -> Eval {
        let Ok(dir) = self.types.k8s_sources(scope) else { return self.unsupported(scope, literal) };
        let found = k8s::generated_type(self.tree, &dir, &canonical[1..]);
        let Some(item) = found.as_ref().and_then(|found| found.item.as_ref()) else {
            return self.unsupported(scope, literal);
        };
        let outside = TypeScope { k8s: Some(K8sSource { at: literal.span(), dir }), ..TypeScope::module(scope.module) };
        let id = self.types.k8s_type(&outside, literal.span(), canonical);
        let rest = match &literal.rest {
            Some(rest) => match self.eval(scope, env, rest, Some(id))? {
                Val::Json(Value::Object(rest)) => Some(rest),
                _ => return self.unsupported(scope, rest),
            },
            None => None,
        };
        let mut object = found.as_ref().map(|found| head(found)).unwrap_or_default();
        for field in &item.fields {
            let name = field.ident.as_ref();
            let key = name.and_then(|name| found.as_ref()?.keys.get(&name.to_string()));
            let Some(key) = key else { return self.unsupported(scope, literal) };
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
                (None, None) => return self.unsupported(scope, literal),
            }
        }
        Ok(Val::Json(Value::Object(object)))
    }
}
