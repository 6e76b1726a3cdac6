mod a;
#[path = "lib.rs"]
mod again;
//- src/a.rs
#[path = "a.rs"]
mod b;
use super::*;
#[derive(kube::CustomResource)]
struct S;
