//! Catches panics of user code. A panic ends the call that caused it, and nothing else.
//!
//! Shared state may be half changed after a panic. Locks record that (poisoning).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;

/// Calls `call`. The error is the message of its panic.
pub(crate) fn call<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message(&*panic))
}

/// Awaits `running`. The error is the message of its panic.
pub(crate) async fn run<T>(running: impl Future<Output = T>) -> Result<T, String> {
    let caught = AssertUnwindSafe(running).catch_unwind().await;
    caught.map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
