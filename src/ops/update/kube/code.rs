//! The changes of releases in a Rust file: the certain ones as edits of its text, and the places of the others.

use std::ops::Range;

use super::changes::{CHANGES, Find, KubeChange};
use super::release::KubeRelease;
use super::scan::{NameUse, RustScan};

type TextEdit = (Range<usize>, String);

/// Imports that go with their last use: they name what does not exist any more.
const GONE: [&str; 5] = [
    "chrono::Utc",
    "k8s_openapi::chrono::Utc",
    "kube::core::ErrorResponse",
    "kube::core::error::ErrorResponse",
    "kube::error::ErrorResponse",
];

/// The name of the status in a changed pattern.
const STATUS: &str = "api_status";

fn since(release: KubeRelease) -> impl Iterator<Item = &'static KubeChange> {
    CHANGES.iter().filter(move |change| release < change.since)
}

/// Makes the certain changes since a release in a text. Returns the changes too, once for each place.
pub(super) fn moved(text: &str, release: KubeRelease) -> (String, Vec<&'static KubeChange>) {
    let scan = RustScan::new(text);
    if !scan.is_about_kube() {
        return (text.to_owned(), Vec::new());
    }
    let (mut edits, mut made): (Vec<TextEdit>, Vec<&KubeChange>) = (Vec::new(), Vec::new());
    for change in since(release) {
        for edit in scan.edits(change) {
            if edit
                .iter()
                .all(|(range, _)| edits.iter().all(|(other, _)| range.end <= other.start || other.end <= range.start))
            {
                made.push(change);
                edits.extend(edit);
            }
        }
    }
    let new = replaced(text, edits);
    if made.is_empty() { (new, made) } else { (without_unused(&scan, &new), made) }
}

/// The places of the changes since a release in a text, in its order.
pub(super) fn left(text: &str, release: KubeRelease) -> Vec<(&'static KubeChange, Range<usize>)> {
    let scan = RustScan::new(text);
    if !scan.is_about_kube() {
        return Vec::new();
    }
    let mut found: Vec<_> = since(release)
        .flat_map(|change| scan.places(change).into_iter().map(move |tokens| (change, tokens)))
        .map(|(change, tokens)| (change, scan.bytes(tokens)))
        .collect();
    found.sort_by_key(|(_, range)| range.start);
    found
}

