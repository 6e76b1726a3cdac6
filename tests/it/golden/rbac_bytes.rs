//! Random bytes as an audit log or a role file give a result or an error with a line number, never a panic.

use std::collections::BTreeSet;
use std::path::Path;

use memcached_sdk::diagnostic::Diagnostics;
use memcached_sdk::rbac::audit::{self, Relevant, Verification};
use memcached_sdk::rbac::declared::{Grant, Home, RoleManifests};
use memcached_sdk::rbac::lint::RoleComparison;

use crate::random::Random;

const ROUNDS: u64 = 2_000;
const USER: &str = "system:serviceaccount:operators:operator";

fn fixture(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)).unwrap()
}

/// Fragments with a meaning for one of the parsers.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\"",
    b"'",
    b"\\",
    b"\\u",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"null",
    b"---\n",
    b"...\n",
    b"- ",
    b"  ",
    b"\t",
    b"|\n",
    b"&a ",
    b"*a",
    b"<<: *a",
    b"!!binary ",
    b"%YAML 9\n",
    b"#",
    b"{{ .Values }}",
    b"rules:\n",
    b"items: [",
    b"kind: RoleList\n",
    b"1e999",
    b"-0",
    b"99999999999999999999",
];

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = usize::try_from(random.below(bytes.len() as u64 + 1)).unwrap();
        let rest = bytes.len() - at;
        let length = usize::try_from(random.below(40)).unwrap().min(rest);
        match random.below(6) {
            0 => drop(bytes.drain(at..at + length)),
            1 if rest > 0 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            2 => {
                let copy = bytes[at..at + length].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes.truncate(at.max(1)),
            4 => {
                let deep = [b'[', b'{'][usize::from(random.percent(50))];
                let count = usize::try_from(random.below(5_000)).unwrap();
                bytes.splice(at..at, std::iter::repeat_n(deep, count));
            }
            _ => {
                let piece = PIECES[usize::try_from(random.below(PIECES.len() as u64)).unwrap()];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Invalid JSON lines are reported, the first ones with their numbers. Unchanged lines still count.
#[test]
fn any_bytes_are_events_or_lines_that_are_none() {
    let whole: Vec<Vec<u8>> = ["clean.log", "refused.log", "shed.log", "list.log", "admin.log"]
        .iter()
        .flat_map(|name| lines(&fixture(&format!("rbac-verify/{name}"))))
        .filter(|line| !line.is_empty())
        .collect();
    let mut broken = 0;
    for seed in 0..ROUNDS {
        let mut random = Random(seed);
        let mut log: Vec<(Vec<u8>, bool)> = Vec::new();
        for _ in 0..random.below(8) {
            let mut line = whole[usize::try_from(random.below(whole.len() as u64)).unwrap()].clone();
            let changed = random.percent(60);
            if changed {
                change(&mut line, &mut random);
            }
            log.extend(lines(&line).into_iter().map(|line| (line, changed)));
        }
        let text: Vec<u8> = log.iter().flat_map(|(line, _)| line.iter().copied().chain([b'\n'])).collect();
        let tally = audit::read(text.as_slice(), USER, &Relevant::default()).unwrap();
        let verification =
            Verification { grants: &[], usages: &[], home: &Home::default(), log: "log", by_hand: false };
        let found = verification.findings(&tally);
        let _ = found.render(false);
        let told: BTreeSet<usize> = found.iter().filter_map(|found| number(&found.message)).collect();
        let more = found
            .iter()
            .filter_map(|found| found.message.strip_suffix(" more lines are not audit events either"))
            .next();
        let more: usize = more.map_or(0, |number| number.parse().unwrap());
        for (index, (line, changed)) in log.iter().enumerate() {
            let number = index + 1;
            assert!(*changed || !told.contains(&number), "seed {seed}: line {number} is an event");
            let is_json = line.trim_ascii().is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
            assert!(is_json || more > 0 || told.contains(&number), "seed {seed}: line {number} is passed over");
        }
        assert!(told.iter().all(|number| (1..=log.len()).contains(number)), "seed {seed}: {told:?}");
        broken += told.len() + more;
    }
    assert!(broken > 500, "only {broken} lines were broken");
}

fn number(message: &str) -> Option<usize> {
    let (number, _) = message.strip_prefix("line ")?.split_once(" is not an audit event")?;
    Some(number.parse().unwrap())
}

/// A role file is evaluated, or the error names one of its lines.
#[test]
fn any_bytes_are_roles_or_a_line_that_is_wrong() {
    let whole = fixture("rbac-lint/roles.yaml");
    let (mut read, mut wrong) = (0, 0);
    for seed in 0..ROUNDS {
        let mut bytes = whole.clone();
        change(&mut bytes, &mut Random(seed));
        let mut manifests = RoleManifests::default();
        match manifests.read("roles.yaml", &bytes) {
            Ok(()) => {
                read += 1;
                let _ = findings(&manifests.grants(&Home::default(), &BTreeSet::new())).render(false);
            }
            Err(problem) => {
                wrong += 1;
                let number = problem.message.strip_prefix("`roles.yaml:").and_then(|rest| rest.split_once('`'));
                let number: usize = number.unwrap_or_else(|| panic!("seed {seed}: {problem}")).0.parse().unwrap();
                let last = lines(&bytes).len();
                assert!((1..=last).contains(&number), "seed {seed}: line {number} of {last}: {problem}");
            }
        }
    }
    assert!(read > 200 && wrong > 200, "{read} read, {wrong} wrong");
}

fn findings(grants: &[Grant]) -> Diagnostics {
    let home = Home::default();
    let comparison = RoleComparison {
        usages: &[],
        doubts: &[],
        grants,
        optional: &[],
        waived: &[],
        served: &Default::default(),
        home: &home,
        by_hand: true,
    };
    comparison.findings(&comparison.missing(|_| true))
}

/// Line numbers count from the start of the file, not of the YAML document.
#[test]
fn the_line_that_is_wrong_is_named() {
    for (text, message) in [
        (&b"a: 1\n---\nb: 2\nrules:\n- [\n---\n"[..], "`f.yaml:5` is not valid YAML: "),
        (b"a: 1\n---\nb: {{ .Values.x }}\n", "`f.yaml:3` is not valid YAML: "),
        (b"a: 1\n---\n\xff\n", "`f.yaml:3` is not valid UTF-8"),
    ] {
        let problem = RoleManifests::default().read("f.yaml", text).unwrap_err();
        assert!(problem.message.starts_with(message), "{problem}");
    }
}
