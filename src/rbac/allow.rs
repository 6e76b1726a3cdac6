//! Comments that allow a finding: `// memcached-sdk:allow(rbac-excess): reason`, in YAML with `#`.

use super::quoted;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};

pub(crate) const WORD: &str = "memcached-sdk:allow";

#[derive(Debug, Clone)]
pub(crate) struct Allow {
    codes: Vec<String>,
    reason: String,
    origin: Origin,
    used: bool,
}

impl Allow {
    /// The comment with this text after its slashes or its `#`, if it is one.
    pub(crate) fn read(text: &str, origin: &Origin) -> Option<Self> {
        let rest = text.trim().strip_prefix(WORD)?;
        let (codes, reason) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((codes, rest)) => (codes, rest.strip_prefix(':').unwrap_or_default()),
            None => ("", ""),
        };
        let codes = codes.split(',').map(|code| code.trim().to_owned()).filter(|code| !code.is_empty()).collect();
        Some(Self { codes, reason: reason.trim().to_owned(), origin: origin.clone(), used: false })
    }

    pub(crate) fn in_yaml(file: &Origin) -> Vec<Self> {
        let mut all = Vec::new();
        let mut at = 0;
        for line in file.text.split_inclusive('\n') {
            let comment = line.find('#').filter(|start| line[start + 1..].trim_start().starts_with(WORD));
            if let Some(start) = comment {
                let range = at + start..at + line.trim_end().len();
                all.extend(Self::read(&line[start + 1..], &Origin { range, ..file.clone() }));
            }
            at += line.len();
        }
        all
    }

    /// Returns true if the attribute or comment allows this finding at this place.
    pub(crate) fn allows(&self, code: Code, origin: &Origin) -> bool {
        !self.reason.is_empty() && self.codes.iter().any(|named| named == code.as_str()) && self.is_beside(origin)
    }

    /// Returns true for the line of a finding, and for the line before its statement or marker.
    fn is_beside(&self, origin: &Origin) -> bool {
        if self.origin.path != origin.path {
            return false;
        }
        let (comment, found) = (&self.origin.range, &origin.range);
        let text = &self.origin.text;
        if found.start < comment.start {
            return !text[found.start..comment.start].contains('\n');
        }
        let line = text[..comment.start].rfind('\n').map_or(0, |end| end + 1);
        if !text[line..comment.start].trim().is_empty() {
            return false;
        }
        let between = text.get(comment.end..found.start).unwrap_or_default();
        let mut lines = between.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "//" && *line != "#");
        lines.all(|line| match line.strip_prefix("//").or_else(|| line.strip_prefix('#')) {
            Some(comment) if comment.trim_start().starts_with(WORD) => true,
            Some(comment) => line.starts_with("#[") || !comment.trim_start().starts_with('+'),
            None => !line.contains([';', '{', '}']),
        })
    }

    fn check(&self) -> Option<Diagnostic> {
        let known = |code: &&String| Code::ALL.iter().any(|known| known.as_str() == code.as_str());
        let form = format!("write `{WORD}(rbac-excess): reason`");
        let wrong = |message: String, help: String| Diagnostic::new(Code::RbacAllow, message).help(help);
        let diagnostic = if self.codes.is_empty() {
            wrong("the comment has no finding code".to_owned(), form)
        } else if let Some(code) = self.codes.iter().find(|code| !known(code)) {
            wrong(format!("unknown finding `{code}`"), "the finding code is shown in brackets in the report".to_owned())
        } else if self.reason.is_empty() {
            wrong("the comment has no reason, so it has no effect".to_owned(), form)
        } else if !self.used {
            wrong(format!("no finding {} at this place", quoted(&self.codes)), "remove the comment".to_owned())
        } else {
            return None;
        };
        Some(diagnostic.at(self.origin.clone()))
    }
}

/// The findings that no comment allows, and what is wrong with the comments.
pub(crate) fn apply(found: &Diagnostics, allows: &mut [Allow]) -> Diagnostics {
    let mut left = Diagnostics::default();
    for diagnostic in found {
        let mut allowed = false;
        for (allow, origin) in allows.iter_mut().filter_map(|allow| Some((allow, diagnostic.origin.as_ref()?))) {
            let allows = allow.allows(diagnostic.code, origin);
            // A finding that is softened to a note is allowed under its original code.
            let softened = diagnostic.code == Code::RbacUnproven && allow.allows(Code::RbacExcess, origin);
            allow.used |= allows || softened;
            allowed |= allows;
        }
        if !allowed {
            left.push(diagnostic.clone());
        }
    }
    for diagnostic in allows.iter().filter_map(Allow::check) {
        left.push(diagnostic);
    }
    left
}
