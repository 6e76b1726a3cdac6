//! Type checks of values: conformance with the expected type, and serializability of that type.

use crate::schema::TypeId;
use crate::schema::known::{LinkedType, ValueKind};

use super::canonical::SERIALIZE;
use super::types::{Info, Types};
use super::value::Val;

impl Types<'_> {
    /// Returns false if the compiler would convert the value first. It infers the type of a number, and uses `Deref` if a
    /// reference to another type is expected.
    pub(super) fn conforms(&self, value: &Val, ty: TypeId) -> bool {
        let of_user = matches!(value, Val::Struct(..) | Val::Variant(..));
        let (known, arguments) = match self.info(ty) {
            Info::User(_) => {
                return match value {
                    Val::Struct(id, _) | Val::Variant(id, ..) => *id == ty,
                    Val::Unit | Val::Json(_) | Val::Recipe(_) | Val::Generator | Val::ObjectOf(_) => true,
                    _ => false,
                };
            }
            Info::Described => return true,
            // Only the trait is known of a trait object or `impl Trait` type.
            Info::K8s(_) | Info::Refused(_) => return !of_user,
            Info::Known(known, arguments) => (known, arguments),
        };
        let all = |values: &[Val]| values.iter().all(|value| self.conforms(value, arguments[0]));
        match (known.kind, value) {
            (kind, value) if kind == ValueKind::Reference || kind.is_transparent() => {
                self.conforms(value, arguments[0])
            }
            (ValueKind::Option, Val::Some(inner)) => self.conforms(inner, arguments[0]),
            (ValueKind::Tuple(_), Val::Seq(values)) => {
                values.iter().zip(arguments).all(|(value, argument)| self.conforms(value, *argument))
            }
            (ValueKind::Array(_) | ValueKind::Slice, Val::Seq(values)) => all(values),
            (kind, Val::Seq(values)) if kind.is_list() || kind.is_set() => all(values),
            (kind, Val::Map(entries)) if kind.is_map() => entries
                .iter()
                .all(|(key, value)| self.conforms(key, arguments[0]) && self.conforms(value, arguments[1])),
            (ValueKind::F32, Val::F64(_)) | (ValueKind::F64, Val::F32(_)) => false,
            (kind, Val::Int(value)) => kind.holds(*value) != Some(false),
            _ => !of_user,
        }
    }

    /// Returns true if the source shows that a type implements `Serialize`. For a field of a type that derives it,
    /// `proved` covers types whose source does not show it.
    pub(super) fn is_serialize(&self, ty: TypeId, proved: bool) -> bool {
        match self.info(ty) {
            Info::User(user) => {
                let arguments = || user.scope.generics.values().all(|argument| self.is_serialize(*argument, proved));
                self.implements(ty, SERIALIZE) || self.derives_trait(user.item, SERIALIZE) && arguments()
            }
            Info::Known(known, _) if known.kind == ValueKind::Phantom => true,
            // The impl depends on features of serde and of the other crate.
            Info::Known(known, _) if !proved && is_optional(known) => false,
            Info::Known(_, arguments) => arguments.iter().all(|argument| self.is_serialize(*argument, proved)),
            Info::K8s(_) | Info::Described | Info::Refused(_) => true,
        }
    }
}

/// Returns true for a type that implements the traits of serde only with a feature.
fn is_optional(known: &LinkedType) -> bool {
    let plain = ["std", "serde_json", "schemars", "kube_core", "k8s_openapi"];
    matches!(known.kind, ValueKind::Shared) || known.krate().is_some_and(|krate| !plain.contains(&krate))
}
