//! The explorer: runs an operator under many schedules, and compares the ends.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::Value;

use crate::server::{ApiServer, Verdict};
use crate::stages::Stages;
use crate::store::Key;

mod beside;
mod gate;
mod history;
mod oracle;
mod permission;
mod release;
mod render;
mod report;
mod review;
mod run;
mod schedules;
mod status;

pub use oracle::Oracle;
pub use report::{Finding, Report};

use beside::Beside;
use gate::{Disturbance, Held, Invariant};
use oracle::{Drift, Event, Fault, Image, Phase, Schedule, Visit, other_value};
use permission::Usage;
use release::Release;
use run::{Act, Outcome};

/// The manager of the samples.
const AUTHOR: &str = "author";
/// The manager of changes by another client.
const STRANGER: &str = "stranger";
/// Managers that are not the operator.
const OTHERS: [&str; 3] = [AUTHOR, STRANGER, "kube-controller-manager"];

/// The namespace of objects beside the samples.
const NEIGHBOUR: &str = "neighbour";

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
    generated: Vec<(String, String)>,
    /// The only oracle whose findings count.
    wanted: Option<Oracle>,
    roles: Vec<Value>,
    usage: Arc<Usage>,
    invariants: Vec<(String, Invariant)>,
    always: Vec<(String, Invariant)>,
    releases: Vec<Release>,
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

