//! The state of a description, and how refusals are reported.

use quote::ToTokens;
use syn::spanned::Spanned as _;

use crate::api::eval::{Budget, Eval, Evaluator};
use crate::api::types::{Refusal, TypeScope, Types};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::schema::release::Releases;
use crate::source::{ModuleId, SourceTree};

/// The failure of a description: its refusals are reported, or the code does not compile.
#[derive(Debug)]
pub(in crate::api) struct Reported;

pub(in crate::api) struct Describer<'t> {
    pub(in crate::api) tree: &'t SourceTree,
    pub(in crate::api) types: Types<'t>,
    budget: Budget,
    pub(in crate::api) diagnostics: Diagnostics,
    /// The kind of the resource and the schema path below it.
    pub(in crate::api) path: Vec<String>,
    /// Generic types that were described.
    pub(super) instances: usize,
}

impl<'t> Describer<'t> {
    pub(in crate::api) fn new(tree: &'t SourceTree, releases: Releases) -> Self {
        Describer {
            tree,
            types: Types::new(tree, releases),
            budget: Budget::default(),
            diagnostics: Diagnostics::default(),
            path: vec![String::new()],
            instances: 0,
        }
    }

    /// Evaluates code and reports a refusal.
    pub(super) fn reported<T>(&mut self, run: impl FnOnce(&mut Evaluator<'_, 't>) -> Eval<T>) -> Result<T, Reported> {
        self.evaluate(run).map_err(|refusal| self.refuse(refusal))
    }

    /// Lends the types to an evaluator, and describes those whose schemas the answer needs.
    pub(super) fn evaluate<T>(&mut self, run: impl FnOnce(&mut Evaluator<'_, 't>) -> T) -> T {
        let mut eval = Evaluator::new(&mut self.types, &mut self.budget);
        let value = run(&mut eval);
        for (id, at) in eval.needed {
            self.use_type(id, at);
        }
        value
    }
}

impl Describer<'_> {
    /// Reports a refusal with its path in the schema.
    pub(super) fn refuse(&mut self, refusal: Refusal) -> Reported {
        let Refusal { code, module, span, message, help } = refusal;
        let message = if self.path.len() > 1 { format!("{message}, in `{}`", self.path.join(".")) } else { message };
        let mut diagnostic = Diagnostic::new(code, message).at(self.tree.origin(module, span));
        diagnostic.help = help;
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// Reports every part of an error about `#[kube(…)]`. A missing key is reported at the item with the attribute.
    pub(super) fn refuse_keys(&mut self, scope: &TypeScope, of: &impl ToTokens, errors: darling::Error) -> Reported {
        for error in errors.flatten() {
            let (span, message) =
                (error.explicit_span().unwrap_or_else(|| of.to_token_stream().span()), error.to_string());
            let key = message.strip_prefix("Missing field `").and_then(|rest| rest.strip_suffix('`'));
            let help = key.map(|key| format!("add `{key} = \"…\"` to `#[kube(…)]`"));
            let refusal = Refusal::new(Code::KubeAttribute, scope, span, &message);
            self.refuse(Refusal { help, ..refusal });
        }
        Reported
    }

    /// Reports every part of an error of syn.
    pub(super) fn refuse_syntax(&mut self, code: Code, module: ModuleId, error: syn::Error) -> Reported {
        for error in error {
            let (span, message) = (error.span(), error.to_string());
            self.refuse(Refusal { code, module, span, message, help: None });
        }
        Reported
    }

    pub(super) fn refuse_default(&mut self, refusal: Refusal) -> Reported {
        let message = format!("default value: {}", refusal.message);
        self.refuse(Refusal { code: Code::DefaultValue, message, ..refusal })
    }
}
