//! The table of types with a linked `JsonSchema` impl, by canonical path.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::k8s;
pub(crate) use super::linked::{LinkedType, ValueKind};
use super::slot::Slot;

pub(crate) fn lookup(path: &str) -> Option<&'static LinkedType> {
    static TABLE: LazyLock<BTreeMap<&'static str, &'static LinkedType>> =
        LazyLock::new(|| STD.iter().chain(k8s::types()).map(|known| (known.path, known)).collect());
    TABLE.get(path).copied()
}

pub(crate) fn tuple(arity: usize) -> Option<&'static LinkedType> {
    TUPLES.get(arity)
}

pub(crate) fn array(length: usize) -> Option<&'static LinkedType> {
    ARRAYS.get(length)
}

/// `[T]`, behind a pointer.
pub(crate) fn slice() -> &'static LinkedType {
    static SLICE: LinkedType = LinkedType::of::<[Slot<0>]>("[T]", 1, ValueKind::Slice);
    &SLICE
}

pub(crate) fn reference() -> &'static LinkedType {
    static REFERENCE: LinkedType = LinkedType::of::<&Slot<0>>("&", 1, ValueKind::Reference);
    &REFERENCE
}

macro_rules! std_types {
    (integers { $($int:ident as $range:ident)* } $($kind:ident { $($path:literal $arity:literal $ty:ty;)* })*) => {
        #[allow(clippy::disallowed_types, clippy::zero_sized_map_values, reason = "types of users, which hold nothing here")]
        #[allow(clippy::cast_lossless, reason = "`From` is not const")]
        static STD: &[LinkedType] = &[
            $(LinkedType::of::<$int>(stringify!($int), 0, ValueKind::Integer($range::MIN as i128, $range::MAX as i128)),)*
            $($(LinkedType::of::<$ty>($path, $arity, ValueKind::$kind),)*)*
        ];
    };
}

