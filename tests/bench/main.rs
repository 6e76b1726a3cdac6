//! Times the built binary against the tools that do the same work, and prints a table.
//!
//! Outputs are compared before anything is timed. The commands take turns, so that a change of the machine's speed meets
//! all of them. Everything happens in temporary folders; the work tree is only read.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use memcached_sdk::manifest::yaml;
use serde_json::Value;

const OURS: &str = env!("CARGO_BIN_EXE_memcached-sdk");
const RUNS: usize = 21;
/// cargo takes a second a time, the others milliseconds.
const CARGO_RUNS: usize = 10;

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        println!("run this with `cargo bench`");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let sample = home.path().join("memcached-operator");
    run(Command::new(OURS).args(["new", "memcached-operator", "--sample", "memcached"]).current_dir(home.path()));

    let peer = Peer::build(home.path());
    compare_with_controller_gen(&sample, &peer);
    println!("controller-gen and memcached-sdk agree on the role, the names and the fields of Memcached\n");

    let mut table = Table::default();
    let [ours, theirs] = alternate(RUNS, [&mut || generate(&sample), &mut || peer.command()]);
    table.add("generate, nothing changed", &ours, None);
    table.add("controller-gen crd rbac, on the same kind in Go", &theirs, Some(&ours));

    let crdgen = CompiledCrdgen::add_to(&sample);
    crdgen.compare(&sample);
    let [ours, theirs] = alternate(
        CARGO_RUNS,
        [
            &mut || {
                crdgen.touch();
                generate(&sample)
            },
            &mut || {
                crdgen.touch();
                crdgen.command()
            },
        ],
    );
    table.add("generate, a type touched", &ours, None);
    table.add("cargo run of a crdgen, a type touched", &theirs, Some(&ours));

    // Neither downloads anything nor looks for a toolchain: those times are cargo's.
    let script = "$0 init --quiet --domain example.com --project-name bench --fetch-deps=false --skip-toolchain-check && \
                  $0 create api --quiet --group cache --version v1alpha1 --kind Memcached";
    let mut number = 0;
    let new_project = &mut || {
        number += 1;
        let dir = home.path().join(format!("project-{number}"));
        std::fs::create_dir(&dir).unwrap();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(OURS).current_dir(dir);
        shell
    };
    let [both] = alternate(RUNS, [new_project]);
    table.add("init, then create api", &both, None);
    table.print();
}

/// `memcached-sdk generate` in the sample.
fn generate(sample: &Path) -> Command {
    let mut command = Command::new(OURS);
    command.args(["generate", "--quiet"]).current_dir(sample);
    command
}

/// controller-gen on the Go types of `tests/bench/go-project`.
struct Peer {
    program: PathBuf,
    out: PathBuf,
}

impl Peer {
    fn build(home: &Path) -> Self {
        let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-tools");
        run(Command::new("go")
            .arg("build")
            .arg("-o")
            .arg(format!("{}/", bin.display()))
            .arg("tool")
            .current_dir(go_module()));
        Self { program: bin.join("controller-gen"), out: home.join("controller-gen") }
    }

    fn command(&self) -> Command {
        let out = self.out.display();
        let mut command = Command::new(&self.program);
        command
            .args(["crd", "rbac:roleName=manager-role", "paths=./..."])
            .arg(format!("output:crd:dir={out}/crd"))
            .arg(format!("output:rbac:dir={out}/rbac"))
            .current_dir(go_module().join("go-project"));
        command
    }
}

fn go_module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench")
}

const CRD: &str = "cache.example.com_memcacheds.yaml";

/// The role is equal byte for byte. The CRDs are equal in all but what the two sources cannot share: descriptions (the
/// texts differ), formats and bounds that only one language derives from its integer types, `nullable`, and the
/// annotation with controller-gen's version. What both print goes through one emitter: theirs is printed again by ours.
fn compare_with_controller_gen(sample: &Path, peer: &Peer) {
    run(&mut generate(sample));
    run(&mut peer.command());
    let read =
        |path: PathBuf| std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(read(sample.join("config/rbac/role.yaml")), read(peer.out.join("rbac/role.yaml")), "role.yaml differs");

    let theirs = read(peer.out.join("crd").join(CRD));
    let ours: Value = serde_yaml::from_str(&read(sample.join("config/crd/bases").join(CRD))).unwrap();
    let parsed: Value = serde_yaml::from_str(&theirs).unwrap();
    assert_eq!(yaml::file(None, std::slice::from_ref(&parsed)), theirs, "the emitter differs from controller-gen's");

    for pointer in [
        "/metadata/name",
        "/spec/group",
        "/spec/scope",
        "/spec/names/kind",
        "/spec/names/plural",
        "/spec/names/singular",
        "/spec/names/shortNames",
        "/spec/versions/0/name",
        "/spec/versions/0/served",
        "/spec/versions/0/storage",
        "/spec/versions/0/subresources",
    ] {
        assert_eq!(ours.pointer(pointer), parsed.pointer(pointer), "{pointer}");
    }
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties";
    for part in ["spec", "status"] {
        let fields = |crd: &Value| {
            let mut fields = BTreeSet::new();
            collect_fields(&crd.pointer(schema).unwrap()[part], part, &mut fields);
            fields
        };
        assert_eq!(fields(&ours), fields(&parsed), "the fields of {part}");
    }
}

