//! The API server in memory, compared with the real one: random requests, their answers and the events of watches.
//!
//! `EXPLORER_REQUESTS` is the number of requests, `EXPLORER_SEED` the first seed. A difference prints the shortest prefix
//! of its sequence that still differs, and both answers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::ControlPlane;
use crate::wait;
use requests::{KINDS, Planned, crds, plan};
use sides::{Answer, InMemory, Real, Side};

mod children;
mod normal;
mod openapi;
mod requests;
mod sides;

/// Requests of one sequence, in one namespace.
const LENGTH: usize = 60;
/// The time in which the real server must learn of the end of a namespace. It admits objects by a cache of namespaces.
const CACHED: Duration = Duration::from_secs(10);

#[test]
fn answers_are_those_of_the_real_server() {
    let setting = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let requests = setting("EXPLORER_REQUESTS").unwrap_or(600);
    let first = setting("EXPLORER_SEED").unwrap_or(1);
    let mut plane = ControlPlane::start();
    // Controllers would write to the objects between two requests.
    plane.without_controllers();
    let (_proxy, address) = plane.without_tls();
    check_schemas(address);
    compare(address, first, requests);
}

/// The packed schemas are those of the real server; `SNAPSHOTS=overwrite` writes them.
pub(crate) fn check_schemas(address: SocketAddr) {
    sides::ready(address);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("explorer/src/schema/openapi.json");
    let packed = format!("{}\n", openapi::packed(address));
    if std::env::var_os("SNAPSHOTS").is_some_and(|mode| mode == "overwrite") {
        std::fs::write(file, packed).unwrap();
    } else {
        let stored = std::fs::read_to_string(file).unwrap();
        assert!(stored == packed, "the schemas have changed: run the test with SNAPSHOTS=overwrite");
    }
}

/// Runs sequences of requests on both servers until there were `requests`.
pub(crate) fn compare(address: SocketAddr, first: u64, requests: u64) {
    sides::ready(address);
    for crd in crds() {
        let path = format!("/apis/explorer.example.com/v1/{}", crd["spec"]["names"]["plural"].as_str().unwrap());
        let created =
            Real::new(address, 0).send(&Planned::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd));
        assert!(matches!(created.code, 201 | 409), "{}", created.body);
        sides::wait_for_kind(address, &path);
    }
    let sequences = requests.div_ceil(LENGTH as u64).max(1);
    let mut run = 0;
    let mut unsupported = BTreeMap::new();
    for seed in first..first + sequences {
        println!("seed {seed}");
        let planned = plan(seed, LENGTH);
        let Some(mut difference) = differ(address, &planned, &mut run, true, &mut unsupported) else { continue };
        // Requests after the difference are not needed; of those before it, each that may be left out is.
        let mut shortest = planned[..planned.len().min(difference.at + 1)].to_vec();
        let events = difference.at == planned.len();
        let mut at = shortest.len().saturating_sub(1);
        while at > 0 {
            at -= 1;
            let mut shorter = shortest.clone();
            shorter.remove(at);
            if let Some(found) = differ(address, &shorter, &mut run, events, &mut BTreeMap::new())
                .filter(|found| found.what == difference.what)
            {
                shortest = shorter;
                shortest.truncate(found.at + 1);
                at = at.min(shortest.len().saturating_sub(1));
                difference = found;
            }
        }
        let sequence: Vec<String> = shortest.iter().map(Planned::to_string).collect();
        let (real, memory) = (format!("{:#}", difference.real), format!("{:#}", difference.memory));
        let lines = similar::TextDiff::from_lines(&real, &memory);
        let lines = lines.unified_diff().context_radius(8).header("real", "in memory").to_string();
        panic!("seed {seed}: {}\n{}\n{lines}", difference.what, sequence.join("\n"));
    }
    println!("not compared: {unsupported:#?}");
    let skipped: u64 = unsupported.values().sum();
    assert!(skipped * 5 < sequences * LENGTH as u64, "too many requests answer 501");
}

/// The first difference of a sequence.
struct Difference {
    /// The index of the request, or the length of the sequence for an event.
    at: usize,
    what: String,
    real: Value,
    memory: Value,
}

/// Sends a sequence to both servers, and returns the first difference.
fn differ(
    address: SocketAddr,
    planned: &[Planned],
    run: &mut u64,
    watches: bool,
    unsupported: &mut BTreeMap<String, u64>,
) -> Option<Difference> {
    *run += 1;
    let mut real = Real::new(address, *run);
    let difference = difference(&mut real, *run, planned, watches, unsupported);
    real.clean();
    difference
}

/// True for a refusal because the namespace is being terminated.
fn ends(answer: &Answer) -> bool {
    answer.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
}

fn difference(
    real: &mut Real,
    run: u64,
    planned: &[Planned],
    watches: bool,
    unsupported: &mut BTreeMap<String, u64>,
) -> Option<Difference> {
    let mut memory = InMemory::new(run);
    let mut normals = (normal::Normal::default(), normal::Normal::default());
    let start = (real.start(), memory.start());
    for (at, request) in planned.iter().enumerate() {
        let found = memory.send(request);
        if found.code == 501 {
            // The real server does not see the request either.
            *unsupported.entry(found.body["message"].as_str().unwrap().to_owned()).or_default() += 1;
            continue;
        }
        let mut answers = (real.send(request), found);
        if ends(&answers.0) && !ends(&answers.1) {
            let _different = wait::until(CACHED, || {
                answers.0 = real.send(request);
                if ends(&answers.0) { Err("the namespace ends".to_owned()) } else { Ok(()) }
            });
        }
        let normal = |normal: &mut normal::Normal, answer: &Answer| json!({ "code": answer.code, "body": normal.of(&answer.body) });
        let (expected, found) = (normal(&mut normals.0, &answers.0), normal(&mut normals.1, &answers.1));
        if expected != found {
            let what = format!("{} {}", request.method, request.kind);
            return Some(Difference { at, what, real: expected, memory: found });
        }
    }
    if !watches {
        return None;
    }
    let watches = KINDS.map(|kind| (kind, real.watch(kind, &start.0), memory.watch(kind, &start.1)));
    for (kind, expected, found) in watches {
        let expected: Vec<Value> = expected.join().unwrap().iter().map(|event| normals.0.of(event)).collect();
        let found: Vec<Value> = found.iter().map(|event| normals.1.of(event)).collect();
        let (expected, found) = (Value::from(expected), Value::from(found));
        if expected != found {
            let at = planned.len();
            return Some(Difference { at, what: format!("events of {kind}"), real: expected, memory: found });
        }
    }
    None
}
