//! The state of an evaluation and its types: results, environments and the targets of paths.

use std::collections::BTreeMap;

use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{Block, ImplItemFn, Path, Signature};

use crate::api::types::{Refusal, TypeScope, Types, Use};
use crate::api::value::Val;
use crate::diagnostic::Code;
use crate::schema::TypeId;
use crate::source::{ItemRef, Namespace, Resolution, SourceTree};

/// The result of an evaluation: a value, or a refusal.
pub(in crate::api) type Eval<T = Val> = Result<T, Refusal>;

/// Evaluates code over types that the caller lends. Each evaluator computes one value.
pub(in crate::api) struct Evaluator<'a, 't> {
    pub(super) tree: &'t SourceTree,
    pub(in crate::api) types: &'a mut Types<'t>,
    /// Types whose schemas are part of the value. The caller describes them.
    pub(in crate::api) needed: Vec<(TypeId, Use)>,
    budget: &'a mut Budget,
    /// The depth of nested calls.
    pub(super) depth: usize,
    /// The depth of nested expressions.
    pub(super) nested: usize,
    /// Aliases that are being followed.
    pub(super) aliases: Vec<ItemRef>,
}

/// A function and the scope of its code.
pub(in crate::api) struct EvalFunction {
    pub(super) sig: Signature,
    pub(super) block: Block,
    pub(super) scope: TypeScope,
}

impl EvalFunction {
    pub(in crate::api) fn of(function: &ImplItemFn, scope: &TypeScope) -> Self {
        EvalFunction { sig: function.sig.clone(), block: function.block.clone(), scope: scope.clone() }
    }
}

/// The remaining budget for one custom resource; see [`Evaluator::spend`].
pub(in crate::api) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Budget(BUDGET)
    }
}

impl<'a, 't> Evaluator<'a, 't> {
    pub(in crate::api) fn new(types: &'a mut Types<'t>, budget: &'a mut Budget) -> Self {
        Evaluator { tree: types.tree, types, needed: Vec::new(), budget, depth: 0, nested: 0, aliases: Vec::new() }
    }
}

impl Evaluator<'_, '_> {
    pub(in crate::api) fn unsupported<T>(&self, scope: &TypeScope, what: &impl ToTokens) -> Eval<T> {
        let message = format!("cannot evaluate `{}` without running code", self.types.text(scope, what));
        Err(Refusal::new(Code::Expression, scope, what.to_token_stream().span(), message)
            .help("use literals, constants, or functions that only return them"))
    }

    /// Returns the value, or a refusal of `what`.
    pub(super) fn or_unsupported<T>(&self, scope: &TypeScope, what: &impl ToTokens, value: Option<T>) -> Eval<T> {
        value.map_or_else(|| self.unsupported(scope, what), Ok)
    }

    /// Returns a refusal for a path that does not resolve.
    pub(super) fn unknown<T>(&self, scope: &TypeScope, what: &impl ToTokens, path: &Path) -> Eval<T> {
        match self.types.resolve_in(scope, path, Namespace::Values) {
            Resolution::Unresolved(why) if !scope.has_owner(path) => {
                Err(Refusal::new(Code::Expression, scope, path.span(), why)
                    .help("write its full path, or add a `use` for it"))
            }
            _ => self.unsupported(scope, what),
        }
    }

    /// Takes the cost of evaluating `what` from the budget. Each call may double the work: without a budget, a few lines
    /// would run for years or fill the memory.
    pub(super) fn spend(&mut self, scope: &TypeScope, what: &impl ToTokens, cost: usize) -> Eval<()> {
        let left = self.budget.0.checked_sub(cost);
        self.budget.0 = left.unwrap_or_default();
        if left.is_some() { Ok(()) } else { self.unsupported(scope, what) }
    }
}

/// Values of function parameters.
pub(in crate::api) type Env = BTreeMap<String, Val>;

/// The initial budget: expressions and parts of values of one resource; see [`Evaluator::spend`].
const BUDGET: usize = 100_000;

/// The target of a path in an expression.
pub(in crate::api) enum EvalTarget {
    /// A constant, static or function.
    Item(ItemRef),
    /// The type itself: a unit or tuple struct, or `Self`.
    Itself(TypeId),
    /// A variant or associated item of a type.
    Member(TypeId, String),
    /// An item of another crate.
    Foreign(Vec<String>),
}
