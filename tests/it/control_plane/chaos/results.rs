//! Results of the rounds. A file keeps them, so that a long run can continue, and a table shows them.

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
    pub(super) fault: String,
    /// From the fault, or from the end of a complete outage, to the next successful Lease write.
    pub(super) failover_seconds: f64,
    /// The leader is another process than before.
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
        // Nearest-rank percentile.
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
