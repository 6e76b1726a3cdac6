//! The impl that provides the schema of a type.

use syn::DeriveInput;

use crate::diagnostic::Code;

use super::describer::{Describer, Reported};
use crate::api::canonical::{CUSTOM_RESOURCE, DEFAULT, JSON_SCHEMA, KUBE_SCHEMA, SERIALIZE};
use crate::api::items::DeriveItem;
use crate::api::types::{Refusal, Use, UserType};

impl Describer<'_> {
    /// Finds the derive that provides the schema, and checks the attributes around it.
    pub(super) fn schema_source(
        &mut self,
        user: &UserType,
        input: &DeriveInput,
        at: Use,
    ) -> Result<SchemaSource, Reported> {
        let scope = &user.scope;
        let derives = self.types.derives(user.item);
        let resolved = |path: &str| {
            derives.iter().rev().find(|(_, derive)| matches!(derive, DeriveItem::Resolved(found) if found == path))
        };
        let (source, position) = match (resolved(JSON_SCHEMA), resolved(KUBE_SCHEMA)) {
            (Some((position, _)), None) => (SchemaSource::JsonSchema, *position),
            (None, Some((position, _))) => (SchemaSource::KubeSchema, *position),
            (Some(_), Some(_)) => {
                let message = format!("`{}` derives both `JsonSchema` and `KubeSchema`", input.ident);
                return Err(self.refuse(Refusal::new(Code::NoSchema, scope, input.ident.span(), message)));
            }
            (None, None) => {
                let named = derives.iter().find_map(|(_, derive)| match derive {
                    DeriveItem::Unresolved(text, span) if text.contains("Schema") => Some((text.clone(), *span)),
                    _ => None,
                });
                if named.is_none() && !self.types.schemas_by_hand(self.tree.impls(user.item)).is_empty() {
                    return self.attribute_macros(scope, &input.attrs).then_some(SchemaSource::Code).ok_or(Reported);
                }
                let refusal = if let Some((text, span)) = named {
                    Refusal::new(Code::NoSchema, scope, span, format!("cannot resolve the derive `{text}`"))
                        .help("write its full path: `#[derive(schemars::JsonSchema)]`")
                } else {
                    let (module, span) = at;
                    let message = format!("`{}` does not derive `JsonSchema`", input.ident);
                    let help = Some("add `#[derive(JsonSchema)]` to it".to_owned());
                    Refusal { code: Code::NoSchema, module, span, message, help }
                };
                return Err(self.refuse(refusal));
            }
        };
        // Derives that affect the schema or its defaults must see the item unchanged.
        let last = derives
            .iter()
            .filter(|(_, derive)| match derive {
                DeriveItem::Resolved(path) => matches!(path.as_str(), SERIALIZE | DEFAULT | CUSTOM_RESOURCE),
                DeriveItem::Unresolved(..) => false,
            })
            .map(|(position, _)| *position)
            .fold(position, usize::max);
        self.attribute_macros(scope, &input.attrs[..last]).then_some(source).ok_or(Reported)
    }
}

/// The derive or impl that provides the schema of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaSource {
    JsonSchema,
    KubeSchema,
    /// A handwritten impl.
    Code,
}
