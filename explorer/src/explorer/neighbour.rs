//! Neighbours: second objects beside the samples.

use super::Explorer;
use super::act::{create, delete};
use super::event::{MemoryEvent, MemorySchedule, Visit};
use super::gate::Disturbance;
use super::run::Outcome;
use super::schedules::keep;
use super::trial::Baseline;
use crate::server::ApiServer;

/// The namespace of objects beside the samples.
const NEIGHBOUR: &str = "neighbour";

impl Explorer {
    /// Objects beside the first sample: with its name in another namespace, and with a name that starts with its name.
    pub(super) fn neighbours(&self) -> Vec<MemorySchedule> {
        let Some((_, namespace, name)) = self.samples.first().and_then(|sample| self.server.place(sample).ok()) else {
            return Vec::new();
        };
        let mut places = vec![(namespace.clone(), format!("{name}-2"))];
        if !namespace.is_empty() {
            places.push((NEIGHBOUR.to_owned(), name));
        }
        let visits = [Visit::Leave, Visit::Outlive, Visit::Stay];
        let all =
            visits.into_iter().flat_map(|visit| places.iter().map(move |(namespace, name)| (visit, namespace, name)));
        let events = all.map(|(visit, namespace, name)| MemoryEvent::Neighbour(visit, namespace.clone(), name.clone()));
        keep(events)
    }

    /// Runs with a second object. Returns none if the server refuses it, or if its state does not settle without the samples.
    pub(super) fn neighbour(
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
        let expected = self.state(server);
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
        let only = self.end(baseline, format!("{namespace}/{name}"), &alone, samples).ok()?;
        let outcome = self.run(server, Disturbance::Nothing, acts, false);
        let end = self.state(server);
        let difference = match visit {
            Visit::Stay => {
                let own = expected.without(&self.state(&baseline.idle)).without_resources(&self.shared);
                own.diff(&end.within(&own))
            }
            Visit::Leave => expected.diff(&end),
            Visit::Outlive => only.diff(&end),
        };
        Some((outcome, difference))
    }
}
