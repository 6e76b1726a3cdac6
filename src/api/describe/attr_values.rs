//! The values of `#[schemars(…)]`: titles, descriptions, examples, extensions and constraints.

use serde_json::Value;
use syn::Expr;
use syn::spanned::Spanned as _;

use crate::diagnostic::Code;
use crate::schema::{Constraints, Meta, NumberBounds};

use super::describer::{Describer, Reported};
use crate::api::attribute::literal;
use crate::api::eval::Env;
use crate::api::schemars_attr::{BoundAttrs, CommonAttrs, ConstraintAttrs};
use crate::api::types::{Refusal, TypeScope};
use crate::api::value::Val;

impl Describer<'_> {
    /// Title, description, examples, extensions.
    pub(in crate::api) fn meta(&mut self, scope: &TypeScope, attrs: &CommonAttrs) -> Result<Meta, Reported> {
        let mut complete = true;
        let mut meta = Meta { deprecated: attrs.deprecated, ..Meta::default() };
        if !attrs.docs.is_empty() {
            let mut text = String::new();
            for (index, line) in attrs.docs.iter().enumerate() {
                if index > 0 {
                    text.push('\n');
                }
                if let Some(line) = literal(line) {
                    let line = line.value();
                    text.push_str(line.strip_prefix(' ').unwrap_or(&line));
                } else {
                    let message = format!("documentation from `{}` is not supported", self.types.text(scope, line));
                    self.refuse(Refusal::new(Code::Expression, scope, line.span(), message));
                    complete = false;
                }
            }
            let (title, description) = schemars::_private::get_title_and_description(&text);
            meta.title = Some(title.to_owned());
            meta.description = Some(description.to_owned());
        }
        if let Some(title) = &attrs.title {
            meta.explicit_title = true;
            meta.title = self.constant_string(scope, title).ok();
            complete &= meta.title.is_some();
        }
        if let Some(description) = &attrs.description {
            meta.description = self.constant_string(scope, description).ok();
            complete &= meta.description.is_some();
        }
        for example in &attrs.examples {
            // `serde_json::to_value(expr)`
            let value = self.reported(|eval| {
                let value = eval.untyped(scope, &Env::new(), example)?;
                eval.json(scope, example, &value)
            });
            complete &= value.is_ok();
            meta.examples.get_or_insert_default().extend(value);
        }
        for extension in &attrs.extensions {
            match self.reported(|eval| eval.json_tokens(scope, &Env::new(), &extension.value)) {
                Ok(value) => meta.extensions.push((extension.key.value(), value)),
                Err(Reported) => complete = false,
            }
        }
        complete.then_some(meta).ok_or(Reported)
    }

    fn constant_string(&mut self, scope: &TypeScope, expr: &Expr) -> Result<String, Reported> {
        self.reported(|eval| {
            if let Val::Str(text) = eval.eval(scope, &Env::new(), expr, None)? {
                return Ok(text);
            }
            let message = format!("`{}` is not a string", eval.types.text(scope, expr));
            Err(Refusal::new(Code::Expression, scope, expr.span(), message))
        })
    }

    /// `serde_json::Value::from(expr)`
    fn limit(&mut self, scope: &TypeScope, expr: &Expr) -> Result<Value, Reported> {
        self.reported(|eval| match eval.untyped(scope, &Env::new(), expr)? {
            value if value.is_of_user() => eval.unsupported(scope, expr),
            value => eval.json(scope, expr, &value),
        })
    }

    pub(super) fn constraints(&mut self, scope: &TypeScope, attrs: &ConstraintAttrs) -> Result<Constraints, Reported> {
        let ConstraintAttrs { length, range, pattern, contains, format, required, inner } = attrs;
        let length = length.as_ref().map(|bounds| self.bounds(scope, bounds)).transpose();
        let range = range.as_ref().map(|bounds| self.bounds(scope, bounds)).transpose();
        let pattern = pattern.as_ref().map(|expr| self.constant_string(scope, expr)).transpose();
        let contains = contains.as_ref().map(|expr| self.constant_string(scope, expr)).transpose();
        let inner = inner.as_deref().map(|inner| self.constraints(scope, inner).map(Box::new)).transpose();
        Ok(Constraints {
            length: length?,
            range: range?,
            pattern: pattern?,
            contains: contains?,
            format: *format,
            required: *required,
            inner: inner?,
        })
    }

    fn bounds(&mut self, scope: &TypeScope, attrs: &BoundAttrs) -> Result<NumberBounds, Reported> {
        let min = attrs.min.as_ref().map(|expr| self.limit(scope, expr)).transpose();
        let max = attrs.max.as_ref().map(|expr| self.limit(scope, expr)).transpose();
        Ok(NumberBounds { min: min?, max: max? })
    }
}
