//! Replays `tests/fuzz/corpus`: inputs that made the program panic, hang or exhaust memory, or could do so. The fuzz
//! properties must hold for each.

#[allow(unreachable_pub, reason = "it is a public module of the package `fuzz`")]
#[path = "../../fuzz/src/properties.rs"]
mod properties;

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use properties::Outcome;

/// Generous: each input takes a second at most.
const LIMIT: Duration = Duration::from_secs(60);

/// The stack size of `main.rs`.
const STACK: usize = 256 << 20;

fn replay(target: &str, check: fn(&str) -> Outcome) {
    each(&format!("corpus/{target}"), check, |_, _| {});
}

fn each(folder: &str, check: fn(&str) -> Outcome, judge: impl Fn(&Path, Outcome)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(folder);
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        let (done, answer) = channel();
        let run = std::thread::Builder::new().stack_size(STACK).spawn(move || done.send(check(&text)));
        let ended = answer.recv_timeout(LIMIT);
        judge(&file, ended.unwrap_or_else(|error| panic!("{}: {error}", file.display())));
        run.unwrap().join().unwrap().unwrap();
    }
}

#[test]
fn any_source_gives_crds_or_findings() {
    replay("sources", properties::sources);
}

#[test]
fn any_marker_gives_a_role_or_findings() {
    replay("markers", properties::markers);
}

#[test]
fn any_comment_is_a_marker_or_a_finding() {
    replay("marker", properties::marker);
}

#[test]
fn any_code_gives_permissions_or_findings() {
    replay("permissions", properties::permissions);
}

/// A fuzzer that starts from refused inputs finds little.
#[test]
fn the_seeds_give_crds() {
    each("seeds/sources", properties::sources, |file, outcome| {
        assert_eq!(outcome, Outcome { parsed: true, generated: true, refused: false }, "{}", file.display());
    });
}
