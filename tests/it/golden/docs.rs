//! Pages of the documentation are rendered from the code or run.
//!
//! `SNAPSHOTS=overwrite cargo test --test it docs` rewrites the pages and their outputs.

mod book;
mod peers;
mod picture;
mod replay;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use memcached_sdk::cli::Cli;
use memcached_sdk::diagnostic::{Code, Severity};
use memcached_sdk::schema::release::{NEWEST, OLDEST, TABLE};
use memcached_sdk::source::marker::{ArgumentType, ELSEWHERE, MARKERS};

#[test]
fn the_reference_of_commands_is_in_sync() {
    let mut cli = Cli::command().term_width(100);
    cli.build();
    let mut page = String::from(
        "# The command line\n\n\
         What `--help` prints, for every command. Commands that write share the flags below *Output*; nothing is asked\n\
         unless standard input is a terminal, and every question has a flag.\n",
    );
    help(&mut cli, &mut page);
    in_sync("docs/reference/cli.md", &page);
}

fn help(command: &mut clap::Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let text = command.render_long_help().to_string();
    let text = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", text.trim_end());
    for command in
        command.get_subcommands_mut().filter(|command| command.get_name() != "help" && !command.is_hide_set())
    {
        help(command, page);
    }
}

#[test]
fn the_reference_of_diagnostics_is_in_sync() {
    let mut page = String::from(
        "# Diagnostics\n\n\
         Each finding has a stable code, shown in brackets; with `-o json` it is the field `code`. An error means that no\n\
         file was written. A warning never stops a command.\n\n\
         | Code | Severity | Meaning |\n|---|---|---|\n",
    );
    for code in Code::ALL {
        let severity = match code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let _ = writeln!(page, "| `{}` | {severity} | {} |", code.as_str(), code.description().replace('|', "\\|"));
    }
    in_sync("docs/reference/diagnostics.md", &page);
}

#[test]
fn the_reference_of_releases_is_in_sync() {
    let mut page = String::from(
        "# Releases of kube and schemars\n\n\
         `crd()` of the same types differs from release to release. The source is read as the releases in `Cargo.lock` read it:\n\n\
         | Package | Oldest | Newest |\n|---|---|---|\n",
    );
    for ((package, oldest), (_, newest)) in OLDEST.iter().zip(NEWEST) {
        let _ = writeln!(page, "| {} | {oldest} | {newest} |", package.name());
    }
    page += "\nWhat a CRD shows of them, and which release it came with; the others changed nothing that it shows:\n\n\
             | Package | Since | Change |\n|---|---|---|\n";
    for row in TABLE {
        let _ = writeln!(page, "| {} | {} | {} |", row.package.name(), row.since, row.what);
    }
    page += "\nTypes of k8s-openapi are read from the sources of the release and the feature that the project uses, from 0.26 on.\n";
    in_sync("docs/reference/releases.md", &page);
}

#[test]
fn the_reference_of_markers_is_in_sync() {
    let mut page = String::from(
        "# Markers\n\n\
         A marker is a `//` comment whose text begins with `+`. `generate` reads the ones below, with controller-gen's\n\
         grammar, wherever they stand in the package's own source: arguments are separated by commas, the values of a\n\
         list by semicolons, and a value with a comma, a semicolon or a brace is quoted. An error in a marker is a\n\
         [diagnostic](diagnostics.md), and nothing is written.\n",
    );
    for marker in MARKERS {
        let _ = write!(
            page,
            "\n## `+{}`\n\n{}.\n\n| Argument | Value | |\n|---|---|---|\n",
            marker.name,
            capitalised(marker.help)
        );
        for argument in marker.arguments {
            let required = if argument.optional { "" } else { " (required)" };
            let _ = writeln!(page, "| `{}`{required} | {} | {} |", argument.name, value(argument.kind), argument.help);
        }
    }
    page.push_str(
        "\n## Scaffold markers\n\n\
         `// +kubebuilder:scaffold:NAME` is a place where `create api` inserts lines; `generate` does not read it. Leave it\n\
         where it is.\n\n\
         ## Markers of Go\n\n\
         In Rust, the types say what these markers say in Go; `generate` warns where it finds one.\n\n\
         | Marker | In Rust |\n|---|---|\n",
    );
    for (name, instead) in ELSEWHERE {
        let rest = if name.ends_with(':') { "…" } else { "" };
        let _ = writeln!(page, "| `+{name}{rest}` | {instead} |");
    }
    in_sync("docs/reference/markers.md", &page);
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn value(kind: ArgumentType) -> &'static str {
    match kind {
        ArgumentType::Text => "text",
        ArgumentType::Bool => "`true` or `false`",
        ArgumentType::Int => "integer",
        ArgumentType::Texts => "list of text",
    }
}

#[test]
fn the_readme_runs() {
    let home = tempfile::tempdir().unwrap();
    let sdk = home.path().join("memcached-sdk");
    std::fs::create_dir(&sdk).unwrap();
    let not_run = runs("README.md", &sdk, &[]);
    assert_eq!(not_run, ["install: cargo install --path ."]);
}