/// Every field below `schema`, as `path: type`.
fn collect_fields(schema: &Value, path: &str, fields: &mut BTreeSet<String>) {
    fields.insert(format!("{path}: {}", schema["type"].as_str().unwrap_or("?")));
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        collect_fields(property, &format!("{path}.{name}"), fields);
    }
    if schema["items"].is_object() {
        collect_fields(&schema["items"], &format!("{path}[]"), fields);
    }
}

/// The compiled road to a CRD: a program of the operator's own crate that prints what the derive made.
struct CompiledCrdgen {
    project: PathBuf,
    types: PathBuf,
}

impl CompiledCrdgen {
    fn add_to(sample: &Path) -> Self {
        let project = sample.with_file_name("compiled");
        copy_dir(sample, &project);
        let program = "fn main() {\n    \
            let crd = <memcached_operator::api::v1alpha1::memcached::Memcached as kube::CustomResourceExt>::crd();\n    \
            println!(\"{}\", serde_json::to_string(&crd).unwrap());\n}\n";
        std::fs::create_dir_all(project.join("src/bin")).unwrap();
        std::fs::write(project.join("src/bin/crdgen.rs"), program).unwrap();
        let types = project.join("src/api/v1alpha1/memcached.rs");
        let crdgen = Self { project, types };
        println!("building the sample once, so that cargo starts warm");
        run(&mut crdgen.command());
        crdgen
    }

    fn command(&self) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(["run", "--quiet", "--bin", "crdgen"])
            .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-sample"))
            .current_dir(&self.project);
        command
    }

    /// Makes cargo compile the types again.
    fn touch(&self) {
        std::fs::File::options()
            .append(true)
            .open(&self.types)
            .unwrap()
            .set_modified(std::time::SystemTime::now())
            .unwrap();
    }

    fn compare(&self, sample: &Path) {
        let output = self.command().output().unwrap();
        let derived: Value = serde_json::from_slice(&output.stdout).unwrap();
        let ours = std::fs::read_to_string(sample.join("config/crd/bases").join(CRD)).unwrap();
        assert_eq!(yaml::file(None, &[derived]), ours, "the CRD on disk is not the derived one");
    }
}

fn copy_dir(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).unwrap();
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs a command to success and says what it printed when it fails.
fn run(command: &mut Command) -> Duration {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let time = start.elapsed();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    time
}

/// Sorted times of each command; one run of each is not counted.
fn alternate<const N: usize>(runs: usize, mut commands: [&mut dyn FnMut() -> Command; N]) -> [Vec<Duration>; N] {
    let mut times = [const { Vec::new() }; N];
    for round in 0..=runs {
        for (times, command) in times.iter_mut().zip(&mut commands) {
            let time = run(&mut command());
            if round > 0 {
                times.push(time);
            }
        }
    }
    for times in &mut times {
        times.sort();
    }
    times
}

#[derive(Default)]
struct Table(Vec<[String; 5]>);

impl Table {
    fn add(&mut self, what: &str, times: &[Duration], baseline: Option<&[Duration]>) {
        let median = |times: &[Duration]| times[times.len() / 2].as_secs_f64() * 1e3;
        let ratio = baseline.map_or(String::new(), |baseline| format!("{:.0}×", median(times) / median(baseline)));
        self.0.push([
            what.to_owned(),
            format!("{:.1}", median(times)),
            format!("{:.1}–{:.1}", times[0].as_secs_f64() * 1e3, times[times.len() - 1].as_secs_f64() * 1e3),
            times.len().to_string(),
            ratio,
        ]);
    }

    fn print(&self) {
        println!("| {:<48} | median ms | min–max ms      | runs | ratio |", "command");
        println!("|{}|----------:|-----------------|-----:|------:|", "-".repeat(50));
        for [what, median, range, runs, ratio] in &self.0 {
            println!("| {what:<48} | {median:>9} | {range:<15} | {runs:>4} | {ratio:>5} |");
        }
    }
}
