//! Expressions of `validation = …` and `merge_strategy = …`, built as the real values of kube-core.

use kube::core::{ListMerge, MapMerge, Message, Reason, Rule, StructMerge};
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprCall, ExprMethodCall};

use crate::diagnostic::Code;
use crate::schema::{Merge, known};
use crate::source::{Namespace, Resolution};

use super::types::{Refusal, Scope, Types};
use super::value::{Env, Val};

type Eval<T = Val> = Result<T, Refusal>;

/// A rule while its code is read.
#[derive(Debug, Clone)]
pub(super) struct CelRule {
    rule: Rule,
    /// The names of kube-core are in scope, since it stands in an attribute.
    imported: bool,
}

impl PartialEq for CelRule {
    fn eq(&self, other: &Self) -> bool {
        let parts =
            |rule: &Rule| (rule.rule.clone(), rule.message.clone(), rule.field_path.clone(), rule.reason.clone());
        parts(&self.rule) == parts(&other.rule) && self.rule.optional_old_self == other.rule.optional_old_self
    }
}

impl From<Rule> for Val {
    fn from(rule: Rule) -> Self {
        CelRule { rule, imported: false }.into()
    }
}

impl From<CelRule> for Val {
    fn from(rule: CelRule) -> Self {
        Val::Rule(Box::new(rule))
    }
}

