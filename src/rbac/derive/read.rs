//! Abstract interpretation of functions: each once by itself, and once more for every call with other types.

use std::collections::{BTreeMap, BTreeSet};

use crate::rbac::{RbacUsage, RequestScope};
use crate::source::{ItemRef, SourceTree};

use super::doubt::{Cause, Doubt};
use super::fields::FieldTable;
#[cfg(test)]
use super::findings::FoundRequest;
use super::findings::{Site, UsageFindings};
use super::foreign::{ForeignType, Kube};
use super::frame::{CallFrame, Location};
use super::index::FunctionId;
use super::lower::{Lowering, NameScope};
use super::macros::calls;
use super::manager::{self, ManagerRequest, ManagerType, Requested};
use super::question::DerivationQuestion;
use super::resource::DerivedResource;
use super::runs::{Live, RunCall, Runs};
use super::signature::Signature;
use super::spelling::spelling;
use super::types::Ty;

/// The number of calls of one function that are distinguished by their types.
const RUNS: usize = 200;
/// The number of calls that are distinguished by strings as well.
const TEXTS: usize = 60;
/// The maximum depth of calls.
const DEPTH: usize = 40;

/// The maximum length of a chain of `Deref`s, which may be a circle.
pub(super) const DEREFS: usize = 32;
/// Passes over all functions, at most.
const PASSES: usize = 4;

/// Walks the bodies of all functions.
pub(super) struct FunctionReader<'a> {
    pub(super) tree: &'a SourceTree,
    pub(super) question: &'a DerivationQuestion,
    pub(super) types: Lowering<'a>,
    pub(super) managers: BTreeMap<ItemRef, ManagerType>,
    pub(super) fields: FieldTable,
    pub(super) runs: Runs,
    /// Functions to which strings are followed.
    spelling: BTreeSet<FunctionId>,
    /// Calls that wait until the rest of the caller says what their type arguments are.
    later: Vec<Signature>,
    findings: UsageFindings,
}

impl<'a> FunctionReader<'a> {
    pub(super) fn new(tree: &'a SourceTree, question: &'a DerivationQuestion) -> Self {
        let types = Lowering::new(tree);
        let spelling = spelling(&types.index);
        Self {
            tree,
            question,
            types,
            managers: manager::types(tree),
            fields: FieldTable::default(),
            runs: Runs::default(),
            spelling,
            later: Vec::new(),
            findings: UsageFindings::default(),
        }
    }

    /// Runs everything until the fields of structs hold what is put into them anywhere.
    pub(super) fn read(&mut self) {
        self.declared_resources();
        for _ in 0..PASSES {
            self.fields.start();
            self.runs.start();
            self.findings = UsageFindings::default();
            for id in self.types.index.ids() {
                self.by_itself(id);
            }
            self.run_later(0);
            self.unread_macros();
            let live = self.live();
            if !self.fields.finish(self.tree, &live) {
                break;
            }
        }
    }

    /// The type with what is inferred of it so far.
    pub(super) fn resolve(&self, ty: &Ty) -> Ty {
        self.types.inferred.resolve(ty)
    }

    pub(super) fn unify(&mut self, one: &Ty, other: &Ty) {
        self.types.inferred.unify(one, other);
    }

    pub(super) fn manager_of(&self, item: ItemRef) -> Option<ManagerType> {
        self.managers.get(&item).copied()
    }

    /// Types that say by hand what resource they are: `impl Resource`, of kube or of k8s-openapi.
    fn declared_resources(&mut self) {
        let tree = self.tree;
        for item in tree.all_items() {
            if let Some(path) = inherited(tree.item(item)) {
                let of = self.types.lower_path(&NameScope::new(tree.module(item)), &path);
                self.types.kinds.inherited.insert(item, of);
            }
        }
        for block in self.types.index.resources.clone() {
            let Ty::Item(item, _) = self.types.implemented(block) else { continue };
            let mut texts = BTreeMap::new();
            let mut namespaced = None;
            for part in &block.item.items {
                let mut frame = CallFrame::of(NameScope::new(block.module));
                let (name, value) = match part {
                    syn::ImplItem::Const(found) => (&found.ident, self.expr(&mut frame, &found.expr, &Ty::Unknown)),
                    syn::ImplItem::Fn(found) => (&found.sig.ident, self.block(&mut frame, &found.block, &Ty::Unknown)),
                    syn::ImplItem::Type(found) if found.ident == "Scope" => {
                        let scope = self.types.lower(&frame.scope, &found.ty);
                        namespaced =
                            Some(matches!(scope, Ty::Foreign(ForeignType::Kube(Kube::NamespaceResourceScope), _)));
                        continue;
                    }
                    _ => continue,
                };
                if let Ty::Text(text) = self.resolve(&value) {
                    texts.insert(name.to_string(), text.to_string());
                }
            }
            let mut text = |names: [&str; 2]| names.iter().find_map(|name| texts.remove(*name));
            let (Some(group), Some(kind)) = (text(["GROUP", "group"]), text(["KIND", "kind"])) else { continue };
            let plural = text(["URL_PATH_SEGMENT", "plural"]);
            let resource = DerivedResource::spelled(&group, &kind, plural.as_deref());
            self.types.kinds.declared.insert(item, DerivedResource { namespaced, ..resource });
        }
    }

