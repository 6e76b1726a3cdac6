//! argv → exit code.

use std::process::ExitCode;

/// Source code and schemas are trees of small pieces: with the allocator of glibc a third of the time goes into them.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let run = || memcached_sdk::command::run(&std::env::args_os().collect::<Vec<_>>());
    match std::thread::Builder::new().stack_size(memcached_sdk::parallel::STACK).spawn(run) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        Err(_) => run(),
    }
}
