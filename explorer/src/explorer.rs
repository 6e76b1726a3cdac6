//! The explorer: runs an operator under many schedules, and compares the ends.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::Value;

use crate::schema::Shape;
use crate::server::{ApiServer, Verdict};
use crate::stages::Stages;
use crate::store::Key;

mod history;
mod oracle;
mod report;
mod run;

pub use oracle::Oracle;
pub use report::{Finding, Report};

use oracle::{Drift, Event, Fault, Image, Phase, Schedule, other_value, owned_fields};
use run::{Act, Disturbance, Outcome};

/// The manager of the samples.
const AUTHOR: &str = "author";
/// The manager of changes by another client.
const STRANGER: &str = "stranger";
/// Managers that are not the operator.
const OTHERS: [&str; 3] = [AUTHOR, STRANGER, "kube-controller-manager"];

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
    oracles: Vec<Oracle>,
    stop_at_finding: bool,
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
            start: Box::new(move |client| {
                let operator = start(client);
                Box::pin(async move {
                    operator.await;
                })
            }),
            samples: Vec::new(),
            stages: Stages::default(),
            budget: Duration::from_secs(budget),
            patience: Duration::from_secs(600),
            ignored: ["events", "events.events.k8s.io", "leases.coordination.k8s.io"].map(str::to_owned).to_vec(),
            oracles: vec![
                Oracle::Quiet,
                Oracle::Crash,
                Oracle::Deletion,
                Oracle::Drift,
                Oracle::Faults,
                Oracle::History,
            ],
            stop_at_finding: false,
        }
    }

    /// Adds a sample: an object that the author of the operator creates.
    #[must_use]
    pub fn sample(mut self, object: Value) -> Self {
        self.samples.push(object);
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

    /// Runs the schedules of one oracle only, after those of [`Oracle::Quiet`] and the undisturbed deletion.
    #[must_use]
    pub fn only(mut self, oracle: Oracle) -> Self {
        self.oracles = vec![oracle];
        self
    }

    /// Ends the exploration at the first finding.
    #[must_use]
    pub fn stop_at_finding(mut self) -> Self {
        self.stop_at_finding = true;
        self
    }

    /// Runs all schedules within the budget. Each oracle gets the same share.
    pub fn explore(&self) -> Report {
        let started = Instant::now();
        let mut report = Report::default();
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
        let empty = Image::new(&idle, &self.ignored);
        let kept = Image::new(&settled, &self.ignored);
        let copy = settled.snapshot();
        let keep = self.run(&copy, Disturbance::Nothing, Vec::new(), false);
        let difference = kept.diff(&Image::new(&copy, &self.ignored));
        let restless = keep.restless.is_some() || !difference.is_empty();
        self.judge(report, &undisturbed(Phase::Keep), keep, &difference);
        if restless {
            return Err(());
        }
        let copy = settled.snapshot();
        let delete = self.run(&copy, Disturbance::Nothing, vec![self.delete()], true);
        let deleted = Image::new(&copy, &self.ignored);
        self.judge(report, &undisturbed(Phase::Delete), delete.clone(), &empty.diff(&deleted));
        Ok(Baseline { idle, settled, kept, deleted, create, delete, fresh: RefCell::default() })
    }

    /// All schedules: in turn one of each oracle.
    fn schedules(&self, baseline: &Baseline) -> Vec<Schedule> {
        let schedules = self.oracles.iter().map(|oracle| self.schedules_of(*oracle, baseline).into_iter());
        let mut schedules: Vec<_> = schedules.collect();
        let mut all = Vec::new();
        while schedules.iter_mut().fold(false, |any, of_oracle| {
            let next = of_oracle.next();
            let found = next.is_some();
            all.extend(next);
            any | found
        }) {}
        all
    }

    fn schedules_of(&self, oracle: Oracle, baseline: &Baseline) -> Vec<Schedule> {
        let phases = [(Phase::Create, &baseline.create), (Phase::Delete, &baseline.delete)];
        let writes = |outcome: &Outcome| 1..=outcome.log.iter().filter(|request| request.write).count();
        let mut all = Vec::new();
        match oracle {
            // The baseline.
            Oracle::Quiet => {}
            Oracle::Crash => {
                for (phase, outcome) in phases {
                    let crashes =
                        writes(outcome).flat_map(|write| [false, true].map(|after| Event::Die { write, after }));
                    all.extend(crashes.map(|event| Schedule { phase, event }));
                }
            }
            Oracle::Deletion => {
                let deletions = writes(&baseline.create).map(|write| Event::Delete { write });
                all.extend(deletions.map(|event| Schedule { phase: Phase::Create, event }));
            }
            Oracle::Drift => {
                let drifts = self.drifts(baseline).map(|(drift, key)| Event::Drift(drift, key));
                all.extend(drifts.map(|event| Schedule { phase: Phase::Keep, event }));
            }
            Oracle::History => {
                let histories = self.histories().into_iter().map(Event::History);
                all.extend(histories.map(|event| Schedule { phase: Phase::Keep, event }));
            }
            Oracle::Faults => {
                // One fault for all requests, then the next one: a small budget sees each request.
                let faults = [
                    (Fault::Code(500), false),
                    (Fault::DropAfter, true),
                    (Fault::Code(409), true),
                    (Fault::DropBefore, false),
                    (Fault::Code(429), false),
                    (Fault::Code(504), false),
                ];
                for (fault, only_writes) in faults {
                    for (phase, outcome) in phases {
                        let requests = (1..).zip(&outcome.log).filter(|(_, logged)| logged.write || !only_writes);
                        let events = requests.map(|(request, _)| Event::Fault { request, fault });
                        all.extend(events.map(|event| Schedule { phase, event }));
                    }
                }
            }
        }
        all
    }

    /// Deletions of the operator's objects for the samples, and changes of its fields in them.
    fn drifts<'a>(&'a self, baseline: &'a Baseline) -> impl Iterator<Item = (Drift, Key)> + 'a {
        let before = baseline.idle.all();
        let samples: Vec<Key> = self.samples.iter().filter_map(|sample| self.server.place(sample).ok()).collect();
        let objects = baseline.settled.all().into_iter();
        let objects = objects.filter(move |(key, object)| {
            let is_ours = !owned_fields(object, &OTHERS).is_empty();
            is_ours && !before.contains_key(key) && !samples.contains(key) && !self.ignored.contains(&key.0)
        });
        objects.flat_map(|(key, object)| {
            let mut drifts = vec![Drift::Delete];
            for pointer in owned_fields(&object, &OTHERS) {
                if object.pointer(&pointer).and_then(other_value).is_some() {
                    drifts.push(Drift::Change(pointer.clone()));
                }
                drifts.push(Drift::Remove(pointer));
            }
            drifts.into_iter().map(move |drift| (drift, key.clone()))
        })
    }

    /// Runs a schedule, and compares its end. Returns none if the schedule has no effect: its request is not
    /// sent, or another client's change is refused or changes nothing.
    fn trial(&self, baseline: &Baseline, schedule: &Schedule) -> Option<(Outcome, Vec<String>)> {
        let server = if schedule.phase == Phase::Create { self.server.snapshot() } else { baseline.settled.snapshot() };
        let acts = match (schedule.phase, &schedule.event) {
            (_, Event::Drift(drift, key)) => {
                let trial = server.snapshot();
                let changes = trial.changes();
                if change(&trial, drift, key).is_err() || trial.changes() == changes {
                    return None;
                }
                let (drift, key) = (drift.clone(), key.clone());
                vec![Arc::new(move |server: &ApiServer| change(server, &drift, &key)) as Act]
            }
            (_, Event::History(patches)) => self.patches(&server, patches)?,
            (Phase::Create, _) => vec![self.create()],
            (Phase::Keep, _) => Vec::new(),
            (Phase::Delete, _) => vec![self.delete()],
        };
        let disturbance = match schedule.event.clone() {
            Event::Nothing | Event::Drift(..) | Event::History(_) => Disturbance::Nothing,
            Event::Die { write, after } => Disturbance::Die { write, after },
            Event::Delete { write } => Disturbance::Act { write, act: self.delete() },
            Event::Fault { request, fault } => Disturbance::Fault { request, verdict: verdict(fault) },
        };
        let outcome = self.run(&server, disturbance, acts, schedule.phase == Phase::Delete);
        if !outcome.disturbed {
            return None;
        }
        let end = Image::new(&server, &self.ignored);
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
        let image = outcome.restless.map_or_else(|| Ok(Image::new(&fresh, &self.ignored)), Err);
        baseline.fresh.borrow_mut().insert(key, image.clone());
        image
    }

    /// The histories of the first sample.
    fn histories(&self) -> Vec<Vec<Value>> {
        let sample = self.samples.first().cloned().unwrap_or_default();
        let mut operations = Vec::new();
        if let Some(schema) = self.server.schema(&sample)
            && let Shape::Object { properties, .. } = &schema.shape
            && let Some(spec) = properties.get("spec")
        {
            history::operations(spec, &sample["spec"], &mut vec!["spec".to_owned()], &mut operations);
        }
        history::sequences(&operations)
    }

    /// Counts a run, and adds its finding.
    fn judge(&self, report: &mut Report, schedule: &Schedule, outcome: Outcome, difference: &[String]) {
        let oracle = schedule.oracle();
        *report.trials.entry(oracle).or_default() += 1;
        report.unsupported.extend(outcome.unsupported);
        let difference = outcome.restless.map_or_else(|| difference.to_vec(), |reason| vec![reason]);
        if !difference.is_empty() {
            let writes = outcome.log.into_iter().filter(|request| request.write).map(|request| request.text).collect();
            report.add(Finding { oracle, schedule: schedule.to_string(), difference, writes, repeats: 0 });
        }
    }

    fn create(&self) -> Act {
        create(self.samples.clone())
    }

    /// Deletes the samples. One that is gone stays so.
    fn delete(&self) -> Act {
        let samples = self.samples.clone();
        Arc::new(move |server| {
            samples.iter().try_for_each(|sample| {
                let place = server.place(sample)?;
                let _ = server.act(Method::DELETE, &place, "", AUTHOR, &Value::Null);
                Ok(())
            })
        })
    }
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
        Fault::Code(504) => (504, "Timeout"),
        Fault::Code(code) => (code, "InternalError"),
    };
    Verdict::Refuse(code, reason.to_owned(), "refused by the explorer".to_owned())
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
