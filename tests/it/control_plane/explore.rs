//! `explore` on an operator in Go, with a planted bug for each oracle.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use super::assets::Assets;
use super::{ControlPlane, tool};

const MODULE: &str = "explore-go";

/// Each planted bug with its oracle, and a part of the schedule and of the difference.
const BUGS: [(&str, &str, &str, &str); 6] = [
    ("crash", "crash", "create: die after write", "- configmaps default/shelf-sample-catalog"),
    ("drift", "drift", "keep: change configmaps default/shelf-sample-catalog", "/data/books: \"3x\""),
    ("finalizer", "deletion", "create: delete after write 1", "+ configmaps default/shelf-sample-entry"),
    ("loop", "quiet", "create: nothing", "the last one PUT"),
    ("conflict", "faults", "create: answer 409 to request 1", "- configmaps default/shelf-sample-catalog"),
    ("history", "history", "keep: patch [{\"spec\":{\"topic\":null}}]", "/data/topic: \"history\""),
];

/// Each planted bug of a change of the release with its schedule, and a line of the difference.
const RELEASE_BUGS: [(&str, &str, &str); 5] = [
    ("old-child", "keep: upgrade", "+ configmaps default/shelf-sample-list"),
    ("mark-first", "keep: upgrade and die after write 2", "+ configmaps default/shelf-sample-list"),
    ("old-finalizer", "keep: upgrade and delete", "+ shelves.library.example.com default/shelf-sample"),
    ("migrate-once", "keep: take over at write 3", "+ configmaps default/shelf-sample-list"),
    ("old-reader", "keep: roll back", "- configmaps default/shelf-sample-list"),
];

/// Earlier releases, with the only schedule that may have a finding without a bug.
const RELEASES: [(&str, &str); 2] = [("1.1", ""), ("1.0", "keep: roll back")];

fn explore(operator: &Path, bug: &str, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memcached-sdk"));
    command.args(["explore", "--settle", "700ms"]).args(flags).arg("--").arg(operator);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(MODULE));
    command.env("KUBEBUILDER_ASSETS", assets()).env("BUG", bug).env_remove("EXPLORE");
    command.output().unwrap()
}

/// The folder with etcd, kube-apiserver and kubectl.
fn assets() -> PathBuf {
    Assets::find().etcd.parent().unwrap().to_owned()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

#[test]
fn each_planted_bug_in_a_go_operator_is_found_by_its_oracle() {
    crate::timing::start();
    let operator = tool::tool(MODULE, "./cmd");
    each(&BUGS, |(bug, oracle, schedule, difference)| {
        let output = explore(&operator, bug, &["--budget", "15s", "--only", oracle, "--output", "json"]);
        assert_eq!(output.status.code(), Some(1), "{bug}: {}", said(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let finding = &report["findings"][0];
        assert_eq!(finding["oracle"], *oracle, "{bug}: {report:#}");
        assert!(finding["schedule"].as_str().unwrap().starts_with(schedule), "{bug}: {report:#}");
        assert!(finding["difference"].to_string().contains(&difference.replace('"', "\\\"")), "{bug}: {report:#}");
    });
}

#[test]
fn each_planted_bug_of_a_change_of_the_release_is_found_by_its_schedule() {
    let operator = tool::tool(MODULE, "./cmd");
    let folder = tempfile::tempdir().unwrap();
    let previous = earlier(folder.path(), &operator, "1.0").display().to_string();
    each(&RELEASE_BUGS, |(bug, schedule, difference)| {
        let output = explore(&operator, bug, &["--previous", &previous, "--replay", schedule]);
        assert_eq!(output.status.code(), Some(1), "{bug}: {}", said(&output));
        for part in [
            format!(
                "release: a change of the release leaves another state than a new object\n\nSchedule\n  {schedule}\n"
            ),
            format!("\n  {difference}\n"),
            format!(" --previous {previous} --settle 700ms --replay '{schedule}' -- "),
        ] {
            assert!(said(&output).contains(&part), "{bug}: {part}: {}", said(&output));
        }
    });
}

/// The counter-check. The first release keeps the objects of later ones after a roll back.
#[test]
fn an_operator_without_a_bug_upgrades_from_each_release() {
    let operator = tool::tool(MODULE, "./cmd");
    let folder = tempfile::tempdir().unwrap();
    each(&RELEASES, |(release, schedule)| {
        let previous = earlier(folder.path(), &operator, release).display().to_string();
        let flags = ["--previous", &previous, "--only", "release", "--budget", "20s", "--output", "json"];
        let output = explore(&operator, "none", &flags);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report["trials"]["release"].as_u64() > Some(1), "{release}: {}", said(&output));
        for finding in report["findings"].as_array().unwrap() {
            assert_eq!(finding["schedule"], *schedule, "{release}: {}", said(&output));
        }
    });
}

/// Writes the program of an earlier release.
fn earlier(folder: &Path, operator: &Path, release: &str) -> PathBuf {
    let script = folder.join(format!("operator-{release}"));
    let text = format!("#!/bin/sh\nexec env BUG= RELEASE={release} '{}' \"$@\"\n", operator.display());
    write_script(&script, &text);
    script
}

fn write_script(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// Checks the cases, three at once: most of a run is waiting.
fn each<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    let cases = Mutex::new(cases.iter());
    let next = || cases.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(case) = next() {
                    check(case);
                }
            });
        }
    });
}