impl RustScan<'_> {
    fn is_about_kube(&self) -> bool {
        self.names.iter().any(|name| ["backoff", "k8s_openapi", "kube", "schemars"].contains(&name.full[0].as_str()))
    }

    /// The tokens of each place of a change.
    fn places(&self, change: &KubeChange) -> Vec<Range<usize>> {
        match change.find {
            Find::Path(root, segments) | Find::Rename(root, segments, _) => self.paths(root, segments),
            Find::Method(name, count) | Find::AddArgument(name, count, _) => {
                self.calls(name, count).map(|(at, _)| at..at + 1).collect()
            }
            Find::Function(owner, name, count) => {
                let names = self.names.iter().filter(|path| path.ends_with("kube", &[owner, name]));
                let last = names.filter_map(NameUse::last);
                last.filter(|last| self.arguments(last + 1).is_some_and(|all| all.len() == count))
                    .map(|last| last..last + 1)
                    .collect()
            }
            Find::Defines(name) => {
                self.all(name).filter(|at| self.before(*at, 1) == "fn").map(|at| at..at + 1).collect()
            }
            Find::Field(name) => self.all(name).filter(|at| self.is_read(*at)).map(|at| at..at + 1).collect(),
            Find::Argument(attribute, old, ..) => {
                self.attribute_arguments(attribute, old).map(|(_, at)| at..at + 1).collect()
            }
            Find::ErrorLiteral => self.error_literals().map(|last| last..last + 1).collect(),
            Find::TimeLiteral => self.time_literals().map(|last| last..last + 1).collect(),
            Find::Behaviour => Vec::new(),
        }
    }

    /// The edits of each place of a change that is certain.
    fn edits(&self, change: &KubeChange) -> Vec<Vec<TextEdit>> {
        match change.find {
            Find::Rename(root, old, new) => self.renames(root, old, new),
            Find::Path("schemars", ["schema"]) => {
                let mut names = self.names.iter().filter(|name| name.find("schemars", &["schema"]).is_some());
                // The type alone has a successor of the same name.
                if names.all(|name| name.is("schemars::schema::Schema")) {
                    self.renames("schemars", &["schema", "Schema"], &["Schema"])
                } else {
                    Vec::new()
                }
            }
            Find::AddArgument(name, count, new) => {
                let last = self.calls(name, count).filter_map(|(_, arguments)| arguments.last().cloned());
                last.map(|last| self.bytes(last).end).map(|end| vec![(end..end, format!(", {new}"))]).collect()
            }
            Find::Argument(attribute, old, new, renamed) => {
                let all = self.attribute_arguments(attribute, old);
                all.map(|(name, argument)| {
                    let edit = |at: usize, text: &str| (self.bytes(at..at + 1), text.to_owned());
                    let edits = [edit(name, renamed), edit(argument, new)];
                    edits
                        .into_iter()
                        .filter(|(range, _)| range.start != self.tokens[name].0 || renamed != attribute)
                        .collect()
                })
                .collect()
            }
            Find::ErrorLiteral => self
                .error_literals()
                .filter_map(|last| self.status_pattern(last).or_else(|| self.status_literal(last)))
                .collect(),
            Find::TimeLiteral => self.time_literals().filter_map(|last| self.time_now(last)).collect(),
            _ => Vec::new(),
        }
    }

    fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = usize> + 'b {
        (0..self.tokens.len()).filter(move |at| self.token(*at) == name)
    }

    fn paths(&self, root: &str, segments: &[&str]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for name in &self.names {
            let Some(at) = name.find(root, segments) else { continue };
            let end = at + segments.len().max(1);
            let first = name.first_written();
            // The import has the finding of the names that it gives.
            if !name.imported && name.through_import && end <= first + 1 {
                continue;
            }
            let Some(token) = name.written.get((end - 1).saturating_sub(first)).or(name.written.last()) else {
                continue;
            };
            if segments != ["ErrorResponse"] || name.imported || self.token(token + 1) != "{" {
                found.push(*token..token + 1);
            }
        }
        found
    }

    /// The calls of a method: its name, and its arguments.
    fn calls<'b>(&'b self, name: &'b str, count: usize) -> impl Iterator<Item = (usize, Vec<Range<usize>>)> + 'b {
        let is_meant = name != "publish" || self.all("Recorder").chain(self.all("recorder")).next().is_some();
        self.all(name).filter(move |at| is_meant && self.before(*at, 1) == ".").filter_map(move |at| {
            let open = at + 1;
            let arguments = (self.token(open) == "(").then(|| self.arguments(open))??;
            (arguments.len() == count).then_some((at, arguments))
        })
    }

    /// Returns true if a field is read, and not only asked for its presence or copied.
    fn is_read(&self, at: usize) -> bool {
        let harmless = ["clone", "cmp", "is_none", "is_some", "take"];
        match self.token(at + 1) {
            _ if self.before(at, 1) != "." => false,
            "." => !harmless.contains(&self.token(at + 2)),
            next => next == "{" || next == "?",
        }
    }

    /// The names of attributes with this argument, and the arguments.
    fn attribute_arguments<'b>(
        &'b self,
        attribute: &'b str,
        argument: &'b str,
    ) -> impl Iterator<Item = (usize, usize)> + 'b {
        let attributes = self.all(attribute).filter(|at| self.before(*at, 1) == "[" && self.token(at + 1) == "(");
        attributes.flat_map(move |name| {
            let arguments = self.arguments(name + 1).unwrap_or_default();
            let arguments = arguments.into_iter().map(|range| range.start);
            let meant = arguments.filter(|at| self.token(*at) == argument && self.token(at + 1) == "=");
            meant.map(move |at| (name, at)).collect::<Vec<_>>()
        })
    }

    fn renames(&self, root: &str, old: &[&str], new: &[&str]) -> Vec<Vec<TextEdit>> {
        let last_differs = old.last() != new.last();
        let is_free = |name: &str| !last_differs || self.all(name).next().is_none();
        let leaf = |name: &NameUse| {
            let at = name.find(root, old).filter(|at| name.imported && *at >= name.first_written())?;
            let is_last = at + old.len() == name.full.len();
            let is_certain = !is_last
                || new.len() <= old.len() && (name.alias.is_some() || new.last().is_some_and(|name| is_free(name)));
            is_certain.then_some(at)
        };
        let is_imported = self.names.iter().any(|name| leaf(name).is_some());
        let edit = |name: &NameUse| {
            let first = name.first_written();
            let at = if name.imported { leaf(name)? } else { name.find(root, old).filter(|at| *at >= first)? };
            let is_alias = name.through_import && at == first && old[0] != new[0];
            if is_alias && (old.len() > 1 || !is_imported || self.token(name.written[0]) != old[0]) {
                return None;
            }
            let tokens = name.written[at - first]..name.written[at - first + old.len() - 1] + 1;
            Some(vec![(self.bytes(tokens), new.join("::"))])
        };
        self.names.iter().filter_map(edit).collect()
    }

    /// The last tokens of the paths of structs `ErrorResponse`.
    fn error_literals(&self) -> impl Iterator<Item = usize> {
        let names = self.names.iter().filter(|name| name.ends_with("kube", &["ErrorResponse"]));
        names.filter_map(NameUse::last).filter(|last| self.token(last + 1) == "{")
    }

    /// The tokens of the path `Error::Api` around the path that ends with `last`, and of that path.
    fn around(&self, last: usize) -> Option<(usize, usize)> {
        let start = self.names.iter().find(|name| name.last() == Some(last))?.written[0];
        let around = self.names.iter().find(|name| name.last().is_some_and(|last| last + 2 == start))?;
        let is_api = around.ends_with("kube", &["Error", "Api"]) && self.before(start, 1) == "(";
        is_api.then(|| (around.written[0], start))
    }

    /// `Error::Api(ErrorResponse { code: 404, .. }) =>` → a guard.
    fn status_pattern(&self, last: usize) -> Option<Vec<TextEdit>> {
        let (mut start, inner) = self.around(last)?;
        let close = self.close(last + 1)?;
        let arguments = self.arguments(last + 1)?;
        let [field, rest] = arguments.as_slice() else { return None };
        let is_code = field.len() == 3 && self.token(field.start) == "code" && self.token(field.start + 1) == ":";
        let code = self.token(field.start + 2);
        if !is_code
            || !code.starts_with(|char: char| char.is_ascii_digit())
            || rest.len() != 2
            || self.token(rest.start) != "."
        {
            return None;
        }
        let mut end = close + 1;
        while self.before(start, 1) == "(" && self.token(end + 1) == ")" {
            (start, end) = (start - 1, end + 1);
            while self.before(start, 1) == ":"
                || self.before(start, 1).starts_with(|char: char| char == '_' || char.is_alphabetic())
            {
                start -= 1;
            }
        }
        let is_arm = matches!(self.before(start, 1), "{" | "," | "}")
            && self.token(end + 1) == "="
            && self.token(end + 2) == ">";
        if self.token(end) != ")" || !is_arm || self.all(STATUS).next().is_some() {
            return None;
        }
        let end = self.bytes(end..end + 1).end;
        let guard = format!(" if {STATUS}.code == {code}");
        Some(vec![(self.bytes(inner..close + 1), STATUS.to_owned()), (end..end, guard)])
    }

    /// `Error::Api(ErrorResponse { … })` with all fields → a failure in a box.
    fn status_literal(&self, last: usize) -> Option<Vec<TextEdit>> {
        let (_, start) = self.around(last)?;
        let close = self.close(last + 1)?;
        let fields = self.arguments(last + 1)?;
        let field = |name: &str| {
            let field = fields.iter().find(|field| self.token(field.start) == name)?;
            match self.token(field.start + 1) {
                ":" => Some(field.start + 2..field.end),
                _ => (field.len() == 1).then(|| field.clone()),
            }
        };
        let status = field("status")?;
        if fields.len() != 4 || self.literal(&status)? != "\"Failure\"" {
            return None;
        }
        let text = |tokens: &Range<usize>| {
            let text: String = self.source(tokens.clone());
            let is_operand =
                tokens.clone().all(|at| !matches!(self.token(at), "+" | "|" | "if" | "match" | "{" | "as"));
            if is_operand { format!("&{text}") } else { format!("&({text})") }
        };
        let borrowed = |name: &str| {
            let tokens = field(name)?;
            Some(self.literal(&tokens).map_or_else(|| text(&tokens), str::to_owned))
        };
        let (message, reason) = (borrowed("message")?, borrowed("reason")?);
        let code = self.source(field("code")?);
        let new = format!("Box::new(kube::core::Status::failure({message}, {reason}).with_code({code}))");
        Some(vec![(self.bytes(start..close + 1), new)])
    }

    /// The literal that these tokens make a `String` of.
    fn literal(&self, tokens: &Range<usize>) -> Option<&str> {
        let all: Vec<&str> = tokens.clone().map(|at| self.token(at)).collect();
        let ([literal, ".", "to_string" | "to_owned" | "into", "(", ")"]
        | ["String", ":", ":", "from", "(", literal, ")"]) = all.as_slice()
        else {
            return None;
        };
        literal.starts_with('"').then_some(*literal)
    }

    /// The text from the first to the last token.
    fn source(&self, tokens: Range<usize>) -> String {
        self.text[self.bytes(tokens)].to_owned()
    }

    /// The last tokens of the paths of `Time` where it gets a value.
    fn time_literals(&self) -> impl Iterator<Item = usize> {
        let is_time = |name: &&NameUse| ["Time", "MicroTime"].iter().any(|time| name.ends_with("k8s_openapi", &[time]));
        self.names.iter().filter(is_time).filter_map(NameUse::last).filter(|last| {
            let close = if self.token(last + 1) == "(" { self.close(last + 1) } else { None };
            close.is_some_and(|close| !(last + 2..close).any(|at| matches!(self.token(at), "jiff" | "Timestamp")))
        })
    }

    /// `Time(Utc::now())` and `Time(Utc.timestamp_opt(0, 0).unwrap())` → the time of jiff.
    fn time_now(&self, last: usize) -> Option<Vec<TextEdit>> {
        let close = self.close(last + 1)?;
        let value = self.names.iter().find(|name| name.written.first() == Some(&(last + 2)) && !name.imported)?;
        let is = |path: &str| ["", "k8s_openapi::"].iter().any(|root| value.is(&format!("{root}{path}")));
        let end = value.last()?;
        let rest: Vec<&str> = (end + 1..close).map(|at| self.token(at)).collect();
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
        let (end, new) = match rest.as_slice() {
            ["(", ")"] if is("chrono::Utc::now") => (end, "now"),
            [".", "timestamp_opt", "(", seconds, ",", nanoseconds, ")", ".", "unwrap", "(", ")"]
                if is("chrono::Utc") && is_number(seconds) && is_number(nanoseconds) =>
            {
                (end + 2, "new")
            }
            _ => return None,
        };
        Some(vec![(self.bytes(last + 2..end + 1), format!("k8s_openapi::jiff::Timestamp::{new}"))])
    }
}

