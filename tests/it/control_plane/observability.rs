//! Alerts and dashboards, checked with promtool. `walkthroughs.rs` checks that a running operator has their metrics.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::control_plane::tool::tool;
use crate::sandbox::Sandbox;

pub(super) struct Observed {
    /// Rule groups in Prometheus's format.
    rules: Value,
    /// Expressions of panels and variables, after Grafana's substitution.
    panels: Vec<String>,
}

impl Observed {
    pub(super) fn new() -> Self {
        let project = Sandbox::project("--prometheus --plugins grafana");
        let rule: Value = serde_yaml::from_str(&project.read("config/prometheus/rules.yaml")).unwrap();
        let mut panels = Vec::new();
        for name in ["controller-runtime", "controller-resources"] {
            let dashboard: Value =
                serde_json::from_str(&project.read(&format!("grafana/{name}-metrics.json"))).unwrap();
            expressions(&dashboard["panels"], "expr", &mut panels);
            let mut variables = Vec::new();
            expressions(&dashboard["templating"], "definition", &mut variables);
            // `label_values(METRIC{…}, LABEL)`
            panels.extend(variables.iter().map(|variable| {
                let inner = variable.strip_prefix("label_values(").unwrap();
                inner.rsplit_once(", ").unwrap().0.to_owned()
            }));
        }
        assert!(panels.len() > 20, "{panels:?}");
        let panels = panels.iter().map(|panel| panel.replace("$__rate_interval", "5m")).collect();
        Self { rules: rule["spec"].clone(), panels }
    }

    /// All queried metrics except `up`, which Prometheus adds.
    pub(super) fn metrics(&self) -> BTreeSet<String> {
        let mut all = self.panels.clone();
        expressions(&self.rules, "expr", &mut all);
        let mut metrics: BTreeSet<String> = all.iter().flat_map(|text| metrics(text)).collect();
        assert!(metrics.remove("up"));
        metrics
    }
}

/// Collects the values of a key at any depth.
fn expressions(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get(key).and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|value| expressions(value, key, found));
        }
        Value::Array(items) => items.iter().for_each(|value| expressions(value, key, found)),
        _ => {}
    }
}

/// Metric names in an expression: those with a selector, or the whole expression.
fn metrics(expression: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let parts: Vec<&str> = expression.split('{').collect();
    let before = if parts.len() == 1 { &parts[..] } else { &parts[..parts.len() - 1] };
    let name = |part: &&str| part.rsplit(|c| !is_name(c)).next().unwrap_or_default().to_owned();
    before.iter().map(name).filter(|name| !name.is_empty()).collect()
}

fn promtool(folder: &Sandbox, arguments: &[&str]) -> Result<String, String> {
    let program = tool("promtool", "github.com/prometheus/prometheus/cmd/promtool");
    let output = Command::new(program).args(arguments).current_dir(folder.root()).output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    if output.status.success() { Ok(said) } else { Err(said) }
}

fn module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/promtool")
}

#[test]
fn each_alert_tells_of_what_is_wrong_and_of_nothing_else() {
    let folder = Sandbox::new();
    let rules = Observed::new().rules;
    folder.file("rules.yaml", &rules.to_string());
    let tests = std::fs::read_to_string(module().join("alerts.yaml")).unwrap();
    folder.file("alerts.yaml", &tests);
    let check = ["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"];
    promtool(&folder, &check).unwrap();
    promtool(&folder, &["test", "rules", "alerts.yaml"]).unwrap_or_else(|error| panic!("{error}"));
    // For each alert, one case fires and one does not.
    let groups = rules["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap());
    let alerts: Vec<&str> = groups.map(|rule| rule["alert"].as_str().unwrap()).collect();
    let cases: Value = serde_yaml::from_str(&tests).unwrap();
    let cases = cases["tests"].as_array().unwrap().iter().flat_map(|test| test["alert_rule_test"].as_array().unwrap());
    let cases: Vec<&Value> = cases.collect();
    for alert in &alerts {
        for fires in [true, false] {
            let seen = |case: &&Value| case["alertname"] == *alert && case["exp_alerts"].is_array() == fires;
            assert!(cases.iter().any(seen), "no test in which {alert} fires: {fires}");
        }
    }
    // A changed threshold or duration fails the test.
    for (from, to) in [("> 600", "> 1200"), ("\"for\":\"2m\"", "\"for\":\"20m\""), ("== 0", "== 1"), ("5..|", "")] {
        let text = rules.to_string();
        assert!(text.contains(from), "{from}");
        folder.file("rules.yaml", &text.replace(from, to));
        promtool(&folder, &["test", "rules", "alerts.yaml"]).unwrap_err();
    }
    folder.file("rules.yaml", &rules.to_string().replace("absent(", "absnet("));
    assert!(promtool(&folder, &check).unwrap_err().contains("absnet"));
}

#[test]
fn every_expression_of_the_dashboards_is_one() {
    let folder = Sandbox::new();
    let panels = Observed::new().panels;
    let check = |panels: &[String]| {
        let rule = |(n, expr): (usize, &String)| json!({ "record": format!("panel:{n}"), "expr": expr });
        let rules: Vec<Value> = panels.iter().enumerate().map(rule).collect();
        folder.file("panels.yaml", &json!({ "groups": [{ "name": "panels", "rules": rules }] }).to_string());
        promtool(&folder, &["check", "rules", "panels.yaml"])
    };
    check(&panels).unwrap_or_else(|error| panic!("{error}"));
    check(&[panels[0].replacen('(', "((", 1)]).unwrap_err();
}

#[test]
fn metrics_of_expressions_are_found() {
    for (expression, expected) in
        [("sum by (a) (rate(b_total{c=\"d\"}[5m])) / e{f=~\"g\"} > 1", &["b_total", "e"] as &[_]), ("a_b", &["a_b"])]
    {
        assert_eq!(metrics(expression), expected);
    }
}
