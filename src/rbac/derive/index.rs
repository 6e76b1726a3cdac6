//! The functions of the tree: free ones, those of `impl` blocks and of traits.

use std::collections::BTreeMap;

use syn::visit::Visit;
use syn::{Block, FnArg, ImplItem, Item, ItemFn, ItemImpl, ItemTrait, PatType, Signature, Stmt, TraitItem};

use super::active::{is_off, is_statement_off};
use crate::source::{ItemRef, ModuleId, Resolution, SourceTree};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FunctionId(pub(super) usize);

#[derive(Debug, Clone)]
pub(super) struct IndexedFunction<'a> {
    pub(super) module: ModuleId,
    pub(super) signature: &'a Signature,
    /// A method that a trait only declares has none.
    pub(super) block: Option<&'a Block>,
    pub(super) owner: Option<Owner<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ImplId(usize);

#[derive(Debug, Clone, Copy)]
pub(super) struct ImplBlock<'a> {
    pub(super) id: ImplId,
    pub(super) module: ModuleId,
    pub(super) item: &'a ItemImpl,
}

impl<'a> ImplBlock<'a> {
    pub(super) fn associated_type(&self, name: &str) -> Option<&'a syn::Type> {
        self.item.items.iter().find_map(|item| match item {
            ImplItem::Type(found) if found.ident == name => Some(&found.ty),
            _ => None,
        })
    }
}

/// The owner of a method.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'a> {
    /// With the trait of the tree that it implements.
    Impl(ImplBlock<'a>, Option<ItemRef>),
    Trait(&'a ItemTrait, ItemRef),
}

impl<'a> IndexedFunction<'a> {
    pub(super) fn name(&self) -> String {
        self.signature.ident.to_string()
    }

    /// The type parameters in scope: of the function, and of what it belongs to.
    pub(super) fn generics(&self) -> impl Iterator<Item = &'a syn::Generics> + use<'a> {
        let owner = match self.owner {
            Some(Owner::Impl(block, _)) => Some(&block.item.generics),
            Some(Owner::Trait(item, _)) => Some(&item.generics),
            None => None,
        };
        owner.into_iter().chain([&self.signature.generics])
    }

    /// The parameters without the receiver and those that are switched off.
    pub(super) fn inputs(&self, tree: &SourceTree) -> impl Iterator<Item = &'a PatType> {
        let module = self.module;
        self.signature.inputs.iter().filter_map(move |input| match input {
            FnArg::Typed(input) => (!is_off(tree, module, &input.attrs)).then_some(input),
            FnArg::Receiver(_) => None,
        })
    }

    pub(super) fn takes_self(&self) -> bool {
        self.signature.receiver().is_some()
    }
}

#[derive(Debug, Default)]
pub(super) struct FunctionIndex<'a> {
    pub(super) functions: Vec<IndexedFunction<'a>>,
    free: BTreeMap<ItemRef, FunctionId>,
    methods: BTreeMap<String, Vec<FunctionId>>,
    /// Functions inside others, by where their names stand: those that a macro has written stand where it is called.
    nested: BTreeMap<(ModuleId, usize, String), FunctionId>,
    impls: usize,
    /// The `impl` blocks of each trait of the tree.
    pub(super) implementations: BTreeMap<ItemRef, Vec<ImplBlock<'a>>>,
    pub(super) derefs: Vec<ImplBlock<'a>>,
    pub(super) resources: Vec<ImplBlock<'a>>,
    /// The `impl` blocks of traits that have an associated type of this name.
    pub(super) associated: BTreeMap<String, Vec<ImplBlock<'a>>>,
}