/// All except the commands for a cluster, which the tests of the Memcached sample run there.
#[test]
fn the_start_runs() {
    let home = tempfile::tempdir().unwrap();
    let not_run = runs("docs/start.md", home.path(), &[]);
    assert_eq!(not_run[0], "install: cargo install --path .");
    assert!(not_run[1..].iter().all(|command| command.starts_with("cluster: ")), "{not_run:?}");
}

/// Runs every command except builds and cluster commands. `tutorial.rs` builds the project.
#[test]
fn the_tutorial_runs() {
    let home = tempfile::tempdir().unwrap();
    let not_run = runs("docs/tutorial.md", home.path(), &[]);
    let (build, cluster): (Vec<_>, Vec<_>) = not_run.iter().partition(|command| command.starts_with("build: "));
    assert_eq!(build.len(), 3, "{build:?}");
    assert!(cluster.iter().all(|command| command.starts_with("cluster: ")), "{cluster:?}");
    assert_eq!(cluster.len(), 15, "{cluster:?}");
}

/// `walkthroughs.rs` builds these projects and runs them on a cluster.
#[test]
fn the_walkthroughs_run() {
    for page in ["flight-ticket", "pod-counter"] {
        let home = tempfile::tempdir().unwrap();
        let not_run = runs(&format!("docs/walkthroughs/{page}.md"), home.path(), &[]);
        let needs = |what: &str| not_run.iter().filter(|command| command.starts_with(what)).count();
        assert!(needs("build: ") > 0 && needs("build: ") + needs("cluster: ") == not_run.len(), "{not_run:?}");
    }
}

/// `walkthroughs.rs` runs the kubectl commands on a cluster.
#[test]
fn what_articles_teach_runs() {
    let home = tempfile::tempdir().unwrap();
    let not_run = runs("docs/walkthroughs/articles.md", home.path(), &[]);
    let needs = |what: &str| not_run.iter().filter(|command| command.starts_with(what)).count();
    assert_eq!((needs("kubectl: "), needs("docker: ")), (2, 2), "{not_run:?}");
    assert_eq!(needs("cluster: ") + 4, not_run.len(), "{not_run:?}");
}

/// `walkthroughs.rs` runs the cluster commands.
#[test]
fn the_steps_of_a_release_run() {
    let home = tempfile::tempdir().unwrap();
    let not_run = runs("docs/releasing.md", home.path(), &[]);
    assert!(not_run.len() == 12 && not_run.iter().all(|command| command.starts_with("cluster: ")), "{not_run:?}");
}

/// Replays a page and compares its outputs. Returns the commands that did not run.
pub(crate) fn runs(page: &str, dir: &Path, run: &[&str]) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let replay = replay::replay(&text, dir, run, &[]);
    in_sync(page, &replay.text);
    replay.not_run
}

/// Replays a page section by section with the variables `env`, including blocks that need a build or a cluster. The
/// first section with commands starts in `dir`, later sections in its folder `project`. After each section, `then`
/// receives the heading.
pub(crate) fn runs_by_section(
    page: &str,
    dir: &Path,
    project: &str,
    env: &[(&str, String)],
    mut then: impl FnMut(&str),
) {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let (mut replayed, mut dir) = (String::new(), dir.to_owned());
    for section in text.split_inclusive("\n## ") {
        let done = replay::replay(section, &dir, &["build", "cluster"], env);
        assert_eq!(done.not_run, [""; 0]);
        replayed += &done.text;
        if dir.join(project).exists() {
            dir.push(project);
        }
        then(section.lines().next().unwrap());
    }
    in_sync(page, &replayed);
}

/// Each block below `<!-- tests/recipes/… -->` equals that file, and every recipe is quoted.
#[test]
fn the_recipes_are_quoted() {
    let mut quoted = BTreeSet::new();
    for (page, text) in book::pages() {
        let mut in_page = String::new();
        let mut lines = text.split_inclusive('\n');
        while let Some(line) = lines.next() {
            in_page += line;
            let file = line.trim_end().strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
            let Some(file) = file.filter(|file| file.starts_with("tests/recipes/")) else { continue };
            assert_eq!(lines.next(), Some("```rust\n"), "{file}");
            in_page += "```rust\n";
            in_page += &std::fs::read_to_string(root().join(file)).unwrap();
            in_page += lines.by_ref().find(|line| line.starts_with("```")).unwrap();
            quoted.insert(file.to_owned());
        }
        in_sync(&page, &in_page);
    }
    let files = crate::sandbox::files(&root().join("tests/recipes")).into_keys();
    let recipes = files
        .filter(|file| !["src/lib.rs", "tests/behaviour.rs", "tests/explore.rs", "tests/server.rs"].contains(&&**file));
    let recipes = recipes.map(|file| format!("tests/recipes/{file}"));
    assert_eq!(quoted, recipes.collect());
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn in_sync(path: &str, text: &str) {
    let page = snapbox::Data::read_from(&root().join(Path::new(path)), Some(snapbox::data::DataFormat::Text));
    snapbox::Assert::new().action_env(snapbox::assert::DEFAULT_ACTION_ENV).eq(text.to_owned(), page.raw());
}
