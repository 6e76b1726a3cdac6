//! The catalogue of planted bugs: small operators, each of which is correct or has one bug.
//!
//! The oracle of a bug finds it within its budget, and the correct operator has no findings. `docs/explore-catalogue.md` has
//! the list with one measured run: `SNAPSHOTS=overwrite cargo test --package memcached-sdk-explorer --test catalogue` writes it.
#![allow(clippy::unwrap_used, reason = "tests may be plain")]
#![allow(clippy::print_stdout, reason = "the reports are worth reading")]

use std::fmt::Write as _;
use std::path::Path;

use explorer::Oracle;

use common::Planted;

mod bucket;
mod common;
mod farm;
mod kiosk;
mod shop;
mod team;
mod ticket;
mod vault;

const OPERATORS: [&Planted; 7] =
    [&shop::SHOP, &vault::VAULT, &farm::FARM, &bucket::BUCKET, &team::TEAM, &ticket::TICKET, &kiosk::KIOSK];

/// The text before the table.
const INTRODUCTION: &str = "\
# Catalogue of planted bugs

This page lists bugs of small operators that the explorer finds. Use it to see the oracle that finds a kind of bug. The operators
are in `explorer/tests/catalogue`. The schedule and the time are those of one run.

| Operator | Bug | Oracle | Schedule | Time |
|---|---|---|---|---|
";

#[test]
fn the_correct_shop_is_clean() {
    let trials = shop::SHOP.assert_clean();
    let oracles = [
        Oracle::Quiet,
        Oracle::Crash,
        Oracle::Deletion,
        Oracle::Drift,
        Oracle::Faults,
        Oracle::History,
        Oracle::Stale,
        Oracle::Neighbours,
        Oracle::Overlap,
    ];
    for oracle in oracles {
        assert!(trials.get(&oracle).is_some_and(|count| *count > 1), "{oracle} has no trials");
    }
}

#[test]
fn the_correct_vault_is_clean() {
    vault::VAULT.assert_clean();
}

#[test]
fn the_correct_farm_is_clean() {
    farm::FARM.assert_clean();
}

#[test]
fn the_correct_bucket_is_clean() {
    bucket::BUCKET.assert_clean();
}

#[test]
fn the_correct_team_is_clean() {
    team::TEAM.assert_clean();
}

#[test]
fn the_correct_ticket_is_clean() {
    ticket::TICKET.assert_clean();
}

#[test]
fn the_correct_kiosk_is_clean() {
    kiosk::KIOSK.assert_clean();
}

#[test]
fn bugs_of_the_shop_are_found() {
    shop::SHOP.assert_found();
}

#[test]
fn bugs_of_the_vault_are_found() {
    vault::VAULT.assert_found();
}

#[test]
fn bugs_of_the_farm_are_found() {
    farm::FARM.assert_found();
}

#[test]
fn bugs_of_the_bucket_are_found() {
    bucket::BUCKET.assert_found();
}

#[test]
fn bugs_of_the_team_are_found() {
    team::TEAM.assert_found();
}

#[test]
fn bugs_of_the_ticket_are_found() {
    ticket::TICKET.assert_found();
}

#[test]
fn bugs_of_the_kiosk_are_found() {
    kiosk::KIOSK.assert_found();
}

/// The page has each bug with its oracle. Schedules and times are not compared.
#[test]
fn the_page_lists_all_bugs() {
    let count: usize = OPERATORS.iter().map(|operator| operator.bugs.len()).sum();
    assert!(count >= 40, "only {count} bugs");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/explore-catalogue.md");
    if std::env::var("SNAPSHOTS").is_ok_and(|mode| mode == "overwrite") {
        let mut page = INTRODUCTION.to_owned();
        for found in OPERATORS.iter().flat_map(|operator| operator.find().0) {
            let (schedule, seconds) = (found.schedule.replace('|', "\\|"), found.time.as_secs_f64());
            writeln!(
                page,
                "| {} | {} | `{}` | `{schedule}` | {seconds:.1} s |",
                found.operator, found.bug, found.oracle
            )
            .unwrap();
        }
        std::fs::write(&path, page).unwrap();
    }
    // The published package has no page.
    let Ok(page) = std::fs::read_to_string(path) else { return };
    let listed: Vec<String> =
        page.strip_prefix(INTRODUCTION).expect("the introduction").lines().map(first_cells).collect();
    let expected = OPERATORS.iter().flat_map(|operator| {
        operator.bugs.iter().map(|(bug, oracle)| format!("| {} | {bug} | `{oracle}` ", operator.name))
    });
    assert_eq!(listed, expected.collect::<Vec<_>>(), "run this test with SNAPSHOTS=overwrite");
}

fn first_cells(line: &str) -> String {
    line.match_indices('|').nth(3).map_or(line, |(at, _)| &line[..at]).to_owned()
}
