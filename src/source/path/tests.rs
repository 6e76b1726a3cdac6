use super::super::Namespace::{self, Macros, Types, Values};
use super::super::tests::{load, show};

#[track_caller]
fn check(package: &str, cases: &[(&str, &str, Namespace, &str)]) {
    let (tree, _) = load(package);
    for (module, path, namespace, expected) in cases {
        assert_eq!(show(&tree, module, path, *namespace), *expected, "`{path}` in `{module}`");
    }
}

#[test]
fn local_names() {
    check(
        r#"
//- src/lib.rs
pub mod a { pub struct A; struct Private; pub enum E { V, W(u8) } pub fn f() {} impl A { pub fn new() {} }
pub mod deep { pub struct Deep; pub use super::super::b::B as Renamed; } }
mod b { pub struct B; pub use crate::a::deep::Renamed as Back; pub use self::B as Other; }
mod globs { use crate::a::*; use super::b::{self, *}; use crate::a::E::*; mod inner { use super::*; } }
pub use a::deep as d;
use a::{A as X, deep::{self, Deep}};
type Alias = a::A;
struct r#type;
"#,
        &[
            ("op", "X", Types, "op::a::A"),
            ("op", "Deep", Types, "op::a::deep::Deep"),
            ("op", "deep::Deep", Types, "op::a::deep::Deep"),
            ("op", "d::Renamed", Types, "op::b::B"),
            ("op::b", "Back", Types, "op::b::B"),
            ("op::b", "Other", Types, "op::b::B"),
            ("op::b", "super::a::A", Types, "op::a::A"),
            ("op::a::deep", "super::super::X", Types, "op::a::A"),
            ("op::a::deep", "self::super::A", Types, "op::a::A"),
            ("op::globs", "A", Types, "op::a::A"),
            ("op::globs", "B", Types, "op::b::B"),
            ("op::globs", "b::B", Types, "op::b::B"),
            ("op::globs", "W", Values, "op::a::E.W"),
            ("op::globs::inner", "A", Types, "op::a::A"),
            ("op::globs::inner", "deep::Deep", Types, "op::a::deep::Deep"),
            ("op::globs", "Private", Types, "cannot find `Private`"),
            ("op", "a::E::V", Values, "op::a::E.V"),
            ("op", "a::f", Values, "op::a::f"),
            ("op", "a::f", Types, "cannot find `f` in `op::a`"),
            ("op", "X::new", Values, "op::a::A.new"),
            ("op", "Alias", Types, "op::Alias"),
            ("op", "r#type", Types, "op::type"),
            ("op", "crate::nothing::A", Types, "cannot find `nothing` in `op`"),
            ("op", "super::A", Types, "too many leading `super`: there are no modules above the crate root"),
            ("op", "Self", Types, "`Self` is only valid in an `impl`"),
        ],
    );
}

#[test]
fn names_of_other_crates() {
    check(
        r#"
//- Cargo.toml
[package]
name = "op"
edition = "2024"
[dependencies]
kube = "5"
k8s = { package = "k8s-openapi", version = "0.29" }
serde = "1"
schemars = "1"
kube-derive = "5"
//- src/lib.rs
use kube::CustomResource as CR;
use url::Url;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::*;
use k8s::apimachinery::pkg::apis::meta::v1::Condition;
pub use k8s::api::core::v1 as core_v1;
use std::{collections::{BTreeMap, HashMap as Map}, option::Option as Maybe};
use core::option;
extern crate alloc as memory;
mod namesake { use serde::{serde, Serialize}; use k8s::a::b::k8s; use k8s::api::core::v1 as core; mod local { pub mod local {} }
mod x { use super::local::local; } }
mod renamed { use ::serde::de as serde; }
mod child { use super::core_v1::PodSpec; use k8s::api::apps::v1::*; }
mod shadow { pub struct Option; pub struct String; pub struct u8; }
mod shadowed { use super::shadow::*; }
"#,
        &[
            ("op", "CR", Macros, "extern kube::CustomResource"),
            ("op", "CustomResource", Macros, "extern kube::CustomResource"),
            ("op", "JsonSchema", Macros, "extern schemars::JsonSchema"),
            ("op", "JsonSchema", Types, "extern schemars::JsonSchema"),
            ("op", "Serialize", Macros, "extern serde::Serialize"),
            ("op", "serde::Deserialize", Macros, "extern serde::Deserialize"),
            ("op", "::serde::Deserialize", Macros, "extern serde::Deserialize"),
            ("op", "Clone", Macros, "extern std::clone::Clone"),
            ("op", "Condition", Types, "extern k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition"),
            ("op", "core_v1::Pod", Types, "extern k8s_openapi::api::core::v1::Pod"),
            ("op::child", "PodSpec", Types, "extern k8s_openapi::api::core::v1::PodSpec"),
            ("op", "BTreeMap", Types, "extern std::collections::BTreeMap"),
            ("op", "Map", Types, "extern std::collections::HashMap"),
            ("op", "Maybe", Types, "extern std::option::Option"),
            ("op", "option::Option", Types, "extern std::option::Option"),
            ("op", "Option", Types, "extern std::option::Option"),
            ("op", "memory::vec::Vec", Types, "extern std::vec::Vec"),
            ("op", "::std::string::String", Types, "extern std::string::String"),
            ("op", "u8", Types, "primitive u8"),
            ("op::namesake", "serde", Macros, "extern serde::serde"),
            ("op::namesake", "Serialize", Macros, "extern serde::Serialize"),
            ("op::namesake", "serde::Deserialize", Types, "extern serde::Deserialize"),
            ("op::namesake", "k8s", Macros, "extern k8s_openapi::a::b::k8s"),
            ("op::namesake", "core::Pod", Types, "extern k8s_openapi::api::core::v1::Pod"),
            ("op::renamed", "serde::Error", Types, "extern serde::de::Error"),
            ("op::namesake::x", "local", Types, "op::namesake::local::local"),
            ("op", "Some", Values, "extern std::option::Option::Some"),
            ("op::shadowed", "Option", Types, "op::shadow::Option"),
            ("op::shadowed", "String", Types, "op::shadow::String"),
            ("op::shadowed", "u8", Types, "op::shadow::u8"),
            ("op::child", "Deployment", Types, "extern k8s_openapi::api::apps::v1::Deployment"),
            (
                "op::child",
                "crate::unknown::Thing",
                Types,
                "cannot find `unknown` in `op`; it may come from `use serde::*`, a glob import of another crate",
            ),
            (
                "op",
                "Url",
                Types,
                "cannot find `Url`: cannot resolve `use url::Url`; `url` is neither a module nor a dependency in \
                 `Cargo.toml`",
            ),
            (
                "op::shadow",
                "unknown::Thing",
                Types,
                "cannot find `unknown`; `Cargo.toml` has no dependency with that name",
            ),
        ],
    );
}