/// The counter-check of all oracles: the same operator without a bug, on the API server of a kubeconfig, with its role. It is
/// its own previous release.
#[test]
fn an_operator_without_a_bug_is_clean_and_a_schedule_replays() {
    let operator = tool::tool(MODULE, "./cmd");
    let plane = ControlPlane::start();
    let kubeconfig = plane.admin.kubeconfig().display().to_string();
    let previous = operator.display().to_string();
    let flags = ["--kubeconfig", &kubeconfig, "--previous", &previous, "--budget", "25s", "--output", "json"];
    let output = explore(&operator, "none", &flags);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    // A slow machine may warn that runs differ in the number of their requests.
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["findings"], serde_json::json!([]), "{}", said(&output));

    let replay = ["--kubeconfig", &kubeconfig, "--replay", "create: delete after write 1"];
    let output = explore(&operator, "none", &replay);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = explore(&operator, "finalizer", &replay);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("\nSchedule\n  create: delete after write 1\n"), "{}", said(&output));

    // Nothing of the runs is left.
    let left = plane.admin.run(&["get", "shelves,configmaps", "--namespace", "default", "--output", "name"]);
    assert_eq!(left.lines().filter(|name| !name.contains("kube-root-ca")).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_request_that_the_role_forbids_is_a_finding() {
    let operator = tool::tool(MODULE, "./cmd");
    let folder = tempfile::tempdir().unwrap();
    let role = folder.path().join("role.yaml");
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(MODULE);
    let text = std::fs::read_to_string(project.join("config/rbac/role.yaml")).unwrap();
    // The first one is that of ConfigMaps.
    std::fs::write(&role, text.replacen("  - create\n", "", 1)).unwrap();
    let flags = ["--budget", "1s", "--only", "permission", "--role", role.to_str().unwrap()];
    let output = explore(&operator, "none", &flags);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("permission: a request is forbidden"), "{}", said(&output));
    assert!(said(&output).contains("+ no rule permits: create configmaps in default"), "{}", said(&output));
}

#[test]
fn an_operator_that_ends_at_its_start_is_an_error_with_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("operator");
    write_script(&script, "#!/bin/sh\necho no configuration\nexit 3\n");
    let output = explore(&script, "none", &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let expected = format!("error: `{}` ended at its start, exit status: 3:\nno configuration\n", script.display());
    assert!(said(&output).contains(&expected), "{}", said(&output));
}
