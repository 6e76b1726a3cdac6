//! The binary: runs the command line and returns the exit code.

use std::process::ExitCode;

/// Source code and schemas are trees of small allocations: glibc's allocator takes a third of the run time.
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
