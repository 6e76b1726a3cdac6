//! Reviews: webhooks and conversions on the samples, on changed samples, and on the objects of the undisturbed run.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::release::written;
use super::trial::Baseline;
use super::{Explorer, history};
use crate::call::webhook::{Effect, Versioned};
use crate::exploration::{self, AUTHOR, place};
use crate::resource::{KindVersions, Resource};
use crate::response::Refusal;

/// The finalizer of reviewed objects.
const FINALIZER: &str = "explorer.example.com/review";
/// The objects of each kind that a review has.
const OBJECTS: usize = 200;

/// An object with its place in messages.
struct Reviewed {
    place: String,
    object: Value,
    /// True for a sample.
    sample: bool,
}

impl Explorer {
    /// The violations of the webhooks and conversions of all kinds.
    pub(super) fn review(&self, baseline: &Baseline) -> Vec<String> {
        let mut found = Vec::new();
        for kind in self.server.reviewed() {
            for reviewed in self.reviewed(&kind, baseline) {
                let mut lines = Vec::new();
                defaulting(&kind, &reviewed, &mut lines);
                validating(&kind, &reviewed, &mut lines);
                conversions(&kind, &reviewed, &mut lines);
                if reviewed.sample {
                    self.versions(&kind, &reviewed, &mut lines);
                }
                found.extend(lines.into_iter().filter(|line| !found.contains(line)).collect::<Vec<_>>());
            }
        }
        found
    }

    /// An object that a client writes in another version than the stored one must keep its fields there: the sample with each
    /// change of its spec that the version permits.
    fn versions(&self, kind: &KindVersions, reviewed: &Reviewed, lines: &mut Vec<String>) {
        let stored = Arc::new(reviewed.object.clone());
        let server = self.server.without_webhooks();
        for version in others(kind) {
            let Ok(sample) = kind.read(&stored, version) else { continue };
            let sample = written(Arc::unwrap_or_clone(sample));
            let patches = history::spec_changes(&version.schema, &sample);
            for patch in [json!({})].into_iter().chain(patches) {
                let mut changed = sample.clone();
                json_patch::merge(&mut changed, &patch);
                let server = server.snapshot();
                let Ok(key) = server.place(&changed) else { continue };
                if server.act(Method::POST, &key, "", AUTHOR, &changed).is_err() || version.read(&mut changed).is_err()
                {
                    continue;
                }
                let Some(Ok(read)) = server.all().remove(&key).map(|object| kind.read(&Arc::new(object), version))
                else {
                    continue;
                };
                let text =
                    format!("{}: the conversion from {} and back changes the object", reviewed.place, version.version);
                claim(&text, &content(&changed), &content(&read), lines);
            }
        }
    }

    /// The stored objects of a kind: samples, samples with one change of the spec, and the history of the undisturbed run.
    fn reviewed(&self, kind: &KindVersions, baseline: &Baseline) -> Vec<Reviewed> {
        let resource = kind.storage().qualified();
        let is_of_kind = |object: &&Value| self.server.place(object).is_ok_and(|place| place.0 == resource);
        let mut given: Vec<(Value, bool)> = Vec::new();
        for sample in self.samples.iter().filter(is_of_kind) {
            given.push((sample.clone(), true));
        }
        if let Some(first) = self.samples.first().filter(is_of_kind) {
            for patch in self.changes(first) {
                let mut changed = first.clone();
                json_patch::merge(&mut changed, &patch);
                given.push((changed, false));
            }
        }
        let bare = self.server.without_webhooks();
        let stored = given.into_iter().filter_map(|(object, sample)| {
            let server = bare.snapshot();
            let key = server.place(&object).ok()?;
            server.act(Method::POST, &key, "", AUTHOR, &object).ok()?;
            Some(Reviewed { place: place(&key), object: server.all().remove(&key)?, sample })
        });
        let history = baseline.settled.history(0).into_iter().filter(|change| change.key.0 == resource);
        let history = history.map(|change| Reviewed {
            place: place(&change.key),
            object: Arc::unwrap_or_clone(change.after),
            sample: false,
        });
        stored.chain(history).take(OBJECTS).collect()
    }
}