/// The states that runs start from, and their ends without a disturbance.
struct Baseline {
    /// The end without samples: the objects of the operator itself.
    idle: ApiServer,
    settled: ApiServer,
    kept: Image,
    deleted: Image,
    create: Outcome,
    delete: Outcome,
    /// The ends of new objects by their spec, or the reason why they do not settle.
    fresh: RefCell<BTreeMap<String, Result<Image, String>>>,
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
            generated: Vec::new(),
            wanted: None,
            roles: Vec::new(),
            usage: Arc::default(),
            invariants: Vec::new(),
            always: Vec::new(),
            releases: Vec::new(),
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
    /// must keep it.
    #[must_use]
    pub fn generated(mut self, resource: &str, pointer: &str) -> Self {
        self.generated.push((resource.to_owned(), pointer.to_owned()));
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
    /// For `memcached-sdk render` it prints the objects of the operator instead: see [`Explorer::render`].
    pub fn explore(&self) -> Report {
        let started = Instant::now();
        let mut report = Report::default();
        if self.render_requested() {
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
        let schedule: Schedule = text.parse()?;
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

    /// Runs the undisturbed schedules: create, keep and delete. Without a settled state, no other schedule can be judged.
    fn baseline(&self, report: &mut Report) -> Result<Baseline, ()> {
        let undisturbed = |phase| Schedule { phase, event: Event::Nothing };
        let settled = self.server.snapshot();
        let create = self.run(&settled, Disturbance::Nothing, vec![self.create()], false);
        let restless = create.restless.is_some();
        self.judge(report, &undisturbed(Phase::Create), create.clone(), &[]);
        if restless {
            return Err(());
        }
        let again = self.run(&self.server.snapshot(), Disturbance::Nothing, vec![self.create()], false);
        report.deterministic = Some(create.log == again.log);
        let idle = self.server.snapshot();
        self.run(&idle, Disturbance::Nothing, Vec::new(), false);
        let empty = self.image(&idle);
        let kept = self.image(&settled);
        let exact = Image::new(&settled, &self.ignored, &[]);
        let copy = settled.snapshot();
        let keep = self.run(&copy, Disturbance::Nothing, Vec::new(), false);
        let difference = exact.diff(&Image::new(&copy, &self.ignored, &[]));
        let restless = keep.restless.is_some() || !difference.is_empty();
        self.judge(report, &undisturbed(Phase::Keep), keep, &difference);
        if restless {
            return Err(());
        }
        let copy = settled.snapshot();
        let delete = self.run(&copy, Disturbance::Nothing, vec![self.delete()], true);
        let deleted = self.image(&copy);
        self.judge(report, &undisturbed(Phase::Delete), delete.clone(), &empty.diff(&deleted));
        Ok(Baseline { idle, settled, kept, deleted, create, delete, fresh: RefCell::default() })
    }

    /// Runs a schedule, and compares its end. Returns none if the schedule has no effect: its request is not
    /// sent, or another client's change is refused or changes nothing.
    fn trial(&self, baseline: &Baseline, schedule: &Schedule) -> Option<(Outcome, Vec<String>)> {
        let server = if schedule.phase == Phase::Create { self.server.snapshot() } else { baseline.settled.snapshot() };
        if schedule.event == Event::Review {
            return Some((Outcome::default(), self.review(baseline)));
        }
        if let Event::Release(upgrade, name) = &schedule.event {
            return self.upgrade(baseline, *upgrade, name);
        }
        if let Event::Beside(share, at) = &schedule.event {
            return self.share(baseline, *share, *at);
        }
        if let Event::Neighbour(visit, namespace, name) = &schedule.event {
            return self.neighbour(baseline, &server, *visit, namespace, name);
        }
        let acts = match (schedule.phase, &schedule.event) {
            (_, Event::Drift(drift, key)) => vec![drifting(&server, drift, key)?],
            (_, Event::DeleteUnseen(key)) => vec![drifting(&server, &Drift::Delete, key)?],
            (_, Event::Recreate { .. }) => vec![self.recreation(&server)?],
            (_, Event::History(patches)) => self.patches(&server, patches)?,
            (Phase::Create, _) => vec![self.create()],
            (Phase::Keep, _) => Vec::new(),
            (Phase::Delete, _) => vec![self.delete()],
        };
        let outcome = self.run(&server, self.disturbance(&schedule.event), acts, schedule.phase == Phase::Delete);
        if !outcome.disturbed {
            return None;
        }
        let end = self.image(&server);
        let difference = match &schedule.event {
            Event::History(_) => match self.fresh(&server, baseline) {
                Ok(expected) => expected.diff(&end),
                Err(reason) => vec![format!("a new object with this spec: {reason}")],
            },
            _ if removes(schedule) => baseline.deleted.diff(&end),
            _ => baseline.kept.diff(&end),
        };
        Some((outcome, difference))
    }

    fn disturbance(&self, event: &Event) -> Disturbance {
        match event.clone() {
            Event::Nothing
            | Event::Review
            | Event::Release(..)
            | Event::Beside(..)
            | Event::Drift(..)
            | Event::History(_)
            | Event::Neighbour(..)
            | Event::Recreate { unseen: false } => Disturbance::Nothing,
            Event::Die { write, after } => Disturbance::Die { write, after, stale: None },
            Event::Rewind { write, before } => Disturbance::Die { write, after: true, stale: Some(before) },
            Event::Delete { write } => Disturbance::Act { write, act: self.delete() },
            Event::Fault { request, fault } => {
                Disturbance::Fault { request, verdict: verdict(fault), after: fault == Fault::Timeout }
            }
            Event::Lag { write, resource } => Disturbance::Lag { write, held: Held::new(&resource, false) },
            Event::Miss { write } => Disturbance::Lag { write, held: Held::new("", true) },
            Event::DeleteUnseen(_) | Event::Recreate { .. } => Disturbance::Lag { write: 0, held: Held::new("", true) },
            Event::Overlap { write } => Disturbance::Overlap { write },
        }
    }

    /// Runs with a second object. Returns none if the server refuses it, or if its state does not settle without the samples.
    fn neighbour(
        &self,
        baseline: &Baseline,
        server: &ApiServer,
        visit: Visit,
        namespace: &str,
        name: &str,
    ) -> Option<(Outcome, Vec<String>)> {
        let alone = self.server.snapshot();
        if namespace == NEIGHBOUR {
            server.add_namespace(NEIGHBOUR);
            alone.add_namespace(NEIGHBOUR);
        }
        let expected = self.image(server);
        let mut samples = self.samples.clone();
        samples.truncate(if namespace == NEIGHBOUR { samples.len() } else { 1 });
        samples
            .retain(|sample| namespace.is_empty() || self.server.place(sample).is_ok_and(|place| !place.1.is_empty()));
        for sample in &mut samples {
            if !namespace.is_empty() {
                sample["metadata"]["namespace"] = namespace.into();
            }
            if namespace != NEIGHBOUR {
                sample["metadata"]["name"] = name.into();
            }
        }
        create(samples.clone())(&server.snapshot()).ok()?;
        let acts = match visit {
            Visit::Stay => vec![create(samples.clone())],
            Visit::Leave => vec![create(samples.clone()), delete(samples.clone())],
            Visit::Outlive => vec![create(samples.clone()), self.delete()],
        };
        let key = format!("{namespace}/{name}");
        let known = baseline.fresh.borrow().get(&key).cloned();
        let image = known.unwrap_or_else(|| {
            let outcome = self.run(&alone, Disturbance::Nothing, vec![create(samples.clone())], false);
            let image = outcome.restless.map_or_else(|| Ok(self.image(&alone)), Err);
            baseline.fresh.borrow_mut().insert(key, image.clone());
            image
        });
        let image = image.ok()?;
        let outcome = self.run(server, Disturbance::Nothing, acts, false);
        let end = self.image(server);
        let difference = match visit {
            Visit::Stay => {
                let own = expected.without(&self.image(&baseline.idle)).without_resources(&self.shared);
                own.diff(&end.within(&own))
            }
            Visit::Leave => expected.diff(&end),
            Visit::Outlive => image.diff(&end),
        };
        Some((outcome, difference))
    }

    /// Deletes the samples and creates them again. Returns none if a finalizer keeps one of them.
    fn recreation(&self, server: &ApiServer) -> Option<Act> {
        let (delete, create) = (self.delete(), self.create());
        let act: Act = Arc::new(move |server| delete(server).and_then(|()| create(server)));
        act(&server.snapshot()).is_ok().then_some(act)
    }

    fn image(&self, server: &ApiServer) -> Image {
        Image::new(server, &self.ignored, &self.generated)
    }

    /// The resources of the samples.
    fn kinds(&self) -> BTreeSet<String> {
        self.samples.iter().filter_map(|sample| Some(self.server.place(sample).ok()?.0)).collect()
    }

    /// Patches of the first sample. Returns none if one of them is refused or changes nothing.
    fn patches(&self, server: &ApiServer, patches: &[Value]) -> Option<Vec<Act>> {
        let place = self.server.place(self.samples.first()?).ok()?;
        let trial = server.snapshot();
        let mut acts = Vec::new();
        for patch in patches {
            let changes = trial.changes();
            let (place, patch) = (place.clone(), patch.clone());
            let act: Act = Arc::new(move |server| server.act(Method::PATCH, &place, "", AUTHOR, &patch));
            if act(&trial).is_err() || trial.changes() == changes {
                return None;
            }
            acts.push(act);
        }
        Some(acts)
    }

    /// The end for new samples, the first one with the spec that it has on `server`.
    fn fresh(&self, server: &ApiServer, baseline: &Baseline) -> Result<Image, String> {
        let mut samples = self.samples.clone();
        let sample = samples.first_mut().ok_or("no sample")?;
        let spec = server.all().remove(&self.server.place(sample)?).unwrap_or_default()["spec"].take();
        let key = spec.to_string();
        if let Some(known) = baseline.fresh.borrow().get(&key) {
            return known.clone();
        }
        sample["spec"] = spec;
        let fresh = self.server.snapshot();
        let outcome = self.run(&fresh, Disturbance::Nothing, vec![create(samples)], false);
        let image = outcome.restless.map_or_else(|| Ok(self.image(&fresh)), Err);
        baseline.fresh.borrow_mut().insert(key, image.clone());
        image
    }

    /// Counts a run, and adds its finding.
    fn judge(&self, report: &mut Report, schedule: &Schedule, mut outcome: Outcome, difference: &[String]) {
        *report.trials.entry(schedule.oracle()).or_default() += 1;
        report.unsupported.extend(outcome.unsupported);
        let difference = outcome.restless.map_or_else(|| difference.to_vec(), |reason| vec![reason]);
        let mut status = outcome.status;
        // With an old cache or two processes, a correct operator cannot know the earlier time.
        if !matches!(schedule.oracle(), Oracle::Stale | Oracle::Overlap) {
            status.extend(outcome.bumped);
        } else {
            // Neither can it know the object that a webhook compares.
            outcome.reviews.clear();
        }
        let writes = outcome.log.into_iter().filter(|request| request.write).map(|request| request.text);
        let writes: Vec<String> = writes.collect();
        // A forbidden request explains all other differences.
        let of_oracle = if outcome.forbidden.is_empty() { difference } else { Vec::new() };
        for (oracle, difference) in [
            (Oracle::Permission, outcome.forbidden),
            (schedule.oracle(), of_oracle),
            (Oracle::Invariant, outcome.broken),
            (Oracle::Webhooks, outcome.reviews),
            (Oracle::Status, status),
        ] {
            let counts = self.wanted.is_none_or(|wanted| oracle == wanted || oracle == Oracle::Quiet);
            if counts && !difference.is_empty() {
                let (schedule, writes) = (schedule.to_string(), writes.clone());
                report.add(Finding { oracle, schedule, difference, writes, repeats: 0 });
            }
        }
    }

    fn create(&self) -> Act {
        create(self.samples.clone())
    }

    /// Deletes the samples. One that is gone stays so.
    fn delete(&self) -> Act {
        delete(self.samples.clone())
    }
}

fn delete(samples: Vec<Value>) -> Act {
    Arc::new(move |server| {
        samples.iter().try_for_each(|sample| {
            let place = server.place(sample)?;
            let _ = server.act(Method::DELETE, &place, "", AUTHOR, &Value::Null);
            Ok(())
        })
    })
}

fn create(samples: Vec<Value>) -> Act {
    Arc::new(move |server| {
        samples.iter().try_for_each(|sample| {
            let place = server.place(sample)?;
            server.act(Method::POST, &place, "", AUTHOR, sample)
        })
    })
}

/// True if the samples are gone after the run.
fn removes(schedule: &Schedule) -> bool {
    schedule.phase == Phase::Delete || matches!(schedule.event, Event::Delete { .. })
}

fn verdict(fault: Fault) -> Verdict {
    let (code, reason) = match fault {
        Fault::DropBefore => return Verdict::DropBefore,
        Fault::DropAfter => return Verdict::DropAfter,
        Fault::Code(409) => (409, "Conflict"),
        Fault::Code(429) => (429, "TooManyRequests"),
        Fault::Code(504) | Fault::Timeout => (504, "Timeout"),
        Fault::Code(code) => (code, "InternalError"),
    };
    Verdict::Refuse(code, reason.to_owned(), "refused by the explorer".to_owned())
}

/// A change by another client. Returns none if it is refused or changes nothing.
fn drifting(server: &ApiServer, drift: &Drift, key: &Key) -> Option<Act> {
    let trial = server.snapshot();
    let changes = trial.changes();
    if change(&trial, drift, key).is_err() || trial.changes() == changes {
        return None;
    }
    let (drift, key) = (drift.clone(), key.clone());
    Some(Arc::new(move |server| change(server, &drift, &key)))
}

/// Changes an object as another client.
fn change(server: &ApiServer, drift: &Drift, key: &Key) -> Result<(), String> {
    let Some(mut object) = server.all().remove(key) else {
        return Err(format!("{key:?} not found"));
    };
    let pointer = match drift {
        Drift::Delete => return server.act(Method::DELETE, key, "", STRANGER, &Value::Null),
        Drift::Change(pointer) | Drift::Remove(pointer) => pointer,
    };
    if let (Drift::Change(_), Some(field)) = (drift, object.pointer_mut(pointer)) {
        *field = other_value(field).unwrap_or_default();
    } else if let Some((parent, name)) = pointer.rsplit_once('/') {
        match object.pointer_mut(parent) {
            Some(Value::Object(fields)) => {
                fields.remove(&name.replace("~1", "/").replace("~0", "~"));
            }
            Some(Value::Array(items)) => {
                if let Some(at) = name.parse().ok().filter(|at| *at < items.len()) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
    server.act(Method::PUT, key, "", STRANGER, &object)
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
    fn a_schedule_is_read_as_it_is_printed() {
        for text in [
            "create: nothing",
            "create: die before write 3",
            "delete: die after write 1",
            "create: delete after write 2",
            "keep: delete configmaps default/a",
            "keep: change deployments.apps default/a /spec/replicas",
            "keep: remove configmaps /a /data/x y",
            "create: answer 409 to request 7",
            "create: answer 504 after request 7",
            "create: die after write 3 and list before write 1",
            "create: lag configmaps after write 2",
            "delete: miss events after write 2",
            "keep: delete-unseen configmaps default/a",
            "keep: recreate",
            "keep: recreate-unseen",
            "keep: add default/a-2",
            "keep: add-and-delete /a-2",
            "keep: outlive neighbour/a",
            "keep: review",
            "keep: release v1.0",
            "keep: release-and-delete v1.0",
            "keep: release-and-die v1.0 before write 2",
            "keep: beside 1",
            "keep: beside-and-delete 2",
            "keep: beside-and-outlive 1",
            "create: take over at write 2",
            "delete: drop after request 2",
            r#"keep: patch [{"spec":{"size":4}},{"spec":{"size":null}}]"#,
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        assert!("create: dance".parse::<Schedule>().is_err());
    }

    #[test]
    fn a_budget_has_a_unit() {
        assert_eq!((seconds("30s"), seconds("10m"), seconds("5"), seconds("")), (Some(30), Some(600), None, None));
    }
}
