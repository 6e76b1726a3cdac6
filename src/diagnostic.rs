//! Findings in the user's code: a stable code, a place, a message and a next step.
//!
//! Every room returns its best value together with [`Diagnostics`]; analysis never fails on user code. A command that
//! cannot continue fails with a [`Problem`]. Must stay true: codes are stable, and an error means that no file is
//! written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

pub(crate) mod conflict;
mod render;
pub mod sarif;

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable identifier, see [`Code`].
    pub code: Code,
    /// The message: lower case, names in backticks, no full stop.
    pub message: String,
    /// The place, if it is in a file.
    pub origin: Option<Origin>,
    /// The next step for the user.
    pub help: Option<String>,
    /// The affected custom resources, each as `Kind.group`; empty if unspecific.
    pub kinds: Box<[String]>,
}

impl Diagnostic {
    /// A finding without place and help.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), origin: None, help: None, kinds: Box::default() }
    }

    /// Sets the place, if known.
    #[must_use]
    pub fn at(mut self, origin: impl Into<Option<Origin>>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Sets the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds an affected custom resource, as `Kind.group`.
    #[must_use]
    pub fn about(mut self, kind: impl Into<Option<String>>) -> Self {
        self.add_kinds(kind.into());
        self
    }

    fn add_kinds(&mut self, kinds: impl IntoIterator<Item = String>) {
        let all: BTreeSet<String> = std::mem::take(&mut self.kinds).into_iter().chain(kinds).collect();
        self.kinds = all.into_iter().collect();
    }

    /// Message and help in a line, for a remark without code and place.
    pub(crate) fn sentence(&self) -> String {
        self.help.as_ref().map_or_else(|| self.message.clone(), |help| format!("{}: {help}", self.message))
    }

    pub(crate) fn to_json(&self) -> JsonDiagnostic {
        let place = self.origin.as_ref().filter(|origin| !origin.text.is_empty()).map(Origin::line_column);
        JsonDiagnostic {
            code: self.code.as_str(),
            severity: self.code.severity(),
            message: self.message.clone(),
            file: self.origin.as_ref().map(|origin| origin.path.to_string()),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            help: self.help.clone(),
            kinds: self.kinds.to_vec(),
        }
    }
}

/// A place in a source file, with the file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The path relative to the command's working folder, `/`-separated.
    pub path: Arc<str>,
    /// The text of the file.
    pub text: Arc<str>,
    /// The byte range in `text`.
    pub range: Range<usize>,
}

impl Origin {
    /// A whole file, displayed as a path only.
    pub fn file(path: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), text: Arc::from(""), range: 0..0 }
    }

    /// Line and column of the start; both from 1, columns in characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = &self.text[..self.clamped().start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// Line and column after the end; both from 1, columns in characters.
    pub(crate) fn end_line_column(&self) -> (usize, usize) {
        let end = self.clamped().end;
        Self { range: end..end, ..self.clone() }.line_column()
    }

    /// The range at character boundaries within the text: an invalid range must not break a report.
    fn clamped(&self) -> Range<usize> {
        let start = floor_boundary(&self.text, self.range.start);
        let end = floor_boundary(&self.text, self.range.end).max(start);
        start..end
    }
}

fn floor_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// No file is written.
    Error,
    /// The command continues.
    Warning,
    /// For information; displayed with `-v`.
    Note,
}

/// A row per code: `Variant = "stable-name", Severity, "description"`.
macro_rules! codes {
    ($($variant:ident = $name:literal, $severity:ident, $description:literal;)+) => {
        /// The stable identifiers of diagnostics. A new name for one is a breaking change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $description] $variant,)+
        }

        impl Code {
            /// All codes, in table order.
            pub const ALL: &[Code] = &[$(Code::$variant),+];

            /// The stable name, displayed in brackets.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name,)+ }
            }

            /// The severity.
            pub const fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)+ }
            }

            /// The description for the reference.
            pub const fn description(self) -> &'static str {
                match self { $(Code::$variant => $description,)+ }
            }
        }
    };
}

