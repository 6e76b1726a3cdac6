//! The run of a schedule, and its end.

use anyhow::Result;
use explorer::exploration::{ClusterState, Event, Phase};

use super::event::{BinaryEvent, BinarySchedule};
use super::world::End;
use super::{Baseline, BinaryExplorer, Trial};

impl BinaryExplorer<'_> {
    /// Runs a schedule, and compares its end. Returns none if the schedule has no effect: its request is not sent, or
    /// another client's change is refused or changes nothing.
    pub(super) async fn trial(&mut self, baseline: &mut Baseline, schedule: &BinarySchedule) -> Result<Option<Trial>> {
        let BinaryEvent::Common(event) = &schedule.event else {
            return self.change_release(baseline, &schedule.event).await;
        };
        if schedule.phase == Phase::Create {
            self.world.reset().await?;
            self.world.start().await?;
        } else {
            self.settle_samples(baseline).await?;
        }
        self.settled = false;
        self.world.proxy.arm(event);
        match (event, schedule.phase) {
            (Event::Drift(drift, key), _) => {
                if !self.world.drift(drift, key).await? {
                    self.settled = true;
                    return Ok(None);
                }
            }
            (Event::History(patches), _) => {
                for (at, patch) in patches.iter().enumerate() {
                    if at > 0 {
                        self.world.settle(None).await?;
                    }
                    if !self.world.patch(patch).await? {
                        self.settled = at == 0;
                        return Ok(None);
                    }
                }
            }
            (_, Phase::Create) => self.world.create_samples().await?,
            (_, Phase::Delete) => self.world.proxy.delete_samples().await?,
            (_, Phase::Keep) => {
                self.world.stop().await;
                self.world.start().await?;
            }
        }
        let removes = event.removes(schedule.phase);
        let expected = match event {
            Event::History(_) => None,
            _ if removes => Some(&baseline.idle),
            _ => Some(&baseline.kept),
        };
        let end = self.world.settle(expected).await?;
        if !self.world.proxy.state().disturbed {
            return Ok(None);
        }
        let expected = expected.cloned();
        let mut trial = self.ended(Vec::new());
        match (end, expected) {
            (End::Restless(reason), _) => trial.difference = vec![reason],
            (End::Settled(state), Some(expected)) => {
                trial.difference = expected.diff(&state);
                self.settled = trial.difference.is_empty() && !removes;
            }
            (End::Settled(state), None) => {
                let expected = self.fresh(baseline).await?;
                trial.difference = match &expected {
                    Ok(expected) => expected.diff(&state),
                    Err(reason) => vec![format!("a new object with this spec: {reason}")],
                };
                self.settled = state == baseline.kept && trial.difference.is_empty();
            }
        }
        Ok(Some(trial))
    }

    /// Leaves the samples in their settled state.
    pub(super) async fn settle_samples(&mut self, baseline: &Baseline) -> Result<()> {
        if !self.settled {
            self.world.reset().await?;
            self.world.start().await?;
            self.world.proxy.arm(&Event::Nothing);
            self.world.create_samples().await?;
            self.world.settle(Some(&baseline.kept)).await?;
        }
        Ok(())
    }

    /// The end of a new object with the spec of the first sample in the cluster.
    async fn fresh(&mut self, baseline: &mut Baseline) -> Result<Result<ClusterState, String>> {
        let spec = self.world.spec().await?;
        if self.world.samples.first().is_some_and(|sample| sample.object["spec"] == spec) {
            return Ok(Ok(baseline.kept.clone()));
        }
        if let Some(end) = baseline.fresh.get(&spec.to_string()) {
            return Ok(end.clone());
        }
        self.world.reset().await?;
        self.world.start().await?;
        self.world.proxy.arm(&Event::Nothing);
        self.world.create_with(&spec).await?;
        let end = match self.world.settle(None).await? {
            End::Settled(state) => Ok(state),
            End::Restless(reason) => Err(reason),
        };
        baseline.fresh.insert(spec.to_string(), end.clone());
        Ok(end)
    }
}
