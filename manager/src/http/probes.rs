//! Named checks behind `/healthz` and `/readyz`.
//!
//! `/readyz` runs all checks, `/readyz/caches` runs one. `?verbose` lists them, and `?exclude=caches` leaves one out.
//! Anybody may call them, so the error of a check appears only in the log, unless the check is open. A pending check
//! fails when called alone. Among others, it is listed and does not count.

use std::collections::BTreeMap;

use hyper::StatusCode;
use tokio::sync::watch;

use super::server::Answer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// Not done yet, for this reason. The process can work without it.
    Pending(String),
    Failed(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(error),
        }
    }
}

type Run = Box<dyn Fn() -> Outcome + Send + Sync>;

struct Check {
    run: Run,
    /// True if everybody may read its errors.
    open: bool,
}

#[derive(Default)]
pub(crate) struct Checks {
    checks: BTreeMap<String, Check>,
}

impl Checks {
    pub(crate) fn add(
        &mut self,
        name: &str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.insert(name, false, Box::new(move || check().into()));
    }

    /// Adds a check whose errors contain no secrets.
    pub(crate) fn add_open<Checked: Into<Outcome>>(
        &mut self,
        name: &str,
        check: impl Fn() -> Checked + Send + Sync + 'static,
    ) {
        self.insert(name, true, Box::new(move || check().into()));
    }

    fn insert(&mut self, name: &str, open: bool, run: Run) {
        self.checks.insert(name.to_owned(), Check { run, open });
    }

    /// Runs checks. `kind` is for people, `name` is the rest of the path.
    fn answer(&self, kind: &str, name: Option<&str>, query: &str) -> Answer {
        let parameters = || {
            query
                .split('&')
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        };
        let excluded = |check: &str| parameters().any(|pair| pair == ("exclude", check));
        let selected: Vec<_> = self
            .checks
            .iter()
            .filter(|(check, _)| match name {
                Some(name) => *check == name,
                None => !excluded(check),
            })
            .collect();
        if name.is_some() && selected.is_empty() {
            return Answer::not_found();
        }
        let mut lines = String::new();
        let mut passed = true;
        for (check, Check { run, open }) in selected {
            match run() {
                Outcome::Passed => lines += &format!("[+]{check} ok\n"),
                Outcome::Pending(reason) if name.is_none() => {
                    lines += &format!("[ ]{check} pending: {reason}\n");
                }
                Outcome::Failed(error) | Outcome::Pending(error) => {
                    tracing::debug!(kind, check, error, "check failed");
                    passed = false;
                    let reason = if *open { &error } else { "reason withheld" };
                    lines += &format!("[-]{check} failed: {reason}\n");
                }
            }
        }
        match (passed, parameters().any(|(name, _)| name == "verbose")) {
            (true, false) => Answer::ok("ok"),
            (true, true) => Answer::ok(format!("{lines}{kind} check passed\n")),
            (false, _) => Answer::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("{lines}{kind} check failed\n"),
            ),
        }
    }
}

#[derive(Default)]
pub(crate) struct Probes {
    pub(crate) health: Checks,
    pub(crate) ready: Checks,
    /// Becomes true with the first successful `/readyz`.
    pub(crate) seen_ready: watch::Sender<bool>,
}

impl Probes {
    pub(crate) fn answer(&self, path: &str, query: &str) -> Answer {
        let (kind, name) = match path.trim_start_matches('/').split_once('/') {
            Some((kind, name)) => (kind, Some(name).filter(|name| !name.is_empty())),
            None => (path.trim_start_matches('/'), None),
        };
        match kind {
            "healthz" => self.health.answer(kind, name, query),
            "readyz" => {
                let answer = self.ready.answer(kind, name, query);
                if name.is_none() && answer.status == StatusCode::OK {
                    self.seen_ready.send_replace(true);
                }
                answer
            }
            _ => Answer::not_found(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_check_counts_only_when_it_is_asked_alone() {
        let mut probes = Probes::default();
        let pending = || Outcome::Pending("Thing is not listed yet".to_owned());
        probes.ready.add_open("caches", pending);
        for (path, query, status, text) in [
            (
                "/readyz/caches",
                "",
                500,
                "[-]caches failed: Thing is not listed yet\nreadyz check failed\n",
            ),
            ("/readyz", "", 200, "ok"),
            (
                "/readyz",
                "verbose",
                200,
                "[ ]caches pending: Thing is not listed yet\nreadyz check passed\n",
            ),
        ] {
            assert!(!*probes.seen_ready.borrow() || status == 200, "{path}");
            let answer = probes.answer(path, query);
            let actual = (answer.status.as_u16(), answer.text.as_str());
            assert_eq!(actual, (status, text), "{path}?{query}");
        }
        assert!(*probes.seen_ready.borrow());
    }

    #[test]
    fn checks_have_names_and_every_one_counts() {
        let mut probes = Probes::default();
        probes.ready.add("caches", || Ok(()));
        probes
            .ready
            .add("database", || Err("password wrong".into()));
        probes
            .health
            .add_open("kinds", || Err("Thing is missing".into()));
        let cases = [
            (
                "/healthz/kinds",
                "",
                500,
                "[-]kinds failed: Thing is missing\nhealthz check failed\n",
            ),
            ("/healthz", "exclude=kinds", 200, "ok"),
            (
                "/healthz/",
                "verbose&exclude=kinds",
                200,
                "healthz check passed\n",
            ),
            (
                "/readyz",
                "",
                500,
                "[+]caches ok\n[-]database failed: reason withheld\nreadyz check failed\n",
            ),
            ("/readyz", "exclude=database", 200, "ok"),
            (
                "/readyz",
                "verbose=1&exclude=database",
                200,
                "[+]caches ok\nreadyz check passed\n",
            ),
            ("/readyz/caches", "", 200, "ok"),
            (
                "/readyz/database",
                "",
                500,
                "[-]database failed: reason withheld\nreadyz check failed\n",
            ),
            ("/readyz/other", "", 404, "not found"),
            ("/", "", 404, "not found"),
            ("/metrics", "", 404, "not found"),
        ];
        for (path, query, status, text) in cases {
            let answer = probes.answer(path, query);
            let actual = (answer.status.as_u16(), answer.text.as_str());
            assert_eq!(actual, (status, text), "{path}?{query}");
        }
    }
}
