//! The operator as a pod of a real cluster.

use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const TIMEOUT: &str = "--timeout=3m";

/// An operator that `make deploy` runs in the cluster of the current kubectl context.
///
/// It uses the targets of the project's Makefile, and the kubectl that the variable `KUBECTL` names.
///
/// # Examples
///
/// ```no_run
/// use manager::testing::DeployedOperator;
///
/// DeployedOperator::new("memcached-operator")
///     .check(&[("cache_v1alpha1_memcached.yaml", "condition=Available")]);
/// ```
#[derive(Clone, Debug)]
pub struct DeployedOperator {
    name: String,
    metrics_service: String,
    samples_namespace: String,
}

impl DeployedOperator {
    /// Describes the operator of this name, in the namespace `NAME-system`.
    ///
    /// # Examples
    ///
    /// ```
    /// let operator = manager::testing::DeployedOperator::new("memcached-operator");
    /// # drop(operator);
    /// ```
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            metrics_service: "controller-manager-metrics-service".to_owned(),
            samples_namespace: "default".to_owned(),
        }
    }

    /// Sets the name of the metrics Service, without the name of the operator in front.
    ///
    /// # Examples
    ///
    /// ```
    /// # use manager::testing::DeployedOperator;
    /// let operator = DeployedOperator::new("an-operator-with-a-long-name").metrics_service("metrics");
    /// # drop(operator);
    /// ```
    #[must_use]
    pub fn metrics_service(mut self, name: &str) -> Self {
        name.clone_into(&mut self.metrics_service);
        self
    }

    /// Sets the namespace of the samples, which the operator has to watch; by default `default`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use manager::testing::DeployedOperator;
    /// let operator = DeployedOperator::new("example").samples_namespace("example-system");
    /// # drop(operator);
    /// ```
    #[must_use]
    pub fn samples_namespace(mut self, name: &str) -> Self {
        name.clone_into(&mut self.samples_namespace);
        self
    }

    /// Deploys the operator, checks that its metrics are protected and that it reconciles the samples, and undeploys it.
    ///
    /// `samples` has files of `config/samples`, each with a condition for `kubectl wait --for`.
    ///
    /// # Panics
    ///
    /// A check or a command fails. The log of the operator is printed, and the operator is undeployed before the panic.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use manager::testing::DeployedOperator;
    /// DeployedOperator::new("example")
    ///     .check(&[("cache_v1alpha1_memcached.yaml", "jsonpath={.status.conditions}")]);
    /// ```
    pub fn check(&self, samples: &[(&str, &str)]) {
        let checked = catch_unwind(AssertUnwindSafe(|| {
            make(&["deploy"]);
            self.metrics_are_protected();
            self.samples_are_reconciled(samples);
        }));
        if checked.is_err() {
            let deployment = format!("deployment/{}-controller-manager", self.name);
            let _ = kubectl(&["logs", "-n", &self.namespace(), &deployment]).status();
        }
        make(&["delete-resources"]);
        make(&["undeploy", "ignore-not-found=true"]);
        if let Err(failure) = checked {
            resume_unwind(failure);
        }
    }

    fn namespace(&self) -> String {
        format!("{}-system", self.name)
    }

    fn metrics_are_protected(&self) {
        let (name, namespace) = (&self.name, self.namespace());
        let account = format!("{name}-controller-manager");
        let token = done(kubectl(&["create", "token", "-n", &namespace, &account]));
        let service = format!("service/{name}-{}", self.metrics_service);
        let mut forward = kubectl(&["port-forward", "-n", &namespace, &service, ":https"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("kubectl can be run");
        let mut line = String::new();
        let output = forward.stdout.take().expect("standard output is piped");
        // Keep the pipe open: kubectl ends when it cannot write.
        let mut output = BufReader::new(output);
        output.read_line(&mut line).expect("kubectl prints a line");
        // Forwarding from 127.0.0.1:37417 -> 8443
        let address = line.split(' ').nth(2).unwrap_or_default();
        let server = format!("--server=https://{address}");
        let scrape = |token: &str| {
            // An empty kubeconfig leaves the token as the only credential.
            let connection = [
                "--kubeconfig=/dev/null",
                &server,
                "--insecure-skip-tls-verify",
            ];
            let token = format!("--token={token}");
            run(kubectl(
                &[&connection[..], &[&token, "get", "--raw=/metrics"]].concat(),
            ))
        };
        let unknown = scrape("unknown");
        let forbidden = scrape(&token);

        let binding = format!("{name}-e2e-metrics");
        let role = format!("--clusterrole={name}-metrics-reader");
        let subject = format!("--serviceaccount={namespace}:{account}");
        done(kubectl(&[
            "create",
            "clusterrolebinding",
            &binding,
            &role,
            &subject,
        ]));
        let mut allowed = scrape(&token);
        // The operator caches a refusal for some seconds.
        let deadline = Instant::now() + Duration::from_secs(100);
        while allowed.is_err() && Instant::now() < deadline {
            sleep(Duration::from_secs(1));
            allowed = scrape(&token);
        }
        done(kubectl(&["delete", "clusterrolebinding", &binding]));
        let _ = forward.kill();
        let _ = forward.wait();

        let fails = |scraped: &Result<String, String>, why| {
            scraped.as_ref().is_err_and(|error| error.contains(why))
        };
        assert!(fails(&unknown, "You must be logged in"), "{unknown:?}");
        assert!(fails(&forbidden, "Forbidden"), "{forbidden:?}");
        let has_metrics = |text: &String| text.contains("\nleader_election_master_status");
        assert!(allowed.as_ref().is_ok_and(has_metrics), "{allowed:?}");
    }

    fn samples_are_reconciled(&self, samples: &[(&str, &str)]) {
        for (file, condition) in samples {
            let file = format!("config/samples/{file}");
            let [apply, wait] = [
                &["apply", "--server-side"][..],
                &["wait", TIMEOUT, "--for", condition],
            ]
            .map(|args| [args, &["-n", &self.samples_namespace, "-f", &file]].concat());
            done(kubectl(&apply));
            done(kubectl(&wait));
        }
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

/// Returns standard output, or standard error if the program fails.
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
