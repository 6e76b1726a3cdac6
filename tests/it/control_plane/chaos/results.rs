//! Results of rounds: kept in a file, so that a long run goes on where it was stopped, and shown as a table.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fault::Fault;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RoundResult {
    pub(super) seed: u64,
    pub(super) round: usize,
    /// The name of its fault.
    pub(super) fault: String,
    /// From the fault, or from the end of an outage for all, until a Lease write succeeded again.
    pub(super) failover_seconds: f64,
    /// Whether another process leads than before.
    pub(super) changed_hands: bool,
    pub(super) writes: usize,
    pub(super) late: usize,
    pub(super) overtaken: usize,
}

pub(super) fn read(file: &Path) -> Vec<RoundResult> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn append(file: &Path, results: &[RoundResult]) {
    let text: String = results.iter().map(|result| serde_json::to_string(result).unwrap() + "\n").collect();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

pub(super) fn table(results: &[RoundResult]) -> String {
    let mut text = String::from(
        "| Failure | Rounds | Changed hands | Min | Median | p90 | Max |\n|---|---|---|---|---|---|---|\n",
    );
    for fault in Fault::ALL.map(Fault::name) {
        let of: Vec<_> = results.iter().filter(|result| result.fault == fault).collect();
        let mut times: Vec<_> = of.iter().map(|result| result.failover_seconds).collect();
        times.sort_by(f64::total_cmp);
        if times.is_empty() {
            continue;
        }
        let changed = of.iter().filter(|result| result.changed_hands).count();
        // The smallest time that at least this share of all times does not exceed.
        let at = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
        let [min, median, p90, max] = [0, 50, 90, 100].map(at);
        writeln!(
            text,
            "| {fault} | {} | {changed} | {min:.2} s | {median:.2} s | {p90:.2} s | {max:.2} s |",
            times.len()
        )
        .unwrap();
    }
    let sum = |of: fn(&RoundResult) -> usize| results.iter().map(of).sum::<usize>();
    let seeds: BTreeSet<_> = results.iter().map(|result| result.seed).collect();
    writeln!(
        text,
        "\n{} rounds, {} seeds: {} writes judged, {} arrived late, {} of them when another replica led",
        results.len(),
        seeds.len(),
        sum(|result| result.writes),
        sum(|result| result.late),
        sum(|result| result.overtaken),
    )
    .unwrap();
    text
}

mod tests {
    use super::*;

    #[test]
    fn the_table_shows_the_distribution() {
        let result = |round: usize| RoundResult {
            seed: 1,
            round,
            fault: "SIGKILL".to_owned(),
            failover_seconds: round as f64,
            changed_hands: round > 1,
            writes: 100,
            late: round,
            overtaken: 1,
        };
        let results: Vec<_> = (1..=20).map(result).collect();
        assert_eq!(
            table(&results).lines().skip(2).collect::<Vec<_>>(),
            [
                "| SIGKILL | 20 | 19 | 1.00 s | 10.00 s | 18.00 s | 20.00 s |",
                "",
                "20 rounds, 1 seeds: 2000 writes judged, 210 arrived late, 20 of them when another replica led",
            ]
        );
    }
}
