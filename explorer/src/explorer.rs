//! The explorer: runs an operator under many schedules, and compares the ends.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::exploration::{ComparedField, Oracle};
use crate::server::ApiServer;
use crate::stages::Stages;

mod act;
mod beside;
mod event;
mod gate;
mod history;
mod neighbour;
mod permission;
mod pruning;
mod release;
mod render;
mod report;
mod review;
mod run;
mod schedules;
mod status;
mod trial;

pub use report::Report;

use beside::Beside;
use event::MemorySchedule;
use gate::Invariant;
use permission::Usage;
use release::Release;

type Start = Box<dyn Fn(kube::Client) -> Pin<Box<dyn Future<Output = ()>>>>;

/// Explores an operator on an [`ApiServer`]: each schedule is a run with one disturbance, which must end as the undisturbed
/// run does.
///
/// An operator process is a future on a single-threaded runtime with a paused clock. Time passes when the process waits.
/// A process that dies leaves nothing but its writes: the next one starts 10 virtual seconds later. Static variables survive.
///
/// Events and Leases are neither compared nor disturbed. Times, UIDs, generated names, resource versions, generations,
/// allocated addresses and `managedFields` are not compared.
pub struct Explorer {
    server: ApiServer,
    start: Start,
    samples: Vec<Value>,
    stages: Stages,
    budget: Duration,
    patience: Duration,
    ignored: Vec<String>,
    /// Resources whose objects belong to several samples.
    shared: Vec<String>,
    oracles: Vec<Oracle>,
    stop_at_finding: bool,
    /// Resources with the pointers of generated values.
    generated: BTreeSet<ComparedField>,
    /// The only oracle whose findings count.
    wanted: Option<Oracle>,
    roles: Vec<Value>,
    usage: Arc<Usage>,
    invariants: Vec<(String, Invariant)>,
    always: Vec<(String, Invariant)>,
    releases: Vec<Release>,
    /// The folder of the project with recorded releases.
    fixtures: Option<PathBuf>,
    beside: Vec<Beside>,
}

fn boxed<F: Future + 'static>(start: impl Fn(kube::Client) -> F + 'static) -> Start {
    Box::new(move |client| {
        let operator = start(client);
        Box::pin(async move {
            operator.await;
        })
    })
}