    /// Macros that may make requests and are not expanded: calls in the place of items, and rules that nothing calls.
    fn unread_macros(&mut self) {
        let tree = self.tree;
        let is_read = |module| !tree.is_fetched(module) && !manager::is_inside(tree, module);
        let is_asked = |module| !tree.is_own(module) || self.question.is_about(tree, module);
        let asked: Vec<ItemRef> =
            tree.all_items().filter(|item| is_read(tree.module(*item)) && is_asked(tree.module(*item))).collect();
        for item in asked.iter().copied() {
            let module = tree.module(item);
            for call in calls(tree.item(item)) {
                self.refused_macro(module, call);
                self.unread_macro(module, call);
            }
        }
        for item in asked.into_iter().filter(|item| tree.is_own(tree.module(*item))) {
            if let syn::Item::Macro(rules @ syn::ItemMacro { ident: Some(_), .. }) = tree.item(item)
                && !tree.is_called_macro(item)
            {
                self.uncalled_macro(tree.module(item), rules);
            }
        }
    }

    /// Runs a function of which only the signature is known.
    fn by_itself(&mut self, id: FunctionId) {
        let function = self.types.index.get(id).clone();
        if function.block.is_some() && self.tree.is_own(function.module) {
            let signature = self.types.signature(id, None, None);
            self.run(signature);
        }
    }

    /// The result of a call. While its type arguments are not inferred, the run waits for the end of the caller.
    pub(super) fn enter(&mut self, signature: Signature) -> Ty {
        self.infer_bounds(&signature.scope);
        let open = |ty: &Ty| self.resolve(ty).any(&|part| matches!(part, Ty::Infer(_)));
        if signature.scope.generics.values().any(open) {
            let output = self.resolve(&signature.output);
            self.later.push(signature);
            return output;
        }
        self.run(signature)
    }

    /// Defers a call to the end of its caller.
    pub(super) fn later(&mut self, signature: Signature) {
        self.later.push(signature);
    }

    /// Runs the calls that were deferred since `start`.
    fn run_later(&mut self, start: usize) {
        while self.later.len() > start {
            let signature = self.later.remove(start);
            self.infer_bounds(&signature.scope);
            self.run(signature);
        }
    }

    /// Returns the result of a call. The requests of the function are those of the call.
    fn run(&mut self, signature: Signature) -> Ty {
        let Signature { id, mut scope, parameters, output } = signature;
        let function = self.types.index.get(id).clone();
        let closed = |reader: &Self, ty: &Ty| {
            let ty = reader.types.inferred.resolve(ty).map(&|part| matches!(part, Ty::Infer(_)).then_some(Ty::Unknown));
            if ty.is_huge() { Ty::Unknown } else { ty }
        };
        let output = self.resolve(&output);
        let Some(block) = function.block else { return output };
        for (name, ty) in &mut scope.generics {
            if let open @ Ty::Infer(_) = self.resolve(ty) {
                self.unify(&open, &Ty::Param(name.as_str().into()));
            }
            *ty = closed(self, ty);
        }
        scope.itself = scope.itself.map(|ty| closed(self, &ty));
        let keeps = self.spelling.contains(&id) && self.runs.count(id) < TEXTS;
        let arguments: Vec<Ty> = parameters
            .iter()
            .map(|ty| match closed(self, ty) {
                ty if keeps => ty,
                Ty::Text(_) => Ty::foreign(ForeignType::Str),
                table @ Ty::Table(_) => table.general(),
                ty => ty,
            })
            .collect();
        let call = RunCall {
            function: id,
            itself: scope.itself.clone(),
            generics: scope.generics.values().cloned().collect(),
            arguments: arguments.clone(),
        };
        if let Some(known) = self.runs.called(&call) {
            return output.refine(&known);
        }
        let recursive = self.runs.recursion(id) > 2;
        if self.runs.count(id) >= RUNS || self.runs.depth() > DEPTH || recursive {
            if !recursive {
                let location = Location { module: function.module, span: function.signature.ident.span() };
                let message = format!("`{}` is called with more types than are distinguished", function.name());
                self.doubt(location, Cause::Unread(message));
            }
            return output;
        }
        self.runs.enter(call, output.clone());
        let mut frame = CallFrame::of(scope);
        frame.output = output.clone();
        for (input, ty) in function.inputs(self.tree).zip(&arguments) {
            self.bind(&mut frame, &input.pat, ty);
        }
        if let Some(itself) = frame.scope.itself.clone() {
            frame.locals[0].insert("self".to_owned(), itself);
        }
        let start = self.later.len();
        let value = self.block(&mut frame, block, &output);
        // The returned value may decide the type arguments of calls.
        self.unify(&output, &value);
        self.unify(&output, &frame.returned);
        self.run_later(start);
        let value = self.resolve(&value.join(&frame.returned));
        let result = output.refine(&value);
        self.runs.leave(value);
        result
    }

