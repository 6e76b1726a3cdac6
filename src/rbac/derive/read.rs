//! Runs through the functions: each once by itself, and once more for every call with other types.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;

use crate::diagnostic::Origin;
use crate::rbac::{Permission, Scope as Where, Target, Usage};
use crate::source::{ItemRef, ModuleId, SourceTree};

use super::Question;
use super::decides::Decides;
use super::doubt::{Cause, Doubt};
use super::existing::Existing;
use super::expand::Macros;
use super::fields::Fields;
use super::index::{FunctionId, Index, Owner};
use super::kinds::{Kinds, Resource};
use super::lower::{Scope, UNFOUND, bounds_of};
use super::manager;
use super::runs::{Live, RunId, Runs, Weight};
use super::types::{Generics, Inferred, Reach, Ty};

/// How many kinds of calls of one function are told apart, and how many if only strings differ.
const RUNS: usize = 200;
const TEXTS: usize = 60;
/// How deep calls are followed.
const DEPTH: usize = 40;

/// More `Deref`s than lie one behind the other, unless they go in a circle.
pub(super) const DEREFS: usize = 32;
/// How often fields are filled anew.
const PASSES: usize = 4;

/// A request, while types are still being inferred.
#[derive(Debug)]
struct Found {
    place: Place,
    run: Option<RunId>,
    kind: Ty,
    reach: BTreeSet<Reach>,
    verb: String,
    sub: Option<String>,
    /// `{}` stands for the kind.
    call: String,
}

/// What is found out about one permission at one place.
#[derive(Debug)]
struct Answer {
    scopes: BTreeSet<Where>,
    of_object: bool,
    distance: u8,
    call: String,
    origin: Origin,
}

/// A call on a kind that is not known.
#[derive(Debug)]
struct OpenKind {
    origin: Origin,
    call: String,
    verbs: BTreeSet<String>,
    why: String,
}

/// A place in a module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) module: ModuleId,
    pub(super) span: Span,
}

/// A function about to be called.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) id: FunctionId,
    pub(super) scope: Scope,
    /// Without the receiver: the type, and what it is called with if it is a function.
    pub(super) parameters: Vec<(Ty, Vec<Ty>)>,
    pub(super) output: Ty,
}

/// A call that waits until the rest of the caller says what its type arguments are.
#[derive(Debug)]
struct Later {
    signature: Signature,
    receiver: Option<Ty>,
    arguments: Vec<Ty>,
}

/// The state of a function that is being run.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) scope: Scope,
    pub(super) locals: Vec<BTreeMap<String, Ty>>,
    pub(super) nested: BTreeMap<String, FunctionId>,
    /// Variables that hold what was read from the server.
    pub(super) existing: BTreeMap<String, Existing>,
    pub(super) output: Ty,
    pub(super) returned: Ty,
}

impl Frame {
    pub(super) fn of(scope: Scope) -> Self {
        Self {
            scope,
            locals: vec![BTreeMap::new()],
            nested: BTreeMap::new(),
            existing: BTreeMap::new(),
            output: Ty::Unknown,
            returned: Ty::Never,
        }
    }
}

pub(super) struct Reader<'a> {
    pub(super) tree: &'a SourceTree,
    pub(super) question: &'a Question,
    pub(super) kinds: Kinds<'a>,
    pub(super) index: Index<'a>,
    pub(super) inferred: Inferred,
    /// The types of `impl` blocks, with their parameters open; by where the block is in memory.
    blocks: BTreeMap<usize, Ty>,
    managers: BTreeMap<ItemRef, String>,
    /// How deep an alias, a constant or `Deref` is followed.
    pub(super) depth: usize,
    pub(super) fields: Fields,
    pub(super) macros: Macros,
    runs: Runs,
    decides: Decides,
    /// The calls that read an object.
    pub(super) reads: BTreeSet<Spot>,
    /// Calls whose type arguments are not known yet.
    later: Vec<Later>,
    found: Vec<Found>,
    doubts: Vec<(Place, Option<RunId>, Cause)>,
    /// Where a run has answered what is asked, and needs nothing to be said.
    clear: BTreeSet<(Spot, Option<RunId>)>,
    urls: Vec<(Place, Option<RunId>, String, String, String)>,
}

/// A place that can be compared.
pub(super) type Spot = (ModuleId, usize);

