//! Reports changes as text, as a diff and as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use similar::TextDiff;

use super::apply::{ChangeKind, FileChange};
use crate::diagnostic::{Diagnostics, JsonDiagnostic};

/// A line per file: `create    src/main.rs`.
pub fn text(changes: &[FileChange]) -> String {
    changes.iter().map(line).collect()
}

fn line(change: &FileChange) -> String {
    let why = change.kind.reason().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{:<9} {}{why}\n", change.kind.as_str(), change.path)
}

/// Like [`text`], but with a line per folder for created files if these exceed a screen.
pub(crate) fn brief(changes: &[FileChange]) -> String {
    const SCREEN: usize = 20;
    let created = |change: &&FileChange| change.kind == ChangeKind::Create;
    if changes.iter().filter(created).count() <= SCREEN {
        return text(changes);
    }
    let mut folders: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
    for change in changes.iter().filter(created) {
        let folder = change.path.as_str().split_once('/').map_or("", |(folder, _)| folder);
        folders.entry(folder).or_default().push(change);
    }
    let of_folder = |(folder, files): (&str, Vec<&FileChange>)| {
        if folder.is_empty() || files.len() == 1 {
            files.into_iter().map(line).collect()
        } else {
            format!("{:<9} {folder}/ ({} files)\n", ChangeKind::Create.as_str(), files.len())
        }
    };
    let others = changes.iter().filter(|change| !created(change)).map(line);
    folders.into_iter().map(of_folder).chain(others).collect()
}

