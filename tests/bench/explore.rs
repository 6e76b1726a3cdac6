//! Compares trials per second of the explorer in memory with those of `memcached-sdk explore` on a real API server.
//!
//! Both explore the same operator, in turn, with the build of `cargo test`. A finding fails the comparison.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{OURS, run};

/// Each oracle with the variant of the library.
const ORACLES: [(&str, &str); 2] = [("crash", "Crash"), ("history", "History")];
/// Budgets of one oracle.
const MEMORY_SECONDS: u64 = 30;
const REAL_SECONDS: u64 = 120;
/// The shortest quiet time that this operator needs. The default of two seconds is safer and slower.
const SETTLE: &str = "700ms";

/// A test of the project. It prints the trials of an oracle, the time of its exploration, and true if schedules are left.
const RATES: &str = r#"
use explorer::{ApiServer, Explorer, Oracle};
use kube::CustomResourceExt;
use manager::testing::{object_from_yaml, operator_roles, run_operator};
use memcached_operator::{api::v1alpha1::memcached::Memcached, controller::memcached::register};

fn rate(oracle: Oracle) {
    let server = ApiServer::new();
    server.add_crd(&serde_json::json!(Memcached::crd())).unwrap();
    let report = Explorer::new(&server, |client| run_operator(client, register))
        .roles(operator_roles())
        .sample(object_from_yaml(include_str!("../config/samples/cache_v1alpha1_memcached.yaml")))
        .only(oracle)
        .explore();
    report.assert_clean();
    println!("rate {} {} {}", report.trials[&oracle], report.elapsed.as_secs_f64(), report.out_of_budget);
}
"#;

/// The trials of one oracle.
struct Rate {
    trials: u32,
    seconds: f64,
    out_of_budget: bool,
}

impl Rate {
    fn per_second(&self) -> f64 {
        f64::from(self.trials) / self.seconds
    }
}

pub(super) fn compare(sample: &Path) {
    let assets = assets();
    let mut test = RATES.to_owned();
    for (name, variant) in ORACLES {
        test.extend(["\n#[test]\nfn ", name, "() {\n    rate(Oracle::", variant, ");\n}\n"]);
    }
    std::fs::write(sample.join("tests/rates.rs"), test).unwrap();
    println!("building the sample and its explorer");
    run(&mut cargo(sample, &["build", "--quiet"]));
    run(&mut cargo(sample, &["test", "--quiet", "--test", "rates", "--no-run"]));
    let binary = super::sample_target().join("debug/memcached-operator");
    let rates = ORACLES.map(|(oracle, _)| (oracle, in_memory(sample, oracle), real(sample, &binary, &assets, oracle)));
    println!("| trials                         | in memory |      | real API server |      | ratio |");
    println!("|                                |  a second | runs |        a second | runs |       |");
    println!("|--------------------------------|----------:|-----:|----------------:|-----:|------:|");
    for (oracle, memory, real) in rates {
        let left = if memory.out_of_budget || real.out_of_budget { ", budget spent" } else { "" };
        println!(
            "| {:<30} | {:>9.1} | {:>4} | {:>15.2} | {:>4} | {:>4.0}× |",
            format!("{oracle}{left}"),
            memory.per_second(),
            memory.trials,
            real.per_second(),
            real.trials,
            memory.per_second() / real.per_second(),
        );
    }
}

/// The folder with etcd, kube-apiserver and kubectl: `KUBEBUILDER_ASSETS`, or the one that the tests build.
fn assets() -> PathBuf {
    if let Some(folder) = std::env::var_os("KUBEBUILDER_ASSETS") {
        return folder.into();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("control-plane");
    run(Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/control-plane/build")).arg(&folder));
    folder
}

fn cargo(sample: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(args).env("CARGO_TARGET_DIR", super::sample_target()).current_dir(sample);
    command
}

fn in_memory(sample: &Path, oracle: &str) -> Rate {
    println!("{oracle}, in memory");
    let mut command = cargo(sample, &["test", "--quiet", "--test", "rates", oracle, "--", "--exact", "--nocapture"]);
    let output = command.env("EXPLORE", format!("{MEMORY_SECONDS}s")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("rate "));
    let line = line.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    let mut words = line.split(' ');
    let mut next = || words.next().unwrap();
    Rate { trials: next().parse().unwrap(), seconds: next().parse().unwrap(), out_of_budget: next().parse().unwrap() }
}

/// The time starts with the first schedule: the start of the API server and the undisturbed runs do not count.
fn real(sample: &Path, binary: &Path, assets: &Path, oracle: &str) -> Rate {
    println!("{oracle}, on a real API server");
    let mut command = Command::new(OURS);
    command
        .args(["explore", "--settle", SETTLE, "--budget", &format!("{REAL_SECONDS}s"), "--only", oracle])
        .arg("--")
        .arg(binary)
        .arg("--health-probe-bind-address=0")
        .current_dir(sample)
        .env("KUBEBUILDER_ASSETS", assets)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut started = None;
    let mut log = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap) {
        if line.contains(" schedules, at most ") {
            started = Some(Instant::now());
        }
        log.extend([line.as_str(), "\n"]);
    }
    let output = child.wait_with_output().unwrap();
    let time: Duration = started.unwrap_or_else(|| panic!("no schedule: {log}")).elapsed();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{log}{report}");
    // `0 findings in 12 trials (4 quiet, 8 crash), 40.1 s`
    let mut counts = report.lines().next_back().unwrap().split(['(', ')', ',']);
    let trials = counts.find_map(|count| count.trim().strip_suffix(oracle)).unwrap().trim().parse().unwrap();
    Rate { trials, seconds: time.as_secs_f64(), out_of_budget: report.contains("out of budget") }
}
