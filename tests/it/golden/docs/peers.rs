//! The page for users of kubebuilder and operator-sdk: its tables are rendered from the code, and its commands, flags
//! and files exist.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::CommandFactory as _;
use memcached_sdk::cli::Cli;
use memcached_sdk::cli::peers::{COMMANDS, ELSEWHERE, FLAGS, GIVEN};

use super::{in_sync, root, runs};
use crate::sandbox::Sandbox;

const PAGE: &str = "docs/coming-from-kubebuilder.md";

fn page() -> String {
    std::fs::read_to_string(root().join(PAGE)).unwrap()
}

#[test]
fn the_commands_of_the_page_run() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(runs(PAGE, home.path(), &[]), [""; 0]);
}

#[test]
fn the_tables_of_the_peers_are_in_sync() {
    let table = |head: &str, rows: &mut dyn Iterator<Item = &(&str, &str)>| {
        let mut text = format!("| {head} | Here |\n|---|---|\n");
        rows.for_each(|(name, here)| writeln!(text, "| `{name}` | {here} |").unwrap());
        text
    };
    let mut text = page();
    for (name, table) in [
        ("commands", table("Command", &mut COMMANDS.iter())),
        ("flags", table("Flag", &mut FLAGS.iter())),
        ("plugins", table("Plugin", &mut GIVEN.iter().chain(ELSEWHERE))),
    ] {
        let begin = format!("<!-- {name} -->\n");
        let start = text.find(&begin).unwrap() + begin.len();
        let end = start + text[start..].find("<!-- end -->").unwrap();
        text.replace_range(start..end, &table);
    }
    in_sync(PAGE, &text);
}

/// Returns code spans of prose and tables, and the lines of shell blocks.
fn code(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (at, block) in text.split("```").enumerate() {
        if at % 2 == 1 {
            all.extend(block.replace("\\\n", " ").lines().map(|line| line.trim_start_matches("$ ").to_owned()));
        } else {
            all.extend(block.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    all
}

/// Returns the first unknown command, flag or value in a command line.
fn wrong(line: &str) -> Option<String> {
    let mut command = &Cli::command();
    let mut in_quotes = false;
    let words = line.split(|c: char| {
        in_quotes ^= c == '"';
        c == ' ' && !in_quotes
    });
    let mut words = words.filter(|word| !word.is_empty()).skip(1);
    while let Some(word) = words.next() {
        let positional = || command.get_positionals().next();
        // The command line of another program.
        if word == "--" && positional().is_some_and(clap::Arg::is_last_set) {
            return None;
        }
        if let Some(flag) = word.strip_prefix("--") {
            let (name, has_value) = flag.split_once('=').map_or((flag, false), |(name, _)| (name, true));
            match command.get_arguments().find(|argument| argument.get_long() == Some(name)) {
                _ if name == "help" => {}
                None => return Some(format!("`{}` has no `--{name}`", command.get_name())),
                Some(found) if found.get_action().takes_values() && !found.is_require_equals_set() && !has_value => {
                    _ = words.next();
                }
                Some(_) => {}
            }
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
        } else {
            let is_one = |argument: &clap::Arg| {
                let values = argument.get_possible_values();
                values.is_empty() || values.iter().any(|value| value.matches(word, false))
            };
            if !positional().is_some_and(is_one) {
                return Some(format!("no command `{word}`"));
            }
        }
    }
    None
}

#[test]
fn a_wrong_command_of_a_page_is_found() {
    for (line, is_wrong) in [
        ("memcached-sdk create api --group a --version v1 --kind A", false),
        ("memcached-sdk generate helm --manifests FILE", false),
        ("memcached-sdk generate crds --check", false),
        ("memcached-sdk edit --multigroup --plugins=helm", false),
        ("memcached-sdk edit --owner \"A B\" --multigroup", false),
        ("memcached-sdk explore --only crash -- ./bin/manager --leader-elect=false", false),
        ("memcached-sdk generate -- ./bin/manager", true),
        ("memcached-sdk generate chart", true),
        ("memcached-sdk create apis", true),
        ("memcached-sdk create api --domain a", true),
        ("memcached-sdk edit --multigroup helm", true),
    ] {
        assert_eq!(wrong(line).is_some(), is_wrong, "{line}: {:?}", wrong(line));
    }
}

#[test]
fn what_the_page_names_exists() {
    let sandbox = Sandbox::project("--multigroup --plugins=helm,grafana,olm");
    sandbox.run("create api --group crew --version v1 --kind Captain").success();
    sandbox.run("create webhook --group crew --version v1 --kind Captain --defaulting").success();
    sandbox.run("generate kustomize manifests").success();
    let makefile = sandbox.read("Makefile");
    let targets: BTreeSet<&str> =
        makefile.lines().filter_map(|line| line.split_once(": ")).map(|(target, _)| target).collect();
    let (mut commands, mut made, mut wrongs) = (0, 0, Vec::new());
    // One is rendered from the commands; the other runs commands that are answered with an error.
    let elsewhere = ["docs/reference/cli.md", "docs/walkthroughs/articles.md"];
    let pages = super::book::pages().into_iter().filter(|(page, _)| !elsewhere.contains(&&**page));
    for (page, text) in pages {
        for code in code(&text) {
            if code.starts_with("memcached-sdk ") {
                let line = code.split(['|', '#', '&', '>']).next().unwrap().trim();
                wrongs.extend(wrong(line).map(|why| format!("{page}: `{line}`: {why}")));
                commands += 1;
            } else if let Some(rest) = code
                .strip_prefix("make ")
                .filter(|rest| [PAGE, "docs/windows.md"].contains(&&*page) && !rest.contains("all"))
            {
                for target in rest.split_whitespace().filter(|word| !word.contains('=')) {
                    assert!(targets.contains(target), "{page}: `make {target}`");
                }
                made += 1;
            }
        }
    }
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
    assert!(commands > 80 && made >= 10, "{commands} {made}");

    // Check the right column of the table of folders.
    let text = page();
    let folders = text.split_once("## Folders and files").unwrap().1.split_once("\n## ").unwrap().0;
    let files = sandbox.files();
    let mut checked = 0;
    for row in folders.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let here = cells.last().unwrap();
        let named = if here.contains("the same") { format!("{here} {}", cells[0]) } else { (*here).to_owned() };
        for path in code(&named) {
            let in_project = ["src/", "config/", "tests/", "explorer/", "manager/", "grafana/", ".github/"]
                .iter()
                .any(|top| path.starts_with(top))
                || ["Dockerfile", "Makefile", "PROJECT", "Cargo.toml"].contains(&path.as_str());
            if !in_project || here.contains("only") {
                continue;
            }
            // A single-group project has no group folder.
            let path = path.replace("src/api/v1/", "src/api/").replace("src/webhook/v1/", "src/webhook/");
            let (start, end) = path.split_once('*').unwrap_or((&path, ""));
            assert!(files.keys().any(|file| file.starts_with(start) && file.ends_with(end)), "no `{path}`");
            checked += 1;
        }
    }
    assert!(checked > 15, "{checked}");
}
