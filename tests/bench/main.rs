//! Compares the time of the built binary with tools for the same work, and prints a table.
//!
//! Outputs are compared before the measurement. The commands alternate, so that a change of the machine's speed affects
//! all of them. All writes go to temporary folders.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods)]

mod explore;
mod kinds;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use memcached_sdk::yaml;
use serde_json::Value;

const OURS: &str = env!("CARGO_BIN_EXE_memcached-sdk");
const RUNS: usize = 21;
/// A run of cargo takes a second, the others milliseconds.
const CARGO_RUNS: usize = 10;
/// controller-gen takes seconds for this number of kinds.
const KINDS_RUNS: usize = 7;
const KINDS: usize = 500;
/// Other numbers of kinds, to show how time grows.
const OTHER_KINDS: [usize; 3] = [250, 1000, 2000];
/// Approximate crate sizes in kB, to show how time grows.
const SIZES: [usize; 3] = [256, 1024, 4096];

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        println!("run this with `cargo bench`");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let sample = home.path().join("memcached-operator");
    run(Command::new(OURS).args(["new", "memcached-operator", "--sample", "memcached"]).current_dir(home.path()));
    if std::env::args().any(|arg| arg == "explore") {
        explore::compare(&sample);
        return;
    }

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

    // Skip downloads and the toolchain check: their time is cargo's.
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
    many_kinds(&mut table, home.path(), &peer);
    large_crates(&mut table, home.path(), &sample);
    table.print();
}

/// CRDs and roles of hundreds of kinds, with equal sources in both languages.
fn many_kinds(table: &mut Table, home: &Path, peer: &Peer) {
    let (rust, go, out) = (home.join("kinds-rust"), home.join("kinds-go"), home.join("kinds-out"));
    let (lines, _) = kinds::write_rust(&rust, KINDS, &[]);
    let go_lines = kinds::write_go(&go, KINDS, &go_module());
    println!("{KINDS} kinds in {lines} lines of Rust and {go_lines} lines of Go");
    assert!(lines.min(go_lines) >= 50_000, "fewer lines than the table says");
    let ours = |what: &str| {
        let mut command = Command::new(OURS);
        command.args(["generate", what, "--quiet", "--output-dir", "out"]).current_dir(&rust);
        command
    };
    let theirs = |what: &str| {
        let mut command = Command::new(&peer.program);
        let generator = what.split(':').next().unwrap();
        let dir = format!("output:{generator}:dir={}", out.join(generator).display());
        command.args([what, "paths=./...", &dir]).current_dir(&go);
        command
    };
    let rbac = "rbac:roleName=manager-role";
    for command in [&mut ours("crds"), &mut ours("rbac"), &mut theirs("crd"), &mut theirs(rbac)] {
        run(command);
    }
    compare_kinds(&rust.join("out"), &out);
    println!("controller-gen and memcached-sdk agree on the role, the names and the fields of all kinds\n");
    let [ours_crds, theirs_crds] = alternate(KINDS_RUNS, [&mut || ours("crds"), &mut || theirs("crd")]);
    table.add("generate crds, 500 kinds in 50,000 lines", &ours_crds, None);
    table.add("controller-gen crd, on the same kinds in Go", &theirs_crds, Some(&ours_crds));
    let [ours_rbac, theirs_rbac] = alternate(KINDS_RUNS, [&mut || ours("rbac"), &mut || theirs(rbac)]);
    table.add("generate rbac, 500 kinds in 50,000 lines", &ours_rbac, None);
    table.add("controller-gen rbac, on the same markers in Go", &theirs_rbac, Some(&ours_rbac));
    let mut commands = OTHER_KINDS.map(|kinds| {
        let folder = home.join(format!("kinds-{kinds}"));
        kinds::write_rust(&folder, kinds, &[]);
        move || {
            let mut command = Command::new(OURS);
            command.args(["generate", "crds", "--quiet", "--output-dir", "out"]).current_dir(&folder);
            command
        }
    });
    let [fewer, more, most] = &mut commands;
    for (kinds, times) in OTHER_KINDS.iter().zip(alternate(KINDS_RUNS, [fewer, more, most])) {
        table.add(&format!("generate crds, {kinds} kinds"), &times, None);
    }
}