#[test]
fn glob_cycles_end() {
    check(
        r#"
//- src/lib.rs
mod a { pub use super::b::*; pub struct A; }
mod b { pub use super::c::*; pub struct B; }
mod c { pub use super::a::*; pub use super::b::*; pub use super::c::*; pub struct C; }
pub use a::*;
mod chain { use super::one::x::Y; }
pub mod one { pub use super::two::*; }
pub mod two { pub use super::three::*; }
pub mod three { pub mod x { pub struct Y; } }
mod cycle1 { pub use super::cycle2::Nothing; }
mod cycle2 { pub use super::cycle1::Nothing; }
"#,
        &[
            ("op", "A", Types, "op::a::A"),
            ("op", "B", Types, "op::b::B"),
            ("op", "C", Types, "op::c::C"),
            ("op::c", "A", Types, "op::a::A"),
            ("op::a", "C", Types, "op::c::C"),
            ("op::chain", "Y", Types, "op::three::x::Y"),
            ("op::cycle1", "Nothing", Types, "cannot find `Nothing`: cannot resolve `use super::cycle2::Nothing`"),
        ],
    );
}

#[test]
fn what_can_not_be_told_is_said() {
    check(
        r#"
//- src/lib.rs
macro_rules! newtype { ($name:ident) => { struct $name(u8); } }

newtype!(HostName);
mod user { use super::HostName; }
mod broken;
mod two { #[cfg(unix)] pub struct T; #[cfg(windows)] pub struct T; #[cfg(unix)] pub struct One; }
mod globs { mod x { pub struct S; } mod y { pub struct S; } use x::*; use y::*; }
mod explicit { mod x { pub struct S; } mod y { pub struct S; } use x::*; use y::S; }
//- src/broken.rs
struct
"#,
        &[
            (
                "op",
                "HostName",
                Types,
                "cannot find `HostName`; it may be generated by a macro that this tool does not expand: \
                 `newtype!` at src/lib.rs:3:1",
            ),
            (
                "op::user",
                "HostName",
                Types,
                "cannot find `HostName`: cannot resolve `use super::HostName`; it may be generated by a macro that \
                 this tool does not expand: `newtype!` at src/lib.rs:3:1",
            ),
            ("op", "newtype", Macros, "op::newtype"),
            ("op", "broken::S", Types, "cannot find `S` in `op::broken`; cannot read the file of that module"),
            ("op", "two::T", Types, "`T` is ambiguous: multiple imports or declarations of `T`"),
            ("op", "two::One", Types, "op::two::One"),
            ("op::globs", "S", Types, "`S` is ambiguous: multiple imports or declarations of `S`"),
            ("op::explicit", "S", Types, "op::explicit::y::S"),
        ],
    );
}

#[test]
fn binaries_and_path_dependencies() {
    check(
        r#"
//- Cargo.toml
[package]
name = "op"
edition = "2024"
[workspace]
[dependencies]
types = { path = "types", package = "op-types", features = ["extra"] }
//- src/lib.rs
pub mod api { pub struct Memcached; pub use types::Shared; }
//- src/main.rs
use op::api::{Memcached, Shared};
mod local { pub struct Memcached; }
//- types/Cargo.toml
[package]
name = "op-types"
edition = "2024"
[features]
extra = []
//- types/src/lib.rs
pub struct Shared;
#[cfg(feature = "extra")] pub struct Extra;
#[cfg(feature = "more")] pub struct More;
"#,
        &[
            ("op", "api::Memcached", Types, "op::api::Memcached"),
            ("op", "types::Extra", Types, "op_types::Extra"),
            ("op", "types::More", Types, "cannot find `More` in `op_types`"),
            ("op::api", "Shared", Types, "op_types::Shared"),
        ],
    );
}