impl<'a> Reader<'a> {
    pub(super) fn new(tree: &'a SourceTree, question: &'a Question) -> Self {
        let index = Index::new(tree, |module| manager::is_inside(tree, module));
        Self {
            tree,
            question,
            kinds: Kinds::new(tree),
            decides: Decides::new(&index),
            index,
            inferred: Inferred::default(),
            blocks: BTreeMap::new(),
            managers: manager::types(tree),
            depth: 0,
            fields: Fields::default(),
            macros: Macros::new(tree),
            runs: Runs::default(),
            reads: BTreeSet::new(),
            later: Vec::new(),
            found: Vec::new(),
            doubts: Vec::new(),
            clear: BTreeSet::new(),
            urls: Vec::new(),
        }
    }

    /// Runs everything until the fields of structs hold what is put into them anywhere.
    pub(super) fn read(&mut self) {
        self.declared_resources();
        for _ in 0..PASSES {
            self.fields.start();
            self.macros.start();
            self.runs.start();
            self.found.clear();
            self.doubts.clear();
            self.clear.clear();
            self.urls.clear();
            for id in self.index.ids() {
                self.by_itself(id);
            }
            self.default_methods();
            self.run_later(0);
            self.unread_macros();
            let live = self.live();
            if !self.fields.finish(self.tree, &live) {
                break;
            }
        }
    }

    /// The type that an `impl` block is for; its parameters fit anything.
    pub(super) fn implemented(&mut self, module: ModuleId, block: &syn::ItemImpl) -> Ty {
        let key = std::ptr::from_ref(block).addr();
        if let Some(known) = self.blocks.get(&key) {
            return known.clone();
        }
        let mut scope = Scope::new(module);
        for parameter in block.generics.type_params() {
            let name = parameter.ident.to_string();
            scope.generics.insert(name.clone(), Ty::Param(name.as_str().into()));
        }
        let ty = self.lower(&scope, &block.self_ty);
        self.blocks.insert(key, ty.clone());
        ty
    }

    /// A run of this function has not come to its end.
    pub(super) fn is_running(&self, id: FunctionId) -> bool {
        self.runs.recursion(id) > 0
    }

    /// The types of the manager.
    pub(super) fn managers(&self) -> impl Iterator<Item = (ItemRef, &str)> {
        self.managers.iter().map(|(item, name)| (*item, name.as_str()))
    }

    /// The type of the manager that an item is.
    pub(super) fn manager_type_name(&self, item: ItemRef) -> Option<String> {
        self.managers.get(&item).cloned()
    }

    /// Types that say by hand what resource they are: `impl Resource`, of kube or of k8s-openapi.
    fn declared_resources(&mut self) {
        let tree = self.tree;
        for item in tree.all_items() {
            if let Some(path) = inherited(tree.item(item)) {
                let of = self.lower_path(&Scope::new(tree.module(item)), &path);
                self.kinds.inherit(item, of);
            }
        }
        for (module, block) in self.index.resources.clone() {
            let Ty::Item(item, _) = self.implemented(module, block) else { continue };
            let mut texts = BTreeMap::new();
            let mut namespaced = None;
            for part in &block.items {
                let mut frame = Frame::of(Scope::new(module));
                let (name, value) = match part {
                    syn::ImplItem::Const(found) => (&found.ident, self.expr(&mut frame, &found.expr, &Ty::Unknown)),
                    syn::ImplItem::Fn(found) => (&found.sig.ident, self.block(&mut frame, &found.block, &Ty::Unknown)),
                    syn::ImplItem::Type(found) if found.ident == "Scope" => {
                        let text = quote::ToTokens::to_token_stream(&found.ty).to_string();
                        namespaced = Some(text.contains("NamespaceResourceScope"));
                        continue;
                    }
                    _ => continue,
                };
                if let Ty::Text(text) = self.inferred.resolve(&value) {
                    texts.insert(name.to_string(), text.to_string());
                }
            }
            let mut text = |names: [&str; 2]| names.iter().find_map(|name| texts.remove(*name));
            let (Some(group), Some(kind)) = (text(["GROUP", "group"]), text(["KIND", "kind"])) else { continue };
            let plural = text(["URL_PATH_SEGMENT", "plural"]);
            let plural = plural.unwrap_or_else(|| crate::api::plural(&kind.to_lowercase()));
            self.kinds.declare(item, Resource { group, plural, namespaced, name: kind });
        }
    }

