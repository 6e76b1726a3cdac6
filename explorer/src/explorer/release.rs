//! Releases: the objects that an earlier release of the operator has left.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Explorer;
use super::act::{create, delete};
use super::event::{MemoryEvent, MemorySchedule, Upgrade};
use super::gate::Disturbance;
use super::render::SET_BY_SERVER;
use super::run::{Act, Outcome};
use super::schedules::keep;
use super::trial::Baseline;
use crate::exploration::{AUTHOR, ClusterState};

/// The variable that `make fixtures` sets: the folder of a project, and the name of its release, such as `/project/v1.0.0`.
const RECORD: &str = "EXPLORER_RECORD";

/// The objects of an earlier release.
pub(super) struct Release {
    pub(super) name: String,
    objects: Vec<Value>,
}

impl Explorer {
    /// Adds the objects that an earlier release has left: samples, children, and objects of the cluster, as
    /// [`Explorer::record`] prints them. The operator starts on them, and must end as it does for new samples.
    ///
    /// The author's objects are those with the manager `author`. Without `managedFields`, they are the objects at the place of
    /// a sample.
    #[must_use]
    pub fn release(mut self, name: &str, objects: Vec<Value>) -> Self {
        self.releases.push(Release { name: name.replace(char::is_whitespace, "-"), objects });
        self
    }

    /// Adds the releases in a folder of the project, such as `tests/fixtures/memcacheds.cache.example.com`: each file
    /// `NAME.json` has the objects of a release, as [`Explorer::record`] prints them. There are none without the folder.
    ///
    /// `make fixtures` writes such a file: with the variable `EXPLORER_RECORD=PROJECT/NAME`, [`Explorer::explore`] writes the
    /// file `NAME.json` in this folder of the project in the folder `PROJECT`, and explores nothing.
    ///
    /// # Panics
    ///
    /// A file cannot be read, or is not a list of objects in JSON.
    #[must_use]
    pub fn releases(mut self, folder: impl AsRef<Path>) -> Self {
        self.fixtures = Some(folder.as_ref().to_owned());
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.iter().fold(self, |explorer, path| {
            let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
            let objects = text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
            let objects = objects.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            explorer.release(&path.file_stem().unwrap_or_default().to_string_lossy(), objects)
        })
    }

    /// The objects of the settled state in JSON, a list for [`Explorer::release`] in the test of a later release.
    ///
    /// # Errors
    ///
    /// The server refuses a sample, or the state does not settle.
    pub fn record(&self) -> Result<String, String> {
        let server = self.server.snapshot();
        create(self.samples.clone())(&server.snapshot())?;
        let outcome = self.run(&server, Disturbance::Nothing, vec![self.create()], false);
        if let Some(reason) = outcome.restless {
            return Err(reason);
        }
        let before = self.server.all();
        let objects = server.all().into_iter();
        let objects = objects.filter(|(place, _)| !before.contains_key(place) && !self.ignored.contains(&place.0));
        let objects: Vec<Value> = objects.map(|(_, object)| object).collect();
        serde_json::to_string_pretty(&objects).map_err(|error| error.to_string())
    }

    /// Writes the file that [`RECORD`] requests, if there is a request, and returns true.
    ///
    /// # Panics
    ///
    /// The state cannot be recorded or written.
    pub(super) fn record_requested(&self) -> bool {
        let Some(request) = std::env::var_os(RECORD).map(PathBuf::from) else { return false };
        if let (Some(folder), Some(project), Some(name)) = (&self.fixtures, request.parent(), request.file_name()) {
            let folder = project.join(folder);
            let path = folder.join(format!("{}.json", name.display()));
            let write = |text| std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text + "\n"));
            let written = self.record().and_then(|text| write(text).map_err(|error| error.to_string()));
            written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        true
    }

    /// Upgrades, with a crash at each write.
    pub(super) fn upgrades(&self) -> Vec<MemorySchedule> {
        let mut all = Vec::new();
        for release in &self.releases {
            let mut upgrades = vec![Upgrade::Nothing, Upgrade::Delete];
            let server = self.server.snapshot();
            if server.restore(&release.objects).is_ok() {
                let outcome = self.run(&server, Disturbance::Nothing, Vec::new(), false);
                let writes = 1..=outcome.log.iter().filter(|request| request.write).count();
                upgrades.extend(writes.flat_map(|write| [true, false].map(|after| Upgrade::Die { write, after })));
            }
            let events = upgrades.into_iter().map(|upgrade| MemoryEvent::Release(upgrade, release.name.clone()));
            all.extend(keep(events));
        }
        all
    }

    /// Runs the operator on the objects of an earlier release. Returns none without such a release.
    pub(super) fn upgrade(&self, baseline: &Baseline, upgrade: Upgrade, name: &str) -> Option<(Outcome, Vec<String>)> {
        let release = self.releases.iter().find(|release| release.name == name)?;
        let server = self.server.snapshot();
        if let Err(reason) = server.restore(&release.objects) {
            return Some((Outcome::default(), vec![reason]));
        }
        let authored: Vec<Value> = release.objects.iter().filter(|object| self.is_authored(object)).cloned().collect();
        let (disturbance, acts): (_, Vec<Act>) = match upgrade {
            Upgrade::Nothing => (Disturbance::Nothing, Vec::new()),
            Upgrade::Delete => (Disturbance::Nothing, vec![delete(authored.clone())]),
            Upgrade::Die { write, after } => (Disturbance::Die { write, after, stale: None }, Vec::new()),
        };
        let outcome = self.run(&server, disturbance, acts, false);
        if !outcome.disturbed {
            return None;
        }
        let end = self.state(&server);
        let difference = match upgrade {
            Upgrade::Delete => baseline.deleted.diff(&end),
            _ => match self.installed(baseline, name, authored) {
                Ok(expected) => expected.diff(&end),
                Err(reason) => vec![format!("new objects of the author of {name}: {reason}")],
            },
        };
        Some((outcome, difference))
    }

    /// The end for new objects of the author.
    fn installed(&self, baseline: &Baseline, name: &str, authored: Vec<Value>) -> Result<ClusterState, String> {
        let samples: Vec<Value> = authored.into_iter().map(written).collect();
        create(samples.clone())(&self.server.snapshot())?;
        self.end(baseline, format!("release {name}"), &self.server.snapshot(), samples)
    }

    fn is_authored(&self, object: &Value) -> bool {
        let place = |object: &Value| self.server.place(object).ok();
        match object["metadata"]["managedFields"].as_array() {
            Some(entries) => entries.iter().any(|entry| entry["manager"] == AUTHOR),
            None => self.samples.iter().any(|sample| place(sample) == place(object)),
        }
    }
}

/// An object as its author writes it: neither a status, nor finalizers, nor metadata of the server.
pub(super) fn written(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| field != "finalizers" && !SET_BY_SERVER.contains(&field.as_str()));
    }
    object
}