impl Types<'_> {
    /// All rules, or none when one is refused.
    pub(super) fn rules(&mut self, scope: &Scope, expressions: &[Expr]) -> Option<Vec<Rule>> {
        let rules: Vec<Rule> = expressions
            .iter()
            .filter_map(|expr| self.rule(scope, expr).map_err(|refusal| self.refuse(refusal)).ok())
            .collect();
        (rules.len() == expressions.len()).then_some(rules)
    }

    fn unknown_rule<T>(&self, scope: &Scope, expr: &impl ToTokens) -> Result<T, Refusal> {
        let message = format!("cannot read the rule `{}` without running code", self.text(scope, expr));
        Err(Refusal::new(Code::Expression, scope, expr.to_token_stream().span(), message)
            .help("write a string, a pair of strings, or `Rule::new(…)` with literals"))
    }

    /// A text where a rule takes one.
    pub(super) fn rule_text(&mut self, scope: &Scope, env: &Env, expr: &Expr) -> Result<String, Refusal> {
        let string = self.primitive("std::string::String");
        match self.eval(scope, env, expr, string)? {
            Val::Str(text) => Ok(text),
            _ => self.unknown_rule(scope, expr),
        }
    }

    /// A rule as an attribute has it, whose code the derive puts below a `use` of the names of kube-core.
    fn rule(&mut self, scope: &Scope, expr: &Expr) -> Result<Rule, Refusal> {
        let none = Env::new();
        match expr {
            Expr::Paren(inner) => self.rule(scope, &inner.expr),
            Expr::Group(inner) => self.rule(scope, &inner.expr),
            Expr::Tuple(pair) if pair.elems.len() == 2 => {
                let rule = self.rule_text(scope, &none, &pair.elems[0])?;
                let message = self.rule_text(scope, &none, &pair.elems[1])?;
                Ok(Rule::new(rule).message(message.as_str()))
            }
            Expr::Call(call) if self.means(scope, true, &call.func, "Rule", "new") && call.args.len() == 1 => {
                Ok(Rule::new(self.rule_text(scope, &none, &call.args[0])?))
            }
            Expr::MethodCall(call) => {
                let rule = self.rule(scope, &call.receiver)?;
                let rule = CelRule { rule, imported: true };
                match self.modified_rule(scope, &none, rule, call)? {
                    Val::Rule(rule) => Ok(rule.rule),
                    _ => self.unknown_rule(scope, expr),
                }
            }
            expr => match self.eval(scope, &none, expr, None)? {
                Val::Rule(rule) => Ok(rule.rule),
                Val::Str(text) => Ok(Rule::from(text.as_str())),
                Val::Seq(pair) => match pair.as_slice() {
                    [Val::Str(rule), Val::Str(message)] => Ok(Rule::from((rule.as_str(), message.as_str()))),
                    _ => self.unknown_rule(scope, expr),
                },
                _ => self.unknown_rule(scope, expr),
            },
        }
    }

    /// A rule after a call of one of its methods.
    pub(super) fn modified_rule(&mut self, scope: &Scope, env: &Env, rule: CelRule, call: &ExprMethodCall) -> Eval {
        let CelRule { rule, imported } = rule;
        let method = call.method.to_string();
        let (Some(argument), 1) = (call.args.first(), call.args.len()) else {
            return match (method.as_str(), call.args.len()) {
                ("clone" | "into", 0) => Ok(CelRule { rule, imported }.into()),
                _ => self.unknown_rule(scope, call),
            };
        };
        let rule = match method.as_str() {
            "message" => match argument {
                Expr::Call(ExprCall { func, args, .. })
                    if args.len() == 1 && self.means(scope, imported, func, "Message", "Expression") =>
                {
                    rule.message(Message::Expression(self.rule_text(scope, env, &args[0])?))
                }
                Expr::Call(ExprCall { func, args, .. })
                    if args.len() == 1 && self.means(scope, imported, func, "Message", "Message") =>
                {
                    rule.message(Message::Message(self.rule_text(scope, env, &args[0])?))
                }
                text => rule.message(self.rule_text(scope, env, text)?.as_str()),
            },
            "reason" => {
                let reasons = [
                    ("FieldValueInvalid", Reason::FieldValueInvalid),
                    ("FieldValueForbidden", Reason::FieldValueForbidden),
                    ("FieldValueRequired", Reason::FieldValueRequired),
                    ("FieldValueDuplicate", Reason::FieldValueDuplicate),
                ];
                let meant = |(name, _): &(&str, Reason)| self.means(scope, imported, argument, "Reason", name);
                match reasons.into_iter().find(meant) {
                    Some((_, reason)) => rule.reason(reason),
                    None => return self.unknown_rule(scope, argument),
                }
            }
            "field_path" => rule.field_path(self.rule_text(scope, env, argument)?),
            "optional_old_self" => match self.eval(scope, env, argument, None)? {
                Val::Bool(value) => rule.optional_old_self(value),
                _ => return self.unknown_rule(scope, argument),
            },
            _ => return self.unknown_rule(scope, call),
        };
        Ok(CelRule { rule, imported }.into())
    }

    /// A path names an item of a type of kube-core, whose names the derive may import.
    fn means(&self, scope: &Scope, imported: bool, expr: &Expr, owner: &str, name: &str) -> bool {
        let Expr::Path(path) = expr else { return false };
        let short = path.path.segments.iter().map(|segment| segment.ident.to_string()).eq([owner, name]);
        if imported && short && path.qself.is_none() && path.path.leading_colon.is_none() {
            return true;
        }
        match self.resolve_in(scope, &path.path, Namespace::Values) {
            Resolution::Foreign(path) => path.iter().map(String::as_str).eq(["kube_core", owner, name]),
            _ => false,
        }
    }

    /// `ListMerge::Map(vec!["key".into()])` and its kin.
    pub(super) fn merge_strategy(&mut self, scope: &Scope, expr: &Expr) -> Option<Merge> {
        let strategy = match expr {
            Expr::Call(call) if self.means(scope, true, &call.func, "ListMerge", "Map") && call.args.len() == 1 => {
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
            .find(|(owner, name, _)| self.means(scope, true, expr, owner, name))
            .map(|(_, _, merge)| merge),
        };
        if strategy.is_none() {
            let message = format!("cannot read the merge strategy `{}`", self.text(scope, expr));
            self.refuse(Refusal::new(Code::Expression, scope, expr.span(), message));
        }
        strategy
    }
}