    /// Macros of the package that speak of requests, and that are not read where they are called.
    fn unread_macros(&mut self) {
        let tree = self.tree;
        let asked: Vec<ItemRef> =
            tree.items().filter(|item| self.question.is_about(tree, tree.module(*item))).collect();
        for item in asked.iter().copied() {
            if let syn::Item::Macro(found) = tree.item(item)
                && found.ident.is_none()
                && let Some(rules) = self.macros.named(tree, tree.module(item), &found.mac.path)
            {
                let place = Place { module: tree.module(item), span: syn::spanned::Spanned::span(&found.mac.path) };
                self.macros.call(rules);
                self.unread_call(place, rules);
            }
        }
        for item in asked {
            let module = tree.module(item);
            if let syn::Item::Macro(found) = tree.item(item)
                && super::speaks_of_api(found.mac.tokens.clone())
                && !manager::is_inside(tree, module)
                && !self.macros.is_called(item)
            {
                let name = found.ident.as_ref().or(found.mac.path.segments.last().map(|last| &last.ident));
                let name = name.map(ToString::to_string).unwrap_or_default();
                let place = Place { module, span: syn::spanned::Spanned::span(&found.mac.path) };
                self.doubt(place, Cause::Macro { name });
            }
        }
    }

    /// A function as if it were called with nothing but what its signature says.
    fn by_itself(&mut self, id: FunctionId) {
        let function = self.index.get(id).clone();
        if function.block.is_some() && self.tree.is_own(function.module) {
            let mut signature = self.signature(id, None, false);
            let receiver = signature.scope.itself.clone();
            let parameters = std::mem::take(&mut signature.parameters);
            let arguments: Vec<Ty> = parameters.into_iter().map(|(ty, _)| ty).collect();
            self.run(signature, receiver, &arguments);
            if matches!(function.owner, Some(Owner::Trait(..))) {
                self.runs.declare(id);
            }
        }
    }

    /// What a trait implements once for all runs for every type that leaves it as it is.
    fn default_methods(&mut self) {
        for id in self.index.ids() {
            let function = self.index.get(id).clone();
            let Some(Owner::Trait(_, item)) = function.owner else { continue };
            if function.block.is_none() {
                continue;
            }
            let implementations = self.index.implementations.get(&item).cloned().unwrap_or_default();
            for (module, block) in implementations {
                // What another package implements counts where it is called.
                if !self.tree.is_own(module) {
                    continue;
                }
                let name = function.name();
                let own = block.items.iter().any(|item| matches!(item, syn::ImplItem::Fn(f) if f.sig.ident == name));
                if own {
                    continue;
                }
                let itself = self.implemented(module, block);
                let signature = self.signature(id, Some(itself.clone()), true);
                let arguments: Vec<Ty> = signature.parameters.iter().map(|(ty, _)| ty.clone()).collect();
                self.run(signature, Some(itself), &arguments);
            }
        }
    }

    /// Type parameters: to be inferred from a call, or as they are.
    fn parameters(&mut self, scope: &Scope, declared: &[&syn::Generics], called: bool) -> Generics {
        let mut scope = scope.clone();
        for generics in declared {
            for parameter in generics.type_params() {
                let name = parameter.ident.to_string();
                let ty = if called { self.inferred.fresh() } else { Ty::Param(name.as_str().into()) };
                scope.generics.insert(name, ty);
            }
        }
        for generics in declared {
            for parameter in generics.type_params() {
                let bounds = bounds_of(generics, &parameter.ident).into_iter().cloned();
                let bounds: syn::punctuated::Punctuated<_, syn::Token![+]> = bounds.collect();
                let shape = self.bounds(&scope, &bounds);
                // A bound by a trait of the tree says which methods there are, not what the type is.
                if let Some(shape) =
                    shape.filter(|shape| !matches!(shape, Ty::Item(..) | Ty::Foreign(..) | Ty::Unknown))
                {
                    let name = parameter.ident.to_string();
                    match scope.generics.get(&name).cloned() {
                        Some(open @ Ty::Infer(_)) => self.inferred.unify(&open, &shape),
                        _ => {
                            scope.generics.insert(name, shape);
                        }
                    }
                }
            }
        }
        scope.generics
    }

