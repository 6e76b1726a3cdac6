//! Expressions of `validation = …` and `merge_strategy = …`, built as the real values of kube-core.

use kube::core::{ListMerge, MapMerge, Message, Reason, Rule, StructMerge};
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprCall, ExprGroup, ExprMethodCall, ExprParen};

use crate::diagnostic::Code;
use crate::schema::Merge;
use crate::source::{Namespace, Resolution};

use super::evaluator::{Env, Eval, Evaluator};
use crate::api::types::{Refusal, TypeScope};
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    fn unknown_rule<T>(&self, scope: &TypeScope, expr: &impl ToTokens) -> Eval<T> {
        let message = format!("cannot read the rule `{}` without running code", self.types.text(scope, expr));
        Err(Refusal::new(Code::Expression, scope, expr.to_token_stream().span(), message)
            .help("write a string, a pair of strings, or `Rule::new(…)` with literals"))
    }

    /// Evaluates a text argument of a rule.
    fn rule_text(&mut self, scope: &TypeScope, expr: &Expr) -> Eval<String> {
        let string = self.types.string();
        match self.eval(scope, &Env::new(), expr, string)? {
            Val::Str(text) => Ok(text),
            _ => self.unknown_rule(scope, expr),
        }
    }

    /// Evaluates a rule in an attribute.
    pub(in crate::api) fn rule(&mut self, scope: &TypeScope, expr: &Expr) -> Eval<Rule> {
        match expr {
            Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => self.rule(scope, expr),
            Expr::Tuple(pair) if pair.elems.len() == 2 => {
                let rule = self.rule_text(scope, &pair.elems[0])?;
                Ok(Rule::new(rule).message(self.rule_text(scope, &pair.elems[1])?.as_str()))
            }
            Expr::Call(call) if self.means(scope, &call.func, "Rule", "new") && call.args.len() == 1 => {
                Ok(Rule::new(self.rule_text(scope, &call.args[0])?))
            }
            Expr::MethodCall(call) => {
                let rule = self.rule(scope, &call.receiver)?;
                self.modified_rule(scope, rule, call)
            }
            expr => match self.eval(scope, &Env::new(), expr, None)? {
                Val::Str(text) => Ok(Rule::from(text.as_str())),
                Val::Seq(pair) => match pair.as_slice() {
                    [Val::Str(rule), Val::Str(message)] => Ok(Rule::from((rule.as_str(), message.as_str()))),
                    _ => self.unknown_rule(scope, expr),
                },
                _ => self.unknown_rule(scope, expr),
            },
        }
    }

    /// Evaluates a method call on a rule.
    fn modified_rule(&mut self, scope: &TypeScope, rule: Rule, call: &ExprMethodCall) -> Eval<Rule> {
        let (Some(argument), 1) = (call.args.first(), call.args.len()) else { return self.unknown_rule(scope, call) };
        Ok(match call.method.to_string().as_str() {
            "message" => match argument {
                Expr::Call(ExprCall { func, args, .. })
                    if args.len() == 1 && self.means(scope, func, "Message", "Expression") =>
                {
                    rule.message(Message::Expression(self.rule_text(scope, &args[0])?))
                }
                Expr::Call(ExprCall { func, args, .. })
                    if args.len() == 1 && self.means(scope, func, "Message", "Message") =>
                {
                    rule.message(Message::Message(self.rule_text(scope, &args[0])?))
                }
                text => rule.message(self.rule_text(scope, text)?.as_str()),
            },
            "reason" => {
                let reasons = [
                    ("FieldValueInvalid", Reason::FieldValueInvalid),
                    ("FieldValueForbidden", Reason::FieldValueForbidden),
                    ("FieldValueRequired", Reason::FieldValueRequired),
                    ("FieldValueDuplicate", Reason::FieldValueDuplicate),
                ];
                match reasons.into_iter().find(|(name, _)| self.means(scope, argument, "Reason", name)) {
                    Some((_, reason)) => rule.reason(reason),
                    None => return self.unknown_rule(scope, argument),
                }
            }
            "field_path" => rule.field_path(self.rule_text(scope, argument)?),
            "optional_old_self" => match self.eval(scope, &Env::new(), argument, None)? {
                Val::Bool(value) => rule.optional_old_self(value),
                _ => return self.unknown_rule(scope, argument),
            },
            _ => return self.unknown_rule(scope, call),
        })
    }

    /// Returns true if a path names an item of a kube-core type. The code of the derive imports these types.
    fn means(&self, scope: &TypeScope, expr: &Expr, owner: &str, name: &str) -> bool {
        let Expr::Path(path) = expr else { return false };
        let short = path.path.segments.iter().map(|segment| segment.ident.to_string()).eq([owner, name]);
        short && path.qself.is_none() && path.path.leading_colon.is_none()
            || matches!(self.types.resolve_in(scope, &path.path, Namespace::Values),
                Resolution::Foreign(path) if path.iter().map(String::as_str).eq(["kube_core", owner, name]))
    }

    /// Evaluates a merge strategy such as `ListMerge::Map(vec!["key".into()])`.
    pub(in crate::api) fn merge_strategy(&mut self, scope: &TypeScope, expr: &Expr) -> Eval<Merge> {
        let strategy = match expr {
            Expr::Call(call) if self.means(scope, &call.func, "ListMerge", "Map") && call.args.len() == 1 => {
                let keys = self.types.string().and_then(|string| self.types.list_of(string));
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
            .find(|(owner, name, _)| self.means(scope, expr, owner, name))
            .map(|(_, _, merge)| merge),
        };
        strategy.ok_or_else(|| {
            let message = format!("cannot read the merge strategy `{}`", self.types.text(scope, expr));
            Refusal::new(Code::Expression, scope, expr.span(), message)
        })
    }
}
