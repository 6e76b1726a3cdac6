//! Flags that several commands share → [`Choice`]s of the scaffold.

use crate::cli::PartArgs;
use crate::cli::peers::Plugin;
use crate::ops::choice::Choice;
use crate::project::parts::ProjectSwitch;

/// Maps the switches of a project to choices.
pub(super) fn of_parts(args: &PartArgs) -> Vec<Choice> {
    let PartArgs { webhook_cert_mode, leader_election, prometheus, network_policy, metrics_cert, manager, plugins } =
        args;
    let switch = |switch, on: &Option<bool>| on.map(|on| Choice::Switch(switch, on));
    [
        webhook_cert_mode.map(Choice::CertMode),
        leader_election.map(Choice::LeaderElection),
        manager.clone().map(Choice::Manager),
        switch(ProjectSwitch::Prometheus, prometheus),
        switch(ProjectSwitch::NetworkPolicy, network_policy),
        switch(ProjectSwitch::MetricsCert, metrics_cert),
    ]
    .into_iter()
    .flatten()
    .chain(plugins.iter().filter_map(|named| match named.plugin {
        Plugin::Part(part, on) => Some(Choice::Switch(part, on)),
        Plugin::DeployImage | Plugin::Given => None,
    }))
    .collect()
}