/// Checks that both folders have the same role, and a CRD with the same fields for each kind.
fn compare_kinds(ours: &Path, theirs: &Path) {
    assert_eq!(read(&find(ours, "role.yaml")), read(&theirs.join("rbac/role.yaml")), "role.yaml differs");
    for kind in (0..KINDS).map(kinds::name) {
        let file = format!("{}_{}s.yaml", kinds::GROUP, kind.to_lowercase());
        compare_crds(&read(&find(ours, &file)), &read(&theirs.join("crd").join(&file)));
    }
}

fn find(folder: &Path, name: &str) -> PathBuf {
    let mut entries = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
    let entry = entries.find(|entry| entry.file_name() == name);
    entry.unwrap_or_else(|| panic!("no {name} in {}", folder.display())).into_path()
}

/// Crates of a quarter of a megabyte and more, with types, markers and other code.
fn large_crates(table: &mut Table, home: &Path, sample: &Path) {
    let code =
        ["src/controller/memcached.rs", "src/controller/memcached/desired.rs", "src/controller/memcached/status.rs"]
            // Each file becomes a module, so drop its submodules.
            .map(|path| {
                read(&sample.join(path)).lines().filter(|line| !line.starts_with("mod ")).collect::<Vec<_>>().join("\n")
            });
    let per_kind: usize = code.iter().map(String::len).sum::<usize>() + kinds::rust("Kind0000").len();
    let crates = SIZES.map(|size| {
        let folder = home.join(format!("crate-{size}"));
        let (_, bytes) = kinds::write_rust(&folder, size * 1000 / per_kind, &code);
        (folder, bytes)
    });
    let mut commands = crates.each_ref().map(|(folder, _)| {
        move || {
            let mut command = Command::new(OURS);
            command.args(["generate", "--quiet", "--output-dir", "out"]).current_dir(folder);
            command
        }
    });
    let [small, middle, large] = &mut commands;
    let times = alternate(RUNS, [small, middle, large]);
    for ((_, bytes), times) in crates.iter().zip(&times) {
        table.add(&format!("generate, {} kB of Rust source", bytes / 1000), times, None);
    }
}

/// The target folder of the sample and its copies.
fn sample_target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-sample")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

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

/// The roles are equal byte for byte. The CRDs are equal except for differences of the sources: descriptions, formats
/// and bounds that one language derives from its integer types, `nullable`, and the annotation with controller-gen's
/// version. Both outputs are printed by our emitter before the comparison.
fn compare_with_controller_gen(sample: &Path, peer: &Peer) {
    run(&mut generate(sample));
    run(&mut peer.command());
    let (ours, theirs) = (sample.join("config"), &peer.out);
    assert_eq!(read(&ours.join("rbac/role.yaml")), read(&theirs.join("rbac/role.yaml")), "role.yaml differs");
    compare_crds(&read(&ours.join("crd/bases").join(CRD)), &read(&theirs.join("crd").join(CRD)));
}

fn compare_crds(ours: &str, theirs: &str) {
    let [ours, parsed] = [ours, theirs].map(|text| serde_yaml::from_str::<Value>(text).unwrap());
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

/// Collects the fields of a schema as `path: type`.
fn collect_fields(schema: &Value, path: &str, fields: &mut BTreeSet<String>) {
    fields.insert(format!("{path}: {}", schema["type"].as_str().unwrap_or("?")));
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        collect_fields(property, &format!("{path}.{name}"), fields);
    }
    if schema["items"].is_object() {
        collect_fields(&schema["items"], &format!("{path}[]"), fields);
    }
}

/// A compiled crdgen: a program in the operator's crate that prints the derived CRD.
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
            .env("CARGO_TARGET_DIR", sample_target())
            .current_dir(&self.project);
        command
    }

    /// Updates the mtime, so that cargo compiles the types again.
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

/// Runs a command and returns its time; a failure prints its output.
fn run(command: &mut Command) -> Duration {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let time = start.elapsed();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    time
}

/// Sorted times of each command, without the first run.
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