/// Removes the imports that the edits have made unused.
fn without_unused(before: &RustScan<'_>, text: &str) -> String {
    let scan = RustScan::new(text);
    let uses = |scan: &RustScan<'_>, leaf: &NameUse| {
        let names = scan.names.iter().filter(|name| !name.imported && name.through_import);
        names.filter(|name| name.full.starts_with(&leaf.full)).count()
    };
    let mut edits = Vec::new();
    for leaf in scan.names.iter().filter(|name| name.imported && GONE.iter().any(|path| name.is(path))) {
        if uses(&scan, leaf) == 0 && uses(before, leaf) > 0 && leaf.alias.is_none() {
            edits.extend(scan.without(leaf));
        }
    }
    replaced(text, edits)
}

impl RustScan<'_> {
    /// Removes a leaf of a `use` item, with the item if it has no other leaf.
    fn without(&self, leaf: &NameUse) -> Option<TextEdit> {
        let (first, last) = (*leaf.written.first()?, *leaf.written.last()?);
        let range = self.bytes(first..last + 1);
        match (self.before(first, 1), self.token(last + 1)) {
            ("use", ";") => {
                let start = self.tokens[first - 1].0;
                let end = self.bytes(last + 1..last + 2).end;
                let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
                // A visibility or an attribute would lose its item.
                let is_alone = self.text[line..start].trim().is_empty() && self.before(first - 1, 1) != "]";
                let end = end + usize::from(self.text[end..].starts_with('\n'));
                is_alone.then(|| (line..end, String::new()))
            }
            ("{" | ",", ",") => Some((range.start..self.tokens.get(last + 2)?.0, String::new())),
            (",", "}") => Some((self.tokens[first - 1].0..range.end, String::new())),
            _ => None,
        }
    }
}

fn replaced(text: &str, mut edits: Vec<TextEdit>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        text.replace_range(range, &new);
    }
    text
}
