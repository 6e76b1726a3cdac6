//! Method calls, and which method is meant.

use syn::{Expr, ExprMethodCall, FnArg, ReceiverKind, Signature};

use crate::schema::TypeId;

use super::call::MAPS;
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Val};

type Eval<T = Val> = Result<T, Refusal>;

impl Types<'_> {
    pub(super) fn method(&mut self, scope: &Scope, env: &Env, call: &ExprMethodCall, ty: Option<TypeId>) -> Eval {
        let method = call.method.to_string();
        // One of a trait may take a value of std in an earlier step of the search for a method than that of std.
        let of_trait = self.tree.may_be_of_trait(scope.module, &method);
        if method == "into"
            && !of_trait
            && let Some(of_user) = ty.filter(|ty| self.user(*ty).is_some())
            && let Some(value) = self.conversion(scope, env, call, &call.receiver, of_user)?
        {
            return Ok(value);
        }
        let receiver = match &*call.receiver {
            receiver if of_trait => self.eval(scope, env, receiver, None)?,
            // The `Ok` of a call has the type that the place asks for.
            Expr::Call(inner) if matches!(method.as_str(), "unwrap" | "expect") => {
                match self.number_tried(scope, env, inner)? {
                    Some(number) => return Ok(number),
                    None => self.call(scope, env, inner, ty)?,
                }
            }
            Expr::MethodCall(inner)
                if inner.method == "parse"
                    && matches!(method.as_str(), "unwrap" | "expect")
                    && !self.tree.may_be_of_trait(scope.module, "parse") =>
            {
                return self.parsed(scope, env, inner, ty);
            }
            Expr::Array(pairs)
                if method == "into"
                    && pairs.elems.iter().all(|pair| matches!(pair, Expr::Tuple(_)))
                    && self.primitive_name(ty).is_some_and(|name| MAPS[..2].contains(&name)) =>
            {
                return self.map_of(scope, env, pairs, ty);
            }
            receiver => self.eval(scope, env, receiver, None)?,
        };
        let arguments: Vec<&Expr> = call.args.iter().collect();
        if let Val::Struct(id, _) | Val::Variant(id, ..) = receiver {
            return self.own_method(scope, env, call, (id, receiver, &arguments), of_trait);
        }
        if of_trait {
            return self.no(scope, call);
        }
        if let Val::Rule(rule) = receiver {
            return self.modified_rule(scope, env, *rule, call);
        }
        if let Some(value) = self.schema_method(scope, env, call, &receiver)? {
            return Ok(value);
        }
        match self.std_method(scope, env, call, (receiver, &method, &arguments), ty)? {
            Some(value) => Ok(value),
            None => self.no(scope, call),
        }
    }

    /// A method of a type of the user.
    fn own_method(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprMethodCall,
        (id, receiver, arguments): (TypeId, Val, &[&Expr]),
        of_trait: bool,
    ) -> Eval {
        let method = call.method.to_string();
        let clones = method == "clone" && arguments.is_empty() && self.clones(&receiver);
        // One of a trait may come first.
        let of_trait =
            of_trait || self.in_trait(id, &method) || OF_TRAITS.contains(&(method.as_str(), arguments.len()));
        let own = self.own_function(scope, id, &method);
        let by_reference = own.as_ref().is_some_and(|(sig, ..)| !takes_value(sig));
        match own {
            Some(_) if of_trait || by_reference && self.has_provided_methods(id) => self.no(scope, call),
            Some((sig, block, inner)) => {
                self.function(scope, env, call, (&sig, &block, &inner), Some(receiver), arguments)
            }
            None if clones && !self.has_own(id, "clone") => Ok(receiver),
            None => self.no(scope, call),
        }
    }
}

/// `self`, and no reference to it.
fn takes_value(sig: &Signature) -> bool {
    matches!(sig.inputs.first(), Some(FnArg::Receiver(this)) if matches!(this.kind, ReceiverKind::Value))
}

/// Methods of traits of std, with the number of their arguments. They come before one of the type itself where only a bound
/// says what a value has, where the value is behind a pointer that has them, and where they take the value itself.
const OF_TRAITS: [(&str, usize); 22] = [
    ("as_mut", 0),
    ("as_ref", 0),
    ("borrow", 0),
    ("borrow_mut", 0),
    ("clamp", 2),
    ("clone", 0),
    ("cmp", 1),
    ("eq", 1),
    ("fmt", 1),
    ("ge", 1),
    ("gt", 1),
    ("hash", 1),
    ("into", 0),
    ("le", 1),
    ("lt", 1),
    ("max", 1),
    ("min", 1),
    ("ne", 1),
    ("partial_cmp", 1),
    ("to_owned", 0),
    ("to_string", 0),
    ("try_into", 0),
];
