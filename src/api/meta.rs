//! Titles, descriptions, examples, extensions and constraints: the values of what `#[schemars(…)]` says.

use serde_json::Value;
use syn::Expr;
use syn::spanned::Spanned as _;

use crate::diagnostic::Code;
use crate::schema::{Bounds, Constraints, Meta};

use super::attribute::literal;
use super::schemars_attr::{BoundAttrs, ConstraintAttrs, SchemarsAttrs};
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Val};

impl Types<'_> {
    /// Title, description, examples, extensions.
    pub(super) fn meta(&mut self, scope: &Scope, attrs: &SchemarsAttrs) -> Option<Meta> {
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
                } else if let Ok(Some(line)) = self.constant_text(scope, &Env::new(), line) {
                    text.push_str(&line);
                } else {
                    let message = format!("documentation from `{}` is not read", self.text(scope, line));
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
            meta.title = self.string(scope, title);
            complete &= meta.title.is_some();
        }
        if let Some(description) = &attrs.description {
            meta.description = self.string(scope, description);
            complete &= meta.description.is_some();
        }
        for example in &attrs.examples {
            let value = self.constant_json(scope, example);
            complete &= value.is_some();
            meta.examples.get_or_insert_default().extend(value);
        }
        for extension in &attrs.extensions {
            match self.json_tokens(scope, &Env::new(), &extension.value) {
                Ok(value) => meta.extensions.push((extension.key.value(), value)),
                Err(refusal) => {
                    self.refuse(refusal);
                    complete = false;
                }
            }
        }
        complete.then_some(meta)
    }

    fn string(&mut self, scope: &Scope, expr: &Expr) -> Option<String> {
        match self.eval(scope, &Env::new(), expr, None) {
            Ok(Val::Str(text)) => Some(text),
            Ok(_) => {
                let message = format!("`{}` is no string", self.text(scope, expr));
                self.refuse(Refusal::new(Code::Expression, scope, expr.span(), message));
                None
            }
            Err(refusal) => {
                self.refuse(refusal);
                None
            }
        }
    }

    /// `serde_json::to_value(expr)`
    fn constant_json(&mut self, scope: &Scope, expr: &Expr) -> Option<Value> {
        let value = self.untyped(scope, &Env::new(), expr).and_then(|value| self.json(scope, expr, &value));
        value.map_err(|refusal| self.refuse(refusal)).ok()
    }

    /// `serde_json::Value::from(expr)`
    fn limit(&mut self, scope: &Scope, expr: &Expr) -> Option<Value> {
        let value = self.untyped(scope, &Env::new(), expr).and_then(|value| match value {
            value if value.is_of_user() => self.no(scope, expr),
            value => self.json(scope, expr, &value),
        });
        value.map_err(|refusal| self.refuse(refusal)).ok()
    }

    pub(super) fn constraints(&mut self, scope: &Scope, attrs: &ConstraintAttrs) -> Option<Constraints> {
        let ConstraintAttrs { length, range, pattern, contains, format, required, inner } = attrs;
        let length = self.optional(length.as_ref(), |types, bounds| types.bounds(scope, bounds));
        let range = self.optional(range.as_ref(), |types, bounds| types.bounds(scope, bounds));
        let pattern = self.optional(pattern.as_ref(), |types, expr| types.string(scope, expr));
        let contains = self.optional(contains.as_ref(), |types, expr| types.string(scope, expr));
        let inner = self.optional(inner.as_deref(), |types, inner| types.constraints(scope, inner).map(Box::new));
        Some(Constraints {
            length: length?,
            range: range?,
            pattern: pattern?,
            contains: contains?,
            format: *format,
            required: *required,
            inner: inner?,
        })
    }

    #[allow(clippy::option_option, reason = "refused, absent or present")]
    fn optional<T, U>(&mut self, value: Option<T>, read: impl FnOnce(&mut Self, T) -> Option<U>) -> Option<Option<U>> {
        match value {
            Some(value) => read(self, value).map(Some),
            None => Some(None),
        }
    }

    fn bounds(&mut self, scope: &Scope, attrs: &BoundAttrs) -> Option<Bounds> {
        let min = self.optional(attrs.min.as_ref(), |types, expr| types.limit(scope, expr));
        let max = self.optional(attrs.max.as_ref(), |types, expr| types.limit(scope, expr));
        Some(Bounds { min: min?, max: max? })
    }
}
