//! Conversions: of numbers and texts by std, and by the `From` of the user's types.

use quote::ToTokens;
use syn::{Expr, ExprCall, ExprLit, ExprMethodCall, Lit};

use crate::schema::{TypeId, known};

use super::call::unwrap;
use super::std_value;
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Target, Val};

type Eval<T = Val> = Result<T, Refusal>;

impl Types<'_> {
    /// What is in `u8::try_from(value)` when it is `Ok`.
    pub(super) fn number_tried(&mut self, scope: &Scope, env: &Env, call: &ExprCall) -> Eval<Option<Val>> {
        let (Expr::Path(function), [value]) = (&*call.func, &*call.args.iter().collect::<Vec<_>>()) else {
            return Ok(None);
        };
        match self.value_path(scope, &function.path) {
            Some(Target::Foreign(path)) if function.qself.is_none() && path.len() == 3 && path[2] == "try_from" => {
                let value = self.eval(scope, env, value, None)?;
                Ok(std_value::converted(&path.join("::"), "try_from", &value))
            }
            _ => Ok(None),
        }
    }

    /// `text.parse().unwrap()` for types of std.
    pub(super) fn parsed(&mut self, scope: &Scope, env: &Env, call: &ExprMethodCall, ty: Option<TypeId>) -> Eval {
        let written = match call.turbofish.as_ref().and_then(|turbofish| turbofish.args.first()) {
            Some(syn::GenericArgument::Type(ty)) => Some(self.ty(scope, ty)),
            _ => ty,
        };
        let Val::Str(text) = self.eval(scope, env, &call.receiver, None)? else { return self.no(scope, call) };
        let value = self.primitive_name(written).and_then(|name| std_value::parsed(name, &text));
        match value.filter(|value| !matches!(value, Val::Int(number) if self.fits(*number, written) != Some(true))) {
            Some(value) => Ok(value),
            None => self.no(scope, call),
        }
    }

    /// What the user's `From` makes of an expression that says its type.
    pub(super) fn conversion(
        &mut self,
        scope: &Scope,
        env: &Env,
        at: &impl ToTokens,
        value: &Expr,
        to: TypeId,
    ) -> Eval<Option<Val>> {
        let Some(from) = self.literal_type(value) else { return Ok(None) };
        let Some((function, inner)) = self.trait_function(to, ("std::convert::From", Some(from)), "from") else {
            return Ok(None);
        };
        let value = self.eval(scope, env, value, Some(from))?;
        self.invoke(scope, at, (&function.sig, &function.block, &inner), vec![value]).map(Some)
    }

    /// The type of a literal, and of a text that is made of one.
    fn literal_type(&mut self, value: &Expr) -> Option<TypeId> {
        match unwrap(value) {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(_) => {
                    let text = self.primitive("str")?;
                    Some(self.known_type(known::reference(), vec![text]))
                }
                Lit::Bool(_) => self.primitive("bool"),
                Lit::Char(_) => self.primitive("char"),
                Lit::Int(number) => self.primitive(number.suffix()),
                _ => None,
            },
            Expr::MethodCall(call) if call.method == "to_string" || call.method == "to_owned" => {
                matches!(unwrap(&call.receiver), Expr::Lit(ExprLit { lit: Lit::Str(_), .. }))
                    .then(|| self.primitive("std::string::String"))?
            }
            _ => None,
        }
    }
}
