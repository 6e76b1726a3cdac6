//! Schemas that code returns: `schema_with`, `impl JsonSchema`, `schema = "manual"`.

use syn::Item;

use crate::diagnostic::Code;
use crate::schema::{Container, Meta, Recipe, SchemaShape, TypeId};

use super::describer::{Describer, Reported};
use crate::api::eval::ByHand;
use crate::api::types::{Refusal, TypeScope};

impl Describer<'_> {
    /// `schema_with = "path"`: a type whose schema the function returns.
    pub(super) fn schema_with(&mut self, scope: &TypeScope, path: &syn::Path) -> Result<TypeId, Reported> {
        let recipe = self.evaluate(|eval| eval.schema_with(scope, path));
        let what = format!("`schema_with = {}`", self.types.text(scope, path));
        let recipe = recipe.map_err(|refusal| self.refuse_schema(&refusal, &what))?;
        let name = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let id =
            format!("schema_with/{}/{}", self.tree.module_path(scope.module).join("::"), self.types.text(scope, path));
        Ok(self.types.add_described(by_code(name, id, true, recipe)))
    }

    fn refuse_schema(&mut self, refusal: &Refusal, what: &str) -> Reported {
        let message = format!("{what}: {}", refusal.message);
        let help = "build the schema with `json_schema!`, `subschema_for` and `insert`, or use `with = \"Type\"` \
            and `extend(…)`";
        self.refuse(Refusal { code: Code::SchemaCode, message, help: Some(help.to_owned()), ..refusal.clone() })
    }

    /// The container of a type with a handwritten impl.
    pub(super) fn describe_by_hand(&mut self, by_hand: &ByHand, item: &syn::ItemImpl) -> Result<Container, Reported> {
        let recipe = self.evaluate(|eval| eval.schema_by_hand(by_hand, item));
        let what = format!("the hand-written `JsonSchema` of `{}`", quote::ToTokens::to_token_stream(&item.self_ty));
        let recipe = recipe.map_err(|refusal| self.refuse_schema(&refusal, &what))?.ok_or(Reported)?;
        let ByHand { name, id, inline, .. } = by_hand;
        Ok(by_code(name.clone(), id.clone(), *inline, recipe))
    }

    /// Refuses a handwritten impl whose names cannot be read.
    pub(super) fn refuse_by_hand(&mut self, refusal: &Refusal, name: &str) -> Reported {
        self.refuse_schema(refusal, &format!("the hand-written `JsonSchema` of `{name}`"))
    }

    /// The root type of `schema = "manual"`. Its impl is in the module of the spec, where the derive generates the type.
    pub(super) fn manual_root(&mut self, scope: &TypeScope, spec: &syn::Ident, root: &str) -> Result<TypeId, Reported> {
        let tree = self.tree;
        let mut blocks = self.types.schemas_by_hand(tree.module_items(scope.module));
        blocks.retain(|item| {
            matches!(tree.item(*item), Item::Impl(block)
                if matches!(&*block.self_ty, syn::Type::Path(path) if path.path.is_ident(root)))
        });
        let Some((block, others)) = blocks.split_first() else {
            let message = format!("`schema = \"manual\"`, but no `impl JsonSchema for {root}` is beside it");
            let help = "write the impl in the same module, as a list of `json_schema!`, `subschema_for` and `insert`";
            return Err(self.refuse(Refusal::new(Code::SchemaCode, scope, spec.span(), message).help(help)));
        };
        let read = self.evaluate(|eval| eval.read_impl(scope, *block, !others.is_empty()));
        let (by_hand, block) = read.map_err(|refusal| self.refuse_by_hand(&refusal, root))?;
        let Item::Impl(item) = tree.item(block) else { return Err(Reported) };
        let container = self.describe_by_hand(&by_hand, item)?;
        Ok(self.types.add_described(container))
    }
}

fn by_code(name: String, id: String, inline: bool, recipe: Recipe) -> Container {
    Container {
        name,
        id: id.into(),
        inline,
        shape: SchemaShape::Recipe(recipe),
        meta: Meta::default(),
        validated: None,
    }
}