/// The number of files by kind of change: `2 created, 1 unchanged`.
pub(crate) fn summary(changes: &[FileChange]) -> String {
    use ChangeKind::{Create, Remove, Skip, Unchanged, Update};
    let words =
        [(Create, "created"), (Update, "updated"), (Remove, "removed"), (Skip, "skipped"), (Unchanged, "unchanged")];
    let count = |kind| changes.iter().filter(|change| change.kind == kind).count();
    let parts: Vec<String> = words
        .iter()
        .map(|(kind, word)| (count(*kind), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if parts.is_empty() { "no files".to_owned() } else { parts.join(", ") }
}

/// All differences as a unified diff for `git apply` and `patch -p1`.
pub fn diff(changes: &[FileChange]) -> String {
    changes.iter().filter_map(file_diff).collect()
}

/// The unified diff of a file; `None` if the disk does not differ.
pub(crate) fn file_diff(change: &FileChange) -> Option<String> {
    if !change.kind.differs() {
        return None;
    }
    let path = &change.path;
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let mut header = format!("diff --git a/{path} b/{path}\n");
    match change.kind {
        ChangeKind::Create => header.push_str("new file mode 100644\n"),
        ChangeKind::Remove => header.push_str("deleted file mode 100644\n"),
        ChangeKind::Update | ChangeKind::Unchanged | ChangeKind::Skip => {}
    }
    let name = |side: char, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let lines = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let body = lines.unified_diff().header(&name('a', before), &name('b', after)).to_string();
    Some(header + &body)
}

/// The `-o json` report: an object on stdout, with the same format for every command.
#[derive(Debug, Serialize)]
pub struct PlanReport {
    /// All files of the plan by path; empty if diagnostics stopped the command.
    pub changes: Vec<JsonChange>,
    /// All findings in source order.
    pub diagnostics: Vec<JsonDiagnostic>,
}

/// A [`FileChange`] in the report.
#[derive(Debug, Serialize)]
pub struct JsonChange {
    /// The path relative to the project's folder, with `/`.
    pub path: String,
    /// `create`, `update`, `unchanged`, `remove` or `skip`.
    pub change: ChangeKind,
    /// The reason why a file is skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// With `--diff`, the unified diff of a file that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// The report as JSON text with a trailing newline; `diffs` adds the diffs of the files.
#[expect(clippy::missing_panics_doc, reason = "the map has only string keys")]
pub fn json(changes: &[FileChange], diagnostics: &Diagnostics, diffs: bool) -> String {
    let changes = changes
        .iter()
        .map(|change| JsonChange {
            path: change.path.to_string(),
            change: change.kind,
            reason: change.kind.reason(),
            diff: if diffs { file_diff(change) } else { None },
        })
        .collect();
    let report = PlanReport { changes, diagnostics: diagnostics.to_json() };
    let text = serde_json::to_string_pretty(&report).expect("a report has only text keys");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use snapbox::{assert_data_eq, str};

    use super::*;
    use crate::diagnostic::{Code, Diagnostic};
    use crate::plan::RelPath;

    fn changes() -> Vec<FileChange> {
        let change = |path, kind, before: Option<&str>, after: Option<&str>| FileChange {
            path: RelPath::new(path).unwrap(),
            kind,
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        vec![
            change("a.txt", ChangeKind::Create, None, Some("one\ntwo\n")),
            change("b.txt", ChangeKind::Update, Some("one\ntwo"), Some("one\nthree\n")),
            change("c.txt", ChangeKind::Unchanged, Some("x\n"), Some("x\n")),
            change("d.txt", ChangeKind::Remove, Some("gone\n"), None),
            change("e.txt", ChangeKind::Skip, Some("mine\n"), Some("ours\n")),
        ]
    }

    #[test]
    fn lines_and_summary() {
        assert_data_eq!(
            text(&changes()),
            str![[r#"
create    a.txt
update    b.txt
unchanged c.txt
remove    d.txt
skip      e.txt (exists with different content and is kept)

"#]]
        );
        assert_eq!(summary(&changes()), "1 created, 1 updated, 1 removed, 1 skipped, 1 unchanged");
        assert_eq!(summary(&[]), "no files");
    }

    #[test]
    fn more_files_than_a_screen_holds_are_a_line_per_folder() {
        let create = |path: String| FileChange {
            path: RelPath::new(path).unwrap(),
            kind: ChangeKind::Create,
            before: None,
            after: Some(String::new()),
        };
        let mut created: Vec<FileChange> = (10..29).map(|n| create(format!("config/{n}/a.yaml"))).collect();
        created.push(create("PROJECT".to_owned()));
        assert_eq!(brief(&created), text(&created));
        created.push(create("src/main.rs".to_owned()));
        created.extend(changes().into_iter().filter(|change| change.kind == ChangeKind::Update));
        assert_data_eq!(
            brief(&created),
            str![[r#"
create    PROJECT
create    config/ (19 files)
create    src/main.rs
update    b.txt

"#]]
        );
    }

    #[test]
    fn diffs() {
        assert_data_eq!(
            diff(&changes()),
            str![[r#"
diff --git a/a.txt b/a.txt
new file mode 100644
--- /dev/null
+++ b/a.txt
@@ -0,0 +1,2 @@
+one
+two
diff --git a/b.txt b/b.txt
--- a/b.txt
+++ b/b.txt
@@ -1,2 +1,2 @@
 one
-two
/ No newline at end of file
+three
diff --git a/d.txt b/d.txt
deleted file mode 100644
--- a/d.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone

"#]]
        );
    }

    #[test]
    fn json_report() {
        let diagnostics: Diagnostics = [Diagnostic::new(Code::UnusualVersion, "`1`")].into_iter().collect();
        assert_data_eq!(
            json(&changes()[..2], &diagnostics, true),
            str![[r#"
{
  "changes": [
    {
      "path": "a.txt",
      "change": "create",
      "diff": "diff --git a/a.txt b/a.txt/nnew file mode 100644/n--- /dev/null/n+++ b/a.txt/n@@ -0,0 +1,2 @@/n+one/n+two/n"
    },
    {
      "path": "b.txt",
      "change": "update",
      "diff": "diff --git a/b.txt b/b.txt/n--- a/b.txt/n+++ b/b.txt/n@@ -1,2 +1,2 @@/n one/n-two/n// No newline at end of file/n+three/n"
    }
  ],
  "diagnostics": [
    {
      "code": "unusual-version",
      "severity": "warning",
      "message": "`1`"
    }
  ]
}

"#]]
        );
    }
}
