//! The types whose real `JsonSchema` impls are linked here, by canonical path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::k8s;
use super::slot::Slot;

/// The functions of one impl.
pub(super) struct Impl {
    pub(super) inline: fn() -> bool,
    pub(super) name: fn() -> Cow<'static, str>,
    pub(super) id: fn() -> Cow<'static, str>,
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(super) non_optional: fn(&mut SchemaGenerator) -> Schema,
    pub(super) is_option: fn() -> bool,
}

/// A type with a real impl.
pub struct Known {
    /// Canonical path, the real package first: `std::vec::Vec`, `k8s_openapi::api::core::v1::PodSpec`.
    pub path: &'static str,
    /// Number of type arguments that matter.
    pub arity: usize,
    /// `serde_json::to_value(T::default())`, where that is known.
    pub default: Option<fn() -> Value>,
    pub(super) imp: Impl,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.path)
    }
}

pub(super) const fn known<T: JsonSchema + ?Sized>(path: &'static str, arity: usize) -> Known {
    let imp = Impl {
        inline: T::inline_schema,
        name: T::schema_name,
        id: T::schema_id,
        schema: T::json_schema,
        non_optional: T::_schemars_private_non_optional_json_schema,
        is_option: T::_schemars_private_is_option,
    };
    Known { path, arity, default: None, imp }
}

impl Known {
    /// `JsonSchema::schema_name`, for a type without arguments.
    pub fn name(&self) -> Option<String> {
        (self.arity == 0).then(|| (self.imp.name)().into_owned())
    }

    /// `JsonSchema::schema_id`, for a type without arguments.
    pub fn id(&self) -> Option<String> {
        (self.arity == 0).then(|| (self.imp.id)().into_owned())
    }

    /// Its impl is that of `BTreeMap`.
    pub(super) fn is_map(&self) -> bool {
        ["std::collections::BTreeMap", "std::collections::HashMap", "indexmap::IndexMap"].contains(&self.path)
    }

    pub(super) const fn with_default(self, default: fn() -> Value) -> Known {
        Known { default: Some(default), ..self }
    }
}

/// The known type of a canonical path.
pub fn lookup(path: &str) -> Option<&'static Known> {
    static TABLE: LazyLock<BTreeMap<&'static str, &'static Known>> =
        LazyLock::new(|| STD.iter().chain(k8s::types()).map(|known| (known.path, known)).collect());
    TABLE.get(path).copied()
}

/// `(A, B, …)` of this many elements.
pub fn tuple(arity: usize) -> Option<&'static Known> {
    TUPLES.get(arity)
}

/// `[T; length]`.
pub fn array(length: usize) -> Option<&'static Known> {
    ARRAYS.get(length)
}

/// The length of a type of [`array`].
pub fn array_length(known: &Known) -> Option<usize> {
    ARRAYS.iter().position(|array| std::ptr::eq(array, known))
}

/// `[T]`, behind a pointer.
pub fn slice() -> &'static Known {
    static SLICE: Known = known::<[Slot<0>]>("[T]", 1);
    &SLICE
}

/// `ArrayVec<T, capacity>`.
pub fn array_vec(capacity: usize) -> Option<&'static Known> {
    ARRAY_VECS.get(capacity)
}

/// `&T`.
pub fn reference() -> &'static Known {
    static REFERENCE: Known = known::<&Slot<0>>("&", 1);
    &REFERENCE
}

macro_rules! std_types {
    ($($path:literal $arity:literal $ty:ty;)*) => {
        #[allow(clippy::disallowed_types, clippy::zero_sized_map_values, reason = "types of users, which hold nothing here")]
        static STD: &[Known] = &[$(known::<$ty>($path, $arity)),*];
    };
}

