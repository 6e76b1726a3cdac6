use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "e.x", version = "v1", kind = "A")]
pub struct ASpec {
    #[serde(default = "d")]
    a: u64,
}

fn d() -> u64 {
    C0
}

const C0: u64 = C1 + C1;
const C1: u64 = C2 + C2;
const C2: u64 = C3 + C3;
const C3: u64 = C4 + C4;
const C4: u64 = C5 + C5;
const C5: u64 = C6 + C6;
const C6: u64 = C7 + C7;
const C7: u64 = C8 + C8;
const C8: u64 = C9 + C9;
const C9: u64 = C10 + C10;
const C10: u64 = C11 + C11;
const C11: u64 = C12 + C12;
const C12: u64 = C13 + C13;
const C13: u64 = C14 + C14;
const C14: u64 = C15 + C15;
const C15: u64 = C16 + C16;
const C16: u64 = C17 + C17;
const C17: u64 = C18 + C18;
const C18: u64 = C19 + C19;
const C19: u64 = C20 + C20;
const C20: u64 = C21 + C21;
const C21: u64 = C22 + C22;
const C22: u64 = C23 + C23;
const C23: u64 = C24 + C24;
const C24: u64 = C25 + C25;
const C25: u64 = C26 + C26;
const C26: u64 = C27 + C27;
const C27: u64 = C28 + C28;
const C28: u64 = C29 + C29;
const C29: u64 = C30 + C30;
const C30: u64 = 1;
