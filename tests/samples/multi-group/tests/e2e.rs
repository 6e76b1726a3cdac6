// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG and removes it afterwards.

use std::io::{BufRead, BufReader};
use std::panic::{catch_unwind, resume_unwind};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The namespace of the manager.
const NAMESPACE: &str = "multi-group-system";
/// The namespace of the samples. The manager watches it.
const SAMPLES_NAMESPACE: &str = "default";
/// Files in config/samples, each with the condition for `kubectl wait --for`.
#[rustfmt::skip]
const SAMPLES: &[(&str, &str)] = &[
    ("ship_v1beta1_frigate.yaml", "jsonpath={.status.conditions}"),
    ("sea-creatures_v1alpha1_humpbackwhalemigrationobservation.yaml", "jsonpath={.status.conditions}"),
    ("ship_v1_frigate.yaml", "jsonpath={.status.conditions}"),
    // +kubebuilder:scaffold:e2e-samples
];
const TIMEOUT: &str = "--timeout=3m";

#[test]
#[ignore = "needs a cluster: make test-e2e"]
fn the_manager_works_in_a_cluster() {
    let checked = catch_unwind(|| {
        make(&["deploy"]);
        metrics_are_for_those_who_may();
        samples_are_reconciled();
    });
    if checked.is_err() {
        let logs = [
            "logs",
            "-n",
            NAMESPACE,
            "deployment/multi-group-controller-manager",
        ];
        let _ = kubectl(&logs).status();
    }
    make(&["delete-resources"]);
    make(&["undeploy", "ignore-not-found=true"]);
    if let Err(failure) = checked {
        resume_unwind(failure);
    }
}

fn metrics_are_for_those_who_may() {
    let account = "multi-group-controller-manager";
    let token = done(kubectl(&["create", "token", "-n", NAMESPACE, account]));
    let service = "service/multi-group-controller-manager-metrics-service";
    let mut forward = kubectl(&["port-forward", "-n", NAMESPACE, service, ":https"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("kubectl can be run");
    let mut line = String::new();
    let output = forward.stdout.take().expect("its output is piped");
    // The reader stays open: kubectl exits when its output is closed.
    let mut output = BufReader::new(output);
    output.read_line(&mut line).expect("it can be read");
    // Forwarding from 127.0.0.1:37417 -> 8443
    let address = line.split(' ').nth(2).unwrap_or_default();
    let server = format!("--server=https://{address}");
    let scrape = |token: &str| {
        // Without the credentials of the kubeconfig.
        let connection = [
            "--kubeconfig=/dev/null",
            &server,
            "--insecure-skip-tls-verify",
        ];
        run(kubectl(
            &[
                &connection[..],
                &[&format!("--token={token}"), "get", "--raw=/metrics"],
            ]
            .concat(),
        ))
    };
    let unknown = scrape("unknown");
    let not_allowed = scrape(&token);

    let binding = ["clusterrolebinding", "multi-group-e2e-metrics"];
    let (role, subject) = (
        "--clusterrole=multi-group-metrics-reader",
        format!("--serviceaccount={NAMESPACE}:{account}"),
    );
    done(kubectl(
        &[&["create"], &binding[..], &[role, &subject]].concat(),
    ));
    let mut allowed = scrape(&token);
    // The manager remembers a refusal for some seconds.
    let deadline = Instant::now() + Duration::from_secs(100);
    while allowed.is_err() && Instant::now() < deadline {
        sleep(Duration::from_secs(1));
        allowed = scrape(&token);
    }
    done(kubectl(&[&["delete"], &binding[..]].concat()));
    let _ = forward.kill();
    let _ = forward.wait();

    assert!(
        unknown
            .as_ref()
            .is_err_and(|error| error.contains("You must be logged in")),
        "{unknown:?}"
    );
    assert!(
        not_allowed
            .as_ref()
            .is_err_and(|error| error.contains("Forbidden")),
        "{not_allowed:?}"
    );
    assert!(
        allowed
            .as_ref()
            .is_ok_and(|metrics| metrics.contains("\nleader_election_master_status")),
        "{allowed:?}"
    );
}

fn samples_are_reconciled() {
    for (file, condition) in SAMPLES {
        let file = format!("config/samples/{file}");
        let [apply, wait] = [
            &["apply", "--server-side"][..],
            &["wait", TIMEOUT, "--for", condition],
        ]
        .map(|args| kubectl(&[args, &["-n", SAMPLES_NAMESPACE, "-f", &file]].concat()));
        done(apply);
        done(wait);
    }
}

fn make(args: &[&str]) {
    let status = Command::new("make")
        .args(args)
        .status()
        .expect("make can be run");
    assert!(status.success(), "make {}", args.join(" "));
}

fn kubectl(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("KUBECTL").unwrap_or("kubectl".to_owned()));
    command.args(args);
    command
}

fn done(command: Command) -> String {
    run(command).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the command. Returns its stdout, or its stderr if it fails.
fn run(mut command: Command) -> Result<String, String> {
    let output = command.output().expect("the program can be run");
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.success() {
        Ok(out.trim_end().to_owned())
    } else {
        Err(format!("{command:?}: {err}"))
    }
}