impl<'a> FunctionIndex<'a> {
    /// `is_known` says whose functions are known without reading them: only which methods there are is asked.
    pub(super) fn new(tree: &'a SourceTree, is_known: impl Fn(ModuleId) -> bool) -> Self {
        let mut index = Self::default();
        for item in tree.all_items() {
            let module = tree.module(item);
            match tree.item(item) {
                Item::Impl(block) if is_known(module) && block.trait_.is_none() => {
                    index.add_impl(tree, module, block, true);
                }
                _ if is_known(module) => {}
                Item::Fn(ItemFn { sig, block, .. }) => {
                    let id =
                        index.add(tree, IndexedFunction { module, signature: sig, block: Some(block), owner: None });
                    index.free.insert(item, id);
                }
                Item::Impl(block) => index.add_impl(tree, module, block, false),
                Item::Trait(declared) => {
                    for method in &declared.items {
                        let TraitItem::Fn(method) = method else { continue };
                        let owner = Some(Owner::Trait(declared, item));
                        let block = method.default.as_ref();
                        index.add_method(tree, IndexedFunction { module, signature: &method.sig, block, owner });
                    }
                }
                _ => {}
            }
        }
        index
    }

    fn add_impl(&mut self, tree: &'a SourceTree, module: ModuleId, item: &'a ItemImpl, is_known: bool) {
        let block = ImplBlock { id: ImplId(self.impls), module, item };
        self.impls += 1;
        let mut of = None;
        if let Some((path, _)) = &item.trait_ {
            match tree.resolve(module, path) {
                Resolution::Local(item) => {
                    of = Some(item);
                    self.implementations.entry(item).or_default().push(block);
                }
                _ => match path.segments.last().map(|last| last.ident.to_string()).as_deref() {
                    Some("Deref") => self.derefs.push(block),
                    Some("Resource") => self.resources.push(block),
                    _ => {}
                },
            }
        }
        for part in &item.items {
            match part {
                ImplItem::Fn(method) => {
                    let owner = Some(Owner::Impl(block, of));
                    let block = (!is_known).then_some(&method.block);
                    self.add_method(tree, IndexedFunction { module, signature: &method.sig, block, owner });
                }
                ImplItem::Type(found) => {
                    self.associated.entry(found.ident.to_string()).or_default().push(block);
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, tree: &SourceTree, function: IndexedFunction<'a>) -> FunctionId {
        let id = FunctionId(self.functions.len());
        let (module, block) = (function.module, function.block);
        self.functions.push(function);
        let mut nested = Nested { tree, module, found: Vec::new() };
        if let Some(block) = block {
            nested.visit_block(block);
        }
        for item in nested.found {
            let nested = IndexedFunction { module, signature: &item.sig, block: Some(&item.block), owner: None };
            let start = item.sig.ident.span().byte_range().start;
            let id = self.add(tree, nested);
            self.nested.insert((module, start, item.sig.ident.to_string()), id);
        }
        id
    }

    fn add_method(&mut self, tree: &SourceTree, function: IndexedFunction<'a>) {
        let name = function.name();
        let id = self.add(tree, function);
        self.methods.entry(name).or_default().push(id);
    }

    pub(super) fn get(&self, id: FunctionId) -> &IndexedFunction<'a> {
        &self.functions[id.0]
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.functions.len()).map(FunctionId)
    }

    pub(super) fn free(&self, item: ItemRef) -> Option<FunctionId> {
        self.free.get(&item).copied()
    }

    pub(super) fn nested(&self, module: ModuleId, item: &ItemFn) -> Option<FunctionId> {
        let name = &item.sig.ident;
        self.nested.get(&(module, name.span().byte_range().start, name.to_string())).copied()
    }

    pub(super) fn methods(&self, name: &str) -> &[FunctionId] {
        self.methods.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The functions in a body, except those inside of other ones.
struct Nested<'t, 'a> {
    tree: &'t SourceTree,
    module: ModuleId,
    found: Vec<&'a ItemFn>,
}

impl<'a> Visit<'a> for Nested<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if is_statement_off(self.tree, self.module, statement) {
            return;
        }
        match statement {
            Stmt::Item(Item::Fn(item)) => self.found.push(item),
            Stmt::Item(_) => {}
            other => syn::visit::visit_stmt(self, other),
        }
    }
}
