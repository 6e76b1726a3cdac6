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
    ArrayItems = "array-items", Error, "An array has no single schema for its items, for example a tuple";
    AttributeMacro = "attribute-macro", Error, "An attribute macro may rewrite a type before its schema is derived";
    AuditLine = "audit-line", Warning, "A line of an audit log is not a valid event";
    BundleAccount = "bundle-account", Error, "A bundle contains a service account that OLM creates";
    BundleCapability = "bundle-capability", Error, "The capability level of a bundle is not one of the levels of `OperatorHub.io`";
    BundleCategory = "bundle-category", Error, "A category of a bundle is not one of the categories of `OperatorHub.io`";
    BundleCrd = "bundle-crd", Error, "The CRDs of a bundle differ from the owned CRDs of its CSV, or the API server rejects one";
    BundleCsv = "bundle-csv", Error, "A field of the CSV of a bundle is missing or invalid";
    BundleCsvField = "bundle-csv-field", Warning, "A recommended field of the CSV of a bundle is missing or in the wrong place";
    BundleExample = "bundle-example", Error, "The examples of a bundle are not valid JSON, or have a kind that it does not own";
    BundleHub = "bundle-hub", Error, "`OperatorHub.io` rejects a field of the CSV of a bundle";
    BundleHubField = "bundle-hub-field", Warning, "A field of the CSV of a bundle that `OperatorHub.io` expects is missing";
    BundleImage = "bundle-image", Error, "An image of a bundle cannot be mirrored, because its name is invalid or unknown";
    BundleInstallMode = "bundle-install-mode", Error, "The install modes of a bundle are missing or conflict with its webhooks";
    BundleKind = "bundle-kind", Error, "A bundle contains an object of a kind that OLM does not install";
    BundleLeftOut = "bundle-left-out", Warning, "An object that a bundle cannot contain is left out";
    BundleMetadata = "bundle-metadata", Error, "An annotation of a bundle is missing or invalid";
    BundleNamespace = "bundle-namespace", Warning, "An object of a bundle refers to a namespace, but OLM chooses the namespace";
    BundleNoExample = "bundle-no-example", Warning, "An owned kind of a bundle has no example";
    BundleObject = "bundle-object", Error, "An object of a bundle has no name, or has a namespace";
    BundlePractice = "bundle-practice", Warning, "Advice for a bundle";
    BundleRemovedApi = "bundle-removed-api", Error, "A bundle uses an API that is removed in its Kubernetes version";
    BundleRemovedApiLater = "bundle-removed-api-later", Warning, "A bundle uses an API that is removed in a later Kubernetes version";
    BundleStructure = "bundle-structure", Error, "The files of a bundle are not where OLM reads them, or cannot be read";
    BundleWebhook = "bundle-webhook", Error, "OLM cannot create a webhook in the CSV of a bundle";
    BundleWebhookField = "bundle-webhook-field", Warning, "OLM does not support a field of a webhook";
    ChartName = "chart-name", Warning, "An argument or an environment variable in a chart may refer to an object of the release, whose name changes with the release";
    CommandFailed = "command-failed", Error, "The command failed for a reason outside of the source files";
    CompileFailed = "compile-failed", Error, "The CRD could not be generated by the compiler";
    ConflictResolved = "conflict-resolved", Warning, "The author and the scaffold have changed the same lines, and a flag decides";
    ConversionNone = "conversion-none", Error, "Served versions of a custom resource have different schemas, but no conversion";
    ConversionUnknown = "conversion-unknown", Warning, "Served versions of a custom resource have different schemas, and their conversion is unknown";
    CrdDiffers = "crd-differs", Warning, "A shipped CRD differs from the one of the source";
    CrdKept = "crd-kept", Note, "The file of a CRD is kept, because its kind is declared behind a disabled feature";
    CrdNotDeclared = "crd-not-declared", Warning, "A shipped CRD is not declared in the source";
    CrdNotShipped = "crd-not-shipped", Warning, "A CRD of the source is not shipped";
    CrdPanic = "crd-panic", Error, "`crd()` of a compiled type panics";
    CrdPatch = "crd-patch", Warning, "A patch of `config/crd` does not fit the generated CRD";
    CrdPlace = "crd-place", Error, "The generated parts of a CRD cannot be replaced in the file that `PROJECT` names";
    CrdSize = "crd-size", Warning, "A CRD is too large for `kubectl apply` without `--server-side`";
    CrdTwice = "crd-twice", Warning, "A CRD is shipped twice with different content";
    DanglingKustomization = "dangling-kustomization", Warning, "A kustomization refers to a generated file that is removed";
    DefaultValue = "default-value", Error, "The default of a field cannot be evaluated without running code";
    DependencyVersion = "dependency-version", Error, "The schemas of the installed version of a dependency may differ from those of the supported versions";
    DeprecationWarning = "deprecation-warning", Error, "The API server rejects the warning of a deprecated version";
    DroppedScale = "dropped-scale", Warning, "kube omits the scale subresource of a kind without a status";
    DuplicateResource = "duplicate-resource", Error, "Two types declare the same version of a custom resource";
    DuplicateWebhook = "duplicate-webhook", Error, "Two webhooks of one configuration have the same name, or two markers set the name of the configuration";
    EditConflict = "edit-conflict", Error, "A change of the scaffold options affects lines that were edited";
    EditDiscarded = "edit-discarded", Error, "An edited file would be deleted";
    EditKept = "edit-kept", Warning, "An edited file is kept, although its scaffold option is now off";
    Elsewhere = "elsewhere", Note, "Nothing was found, and members of the workspace that use kube were not read";
    EnginesDiffer = "engines-differ", Error, "The static engine and the compiler generate different CRDs";
    Expression = "expression", Error, "An expression in an attribute cannot be evaluated without running code";
    FileConflict = "file-conflict", Error, "A file on disk conflicts with a file that the command would write";
    Fixed = "fixed", Note, "`--fix` has changed a CRD";
    ForeignType = "foreign-type", Error, "The schema of a type of another crate is unknown";
    HiddenResource = "hidden-resource", Error, "A custom resource is declared in a place that cannot be read";
    InvalidDefault = "invalid-default", Error, "A default value does not match its schema";
    InvalidName = "invalid-name", Error, "A group, a name, a label or an annotation of a CRD is invalid for the API server";
    InvalidSample = "invalid-sample", Warning, "An object in `config/samples` or `examples` does not match the schema of its CRD";
    InvalidSchema = "invalid-schema", Error, "A schema contains something that the API server does not allow in a CRD";
    KubeAttribute = "kube-attribute", Error, "A `#[kube]` or `#[x_kube]` attribute is invalid or not supported";
    KubeChange = "kube-change", Warning, "A place in the code does not compile with the newer release of kube, or behaves differently";
    KubeDependency = "kube-dependency", Warning, "A dependency does not follow the newer release of kube";
    ListKind = "list-kind", Note, "A CRD has no `listKind`; the API server sets it";
    ListType = "list-type", Error, "The merge strategy of a list or a map is invalid for the API server";
    LongProjectName = "long-project-name", Warning, "The project name makes the name of a Service too long, or starts with a digit";
    MarkerSyntax = "marker-syntax", Error, "The arguments of a comment marker are invalid";
    MissingCrd = "missing-crd", Error, "The crdgen of the project does not print a custom resource of the source";
    MissingModule = "missing-module", Error, "The file of a module or target is not found or cannot be read";
    MissingType = "missing-type", Error, "A schema has no type, but the API server requires one";
    NewRelease = "new-release", Error, "The release of a dependency is newer than the supported releases and not verified";
    NoLock = "no-lock", Error, "The releases of dependencies are unknown without an up-to-date `Cargo.lock`";
    NoSchema = "no-schema", Error, "A type does not derive `JsonSchema`";
    NotStructural = "not-structural", Error, "kube cannot build a structural schema for a type; `crd()` would panic";
    OldName = "old-name", Warning, "A text or a comment has a name that the project no longer has";
    OnlyRead = "only-read", Warning, "A kind may be an external API that the operator only reads";
    Pattern = "pattern", Error, "A regular expression is invalid in Go, the language of the API server";
    PrinterColumn = "printer-column", Error, "A printer column is invalid for the API server";
    ProjectDiffers = "project-differs", Warning, "A scaffolded file contradicts an option in `PROJECT`";
    RbacAllow = "rbac-allow", Warning, "An allow comment has no reason, or does not match a finding";
    RbacElsewhere = "rbac-elsewhere", Warning, "A request goes to another cluster, or may go to a namespace other than the operator's";
    RbacEscalation = "rbac-escalation", Warning, "A permission allows privilege escalation: `bind`, `escalate` or `impersonate`";
    RbacExcess = "rbac-excess", Warning, "A permission is not used by the code";
    RbacMissing = "rbac-missing", Error, "A required permission is not declared";
    RbacNotFollowed = "rbac-not-followed", Warning, "A call may make a request that cannot be derived from the code";
    RbacRule = "rbac-rule", Warning, "A permission is invalid for the API server, or matches no request";
    RbacScope = "rbac-scope", Warning, "A permission applies to all namespaces, but the code uses it in one";
    RbacSecrets = "rbac-secrets", Warning, "A permission includes the Secrets of all namespaces";
    RbacUnproven = "rbac-unproven", Note, "A permission is not used by any analyzed call; other calls could not be analyzed";
    RbacUnused = "rbac-unused", Warning, "A permission is not used by any request in an audit log";
    RbacWildcard = "rbac-wildcard", Warning, "A permission with `*` allows more than the operator needs";
    RecursiveType = "recursive-type", Error, "A type is recursive, which a CRD cannot express";
    RequestForbidden = "request-forbidden", Warning, "A request of the operator was rejected, but not because of a missing permission";
    ReleaseDiffers = "release-differs", Warning, "A new release of a dependency generates a different CRD than the static engine";
    RoleKept = "role-kept", Note, "The role is not changed, because the source has no permission markers";
    ScalePath = "scale-path", Error, "A path of the scale subresource is invalid for the API server";
    SchemaCode = "schema-code", Error, "A schema is built by handwritten code";
    SchemaSize = "schema-size", Error, "A schema is too large for the API server";
    SchemarsAttribute = "schemars-attribute", Error, "A `#[schemars]` attribute is invalid or not supported";
    SelectableField = "selectable-field", Error, "A selectable field is invalid for the API server";
    SerdeAttribute = "serde-attribute", Error, "A `#[serde]` attribute is invalid";
    ShortName = "short-name", Warning, "A short name of a CRD is also the short name of a built-in resource";
    StillNamed = "still-named", Warning, "A file names a type that was deleted";
    StorageVersion = "storage-version", Error, "A custom resource must have exactly one storage version";
    Syntax = "rust-syntax", Error, "A source file is not valid Rust";
    UnknownCfg = "unknown-cfg", Error, "A schema depends on a `cfg` that only the compiler can evaluate";
    UnknownFormat = "unknown-format", Warning, "The API server warns about an unrecognized format";
    UnknownMarker = "unknown-marker", Warning, "A `+kubebuilder:` comment marker is unknown or has no effect";
    UnreadMacro = "unread-macro", Warning, "A macro or an included file cannot be read, but may declare custom resources";
    UnknownSchemaKey = "unknown-schema-key", Warning, "A schema has a key that the API server does not support";
    UnresolvedName = "unresolved-name", Error, "A name cannot be resolved";
    UnsupportedType = "unsupported-type", Error, "A type expression is not supported";
    NoGit = "no-git", Warning, "The git repository of a new project could not be created";
    ManagerDiffers = "manager-differs", Warning, "The files in `manager` differ from those of this version";
    ManagerForeign = "manager-foreign", Warning, "The folder of the manager contains a file that is not generated";
    NotGenerated = "not-generated", Warning, "The CRDs of a new API are not written, because that needs the compiler";
    NotRecorded = "not-recorded", Warning, "A new release that generates the same CRDs is not recorded as verified";
    NotTyped = "not-typed", Warning, "A part of a CRD cannot be expressed by Rust types";
    NotDownloaded = "not-downloaded", Error, "The sources of dependencies that a CRD needs are not downloaded";
    NotFetched = "not-fetched", Warning, "The dependencies of a new project could not be fetched";
    Unformatted = "unformatted", Warning, "A Rust file was written without formatting, because rustfmt is not available";
    UnusualVersion = "unusual-version", Warning, "An API version does not have the form `v1`, `v1beta1` or `v1alpha1`";
    ValidationRule = "validation-rule", Error, "A validation rule is invalid for the API server";
    VersionConflict = "version-conflict", Error, "The versions of a custom resource conflict with each other";
    WebhookDeadlock = "webhook-deadlock", Warning, "A webhook intercepts the objects of its own operator";
    WebhookMarker = "webhook-marker", Error, "The arguments of a webhook marker are invalid";
    WebhookRule = "webhook-rule", Warning, "A webhook is invalid for the API server, or matches no request";
    WebhookResource = "webhook-resource", Warning, "A webhook marker refers to a resource that does not exist in its group";
    WebhookUnmarked = "webhook-unmarked", Warning, "A webhook handler has no marker, so the API server never calls it";
    WebhookUnserved = "webhook-unserved", Warning, "A webhook marker has no handler";
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