std_types! {
    "bool" 0 bool; "char" 0 char; "str" 0 str;
    "i8" 0 i8; "i16" 0 i16; "i32" 0 i32; "i64" 0 i64; "i128" 0 i128; "isize" 0 isize;
    "u8" 0 u8; "u16" 0 u16; "u32" 0 u32; "u64" 0 u64; "u128" 0 u128; "usize" 0 usize;
    "f32" 0 f32; "f64" 0 f64;
    "std::string::String" 0 String;
    "std::option::Option" 1 Option<Slot<0>>;
    "std::result::Result" 2 Result<Slot<0>, Slot<1>>;
    "std::vec::Vec" 1 Vec<Slot<0>>;
    "std::boxed::Box" 1 Box<Slot<0>>;
    "std::rc::Rc" 1 std::rc::Rc<Slot<0>>;
    "std::sync::Arc" 1 std::sync::Arc<Slot<0>>;
    "std::collections::BTreeMap" 2 std::collections::BTreeMap<Slot<0>, Slot<1>>;
    "std::collections::HashMap" 2 std::collections::HashMap<Slot<0>, Slot<1>>;
    "std::collections::BTreeSet" 1 std::collections::BTreeSet<Slot<0>>;
    "std::collections::HashSet" 1 std::collections::HashSet<Slot<0>>;
    "std::collections::VecDeque" 1 std::collections::VecDeque<Slot<0>>;
    "std::collections::LinkedList" 1 std::collections::LinkedList<Slot<0>>;
    "std::collections::BinaryHeap" 1 std::collections::BinaryHeap<Slot<0>>;
    "std::marker::PhantomData" 1 std::marker::PhantomData<Slot<0>>;
    "std::num::Wrapping" 1 std::num::Wrapping<Slot<0>>;
    "std::num::NonZeroI8" 0 std::num::NonZeroI8; "std::num::NonZeroU8" 0 std::num::NonZeroU8;
    "std::num::NonZeroI16" 0 std::num::NonZeroI16; "std::num::NonZeroU16" 0 std::num::NonZeroU16;
    "std::num::NonZeroI32" 0 std::num::NonZeroI32; "std::num::NonZeroU32" 0 std::num::NonZeroU32;
    "std::num::NonZeroI64" 0 std::num::NonZeroI64; "std::num::NonZeroU64" 0 std::num::NonZeroU64;
    "std::num::NonZeroIsize" 0 std::num::NonZeroIsize; "std::num::NonZeroUsize" 0 std::num::NonZeroUsize;
    "std::path::PathBuf" 0 std::path::PathBuf;
    "std::net::IpAddr" 0 std::net::IpAddr;
    "std::net::Ipv4Addr" 0 std::net::Ipv4Addr;
    "std::net::Ipv6Addr" 0 std::net::Ipv6Addr;
    "std::net::SocketAddr" 0 std::net::SocketAddr;
    "std::net::SocketAddrV4" 0 std::net::SocketAddrV4;
    "std::net::SocketAddrV6" 0 std::net::SocketAddrV6;
    "std::time::Duration" 0 std::time::Duration;
    "std::time::SystemTime" 0 std::time::SystemTime;
    "std::ops::Range" 1 std::ops::Range<Slot<0>>;
    "std::ops::RangeInclusive" 1 std::ops::RangeInclusive<Slot<0>>;
    "std::ops::Bound" 1 std::ops::Bound<Slot<0>>;
    // Written like its owned form, as the impl of schemars says.
    "std::borrow::Cow" 1 Box<Slot<0>>;
    "std::rc::Weak" 1 std::rc::Weak<Slot<0>>;
    "std::sync::Weak" 1 std::sync::Weak<Slot<0>>;
    "std::sync::Mutex" 1 std::sync::Mutex<Slot<0>>;
    "std::sync::RwLock" 1 std::sync::RwLock<Slot<0>>;
    "std::cell::Cell" 1 std::cell::Cell<Slot<0>>;
    "std::cell::RefCell" 1 std::cell::RefCell<Slot<0>>;
    "std::cmp::Reverse" 1 std::cmp::Reverse<Slot<0>>;
    "std::ffi::OsString" 0 std::ffi::OsString;
    "std::ffi::CString" 0 std::ffi::CString;
    "std::sync::atomic::AtomicBool" 0 std::sync::atomic::AtomicBool;
    "std::sync::atomic::AtomicI32" 0 std::sync::atomic::AtomicI32;
    "std::sync::atomic::AtomicU32" 0 std::sync::atomic::AtomicU32;
    "std::sync::atomic::AtomicI64" 0 std::sync::atomic::AtomicI64;
    "std::sync::atomic::AtomicU64" 0 std::sync::atomic::AtomicU64;
    "std::sync::atomic::AtomicUsize" 0 std::sync::atomic::AtomicUsize;
    "schemars::Schema" 0 schemars::Schema;
    "serde_json::value::Value" 0 serde_json::Value;
    "serde_json::value::Number" 0 serde_json::Number;
    "serde_json::Value" 0 serde_json::Value;
    "serde_json::Number" 0 serde_json::Number;
    "serde_json::Map" 2 serde_json::Map<String, serde_json::Value>;
    "arrayvec::ArrayString" 0 arrayvec::ArrayString<0>;
    "bigdecimal::BigDecimal" 0 bigdecimal::BigDecimal;
    "bytes::Bytes" 0 bytes::Bytes;
    "bytes::BytesMut" 0 bytes::BytesMut;
    "chrono::DateTime" 0 chrono::DateTime<chrono::Utc>;
    "chrono::NaiveDate" 0 chrono::NaiveDate;
    "chrono::NaiveDateTime" 0 chrono::NaiveDateTime;
    "chrono::NaiveTime" 0 chrono::NaiveTime;
    "chrono::TimeDelta" 0 chrono::TimeDelta;
    "chrono::Weekday" 0 chrono::Weekday;
    "either::Either" 2 either::Either<Slot<0>, Slot<1>>;
    "indexmap::IndexMap" 2 indexmap::IndexMap<Slot<0>, Slot<1>>;
    "indexmap::IndexSet" 1 indexmap::IndexSet<Slot<0>>;
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
    // The argument is the item of the array that it is written with.
    "smallvec::SmallVec" 1 smallvec::SmallVec<[Slot<0>; 1]>;
    "smol_str::SmolStr" 0 smol_str::SmolStr;
    "url::Url" 0 url::Url;
    "uuid::Uuid" 0 uuid::Uuid;
}

/// The features of schemars that bring the impls for types of a package; the lock file says which of several is on.
pub const FEATURES: [(&str, &str); 13] = [
    ("arrayvec", "arrayvec07"),
    ("bigdecimal", "bigdecimal04"),
    ("bytes", "bytes1"),
    ("chrono", "chrono04"),
    ("either", "either1"),
    ("indexmap", "indexmap2"),
    ("jiff", "jiff02"),
    ("rust_decimal", "rust_decimal1"),
    ("semver", "semver1"),
    ("smallvec", "smallvec1"),
    ("smol_str", "smol_str03"),
    ("url", "url2"),
    ("uuid", "uuid1"),
];

macro_rules! tuples {
    ($($arity:literal ($($n:literal)*);)*) => {
        static TUPLES: &[Known] = &[$(known::<($(Slot<$n>,)*)>("()", $arity)),*];
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
        static ARRAYS: &[Known] = &[$(known::<[Slot<0>; $length]>("[]", 1)),*];
        static ARRAY_VECS: &[Known] = &[$(known::<arrayvec::ArrayVec<Slot<0>, $length>>("arrayvec::ArrayVec", 1)),*];
    };
}

arrays! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 }