    /// A function as it is called, or as it is by itself.
    pub(super) fn signature(&mut self, id: FunctionId, itself: Option<Ty>, called: bool) -> Signature {
        let function = self.index.get(id).clone();
        let mut scope = Scope::new(function.module);
        let declared: Vec<_> = function.generics().collect();
        scope.generics = self.parameters(&scope, &declared, called);
        scope.itself.clone_from(&itself);
        match function.owner {
            Some(Owner::Impl(block, _)) => {
                let of = self.lower(&scope, &block.self_ty);
                if let Some(itself) = &itself {
                    self.inferred.unify(&of, itself);
                }
                let of = self.inferred.resolve(&of);
                scope.itself = Some(itself.map_or(of.clone(), |itself| of.refine(&itself)));
            }
            Some(Owner::Trait(..)) if itself.is_none() => scope.itself = Some(Ty::Param("Self".into())),
            _ => {}
        }
        let mut parameters = Vec::new();
        for input in &function.signature.inputs {
            if let syn::FnArg::Typed(input) = input {
                let ty = self.lower(&scope, &input.ty);
                parameters.push((ty, self.closure_inputs(&scope, &declared, &input.ty)));
            }
        }
        let output = self.lower_return(&scope, &function.signature.output);
        Signature { id, scope, parameters, output }
    }

    /// What a call returns. Where its type arguments are still open, it is run when the caller has come to its end.
    pub(super) fn enter(&mut self, signature: Signature, receiver: Option<Ty>, arguments: Vec<Ty>) -> Ty {
        let open = |ty: &Ty| self.inferred.resolve(ty).any(&|part| matches!(part, Ty::Infer(_)));
        if signature.scope.generics.values().any(open) {
            let output = self.inferred.resolve(&signature.output);
            self.later.push(Later { signature, receiver, arguments });
            return output;
        }
        self.run(signature, receiver, &arguments)
    }

    /// Runs what waits since `start`.
    fn run_later(&mut self, start: usize) {
        while self.later.len() > start {
            let Later { signature, receiver, arguments } = self.later.remove(start);
            self.run(signature, receiver, &arguments);
        }
    }