    pub(super) fn learn_field(&mut self, item: ItemRef, variant: Option<&str>, field: &str, value: &Ty) {
        let value = self.resolve(value);
        let field = variant.map_or(field.to_owned(), |variant| format!("{variant}.{field}"));
        self.fields.learn(item, &field, &value, self.runs.current());
    }

    fn site(&self, location: Location) -> Site {
        Site { location, run: self.runs.current() }
    }

    /// Notes requests of an `Api`; of another type, the kind is not known.
    pub(super) fn request(&mut self, location: Location, api: &Ty, verbs: &[&str], sub: Option<&str>, call: &str) {
        let api = self.resolve(api);
        self.findings.request(self.site(location), &api, verbs, sub, call, None);
    }

    /// Records the requests of a call of the manager. Its receiver or type argument has the kind.
    pub(super) fn manager_request(&mut self, location: Location, request: &ManagerRequest, kind: &Ty, call: &str) {
        let (kind, scope) = match &request.of {
            Requested::Parameter(_) => (kind.clone(), RequestScope::Cluster),
            Requested::Resource(resource, scope) => (Ty::dynamic([resource.clone()]), scope.clone()),
        };
        let api = self.resolve(&Ty::reaching(kind, scope));
        let ManagerRequest { verbs, subresource, role, .. } = request;
        self.findings.request(self.site(location), &api, verbs, *subresource, call, *role);
    }

    pub(super) fn doubt(&mut self, location: Location, cause: Cause) {
        self.findings.doubt(self.site(location), cause);
    }

    /// Notes that this run knows what a call is.
    pub(super) fn clear(&mut self, location: Location) {
        self.findings.clear(self.site(location));
    }

    /// The answer, in the order of the source.
    pub(super) fn finish(self) -> (Vec<RbacUsage>, Vec<Doubt>) {
        let live = self.live();
        self.findings.finish(&self.types, &live)
    }

    /// The requests and doubts of a function that is called by itself, with those of the functions that it calls.
    #[cfg(test)]
    pub(super) fn reached(&self, id: FunctionId) -> (Vec<FoundRequest<'_>>, Vec<Doubt>) {
        self.findings.of_runs(&self.runs.of_root(id), &self.types)
    }

    /// The runs that count for what is asked about.
    fn live(&self) -> Live {
        self.runs.live(|function| self.question.is_about(self.tree, self.types.index.get(function).module))
    }
}

/// `#[resource(inherit = …)]` of kube's `derive(Resource)`: the type is of the same resource as another one.
fn inherited(item: &syn::Item) -> Option<syn::Path> {
    let (syn::Item::Struct(syn::ItemStruct { attrs, .. }) | syn::Item::Enum(syn::ItemEnum { attrs, .. })) = item else {
        return None;
    };
    let lists = attrs.iter().filter(|attribute| attribute.path().is_ident("resource"));
    let mut named = lists.filter_map(|attribute| attribute.parse_args::<syn::MetaNameValue>().ok());
    match named.find(|named| named.path.is_ident("inherit"))?.value {
        syn::Expr::Path(path) => Some(path.path),
        _ => None,
    }
}
