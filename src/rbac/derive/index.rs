//! The functions of the tree: free ones, those of `impl` blocks and of traits.

use std::collections::BTreeMap;

use syn::{Block, ImplItem, Item, ItemFn, ItemImpl, ItemTrait, Signature, Stmt, TraitItem};

use crate::source::{ItemRef, ModuleId, Resolution, SourceTree};

/// A function by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FunctionId(pub(super) usize);

/// A function of the tree.
#[derive(Debug, Clone)]
pub(super) struct Function<'a> {
    pub(super) module: ModuleId,
    pub(super) signature: &'a Signature,
    /// A method that a trait only declares has none.
    pub(super) block: Option<&'a Block>,
    pub(super) owner: Option<Owner<'a>>,
}

/// What a method belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'a> {
    Impl(&'a ItemImpl, Option<ItemRef>),
    Trait(&'a ItemTrait, ItemRef),
}

impl<'a> Function<'a> {
    pub(super) fn name(&self) -> String {
        self.signature.ident.to_string()
    }

    /// The type parameters in scope: of the function, and of what it belongs to.
    pub(super) fn generics(&self) -> impl Iterator<Item = &'a syn::Generics> + use<'a> {
        let owner = match self.owner {
            Some(Owner::Impl(block, _)) => Some(&block.generics),
            Some(Owner::Trait(item, _)) => Some(&item.generics),
            None => None,
        };
        owner.into_iter().chain([&self.signature.generics])
    }

    pub(super) fn takes_self(&self) -> bool {
        self.signature.receiver().is_some()
    }
}

/// All functions.
#[derive(Debug, Default)]
pub(super) struct Index<'a> {
    pub(super) functions: Vec<Function<'a>>,
    free: BTreeMap<ItemRef, FunctionId>,
    methods: BTreeMap<String, Vec<FunctionId>>,
    /// Functions inside others, by where their names stand.
    nested: BTreeMap<(ModuleId, usize), FunctionId>,
    /// The `impl` blocks of each trait of the tree.
    pub(super) implementations: BTreeMap<ItemRef, Vec<(ModuleId, &'a ItemImpl)>>,
    /// The `impl Deref` blocks.
    pub(super) derefs: Vec<(ModuleId, &'a ItemImpl)>,
    /// The `impl Resource` blocks.
    pub(super) resources: Vec<(ModuleId, &'a ItemImpl)>,
    /// The `impl` blocks that have a constant of this name.
    pub(super) constants: BTreeMap<String, Vec<(ModuleId, &'a ItemImpl)>>,
    /// The `impl` blocks of traits that have an associated type of this name.
    pub(super) associated: BTreeMap<String, Vec<(ModuleId, &'a ItemImpl)>>,
}

impl<'a> Index<'a> {
    /// `skip` says whose functions are known without reading them.
    pub(super) fn new(tree: &'a SourceTree, skip: impl Fn(ModuleId) -> bool) -> Self {
        let mut index = Self::default();
        for item in tree.all_items() {
            let module = tree.module(item);
            if skip(module) {
                continue;
            }
            match tree.item(item) {
                Item::Fn(ItemFn { sig, block, .. }) => {
                    let id = index.add(Function { module, signature: sig, block: Some(block), owner: None });
                    index.free.insert(item, id);
                }
                Item::Impl(block) => index.add_impl(tree, module, block),
                Item::Trait(declared) => {
                    for method in &declared.items {
                        let TraitItem::Fn(method) = method else { continue };
                        let owner = Some(Owner::Trait(declared, item));
                        let block = method.default.as_ref();
                        index.add_method(Function { module, signature: &method.sig, block, owner });
                    }
                }
                _ => {}
            }
        }
        index
    }

    fn add_impl(&mut self, tree: &'a SourceTree, module: ModuleId, block: &'a ItemImpl) {
        let mut of = None;
        if let Some((path, _)) = &block.trait_ {
            match tree.resolve(module, path) {
                Resolution::Local(item) => {
                    of = Some(item);
                    self.implementations.entry(item).or_default().push((module, block));
                }
                _ => match path.segments.last().map(|last| last.ident.to_string()).as_deref() {
                    Some("Deref") => self.derefs.push((module, block)),
                    Some("Resource") => self.resources.push((module, block)),
                    _ => {}
                },
            }
        }
        for item in &block.items {
            match item {
                ImplItem::Fn(method) => {
                    let owner = Some(Owner::Impl(block, of));
                    self.add_method(Function { module, signature: &method.sig, block: Some(&method.block), owner });
                }
                ImplItem::Type(found) => {
                    self.associated.entry(found.ident.to_string()).or_default().push((module, block));
                }
                ImplItem::Const(found) => {
                    self.constants.entry(found.ident.to_string()).or_default().push((module, block));
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, function: Function<'a>) -> FunctionId {
        let id = FunctionId(self.functions.len());
        let (module, block) = (function.module, function.block);
        self.functions.push(function);
        for statement in block.into_iter().flat_map(|block| &block.stmts) {
            if let Stmt::Item(Item::Fn(item)) = statement {
                let nested = Function { module, signature: &item.sig, block: Some(&item.block), owner: None };
                let start = item.sig.ident.span().byte_range().start;
                let id = self.add(nested);
                self.nested.insert((module, start), id);
            }
        }
        id
    }

    fn add_method(&mut self, function: Function<'a>) {
        let name = function.name();
        let id = self.add(function);
        self.methods.entry(name).or_default().push(id);
    }

    pub(super) fn get(&self, id: FunctionId) -> &Function<'a> {
        &self.functions[id.0]
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.functions.len()).map(FunctionId)
    }

    pub(super) fn free(&self, item: ItemRef) -> Option<FunctionId> {
        self.free.get(&item).copied()
    }

    /// A function inside another one.
    pub(super) fn nested(&self, module: ModuleId, item: &ItemFn) -> Option<FunctionId> {
        self.nested.get(&(module, item.sig.ident.span().byte_range().start)).copied()
    }

    pub(super) fn methods(&self, name: &str) -> &[FunctionId] {
        self.methods.get(name).map_or(&[], Vec::as_slice)
    }
}