codes! {
    ArrayItems = "array-items", Error, "An array has no schema for all of its items, such as that of a tuple";
    AttributeMacro = "attribute-macro", Error, "An attribute macro may rewrite a type before its schema is derived";
    AuditLine = "audit-line", Warning, "A line of an audit log that is no event";
    BundleAccount = "bundle-account", Error, "A bundle has a service account that OLM makes";
    BundleCapability = "bundle-capability", Error, "The level of capabilities of a bundle is none of those of `OperatorHub.io`";
    BundleCategory = "bundle-category", Error, "A category of a bundle is none of those of `OperatorHub.io`";
    BundleCrd = "bundle-crd", Error, "The CRDs of a bundle are not those that its CSV owns, or the API server refuses one";
    BundleCsv = "bundle-csv", Error, "A field of the CSV of a bundle is missing or wrong";
    BundleCsvField = "bundle-csv-field", Warning, "A field of the CSV of a bundle should be there, or elsewhere";
    BundleExample = "bundle-example", Error, "The examples of a bundle are no JSON, or of a kind that it does not own";
    BundleHub = "bundle-hub", Error, "A field of the CSV of a bundle that `OperatorHub.io` refuses";
    BundleHubField = "bundle-hub-field", Warning, "A field of the CSV of a bundle that `OperatorHub.io` asks for";
    BundleImage = "bundle-image", Error, "An image of a bundle that can't be mirrored, as its name is none or not known";
    BundleInstallMode = "bundle-install-mode", Error, "The install modes of a bundle are missing, or contradict its webhooks";
    BundleKind = "bundle-kind", Error, "A bundle has an object of a kind that OLM does not install";
    BundleLeftOut = "bundle-left-out", Warning, "An object that a bundle can't have";
    BundleMetadata = "bundle-metadata", Error, "An annotation of a bundle is missing or wrong";
    BundleNamespace = "bundle-namespace", Warning, "An object of a bundle names a namespace, which OLM chooses";
    BundleNoExample = "bundle-no-example", Warning, "A kind that a bundle owns has no example";
    BundleObject = "bundle-object", Error, "An object of a bundle has no name, or a namespace";
    BundlePractice = "bundle-practice", Warning, "Advice for a bundle";
    BundleRemovedApi = "bundle-removed-api", Error, "A bundle uses an API that its Kubernetes has removed";
    BundleRemovedApiLater = "bundle-removed-api-later", Warning, "A bundle uses an API that a release of Kubernetes has removed";
    BundleStructure = "bundle-structure", Error, "The files of a bundle are not where OLM reads them, or can't be read";
    BundleWebhook = "bundle-webhook", Error, "A webhook in the CSV of a bundle that OLM can't make";
    BundleWebhookField = "bundle-webhook-field", Warning, "A field of a webhook that OLM does not have";
    ChartName = "chart-name", Warning, "An argument or a variable of a chart may name an object of the release, and does not follow it";
    CommandFailed = "command-failed", Error, "The command could not be carried out, for a reason that is not in a source file";
    CompileFailed = "compile-failed", Error, "The compiler could not be asked for a CRD";
    ConversionNone = "conversion-none", Error, "Versions of a custom resource are served whose schemas differ, and nothing converts them";
    ConversionUnknown = "conversion-unknown", Warning, "Versions of a custom resource are served whose schemas differ, and what converts them is not known";
    CrdKept = "crd-kept", Note, "The file of a CRD stays, because its kind is declared behind a feature that is off";
    CrdPanic = "crd-panic", Error, "`crd()` of a compiled type panics";
    CrdSize = "crd-size", Warning, "A CRD is too big for `kubectl apply` without `--server-side`";
    DanglingKustomization = "dangling-kustomization", Warning, "A kustomization that can not be built any more, since a generated file goes";
    DefaultValue = "default-value", Error, "The default of a field can't be evaluated without running code";
    DependencyVersion = "dependency-version", Error, "A dependency has a version whose schemas may differ from those reproduced here";
    DeprecationWarning = "deprecation-warning", Error, "A warning of a deprecated version that the API server refuses";
    DroppedScale = "dropped-scale", Warning, "A scale subresource that kube leaves out, because the kind has no status";
    DuplicateResource = "duplicate-resource", Error, "Two types declare the same version of a custom resource";
    DuplicateWebhook = "duplicate-webhook", Error, "Two webhooks of one configuration have the same name, or two markers name the configuration";
    EditConflict = "edit-conflict", Error, "You have changed the lines that another choice of the scaffold would change";
    EditKept = "edit-kept", Warning, "A file of a choice that is no longer made stays, since you have changed it";
    Elsewhere = "elsewhere", Note, "Nothing was found, and members of the workspace that use kube were not read";
    EnginesDiffer = "engines-differ", Error, "The source and the compiler give different CRDs";
    Expression = "expression", Error, "An expression in an attribute can't be evaluated without running code";
    FileConflict = "file-conflict", Error, "A file on disk stands in the way of what the command would write";
    Fixed = "fixed", Note, "`--fix` has changed a CRD";
    ForeignType = "foreign-type", Error, "The schema of a type of another crate is not known";
    HiddenResource = "hidden-resource", Error, "A custom resource is declared where it can't be read";
    InvalidDefault = "invalid-default", Error, "A default is not a value that its schema allows";
    InvalidName = "invalid-name", Error, "A group, a name, a label or an annotation of a CRD that the API server refuses";
    InvalidSample = "invalid-sample", Warning, "An object in `config/samples` that its CRD does not allow";
    InvalidSchema = "invalid-schema", Error, "A schema says what the API server does not allow in a CRD";
    KubeAttribute = "kube-attribute", Error, "A `#[kube]` or `#[x_kube]` attribute is wrong or not supported";
    ListKind = "list-kind", Note, "A CRD without the name of its list kind, which the API server fills in";
    ListType = "list-type", Error, "A merge strategy of a list or a map that the API server refuses";
    LongProjectName = "long-project-name", Warning, "A project name that makes the name of a Service too long for Kubernetes, or one that begins with a digit";
    MarkerSyntax = "marker-syntax", Error, "The arguments of a comment marker can't be read";
    MissingCrd = "missing-crd", Error, "The project's own crdgen leaves out a custom resource of the source";
    MissingModule = "missing-module", Error, "The file of a module or of a target can't be read";
    MissingType = "missing-type", Error, "A schema has no type, which the API server refuses";
    NewRelease = "new-release", Error, "A dependency has a release that is newer than this program and not verified";
    NoLock = "no-lock", Error, "Without an up-to-date `Cargo.lock` the releases of dependencies are not known";
    NoSchema = "no-schema", Error, "A type does not derive `JsonSchema`";
    NotStructural = "not-structural", Error, "kube cannot make a structural schema of a type, and `crd()` would panic";
    OnlyRead = "only-read", Warning, "A kind may be an API of others that the operator only reads";
    Pattern = "pattern", Error, "A regular expression that Go, and so the API server, can't compile";
    PrinterColumn = "printer-column", Error, "A column for `kubectl get` that the API server refuses";
    ProjectDiffers = "project-differs", Warning, "A file of the scaffold says another choice than `PROJECT`";
    RbacAllow = "rbac-allow", Warning, "A comment that allows a finding says no reason, or there is no such finding";
    RbacElsewhere = "rbac-elsewhere", Warning, "A request that goes to another cluster, or perhaps to another namespace than the operator's";
    RbacEscalation = "rbac-escalation", Warning, "A permission to get other permissions: `bind`, `escalate` or `impersonate`";
    RbacExcess = "rbac-excess", Warning, "A permission that the code does not use";
    RbacMissing = "rbac-missing", Error, "A permission that the operator needs and that nothing declares";
    RbacNotFollowed = "rbac-not-followed", Warning, "A call may make a request that could not be derived from the code";
    RbacRule = "rbac-rule", Warning, "A permission that the API server refuses, or that no request can match";
    RbacScope = "rbac-scope", Warning, "A permission in all namespaces that the code uses in one";
    RbacSecrets = "rbac-secrets", Warning, "A permission for the Secrets of all namespaces";
    RbacUnproven = "rbac-unproven", Note, "A permission that no call uses which could be followed, while others could not";
    RbacUnused = "rbac-unused", Warning, "A permission that no request in an audit log has used";
    RbacWildcard = "rbac-wildcard", Warning, "A permission with `*`, which allows what nobody has thought of";
    RecursiveType = "recursive-type", Error, "A type contains itself, which no CRD can express";
    RequestForbidden = "request-forbidden", Warning, "A request of the operator was refused, and not for lack of a permission";
    ReleaseDiffers = "release-differs", Warning, "A new release gives another CRD than the source";
    RoleKept = "role-kept", Note, "The role is left as it is, since no marker asks for a permission";
    ScalePath = "scale-path", Error, "A path of the scale subresource that the API server refuses";
    SchemaCode = "schema-code", Error, "A schema is made by code of the user";
    SchemaSize = "schema-size", Error, "A schema is too large for any API server";
    SchemarsAttribute = "schemars-attribute", Error, "A `#[schemars]` attribute is wrong or not supported";
    SelectableField = "selectable-field", Error, "A selectable field that the API server refuses";
    SerdeAttribute = "serde-attribute", Error, "A `#[serde]` attribute is wrong";
    ShortName = "short-name", Warning, "A short name of a CRD that kubectl takes for a resource of Kubernetes itself";
    StorageVersion = "storage-version", Error, "Not exactly one version of a custom resource is stored";
    Syntax = "rust-syntax", Error, "A source file is not valid Rust";
    UnknownCfg = "unknown-cfg", Error, "A `cfg` that only the compiler can decide changes a schema";
    UnknownFormat = "unknown-format", Warning, "A format that the API server does not know, and warns about";
    UnknownMarker = "unknown-marker", Warning, "A `+kubebuilder:` comment marker that generates nothing";
    UnreadMacro = "unread-macro", Warning, "A macro or an included file may declare custom resources, and can't be read";
    UnknownSchemaKey = "unknown-schema-key", Warning, "A key of a schema that the API server does not know";
    UnresolvedName = "unresolved-name", Error, "A name can't be resolved";
    UnsupportedType = "unsupported-type", Error, "A type expression is not supported";
    NoGit = "no-git", Warning, "The git repository of a new project could not be made";
    ManagerDiffers = "manager-differs", Warning, "The files in `manager` are not those that this version writes";
    ManagerForeign = "manager-foreign", Warning, "A file in the folder of the manager is not generated";
    NotGenerated = "not-generated", Warning, "The CRDs of a new API are not written, since that needs the compiler";
    NotRecorded = "not-recorded", Warning, "A new release that gives the CRDs of the source is not recorded as verified";
    NotDownloaded = "not-downloaded", Error, "The sources of dependencies that decide a CRD are not on this machine";
    NotFetched = "not-fetched", Warning, "The dependencies of a new project could not be fetched";
    Unformatted = "unformatted", Warning, "A Rust file was written without rustfmt";
    UnusualVersion = "unusual-version", Warning, "An API version that does not look like `v1`, `v1beta1` or `v1alpha1`";
    ValidationRule = "validation-rule", Error, "A validation rule that the API server refuses";
    VersionConflict = "version-conflict", Error, "Versions of a custom resource contradict each other";
    WebhookDeadlock = "webhook-deadlock", Warning, "A webhook that is asked about the objects of its own operator";
    WebhookMarker = "webhook-marker", Error, "The arguments of a webhook's marker make no webhook";
    WebhookRule = "webhook-rule", Warning, "A webhook that the API server refuses, or asks about nothing";
    WebhookResource = "webhook-resource", Warning, "A marker of a webhook names a resource that its own group does not have";
    WebhookUnmarked = "webhook-unmarked", Warning, "A handler of a webhook that no marker names, so nothing asks it";
    WebhookUnserved = "webhook-unserved", Warning, "The marker of a webhook that no handler serves";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Findings in source order. The caller must show them: dropping them silently is a bug.
#[must_use]
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds all findings of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// The findings.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Returns true if there are no findings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of findings.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if a finding is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.code.severity() == Severity::Error)
    }

    /// The errors and warnings.
    pub(crate) fn without_notes(&self) -> Self {
        self.iter().filter(|diagnostic| diagnostic.code.severity() != Severity::Note).cloned().collect()
    }

    /// Adds the custom resource to all findings.
    pub fn about(self, kind: &str) -> Self {
        self.0.into_iter().map(|diagnostic| diagnostic.about(kind.to_owned())).collect()
    }

    /// The findings displayed without `-v`, and the number of hidden ones per frequent warning.
    pub(crate) fn brief(&self) -> (Self, BTreeMap<Code, usize>) {
        const SHOWN: usize = 3;
        let (mut brief, mut counts) = (Self::default(), BTreeMap::new());
        for diagnostic in self.without_notes().0 {
            if matches!(diagnostic.code, Code::UnknownFormat | Code::UnreadMacro) {
                let count = counts.entry(diagnostic.code).or_insert(0);
                *count += 1;
                if *count > SHOWN {
                    continue;
                }
            }
            brief.push(diagnostic);
        }
        counts.retain(|_, count| *count > SHOWN);
        for count in counts.values_mut() {
            *count -= SHOWN;
        }
        (brief, counts)
    }

    /// Sorts by file and offset (findings without a file first) and removes duplicates.
    pub fn sort(&mut self) {
        fn key(diagnostic: &Diagnostic) -> (Option<(&str, usize, usize)>, Code, &str) {
            let place = diagnostic.origin.as_ref().map(|o| (&*o.path, o.range.start, o.range.end));
            (place, diagnostic.code, &diagnostic.message)
        }
        self.0.sort_by(|a, b| key(a).cmp(&key(b)));
        self.0.dedup_by(|repeated, first| {
            let same =
                key(repeated) == key(first) && (&repeated.help, &repeated.origin) == (&first.help, &first.origin);
            if same {
                first.add_kinds(std::mem::take(&mut repeated.kinds));
            }
            same
        });
    }

    pub(crate) fn to_json(&self) -> Vec<JsonDiagnostic> {
        self.iter().map(Diagnostic::to_json).collect()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

/// A [`Diagnostic`] in `-o json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonDiagnostic {
    /// The stable name of the code.
    pub code: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: Severity,
    /// The message.
    pub message: String,
    /// The path relative to the command's working folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The affected custom resources, each as `Kind.group`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// The error of a command or a step: the message and the next step.
///
/// The help is separate from the message, so that context can precede the message while the help stays last.
/// `Diagnostic::from(&anyhow::Error)` restores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The message: lower case, names in backticks, no full stop.
    pub message: String,
    /// The next step for the user.
    pub help: Option<String>,
}

