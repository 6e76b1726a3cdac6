//! `undo`: the record of the last command → the files as they were before it.
//!
//! Plans in the draft. Must stay true: a file that has changed since the command stays as it is, and so do the others.

use anyhow::Result;

use super::Findings;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin, Problem};
use crate::plan::apply::record;
use crate::plan::{Draft, RelPath};

/// Returns the next steps.
pub(crate) fn run(draft: &mut Draft) -> Result<Findings<String>> {
    let Some(record) = record::last(draft.root())? else {
        return Err(Problem::new("nothing to undo: no command has changed this project")
            .help("to take back `init` or `new`, delete the folder")
            .into());
    };
    let mut diagnostics = Diagnostics::default();
    for (path, file) in record.files {
        let path = RelPath::new(path)?;
        let disk = draft.read(&path)?;
        let changed = disk != file.after && disk != file.before;
        if changed {
            let message = format!("`{path}` has changed since `memcached-sdk {}`", record.command);
            let found = Diagnostic::new(Code::FileConflict, message).at(Origin::file(path.as_str()));
            diagnostics.push(found.help("revert your changes to the file first, or revert the command manually"));
        } else if file.before.as_deref().is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER)) {
            let message = format!("`{path}` was not UTF-8 text, so its bytes are not recorded");
            let found = Diagnostic::new(Code::FileConflict, message).at(Origin::file(path.as_str()));
            diagnostics.push(found.help("restore the file from version control"));
        } else {
            draft.restore(path, file.before, file.mode)?;
        }
    }
    let next = format!("This took back `memcached-sdk {}`; `memcached-sdk undo` takes the undo back.", record.command);
    Ok(Findings { value: next, diagnostics })
}
