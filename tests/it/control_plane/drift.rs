//! Drift of the objects that an operator applies, field by field, on a real API server: `tests/drift`.

use std::time::Duration;

use super::program::Program;

#[test]
fn what_others_change_is_what_an_apply_makes_of_it() {
    let program = Program {
        name: "drift",
        change: |manifest| manifest["dependencies"]["http"] = toml_edit::value("1"),
        args: vec!["--health-probe-bind-address=0".to_owned()],
        // A minute for each edit; all of them take one minute on two idle cores.
        limit: Duration::from_secs(1200),
        success: "all is as it would be",
    };
    let output = program.run();
    println!("{output}");
    for wanted in ["generated once", "readiness is told", "status of one version", "replacements are told"] {
        assert!(output.lines().any(|line| line == wanted), "{output}");
    }
    let summaries: Vec<Vec<&str>> = output
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .filter(|words| words.get(1) == Some(&"repaired"))
        .collect();
    let number = |words: &[&str], at: usize| words[at].parse::<u64>().unwrap();
    assert_eq!(summaries.len(), 6, "{output}");
    assert!(summaries.iter().all(|words| number(words, 2) >= 5), "{output}");
    assert!(summaries.iter().map(|words| number(words, 2)).sum::<u64>() >= 100, "{output}");
    // The ports of the Service and of the container.
    assert!(summaries.iter().map(|words| number(words, 4)).sum::<u64>() >= 2, "{output}");
    // The median is below a second, even on a busy machine.
    assert!(summaries.iter().all(|words| number(words, 8) < 1000), "{output}");
}