impl Problem {
    /// A problem without help.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// Sets the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl From<Problem> for Diagnostic {
    fn from(problem: Problem) -> Self {
        Self { help: problem.help, ..Self::new(Code::CommandFailed, problem.message) }
    }
}

impl From<&anyhow::Error> for Diagnostic {
    /// The whole error chain in a line, with the innermost help.
    fn from(error: &anyhow::Error) -> Self {
        let help = error.chain().filter_map(|cause| cause.downcast_ref::<Problem>()?.help.clone()).last();
        Self { help, ..Self::new(Code::CommandFailed, format!("{error:#}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len(), "two codes share a name");
        for code in Code::ALL {
            let name = code.as_str();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(!code.description().is_empty() && !code.description().ends_with('.'), "{name}");
        }
    }

    fn at(path: &str, text: &str, range: Range<usize>) -> Diagnostic {
        Diagnostic::new(Code::Syntax, "m").at(Origin { path: path.into(), text: text.into(), range })
    }

    #[test]
    fn sorting_is_by_place_and_drops_repetitions() {
        let plain = Diagnostic::new(Code::UnusualVersion, "m");
        let mut found: Diagnostics =
            [at("b", "xyz", 0..1), at("a", "xyz", 2..3), plain.clone(), at("a", "xyz", 1..2), at("b", "xyz", 0..1)]
                .into_iter()
                .collect();
        found.sort();
        let expected: Diagnostics =
            [plain, at("a", "xyz", 1..2), at("a", "xyz", 2..3), at("b", "xyz", 0..1)].into_iter().collect();
        assert_eq!(found, expected);
        assert!(found.has_errors());
    }

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        for (text, offset, expected) in [
            ("", 0, (1, 1)),
            ("abc", 2, (1, 3)),
            ("a\nbc", 2, (2, 1)),
            ("é\nüx", 5, (2, 2)),
            ("a\r\nb", 3, (2, 1)),
            ("é", 1, (1, 1)),
            ("abc", 99, (1, 4)),
        ] {
            let origin = Origin { path: "f".into(), text: text.into(), range: offset..offset };
            assert_eq!(origin.line_column(), expected, "{text:?} at {offset}");
        }
    }

    #[test]
    fn json_has_the_place_or_leaves_it_out() {
        let text = serde_json::to_string(&at("src/a.rs", "ab", 1..2).help("do that").to_json()).unwrap();
        assert_eq!(
            text,
            r#"{"code":"rust-syntax","severity":"error","message":"m","file":"src/a.rs","line":1,"column":2,"help":"do that"}"#
        );
        let text = serde_json::to_string(&Diagnostic::new(Code::UnusualVersion, "m").to_json()).unwrap();
        assert_eq!(text, r#"{"code":"unusual-version","severity":"warning","message":"m"}"#);
    }

    #[test]
    fn help_is_found_under_context() {
        let error = anyhow::Error::new(Problem::new("no marker").help("add it")).context("cannot edit `src/main.rs`");
        let diagnostic = Diagnostic::from(&error);
        assert_eq!(diagnostic.message, "cannot edit `src/main.rs`: no marker");
        assert_eq!(diagnostic.help.as_deref(), Some("add it"));
    }
}
