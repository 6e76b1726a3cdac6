//! The documentation is rendered from the code or run.
//!
//! `SNAPSHOTS=overwrite cargo test --test it docs` writes the pages and the outputs anew.

mod replay;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use memcached_sdk::diagnostic::{Code, Severity};

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
        };
        let _ = writeln!(page, "| `{}` | {severity} | {} |", code.as_str(), code.description().replace('|', "\\|"));
    }
    in_sync("docs/reference/diagnostics.md", &page);
}

/// Every relative link of the documentation leads to a file.
#[test]
fn links_lead_somewhere() {
    let pages = walkdir::WalkDir::new(root().join("docs")).into_iter().map(|entry| entry.unwrap().into_path());
    let mut links = 0;
    for page in pages.filter(|path| path.extension().is_some_and(|e| e == "md")).chain([root().join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(page.parent().unwrap().join(target).exists(), "{}: dead link `{target}`", page.display());
            links += 1;
        }
    }
    assert!(links > 0);
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The file has this text, or is given it with `SNAPSHOTS=overwrite`.
fn in_sync(path: &str, text: &str) {
    let page = snapbox::Data::read_from(&root().join(Path::new(path)), Some(snapbox::data::DataFormat::Text));
    snapbox::Assert::new().action_env(snapbox::assert::DEFAULT_ACTION_ENV).eq(text.to_owned(), page.raw());
}