std_types! {
    integers {
        i8 as i8 i16 as i16 i32 as i32 i64 as i64 i128 as i128 isize as i64
        u8 as u8 u16 as u16 u32 as u32 u64 as u64 usize as u64
    }
    Bool { "bool" 0 bool; }
    Char { "char" 0 char; }
    Str { "str" 0 str; }
    U128 { "u128" 0 u128; }
    F32 { "f32" 0 f32; }
    F64 { "f64" 0 f64; }
    String { "std::string::String" 0 String; }
    Option { "std::option::Option" 1 Option<Slot<0>>; }
    Vec { "std::vec::Vec" 1 Vec<Slot<0>>; }
    Box { "std::boxed::Box" 1 Box<Slot<0>>; }
    Shared {
        "std::rc::Rc" 1 std::rc::Rc<Slot<0>>;
        "std::sync::Arc" 1 std::sync::Arc<Slot<0>>;
    }
    TreeMap { "std::collections::BTreeMap" 2 std::collections::BTreeMap<Slot<0>, Slot<1>>; }
    HashMap { "std::collections::HashMap" 2 std::collections::HashMap<Slot<0>, Slot<1>>; }
    TreeSet { "std::collections::BTreeSet" 1 std::collections::BTreeSet<Slot<0>>; }
    HashSet { "std::collections::HashSet" 1 std::collections::HashSet<Slot<0>>; }
    List { "std::collections::VecDeque" 1 std::collections::VecDeque<Slot<0>>; }
    Phantom { "std::marker::PhantomData" 1 std::marker::PhantomData<Slot<0>>; }
    Other {
        "std::num::NonZeroI8" 0 std::num::NonZeroI8;
        "std::num::NonZeroU8" 0 std::num::NonZeroU8;
        "std::num::NonZeroI16" 0 std::num::NonZeroI16;
        "std::num::NonZeroU16" 0 std::num::NonZeroU16;
        "std::num::NonZeroI32" 0 std::num::NonZeroI32;
        "std::num::NonZeroU32" 0 std::num::NonZeroU32;
        "std::num::NonZeroI64" 0 std::num::NonZeroI64;
        "std::num::NonZeroU64" 0 std::num::NonZeroU64;
        "std::num::NonZeroIsize" 0 std::num::NonZeroIsize;
        "std::num::NonZeroUsize" 0 std::num::NonZeroUsize;
        "std::net::IpAddr" 0 std::net::IpAddr;
        "std::net::Ipv4Addr" 0 std::net::Ipv4Addr;
        "std::net::Ipv6Addr" 0 std::net::Ipv6Addr;
        "std::net::SocketAddr" 0 std::net::SocketAddr;
        "std::net::SocketAddrV4" 0 std::net::SocketAddrV4;
        "std::net::SocketAddrV6" 0 std::net::SocketAddrV6;
        "serde_json::value::Number" 0 serde_json::Number;
        "serde_json::Number" 0 serde_json::Number;
        "chrono::DateTime" 0 chrono::DateTime<chrono::Utc>;
        "chrono::NaiveDate" 0 chrono::NaiveDate;
        "chrono::NaiveDateTime" 0 chrono::NaiveDateTime;
        "chrono::NaiveTime" 0 chrono::NaiveTime;
        "chrono::TimeDelta" 0 chrono::TimeDelta;
        "chrono::Weekday" 0 chrono::Weekday;
        "jiff::SignedDuration" 0 jiff::SignedDuration;
        "jiff::Span" 0 jiff::Span;
        "jiff::Timestamp" 0 jiff::Timestamp;
        "jiff::Zoned" 0 jiff::Zoned;
        "jiff::civil::Date" 0 jiff::civil::Date;
        "jiff::civil::DateTime" 0 jiff::civil::DateTime;
        "jiff::civil::Time" 0 jiff::civil::Time;
        "kube_core::Duration" 0 kube::core::Duration;
        "rust_decimal::Decimal" 0 rust_decimal::Decimal;
        "semver::Version" 0 semver::Version;
        "url::Url" 0 url::Url;
    }
    Path { "std::path::PathBuf" 0 std::path::PathBuf; }
    Duration { "std::time::Duration" 0 std::time::Duration; }
    Cow {
        // schemars gives it the schema of its owned form.
        "std::borrow::Cow" 1 Box<Slot<0>>;
    }
    Schema { "schemars::Schema" 0 schemars::Schema; }
    Json {
        "serde_json::value::Value" 0 serde_json::Value;
        "serde_json::Value" 0 serde_json::Value;
    }
    JsonMap { "serde_json::Map" 2 serde_json::Map<String, serde_json::Value>; }
    IndexMap { "indexmap::IndexMap" 2 indexmap::IndexMap<Slot<0>, Slot<1>>; }
    IndexSet { "indexmap::IndexSet" 1 indexmap::IndexSet<Slot<0>>; }
    Uuid { "uuid::Uuid" 0 uuid::Uuid; }
}

/// The features of schemars with impls for types of other packages. The lock file selects between alternatives.
pub(crate) const FEATURES: [(&str, &str); 7] = [
    ("chrono", "chrono04"),
    ("indexmap", "indexmap2"),
    ("jiff", "jiff02"),
    ("rust_decimal", "rust_decimal1"),
    ("semver", "semver1"),
    ("url", "url2"),
    ("uuid", "uuid1"),
];

macro_rules! tuples {
    ($($arity:literal ($($n:literal)*);)*) => {
        static TUPLES: &[LinkedType] = &[$(LinkedType::of::<($(Slot<$n>,)*)>("()", $arity, ValueKind::Tuple($arity))),*];
    };
}

tuples! {
    0 (); 1 (0); 2 (0 1); 3 (0 1 2); 4 (0 1 2 3); 5 (0 1 2 3 4); 6 (0 1 2 3 4 5); 7 (0 1 2 3 4 5 6);
    8 (0 1 2 3 4 5 6 7); 9 (0 1 2 3 4 5 6 7 8); 10 (0 1 2 3 4 5 6 7 8 9); 11 (0 1 2 3 4 5 6 7 8 9 10);
    12 (0 1 2 3 4 5 6 7 8 9 10 11); 13 (0 1 2 3 4 5 6 7 8 9 10 11 12); 14 (0 1 2 3 4 5 6 7 8 9 10 11 12 13);
    15 (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14); 16 (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

macro_rules! arrays {
    ($($length:literal)*) => {
        static ARRAYS: &[LinkedType] = &[$(LinkedType::of::<[Slot<0>; $length]>("[]", 1, ValueKind::Array($length))),*];
    };
}

arrays! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 }
