//! `#[x_kube(…)]` of a type that derives `KubeSchema`: rules and merge strategies.

use kube::core::Rule;
use quote::ToTokens;
use serde_derive_internals::ast;
use serde_derive_internals::ast::Data;
use syn::spanned::Spanned as _;
use syn::{Attribute, DeriveInput, Expr, Fields};

use crate::diagnostic::Code;
use crate::schema::Validated;
use crate::schema::release::ReleaseChange;

use super::describer::{Describer, Reported};
use crate::api::kube_attr::{KubeSchemaAttrs, KubeSchemaFieldAttrs};
use crate::api::kube_schema::hidden_name;
use crate::api::types::{Refusal, TypeScope};

impl Describer<'_> {
    /// The name that `KubeSchema` gives the schema of a type.
    pub(super) fn kube_schema_name(&self, ident: &str) -> String {
        let suffix = if self.types.graph.releases.has(ReleaseChange::RootTitle) { "" } else { "Validated" };
        format!("{ident}{suffix}")
    }

    /// Reads `#[x_kube(…)]` and keeps the other attributes that `KubeSchema` passes on.
    pub(super) fn kube_schema(&mut self, scope: &TypeScope, input: &mut DeriveInput) -> Result<Validated, Reported> {
        use darling::{FromDeriveInput as _, FromField as _};
        let mut clean = true;
        if let Some(name) = hidden_name(input) {
            let message = format!("`{name}` resolves to a different item in the code that `KubeSchema` generates");
            let refusal = Refusal::new(Code::KubeAttribute, scope, name.span(), message);
            self.refuse(refusal.help(format!("write the path: `self::{name}`")));
            clean = false;
        }
        let rules = match KubeSchemaAttrs::from_derive_input(input) {
            Ok(attrs) => self.rules(scope, &attrs.validations),
            Err(errors) => Err(self.refuse_keys(scope, &input.ident, errors)),
        };
        clean &= rules.is_ok();
        let keep = |attributes: &mut Vec<Attribute>| {
            attributes.retain(|attribute| {
                ["serde", "schemars", "doc", "validate", "cfg", "cfg_attr"]
                    .iter()
                    .any(|name| attribute.path().is_ident(name))
            });
        };
        keep(&mut input.attrs);
        let mut validated = Validated { rules: rules.unwrap_or_default(), fields: Vec::new() };
        let named = match &mut input.data {
            syn::Data::Struct(syn::DataStruct { fields: Fields::Named(fields), .. }) => &mut fields.named,
            _ => return clean.then_some(validated).ok_or(Reported),
        };
        for (index, field) in named.iter_mut().enumerate() {
            let attrs = KubeSchemaFieldAttrs::from_field(field);
            keep(&mut field.attrs);
            let attrs = match attrs {
                Ok(attrs) => attrs,
                Err(errors) => {
                    self.refuse_keys(scope, &field.ident, errors);
                    clean = false;
                    continue;
                }
            };
            let rules = self.rules(scope, &attrs.validations);
            let merge =
                attrs.merge_strategy.as_ref().map(|expr| self.reported(|eval| eval.merge_strategy(scope, expr)));
            let (Ok(rules), Ok(merge)) = (rules, merge.transpose()) else {
                clean = false;
                continue;
            };
            if !rules.is_empty() || merge.is_some() {
                validated.fields.push((index, rules, merge));
            }
        }
        let container_default = input.attrs.iter().find(|attribute| {
            attribute.path().is_ident("serde") && attribute.to_token_stream().to_string().contains("default")
        });
        if let (Some(attribute), false) = (container_default, validated.fields.is_empty()) {
            let message = "`KubeSchema` with rules on fields does not compile beside a default of the whole struct";
            self.refuse(Refusal::new(Code::KubeAttribute, scope, attribute.span(), message));
            clean = false;
        }
        clean.then_some(validated).ok_or(Reported)
    }

    /// Evaluates all rules, also after a refused one.
    pub(super) fn rules(&mut self, scope: &TypeScope, expressions: &[Expr]) -> Result<Vec<Rule>, Reported> {
        let rules: Vec<Result<Rule, Reported>> =
            expressions.iter().map(|expr| self.reported(|eval| eval.rule(scope, expr))).collect();
        rules.into_iter().collect()
    }
}

/// Rules by the position among the fields that are read.
pub(super) fn without_skipped(mut validated: Validated, cont: &ast::Container<'_>) -> Validated {
    let Data::Struct(_, fields) = &cont.data else { return validated };
    validated.fields.retain(|(index, _, _)| !fields[*index].attrs.skip_deserializing());
    for (index, _, _) in &mut validated.fields {
        *index -= fields[..*index].iter().filter(|field| field.attrs.skip_deserializing()).count();
    }
    validated
}
