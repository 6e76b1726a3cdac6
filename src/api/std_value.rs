//! Values of std and its kin that have no literal: durations, limits of numbers, paths.

use std::time::Duration;

use super::number::range;
use super::value::Val;

/// The constant of a canonical path: `std::u32::MAX`.
pub(super) fn constant(path: &str) -> Option<Val> {
    let (ty, name) = path.strip_prefix("std::")?.rsplit_once("::")?;
    let (min, max) = range(ty)?;
    match name {
        "MIN" => Some(Val::Int(min)),
        "MAX" => Some(Val::Int(max)),
        _ => None,
    }
}

/// What a function of this canonical path returns.
pub(super) fn called(path: &str, arguments: &[Val]) -> Option<Val> {
    let whole = |value: &i128| u64::try_from(*value).ok();
    match (path, arguments) {
        ("std::path::PathBuf::new", []) => Some(Val::Json("".into())),
        ("std::path::PathBuf::from", [Val::Str(path)]) => Some(written(path)),
        ("std::time::Duration::from_secs", [Val::Int(value)]) => {
            whole(value).map(Duration::from_secs).map(Val::Duration)
        }
        ("std::time::Duration::from_millis", [Val::Int(value)]) => {
            whole(value).map(Duration::from_millis).map(Val::Duration)
        }
        _ => None,
    }
}

/// `Uuid::default()`
pub(super) fn nil_uuid() -> Val {
    written(&uuid::Uuid::nil())
}

/// What serde writes for a type that it writes as text.
fn written(value: &impl ToString) -> Val {
    Val::Json(value.to_string().into())
}