    /// What a call returns; the requests of the function are those of the call.
    pub(super) fn run(&mut self, signature: Signature, receiver: Option<Ty>, arguments: &[Ty]) -> Ty {
        let Signature { id, mut scope, output, .. } = signature;
        let function = self.index.get(id).clone();
        let closed = |reader: &Self, ty: &Ty| {
            let ty = reader.inferred.resolve(ty).map(&|part| matches!(part, Ty::Infer(_)).then_some(Ty::Unknown));
            if ty.is_huge() { Ty::Unknown } else { ty }
        };
        let output = self.inferred.resolve(&output);
        let Some(block) = function.block else { return output };
        for (name, ty) in &mut scope.generics {
            if let open @ Ty::Infer(_) = self.inferred.resolve(ty) {
                self.inferred.unify(&open, &Ty::Param(name.as_str().into()));
            }
            *ty = closed(self, ty);
        }
        scope.itself = receiver.or(scope.itself).map(|ty| closed(self, &ty));
        let keeps_texts = self.decides.contains(id) && self.runs.count(id) < TEXTS;
        let arguments: Vec<Ty> = arguments
            .iter()
            .map(|ty| match closed(self, ty) {
                Ty::Text(_) if !keeps_texts => Ty::foreign("str"),
                ty => ty,
            })
            .collect();
        let call = (id, scope.itself.clone(), scope.generics.values().cloned().collect(), arguments.clone());
        if let Some(known) = self.runs.called(&call) {
            return output.refine(&known);
        }
        let recursive = self.runs.recursion(id) > 2;
        if self.runs.count(id) >= RUNS || self.runs.depth() > DEPTH || recursive {
            if !recursive {
                let place = Place { module: function.module, span: function.signature.ident.span() };
                self.doubt(place, Cause::Runs { function: function.name() });
            }
            return output;
        }
        self.runs.enter(call, output.clone());
        let mut frame = Frame::of(scope);
        frame.output = output.clone();
        let typed = function.signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(input) => Some(input),
            syn::FnArg::Receiver(_) => None,
        });
        for (input, ty) in typed.zip(&arguments) {
            self.bind(&mut frame, &input.pat, ty);
        }
        if let Some(itself) = frame.scope.itself.clone() {
            frame.locals[0].insert("self".to_owned(), itself);
        }
        let start = self.later.len();
        let value = self.block(&mut frame, block, &output);
        self.run_later(start);
        self.inferred.unify(&output, &value);
        self.inferred.unify(&output, &frame.returned);
        let value = self.inferred.resolve(&value.join(&frame.returned));
        let result = output.refine(&value);
        self.runs.leave(value);
        result
    }

    /// Notes what a field is given.
    pub(super) fn learn_field(&mut self, item: ItemRef, field: &str, value: &Ty) {
        let value = self.inferred.resolve(value);
        self.fields.learn(item, field, &value, self.runs.current());
    }

    /// Notes requests about a kind.
    pub(super) fn request(
        &mut self,
        place: Place,
        (kind, reach): (&Ty, &BTreeSet<Reach>),
        verbs: &[&str],
        sub: Option<&str>,
        call: &str,
    ) {
        let mut reach = reach.clone();
        if reach.remove(&Reach::Elsewhere) {
            self.doubt(place, Cause::Cluster { call: call.replace("::<{}>", "").replace("<{}>", "") });
            if reach.is_empty() {
                return;
            }
        }
        for verb in verbs {
            self.found.push(Found {
                place,
                run: self.runs.current(),
                kind: kind.clone(),
                reach: reach.clone(),
                verb: (*verb).to_owned(),
                sub: sub.map(str::to_owned),
                call: call.to_owned(),
            });
        }
    }

    /// Notes a request that is not about resources.
    pub(super) fn request_url(&mut self, place: Place, url: &str, verb: &str, call: &str) {
        self.urls.push((place, self.runs.current(), url.to_owned(), verb.to_owned(), call.to_owned()));
    }

    /// Notes what could not be followed.
    pub(super) fn doubt(&mut self, place: Place, cause: Cause) {
        self.doubts.push((place, self.runs.current(), cause));
    }

    /// Notes that this run knows what a call is.
    pub(super) fn clear(&mut self, place: Place) {
        self.clear.insert((spot(&place), self.runs.current()));
    }

    /// The answer, in the order of the source.
    pub(super) fn finish(mut self) -> (Vec<Usage>, Vec<Doubt>) {
        self.weigh();
        let doubt = |(place, _, cause): &(Place, Option<RunId>, Cause)| Doubt {
            origin: self.tree.origin(place.module, place.span),
            cause: cause.clone(),
        };
        let mut doubts: Vec<Doubt> = self.doubts.iter().map(doubt).collect();
        let mut known: BTreeMap<(String, usize, usize, Permission), Answer> = BTreeMap::new();
        let mut answered = BTreeSet::new();
        let mut open: BTreeMap<_, OpenKind> = BTreeMap::new();
        for found in &self.found {
            let origin = self.tree.origin(found.place.module, found.place.span);
            let place = (origin.path.to_string(), origin.range.start, origin.range.end);
            let kind = self.inferred.resolve(&found.kind);
            let Some(resources) = self.kinds.resources(&kind) else {
                let new = || OpenKind {
                    origin,
                    call: found.call.replace("::<{}>", "").replace("<{}>", ""),
                    verbs: BTreeSet::new(),
                    why: self.why(found.place.module, &kind),
                };
                let is_parameter = matches!(self.kinds.named(&kind), Ty::Param(_));
                open.entry((place, is_parameter)).or_insert_with(new).verbs.insert(found.verb.clone());
                continue;
            };
            answered.insert(place.clone());
            for resource in resources {
                let plural = match &found.sub {
                    Some(sub) => format!("{}/{sub}", resource.plural),
                    None => resource.plural.clone(),
                };
                let permission =
                    Permission { target: Target::resource(&resource.group, &plural), verb: found.verb.clone() };
                let key = (place.0.clone(), place.1, place.2, permission);
                let answer = known.entry(key).or_insert_with(|| Answer {
                    scopes: BTreeSet::new(),
                    of_object: false,
                    distance: self.distance(found.place.module),
                    call: found.call.replace("{}", &resource.name),
                    origin: origin.clone(),
                });
                answer.scopes.extend(scopes(&resource, &found.reach));
                answer.of_object |= found.reach.contains(&Reach::OfObject);
            }
        }
        // What a generic function does that nobody calls is no news where another call says what it does.
        let unanswered = open.into_iter().filter(|((place, parameter), _)| !parameter || !answered.contains(place));
        doubts.extend(unanswered.map(|(_, OpenKind { origin, call, verbs, why })| Doubt {
            origin,
            cause: Cause::Kind { call, verbs: verbs.into_iter().collect(), why },
        }));
        let mut usages = Vec::new();
        for ((_, _, _, permission), Answer { mut scopes, of_object, distance, call, origin }) in known {
            if scopes.is_empty() {
                scopes.insert(Where::Namespaced);
            }
            let role = manager::role(&call);
            for scope in scopes {
                let (permission, call, origin) = (permission.clone(), call.clone(), origin.clone());
                let of_object = of_object && scope == Where::Namespaced;
                usages.push(Usage { permission, scope, of_object, call, origin, distance, role });
            }
        }
        for (place, _, url, verb, call) in &self.urls {
            usages.push(Usage {
                permission: Permission { target: Target::Url(url.clone()), verb: verb.clone() },
                scope: Where::Cluster,
                of_object: false,
                call: call.clone(),
                origin: self.tree.origin(place.module, place.span),
                distance: self.distance(place.module),
                role: None,
            });
        }
        usages.sort_by(|one, other| key(one).cmp(&key(other)));
        usages.dedup();
        doubts.sort_by(|one, other| order(one).cmp(&order(other)));
        doubts.dedup();
        (usages, doubts)
    }

    /// How far code is from the program: in a binary, in the library of its package, in another package.
    fn distance(&self, module: ModuleId) -> u8 {
        match (self.tree.is_own(module), self.tree.is_lib(module)) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        }
    }

    /// The runs that count for what is asked about.
    fn live(&self) -> Live {
        self.runs.live(|function| self.question.is_about(self.tree, self.index.get(function).module))
    }

    /// Leaves what counts: what a function does by itself is no news where its callers say it.
    fn weigh(&mut self) {
        let live = self.live();
        let mut told: BTreeSet<Spot> = BTreeSet::new();
        {
            let places = self.found.iter().map(|found| (spot(&found.place), found.run));
            let places = places.chain(self.doubts.iter().map(|(place, run, _)| (spot(place), *run)));
            let places = places.chain(self.urls.iter().map(|(place, run, ..)| (spot(place), *run)));
            let places = places.chain(self.clear.iter().copied());
            told.extend(places.filter(|(_, run)| live.weight(*run) == Weight::Counts).map(|(spot, _)| spot));
        }
        let counts = |place: &Place, run: Option<RunId>| match live.weight(run) {
            Weight::Counts => true,
            Weight::Otherwise => !told.contains(&spot(place)),
            Weight::Nothing => false,
        };
        self.found.retain(|found| counts(&found.place, found.run));
        self.doubts.retain(|(place, run, _)| counts(place, *run));
        self.urls.retain(|(place, run, ..)| counts(place, *run));
    }

    /// Why a type is no known resource.
    fn why(&self, module: ModuleId, kind: &Ty) -> String {
        match self.kinds.named(kind) {
            Ty::Param(name) => {
                format!("the kind is the type parameter `{name}`, and no call that says what it is was found")
            }
            Ty::Foreign(path, _) if path.starts_with(UNFOUND) => {
                let name = &path[UNFOUND.len()..];
                format!("the type `{name}` is not found; a macro that is not read may declare it")
            }
            Ty::Foreign(path, _) if path.ends_with("DynamicObject") => {
                "the kind is not spelled out in the source".to_owned()
            }
            Ty::Foreign(path, _) if path.starts_with("k8s_openapi::") => {
                format!("what resource `{path}` is could not be read from the sources of k8s-openapi")
            }
            // kube is known by what it offers, and never read.
            Ty::Foreign(path, _) if path.starts_with("kube::") => format!("what resource `{path}` is is not known"),
            Ty::Foreign(path, _) => {
                let krate = path.split("::").next().unwrap_or_default();
                let why = self.tree.want_package(module, krate).never();
                let why = why.map_or(String::new(), |why| format!(": {why}"));
                format!("what resource `{path}` is is not known{why}")
            }
            _ => "the kind could not be inferred".to_owned(),
        }
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

/// Where a request goes.
fn scopes(resource: &Resource, reach: &BTreeSet<Reach>) -> Vec<Where> {
    if resource.namespaced == Some(false) {
        return vec![Where::Cluster];
    }
    let scope = |reach: &Reach| match reach {
        Reach::All | Reach::Elsewhere => Where::Cluster,
        Reach::Own => Where::Own,
        Reach::Named(name) => Where::Namespace(name.to_string()),
        Reach::OfObject | Reach::Some => Where::Namespaced,
    };
    reach.iter().map(scope).collect()
}

pub(super) fn spot(place: &Place) -> Spot {
    (place.module, place.span.byte_range().start)
}

fn order(doubt: &Doubt) -> (&str, usize, usize, &Cause) {
    let range = &doubt.origin.range;
    (&doubt.origin.path, range.start, range.end, &doubt.cause)
}

fn key(usage: &Usage) -> (&str, usize, usize, &Permission, &Where) {
    let range = &usage.origin.range;
    (&usage.origin.path, range.start, range.end, &usage.permission, &usage.scope)
}
