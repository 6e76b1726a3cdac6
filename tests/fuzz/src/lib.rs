//! Shared code of the fuzz targets: a watch for inputs that end the process, counters and mutators.

pub mod mutate;
mod object;
pub mod properties;
// Formatted like generated projects.
#[rustfmt::skip]
#[allow(dead_code, reason = "the manager uses all of it")]
pub mod webhook;

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use properties::Outcome;

/// The allocator of `main.rs`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Interval of writing the counters, in inputs.
const EVERY: u64 = 256;

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

struct Watch {
    current: Option<File>,
    counts: Option<File>,
    /// Inputs: all, parsed, generated and refused.
    numbers: [u64; 4],
}

/// Runs `check` on an input, with the stack size of the program.
///
/// The file `FUZZ_CURRENT` holds the current input, because a stack overflow ends the process before libFuzzer can save
/// it.
pub fn run(check: fn(&str) -> Outcome, input: &[u8]) {
    WATCH.with_borrow_mut(|watch| watch.get_or_insert_with(Watch::start).run(check, input));
    // proc_macro2 keeps every parsed text.
    proc_macro2::extra::invalidate_current_thread_spans();
}

impl Watch {
    fn start() -> Self {
        // libFuzzer's hook ends the process even for caught panics.
        std::panic::set_hook(Box::new(|info| eprintln!("{info}\n{}", std::backtrace::Backtrace::force_capture())));
        Self { current: open("FUZZ_CURRENT"), counts: open("FUZZ_COUNTS"), numbers: [0; 4] }
    }

    fn run(&mut self, check: fn(&str) -> Outcome, input: &[u8]) {
        if let Some(file) = &self.current {
            file.write_all_at(&(input.len() as u64).to_le_bytes(), 0).unwrap();
            file.write_all_at(input, 8).unwrap();
        }
        let text = String::from_utf8_lossy(input);
        let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| check(&text))) else { std::process::abort() };
        let Outcome { parsed, generated, refused } = outcome;
        for (number, more) in self.numbers.iter_mut().zip([true, parsed, generated, refused]) {
            *number += u64::from(more);
        }
        if let Some(file) = self.counts.as_ref().filter(|_| self.numbers[0].is_multiple_of(EVERY)) {
            let [inputs, parsed, generated, refused] = self.numbers;
            let line = format!("{inputs:12} {parsed:12} {generated:12} {refused:12}\n");
            file.write_all_at(line.as_bytes(), 0).unwrap();
        }
    }
}

fn open(variable: &str) -> Option<File> {
    let path = std::env::var_os(variable)?;
    Some(File::options().create(true).truncate(true).write(true).open(path).unwrap())
}