/// The lines of a finding about effects of webhooks on requests of the operator.
pub(super) fn lines(effects: Vec<Effect>) -> Vec<String> {
    let line = |effect| match effect {
        Effect::Denied(reason) => format!("+ the validation refuses a write of the operator: {reason}"),
        Effect::Changed(before, after) => {
            let fields = exploration::lines(&before, &after);
            let changed: Vec<&str> = fields.iter().map(|line| line[1..].trim_start()).collect();
            format!("+ the defaulting changes a write of the operator: {}", changed.join(", then "))
        }
    };
    effects.into_iter().map(line).collect()
}

fn message(refusal: &Refusal) -> String {
    refusal.0["message"].as_str().unwrap_or_default().to_owned()
}

/// Adds the claim with the fields that differ.
fn claim(claim: &str, before: &Value, after: &Value, lines: &mut Vec<String>) {
    let fields = exploration::lines(before, after);
    if !fields.is_empty() {
        lines.push(format!("  {claim}"));
        lines.extend(fields);
    }
}

/// The defaulting must be idempotent.
fn defaulting(kind: &KindVersions, reviewed: &Reviewed, lines: &mut Vec<String>) {
    let place = &reviewed.place;
    for Versioned { api_version, function } in &kind.admission.defaulting {
        let Ok(given) = kind.convert(reviewed.object.clone(), api_version) else { return };
        match function(None, &given) {
            Ok(once) => match function(None, &once) {
                Ok(twice) => {
                    claim(&format!("{place}: a second defaulting changes the object"), &once, &twice, lines);
                }
                Err(reason) => lines.push(format!("+ {place}: a second defaulting refuses the object: {reason}")),
            },
            Err(reason) if reviewed.sample => {
                lines.push(format!("+ {place}: the defaulting refuses the sample: {reason}"));
            }
            Err(_) => {}
        }
    }
}

/// A defaulted sample must be valid, and each object must be able to lose its finalizers.
fn validating(kind: &KindVersions, reviewed: &Reviewed, lines: &mut Vec<String>) {
    let place = &reviewed.place;
    let default = |old: Option<&Value>, object: &Value| {
        kind.admission.defaulting.iter().try_fold(object.clone(), |object, defaulting| {
            let convert =
                |object: Value| kind.convert(object, &defaulting.api_version).map_err(|refusal| message(&refusal));
            (defaulting.function)(old.cloned().map(convert).transpose()?.as_ref(), &convert(object)?)
        })
    };
    let validate = |old: Option<&Value>, new: &Value| {
        kind.admission.validating.iter().try_for_each(|validating| {
            let convert = |object: &Value| {
                kind.convert(object.clone(), &validating.api_version).map_err(|refusal| message(&refusal))
            };
            (validating.function)(old.map(convert).transpose()?.as_ref(), Some(&convert(new)?))
        })
    };
    if reviewed.sample
        && let Err(reason) = default(None, &reviewed.object).and_then(|sample| validate(None, &sample))
    {
        lines.push(format!("+ {place}: the validation refuses the sample: {reason}"));
    }
    let mut deleted = reviewed.object.clone();
    deleted["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into();
    let released = deleted.clone();
    deleted["metadata"]["finalizers"] = json!([FINALIZER]);
    if let Err(reason) = default(Some(&deleted), &released).and_then(|released| validate(Some(&deleted), &released)) {
        let spec = &reviewed.object["spec"];
        lines.push(format!("+ {place}: a deleted object cannot lose its finalizer: {reason} (spec {spec})"));
    }
}

/// The conversion to each served version and back must lose nothing.
fn conversions(kind: &KindVersions, reviewed: &Reviewed, lines: &mut Vec<String>) {
    let stored = Arc::new(reviewed.object.clone());
    for version in others(kind) {
        let name = &version.version;
        let trip = kind.read(&stored, version).and_then(|there| kind.write(Arc::unwrap_or_clone(there)));
        let place = &reviewed.place;
        match trip {
            Ok(back) => {
                let text = format!("{place}: the conversion to {name} and back changes the object");
                claim(&text, &plain(&reviewed.object), &plain(&back), lines);
            }
            Err(refusal) => lines.push(format!("+ {place}: the conversion to {name} and back: {}", message(&refusal))),
        }
    }
}

/// The served versions other than the stored one.
fn others(kind: &KindVersions) -> impl Iterator<Item = &Arc<Resource>> {
    kind.all().filter(|version| version.served && version.version != kind.storage().version)
}

/// Without the metadata.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"].take();
    object
}

/// Without the managers of fields.
fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}
