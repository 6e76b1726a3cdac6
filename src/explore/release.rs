//! Releases: the explored program starts on the objects of the previous release, and the other way round.

use anyhow::Result;
use explorer::exploration::{ClusterState, Event, in_turn};

use super::event::{BinaryEvent, BinarySchedule, keep};
use super::world::{End, Release};
use super::{Baseline, BinaryExplorer, Trial};

/// The undisturbed runs of both releases.
pub(super) struct ReleaseRuns {
    /// The end of the previous release for new samples.
    previous: ClusterState,
    /// The number of its writes until then.
    writes: usize,
    /// The number of the writes of the explored program in the upgrade.
    upgrade: usize,
}

impl ReleaseRuns {
    /// All schedules except the undisturbed upgrade.
    pub(super) fn schedules(&self) -> Vec<BinarySchedule> {
        let crashes = |after| -> Vec<BinaryEvent> {
            (1..=self.upgrade).map(|write| BinaryEvent::Upgrade(Event::Die { write, after })).collect()
        };
        let late = (1..=self.writes).map(|write| BinaryEvent::TakeOver { write }).collect();
        let mut events = vec![BinaryEvent::UpgradeAndDelete, BinaryEvent::RollBack];
        events.extend(in_turn(vec![crashes(true), late]));
        events.extend(crashes(false));
        events.into_iter().map(keep).collect()
    }
}

impl BinaryExplorer<'_> {
    /// Runs the previous release, and the undisturbed upgrade if schedules follow. Returns false if the previous release does
    /// not settle.
    pub(super) async fn releases(&mut self, baseline: &mut Baseline) -> Result<bool> {
        (self.say)("undisturbed runs of the previous release");
        let Some((first, _)) = self.undisturbed_previous().await? else { return Ok(false) };
        let Some((second, writes)) = self.undisturbed_previous().await? else { return Ok(false) };
        self.world.generated.extend(first.differing(&second));
        for state in [&mut baseline.kept, &mut baseline.idle] {
            *state = state.clone().without_values(&self.world.generated);
        }
        let previous = second.without_values(&self.world.generated);
        let mut runs = ReleaseRuns { previous, writes, upgrade: 0 };
        if self.options.replay.is_some() {
            baseline.releases = Some(runs);
            return Ok(true);
        }
        let end = self.upgrade(baseline, &Event::Nothing).await?;
        let trial = self.ended(end.difference(&baseline.kept));
        if matches!(end, End::Settled(_)) {
            runs.upgrade = trial.writes.len();
        }
        self.settled = trial.difference.is_empty();
        baseline.releases = Some(runs);
        self.confirm(baseline, &keep(BinaryEvent::Upgrade(Event::Nothing)), trial).await?;
        Ok(true)
    }

    /// Runs the previous release with new samples. Returns its end and the number of its writes; none if the state does not
    /// settle.
    async fn undisturbed_previous(&mut self) -> Result<Option<(ClusterState, usize)>> {
        let end = self.install_previous(None).await?;
        let trial = self.ended(Vec::new());
        match end {
            End::Settled(state) => Ok(Some((state, trial.writes.len()))),
            End::Restless(reason) => {
                let schedule = keep(BinaryEvent::Upgrade(Event::Nothing));
                self.count(&schedule);
                self.judge(&schedule, Trial { difference: vec![format!("the previous release: {reason}")], ..trial });
                Ok(None)
            }
        }
    }

    async fn start_previous(&mut self) -> Result<()> {
        self.settled = false;
        self.world.reset().await?;
        self.world.start_release(Release::Previous).await?;
        self.world.learn_watches();
        self.world.proxy.arm(&Event::Nothing);
        Ok(())
    }

    /// Leaves the objects of the previous release.
    async fn install_previous(&mut self, expected: Option<&ClusterState>) -> Result<End> {
        self.start_previous().await?;
        self.world.create_samples().await?;
        self.world.settle(expected).await
    }

    /// Starts the explored program on the objects of now.
    async fn upgrade(&mut self, baseline: &Baseline, event: &Event) -> Result<End> {
        self.world.stop().await;
        self.world.proxy.arm(event);
        self.world.hand_over(Release::Explored).await?;
        self.world.settle(Some(&baseline.kept)).await
    }

    /// Runs a schedule of the oracle `release`. Returns none if its write is not sent.
    pub(super) async fn change_release(&mut self, baseline: &Baseline, event: &BinaryEvent) -> Result<Option<Trial>> {
        let Some(runs) = &baseline.releases else { return Ok(None) };
        let (end, expected) = match event {
            BinaryEvent::Common(_) => return Ok(None),
            BinaryEvent::Upgrade(event) => {
                self.install_previous(Some(&runs.previous)).await?;
                (self.upgrade(baseline, event).await?, &baseline.kept)
            }
            BinaryEvent::UpgradeAndDelete => {
                self.install_previous(Some(&runs.previous)).await?;
                let mut end = self.upgrade(baseline, &Event::Nothing).await?;
                if matches!(end, End::Settled(_)) {
                    self.world.proxy.delete_samples().await?;
                    end = self.world.settle(Some(&baseline.idle)).await?;
                }
                (end, &baseline.idle)
            }
            BinaryEvent::TakeOver { write } => {
                self.start_previous().await?;
                self.world.proxy.hold(*write);
                self.world.create_samples().await?;
                if !self.world.until_held().await {
                    return Ok(None);
                }
                self.world.hand_over(Release::Explored).await?;
                let mut end = self.world.settle(Some(&baseline.kept)).await?;
                if matches!(end, End::Settled(_)) {
                    self.world.proxy.send_held().await?;
                    end = self.world.settle(Some(&baseline.kept)).await?;
                }
                (end, &baseline.kept)
            }
            BinaryEvent::RollBack => {
                self.settle_samples(baseline).await?;
                self.settled = false;
                self.world.stop().await;
                self.world.proxy.arm(&Event::Nothing);
                self.world.hand_over(Release::Previous).await?;
                (self.world.settle(Some(&runs.previous)).await?, &runs.previous)
            }
        };
        if !self.world.proxy.state().disturbed {
            return Ok(None);
        }
        let trial = self.ended(end.difference(expected));
        let is_kept = matches!(event, BinaryEvent::Upgrade(_) | BinaryEvent::TakeOver { .. });
        self.settled = is_kept && trial.difference.is_empty();
        Ok(Some(trial))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn schedules_disturb_each_write_of_both_releases() {
        let runs = ReleaseRuns { previous: ClusterState(BTreeMap::new()), writes: 2, upgrade: 1 };
        let schedules: Vec<String> = runs.schedules().iter().map(ToString::to_string).collect();
        let expected = [
            "keep: upgrade and delete",
            "keep: roll back",
            "keep: upgrade and die after write 1",
            "keep: take over at write 1",
            "keep: take over at write 2",
            "keep: upgrade and die before write 1",
        ];
        assert_eq!(schedules, expected);
    }
}
