//! Values of std and its kin that have no literal: durations, limits of numbers, addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::number::range;
use super::value::Val;

/// The constant of a canonical path: `std::u32::MAX`, `std::time::Duration::ZERO`.
pub(super) fn constant(path: &str) -> Option<Val> {
    let (ty, name) = path.strip_prefix("std::")?.rsplit_once("::")?;
    Some(match (ty, name) {
        ("time::Duration", "ZERO") => Val::Duration(Duration::ZERO),
        ("time::Duration", "MAX") => Val::Duration(Duration::MAX),
        ("net::Ipv4Addr", "UNSPECIFIED") => written(&Ipv4Addr::UNSPECIFIED),
        ("net::Ipv4Addr", "LOCALHOST") => written(&Ipv4Addr::LOCALHOST),
        ("net::Ipv4Addr", "BROADCAST") => written(&Ipv4Addr::BROADCAST),
        ("net::Ipv6Addr", "UNSPECIFIED") => written(&Ipv6Addr::UNSPECIFIED),
        ("net::Ipv6Addr", "LOCALHOST") => written(&Ipv6Addr::LOCALHOST),
        (ty, "MIN" | "MAX") => Val::Int(limit(ty, name)?),
        _ => return None,
    })
}

/// `MIN` or `MAX` of a number, or of one that is not zero.
fn limit(ty: &str, name: &str) -> Option<i128> {
    let not_zero = ty.strip_prefix("num::NonZero");
    let (min, max) = range(&not_zero.unwrap_or(ty).to_lowercase())?;
    Some(match (name, not_zero) {
        ("MAX", _) => max,
        (_, Some(_)) if min == 0 => 1,
        _ => min,
    })
}

/// What a function of this canonical path returns.
pub(super) fn called(path: &str, arguments: &[Val]) -> Option<Val> {
    if let Some(value) = duration(path, arguments) {
        return Some(Val::Duration(value));
    }
    match (path, arguments) {
        ("std::net::IpAddr::V4" | "std::net::IpAddr::V6", [Val::Json(address)]) => Some(Val::Json(address.clone())),
        ("std::net::Ipv4Addr::new", [Val::Int(a), Val::Int(b), Val::Int(c), Val::Int(d)]) => {
            let octet = |value: &i128| u8::try_from(*value).ok();
            Some(written(&Ipv4Addr::new(octet(a)?, octet(b)?, octet(c)?, octet(d)?)))
        }
        ("std::net::Ipv4Addr::from", [Val::Seq(octets)]) if octets.len() == 4 => {
            called("std::net::Ipv4Addr::new", octets)
        }
        ("std::path::PathBuf::new", []) => Some(Val::Json("".into())),
        ("std::path::PathBuf::from", [Val::Str(path)]) => Some(written(path)),
        ("std::vec::Vec::with_capacity", [Val::Int(_)]) => Some(Val::Seq(Vec::new())),
        ("uuid::Uuid::nil", []) => Some(nil_uuid()),
        (path, [value]) if let Some(converted) = converted(path, "from", value) => Some(converted),
        (path, [Val::Int(value)]) => {
            let ty = path.strip_prefix("std::num::NonZero")?.strip_suffix("::new")?.to_lowercase();
            let (min, max) = range(&ty)?;
            let inside = (min..=max).contains(value);
            inside.then(|| if *value == 0 { Val::None } else { Val::Some(Box::new(Val::Int(*value))) })
        }
        _ => None,
    }
}

/// `number::from(value)` or `number::try_from(value)` by the name of the function, when the value is one of the type.
pub(super) fn converted(path: &str, function: &str, value: &Val) -> Option<Val> {
    let ty = path.strip_prefix("std::")?.strip_suffix(function)?.strip_suffix("::")?;
    let (min, max) = range(ty)?;
    let number = match value {
        Val::Int(number) => *number,
        Val::Bool(value) => i128::from(*value),
        Val::Char(value) => i128::from(u32::from(*value)),
        _ => return None,
    };
    (min..=max).contains(&number).then_some(Val::Int(number))
}

fn duration(path: &str, arguments: &[Val]) -> Option<Duration> {
    let whole = |value: &i128| u64::try_from(*value).ok();
    match (path.strip_prefix("std::time::Duration::")?, arguments) {
        ("new", [Val::Int(secs), Val::Int(nanos)]) => {
            let nanos = u32::try_from(*nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
            Some(Duration::new(whole(secs)?, nanos))
        }
        ("from_secs", [Val::Int(value)]) => whole(value).map(Duration::from_secs),
        ("from_millis", [Val::Int(value)]) => whole(value).map(Duration::from_millis),
        ("from_micros", [Val::Int(value)]) => whole(value).map(Duration::from_micros),
        ("from_nanos", [Val::Int(value)]) => whole(value).map(Duration::from_nanos),
        ("from_mins", [Val::Int(value)]) => whole(value)?.checked_mul(60).map(Duration::from_secs),
        ("from_hours", [Val::Int(value)]) => whole(value)?.checked_mul(3600).map(Duration::from_secs),
        ("from_secs_f64", [Val::F64(value)]) => Duration::try_from_secs_f64(*value).ok(),
        ("from_secs_f32", [Val::F32(value)]) => Duration::try_from_secs_f32(*value).ok(),
        _ => None,
    }
}

/// `text.parse::<T>()` for a type of this canonical path, when it is `Ok`. An integer may be out of its range.
pub(super) fn parsed(ty: &str, text: &str) -> Option<Val> {
    match ty {
        "bool" => text.parse().ok().map(Val::Bool),
        "f32" => text.parse().ok().map(Val::F32),
        "f64" => text.parse().ok().map(Val::F64),
        "std::string::String" => Some(Val::Str(text.to_owned())),
        "std::net::IpAddr" => text.parse::<IpAddr>().ok().map(|address| written(&address)),
        "std::net::Ipv4Addr" => text.parse::<Ipv4Addr>().ok().map(|address| written(&address)),
        "std::net::Ipv6Addr" => text.parse::<Ipv6Addr>().ok().map(|address| written(&address)),
        "std::net::SocketAddr" => text.parse::<SocketAddr>().ok().map(|address| written(&address)),
        ty => {
            let (min, _) = range(ty)?;
            // Not even `-0` is one without a sign.
            let number = if min < 0 || !text.starts_with('-') { text.parse().ok() } else { None };
            number.map(Val::Int)
        }
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
