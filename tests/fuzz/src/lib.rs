//! What the fuzz targets share: a large stack, a watch on inputs that end the process, counts, and a mutator.

pub mod mutate;
pub mod properties;

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock};

use properties::Outcome;

/// As in `main.rs`.
const STACK: usize = 256 << 20;

/// Numbers are written once in so many inputs.
const EVERY: u64 = 256;

struct Worker {
    inputs: SyncSender<Vec<u8>>,
    done: Receiver<()>,
}

/// Runs `check` on an input, in a thread with the stack of the program.
///
/// The input is in the file `FUZZ_CURRENT` meanwhile: a stack overflow ends the process before libFuzzer can save it.
pub fn run(check: fn(&str) -> Outcome, input: &[u8]) {
    static WORKER: OnceLock<Mutex<Worker>> = OnceLock::new();
    let worker = WORKER.get_or_init(|| Mutex::new(start(check))).lock().unwrap();
    worker.inputs.send(input.to_vec()).unwrap();
    worker.done.recv().unwrap();
}

fn start(check: fn(&str) -> Outcome) -> Worker {
    // libFuzzer's hook ends the process at panics that are caught, too.
    std::panic::set_hook(Box::new(|info| eprintln!("{info}\n{}", std::backtrace::Backtrace::force_capture())));
    let (inputs, input) = sync_channel::<Vec<u8>>(1);
    let (finish, done) = sync_channel(1);
    let work = move || {
        let (current, counts) = (open("FUZZ_CURRENT"), open("FUZZ_COUNTS"));
        let mut numbers = [0_u64; 4];
        for bytes in input {
            if let Some(file) = &current {
                file.write_all_at(&(bytes.len() as u64).to_le_bytes(), 0).unwrap();
                file.write_all_at(&bytes, 8).unwrap();
            }
            let text = String::from_utf8_lossy(&bytes);
            let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| check(&text))) else { std::process::abort() };
            let Outcome { parsed, generated, refused } = outcome;
            for (number, more) in numbers.iter_mut().zip([true, parsed, generated, refused]) {
                *number += u64::from(more);
            }
            if let Some(file) = counts.as_ref().filter(|_| numbers[0] % EVERY == 0) {
                let [inputs, parsed, generated, refused] = numbers;
                let line = format!("{inputs:12} {parsed:12} {generated:12} {refused:12}\n");
                file.write_all_at(line.as_bytes(), 0).unwrap();
            }
            finish.send(()).unwrap();
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap();
    Worker { inputs, done }
}

fn open(variable: &str) -> Option<File> {
    let path = std::env::var_os(variable)?;
    Some(File::options().create(true).truncate(true).write(true).open(path).unwrap())
}