impl Explorer {
    /// An explorer of the operator that `start` starts as `main` does, on a server with the CRDs of the operator.
    ///
    /// The budget is `EXPLORE`, such as `30s` or `10m`, or else 5 s.
    pub fn new<F>(server: &ApiServer, start: impl Fn(kube::Client) -> F + 'static) -> Self
    where
        F: Future + 'static,
    {
        let budget = std::env::var("EXPLORE").ok().and_then(|text| seconds(&text)).unwrap_or(5);
        Self {
            server: server.snapshot(),
            start: boxed(start),
            samples: Vec::new(),
            stages: Stages::default(),
            budget: Duration::from_secs(budget),
            patience: Duration::from_secs(600),
            ignored: ["events", "events.events.k8s.io", "leases.coordination.k8s.io"].map(str::to_owned).to_vec(),
            shared: Vec::new(),
            oracles: vec![
                Oracle::Quiet,
                Oracle::Crash,
                Oracle::Deletion,
                Oracle::Drift,
                Oracle::Faults,
                Oracle::History,
                Oracle::Stale,
                Oracle::Neighbours,
                Oracle::Overlap,
                Oracle::Webhooks,
                Oracle::Release,
            ],
            stop_at_finding: false,
            generated: BTreeSet::new(),
            wanted: None,
            roles: Vec::new(),
            usage: Arc::default(),
            invariants: Vec::new(),
            always: Vec::new(),
            releases: Vec::new(),
            fixtures: None,
            beside: Vec::new(),
        }
    }

    /// Adds a sample: an object that the author of the operator creates.
    #[must_use]
    pub fn sample(mut self, object: Value) -> Self {
        self.samples.push(object);
        self
    }

    /// Adds a Role or ClusterRole of the operator, such as the generated one. With roles, each request of the operator needs
    /// a rule. A Role permits requests in its own namespace.
    #[must_use]
    pub fn role(mut self, role: Value) -> Self {
        self.roles.push(role);
        self.usage = Arc::new(Usage::new(&self.roles));
        self
    }

    /// Adds several roles, as [`Explorer::role`] does.
    #[must_use]
    pub fn roles(self, roles: impl IntoIterator<Item = Value>) -> Self {
        roles.into_iter().fold(self, Self::role)
    }

    /// Adds the webhook that sets the defaults of a kind, such as `example.com/v1` and `Shop`. Each request for such an object
    /// calls it. See [`Oracle::Webhooks`].
    ///
    /// # Panics
    ///
    /// The server does not have the kind.
    #[must_use]
    pub fn defaults(
        self,
        api_version: &str,
        kind: &str,
        default: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        expect(self.server.defaults(api_version, kind, default));
        self
    }

    /// Adds the webhook that validates a kind. It gets the object before and after a request: a creation has no object before
    /// it, a deletion none after it.
    ///
    /// # Panics
    ///
    /// The server does not have the kind.
    #[must_use]
    pub fn validates(
        self,
        api_version: &str,
        kind: &str,
        validate: impl Fn(Option<&Value>, Option<&Value>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        expect(self.server.validates(api_version, kind, validate));
        self
    }

    /// Adds the webhooks of the operator: their configurations, and a function that answers reviews.
    /// `manager::testing::operator_webhooks` returns both. See [`ApiServer::webhooks`].
    ///
    /// # Panics
    ///
    /// The server cannot add a webhook.
    #[must_use]
    pub fn webhooks(
        self,
        webhooks: (Vec<Value>, impl Fn(&str, &Value) -> Result<Value, String> + Send + Sync + 'static),
    ) -> Self {
        expect(self.server.webhooks(webhooks));
        self
    }

    /// Adds the conversion webhook of a CRD, such as `shops.example.com`. See [`ApiServer::convert`].
    ///
    /// # Panics
    ///
    /// The server does not have the CRD, or the CRD has another conversion strategy.
    #[must_use]
    pub fn converts(
        self,
        crd: &str,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        expect(self.server.convert(crd, convert));
        self
    }

    /// Adds a property of all settled states. The error is the reason why it does not hold.
    #[must_use]
    pub fn invariant<I>(mut self, name: &str, invariant: I) -> Self
    where
        I: Fn(&ApiServer) -> Result<(), String> + Send + Sync + 'static,
    {
        self.invariants.push((name.to_owned(), Arc::new(invariant)));
        self
    }

    /// Adds a property of the state after each write of the operator. The error is the reason why it does not hold.
    #[must_use]
    pub fn always<I>(mut self, name: &str, invariant: I) -> Self
    where
        I: Fn(&ApiServer) -> Result<(), String> + Send + Sync + 'static,
    {
        self.always.push((name.to_owned(), Arc::new(invariant)));
        self
    }

    /// Sets the rules of the environment.
    #[must_use]
    pub fn stages(mut self, stages: Stages) -> Self {
        self.stages = stages;
        self
    }

    /// Sets the real time after which no further run starts.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// Sets the virtual time without changes after which a state is settled. The default is 10 minutes, so that a requeue
    /// after 5 minutes counts.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Excludes a resource, such as `secrets`, from all comparisons and disturbances.
    #[must_use]
    pub fn ignore(mut self, resource: &str) -> Self {
        self.ignored.push(resource.to_owned());
        self
    }

    /// Says that objects of a resource, such as `secrets`, belong to several samples: a second sample may change them.
    #[must_use]
    pub fn shared(mut self, resource: &str) -> Self {
        self.shared.push(resource.to_owned());
        self
    }

    /// Excludes a generated value, such as `/data/password` of `secrets`, from comparisons. It must exist, and a new process
    /// must keep it. The pointer is the one in the difference of a finding.
    #[must_use]
    pub fn generated(mut self, resource: &str, pointer: &str) -> Self {
        self.generated.insert((resource.to_owned(), pointer.to_owned()));
        self
    }

    /// Runs the schedules of one oracle only, after those of [`Oracle::Quiet`] and the undisturbed deletion.
    /// [`Oracle::Permission`], [`Oracle::Invariant`] and [`Oracle::Status`] judge the schedules of all oracles.
    #[must_use]
    pub fn only(mut self, oracle: Oracle) -> Self {
        if matches!(oracle, Oracle::Permission | Oracle::Invariant | Oracle::Status) {
            self.wanted = Some(oracle);
        } else {
            self.oracles = vec![oracle];
        }
        self
    }

    /// Ends the exploration at the first finding.
    #[must_use]
    pub fn stop_at_finding(mut self) -> Self {
        self.stop_at_finding = true;
        self
    }

    /// Runs all schedules within the budget. Each oracle gets the same share.
    ///
    /// For `memcached-sdk render` it prints the objects of the operator instead: see [`Explorer::render`]. For `make fixtures` it
    /// records them: see [`Explorer::releases`].
    pub fn explore(&self) -> Report {
        let started = Instant::now();
        let mut report = Report::default();
        if self.render_requested() || self.record_requested() {
            return report;
        }
        if let Ok(baseline) = self.baseline(&mut report) {
            for schedule in self.schedules(&baseline) {
                if started.elapsed() >= self.budget {
                    report.out_of_budget = true;
                    break;
                }
                if self.stop_at_finding && !report.findings.is_empty() {
                    break;
                }
                if let Some((outcome, difference)) = self.trial(&baseline, &schedule) {
                    self.judge(&mut report, &schedule, outcome, &difference);
                }
            }
        }
        report.unused_rules = self.usage.unused(&self.ignored);
        report.elapsed = started.elapsed();
        report
    }

    /// Runs one schedule again, as a finding prints it.
    ///
    /// # Errors
    ///
    /// The run still ends in another state: the error is the page of the finding. Or the schedule has no effect, because the
    /// operator no longer sends its request.
    pub fn replay(&self, schedule: &str) -> Result<(), String> {
        let text = schedule;
        let schedule: MemorySchedule = text.parse()?;
        let mut report = Report::default();
        if let Ok(baseline) = self.baseline(&mut report) {
            let Some((outcome, difference)) = self.trial(&baseline, &schedule) else {
                return Err(format!("`{text}` has no effect: its request or object does not exist"));
            };
            self.judge(&mut report, &schedule, outcome, &difference);
        }
        // Without a settled state, no other schedule runs.
        let mut findings = report.findings.into_iter();
        let found = findings.find(|finding| finding.schedule == text || finding.oracle == Oracle::Quiet);
        found.map_or(Ok(()), |finding| Err(finding.to_string()))
    }
}

/// Fails a test whose explorer is wrong.
fn expect(result: Result<(), String>) {
    if let Err(reason) = result {
        panic!("{reason}");
    }
}

/// Parses a duration such as `30s`, `10m` or `1h`.
fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_unit() {
        assert_eq!((seconds("30s"), seconds("10m"), seconds("5"), seconds("")), (Some(30), Some(600), None, None));
    }
}
