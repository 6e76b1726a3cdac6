//! Expressions of `validation = …` and `merge_strategy = …`, built as the real values of kube-core.

use kube::core::{ListMerge, MapMerge, Message, Reason, Rule, StructMerge};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprCall, ExprMethodCall};

use crate::diagnostic::Code;
use crate::schema::{Merge, known};

use super::types::{Refusal, Scope, Types};
use super::value::{Env, Val};

impl Types<'_> {
    /// All rules, or none when one is refused.
    pub(super) fn rules(&mut self, scope: &Scope, expressions: &[Expr]) -> Option<Vec<Rule>> {
        let rules: Result<Vec<Rule>, Refusal> = expressions.iter().map(|expr| self.rule(scope, expr)).collect();
        rules.map_err(|refusal| self.refuse(refusal)).ok()
    }

    fn unknown_rule<T>(&self, scope: &Scope, expr: &Expr) -> Result<T, Refusal> {
        let message = format!("cannot read the rule `{}` without running code", self.text(scope, expr));
        Err(Refusal::new(Code::Expression, scope, expr.span(), message)
            .help("write a string, a pair of strings, or `Rule::new(…)` with literals"))
    }

    fn text_value(&mut self, scope: &Scope, expr: &Expr) -> Result<String, Refusal> {
        let string = self.primitive("std::string::String");
        match self.eval(scope, &Env::new(), expr, string)? {
            Val::Str(text) => Ok(text),
            _ => self.unknown_rule(scope, expr),
        }
    }

    fn rule(&mut self, scope: &Scope, expr: &Expr) -> Result<Rule, Refusal> {
        match expr {
            Expr::Paren(inner) => self.rule(scope, &inner.expr),
            Expr::Group(inner) => self.rule(scope, &inner.expr),
            Expr::Tuple(pair) if pair.elems.len() == 2 => {
                let rule = self.text_value(scope, &pair.elems[0])?;
                let message = self.text_value(scope, &pair.elems[1])?;
                Ok(Rule::new(rule).message(message.as_str()))
            }
            Expr::Call(call) if names(&call.func, "Rule", "new") && call.args.len() == 1 => {
                Ok(Rule::new(self.text_value(scope, &call.args[0])?))
            }
            Expr::MethodCall(call) if call.args.len() == 1 => self.modified_rule(scope, expr, call),
            Expr::Lit(_) | Expr::Path(_) => Ok(Rule::from(self.text_value(scope, expr)?.as_str())),
            _ => self.unknown_rule(scope, expr),
        }
    }

    fn modified_rule(&mut self, scope: &Scope, expr: &Expr, call: &ExprMethodCall) -> Result<Rule, Refusal> {
        let rule = self.rule(scope, &call.receiver)?;
        let argument = &call.args[0];
        Ok(match call.method.to_string().as_str() {
            "message" => match argument {
                Expr::Call(ExprCall { func, args, .. }) if args.len() == 1 && names(func, "Message", "Expression") => {
                    rule.message(Message::Expression(self.text_value(scope, &args[0])?))
                }
                Expr::Call(ExprCall { func, args, .. }) if args.len() == 1 && names(func, "Message", "Message") => {
                    rule.message(Message::Message(self.text_value(scope, &args[0])?))
                }
                text => rule.message(self.text_value(scope, text)?.as_str()),
            },
            "reason" => match [
                ("FieldValueInvalid", Reason::FieldValueInvalid),
                ("FieldValueForbidden", Reason::FieldValueForbidden),
                ("FieldValueRequired", Reason::FieldValueRequired),
                ("FieldValueDuplicate", Reason::FieldValueDuplicate),
            ]
            .into_iter()
            .find(|(name, _)| names(argument, "Reason", name))
            {
                Some((_, reason)) => rule.reason(reason),
                None => return self.unknown_rule(scope, argument),
            },
            "field_path" => rule.field_path(self.text_value(scope, argument)?),
            "optional_old_self" => match self.eval(scope, &Env::new(), argument, None)? {
                Val::Bool(value) => rule.optional_old_self(value),
                _ => return self.unknown_rule(scope, argument),
            },
            _ => return self.unknown_rule(scope, expr),
        })
    }

    /// `ListMerge::Map(vec!["key".into()])` and its kin.
    pub(super) fn merge_strategy(&mut self, scope: &Scope, expr: &Expr) -> Option<Merge> {
        let strategy = match expr {
            Expr::Call(call) if names(&call.func, "ListMerge", "Map") && call.args.len() == 1 => {
                let keys = self.primitive("std::string::String").zip(known::lookup("std::vec::Vec"));
                let keys = keys.map(|(string, list)| self.known_type(list, vec![string]));
                match self.eval(scope, &Env::new(), &call.args[0], keys) {
                    Ok(Val::Seq(keys)) => keys
                        .into_iter()
                        .map(|key| if let Val::Str(key) = key { Some(key) } else { None })
                        .collect::<Option<Vec<String>>>()
                        .map(|keys| Merge::List(ListMerge::Map(keys))),
                    _ => None,
                }
            }
            expr => [
                ("ListMerge", "Atomic", Merge::List(ListMerge::Atomic)),
                ("ListMerge", "Set", Merge::List(ListMerge::Set)),
                ("MapMerge", "Atomic", Merge::Map(MapMerge::Atomic)),
                ("MapMerge", "Granular", Merge::Map(MapMerge::Granular)),
                ("StructMerge", "Atomic", Merge::Struct(StructMerge::Atomic)),
                ("StructMerge", "Granular", Merge::Struct(StructMerge::Granular)),
            ]
            .into_iter()
            .find(|(owner, name, _)| names(expr, owner, name))
            .map(|(_, _, merge)| merge),
        };
        if strategy.is_none() {
            let message = format!("cannot read the merge strategy `{}`", self.text(scope, expr));
            self.refuse(Refusal::new(Code::Expression, scope, expr.span(), message));
        }
        strategy
    }
}

/// The generated code imports these names from kube-core itself, so they mean one thing.
fn names(expr: &Expr, owner: &str, name: &str) -> bool {
    let Expr::Path(path) = expr else { return false };
    let segments: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    path.qself.is_none()
        && match segments.as_slice() {
            [found, last] => found == owner && last == name,
            [root, middle @ .., found, last] => {
                root == "kube" && middle.iter().all(|part| part == "core") && found == owner && last == name
            }
            _ => false,
        }
}
