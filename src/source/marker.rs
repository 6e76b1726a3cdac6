//! Comment markers, `// +kubebuilder:name:argument=value,…`, with controller-gen's grammar.
//!
//! The position of the comment does not matter. controller-gen ignores unknown markers; here every `kubebuilder:`
//! marker without a meaning is a finding.

mod parse;
mod scan;

use std::collections::BTreeMap;

use self::ArgumentType::{Bool, Int, Text, Texts};
use self::scan::Wrong;
use super::comment::Comment;
use super::tree::SourceTree;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};

/// A parsed marker that generates something.
#[derive(Debug, Clone, PartialEq)]
pub struct Marker {
    /// Its name, without `+`.
    pub name: &'static str,
    arguments: BTreeMap<&'static str, MarkerValue>,
    /// Place from `+` to the end of the comment.
    pub origin: Origin,
}

impl Marker {
    /// A list of strings; empty if absent.
    pub fn strings(&self, argument: &str) -> Vec<String> {
        match self.arguments.get(argument) {
            Some(MarkerValue::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    /// A string; empty if absent.
    pub fn string(&self, argument: &str) -> String {
        match self.arguments.get(argument) {
            Some(MarkerValue::Text(text)) => text.clone(),
            _ => String::new(),
        }
    }

    /// A boolean; false if absent.
    pub fn bool(&self, argument: &str) -> bool {
        matches!(self.arguments.get(argument), Some(MarkerValue::Bool(true)))
    }

    /// An integer; `None` if absent.
    pub fn int(&self, argument: &str) -> Option<i64> {
        match self.arguments.get(argument) {
            Some(MarkerValue::Int(int)) => Some(*int),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum MarkerValue {
    Text(String),
    Bool(bool),
    Int(i64),
    Texts(Vec<String>),
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    /// `text`, `"text"` or `` `text` ``
    Text,
    /// `true` or `false`
    Bool,
    /// `1`
    Int,
    /// `a;b` or `{a,b}`
    Texts,
}

/// The definition of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Its name, case-sensitive.
    pub name: &'static str,
    /// Its type.
    pub kind: ArgumentType,
    /// May be omitted.
    pub optional: bool,
    /// Its purpose.
    pub help: &'static str,
}

/// The definition of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerDefinition {
    /// Its name without `+`.
    pub name: &'static str,
    /// Its purpose.
    pub help: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
}

const fn optional(name: &'static str, kind: ArgumentType, help: &'static str) -> Argument {
    Argument { name, kind, optional: true, help }
}

const fn required(name: &'static str, kind: ArgumentType, help: &'static str) -> Argument {
    Argument { name, kind, optional: false, help }
}

/// The marker of a permission.
pub const RBAC: &str = "kubebuilder:rbac";
/// The marker of a webhook.
pub const WEBHOOK: &str = "kubebuilder:webhook";
/// The marker of the configuration object that contains the webhooks.
pub const WEBHOOK_CONFIGURATION: &str = "kubebuilder:webhookconfiguration";

/// The marker of a kind whose versions need no conversion webhook.
pub const CONVERSION: &str = "memcached-sdk:conversion";

/// The markers that generate something.
pub const MARKERS: &[MarkerDefinition] =
    &[RBAC_MARKER, WEBHOOK_MARKER, WEBHOOK_CONFIGURATION_MARKER, CONVERSION_MARKER];

const RBAC_MARKER: MarkerDefinition = MarkerDefinition {
    name: RBAC,
    help: "a permission of the operator: a rule of its ClusterRole or, with `namespace`, of a Role",
    arguments: &[
        optional("groups", Texts, "API groups; `core` or `\"\"` is the core group"),
        optional("resources", Texts, "plural names of resources; subresources as `pods/log`"),
        optional("resourceNames", Texts, "restricts the rule to objects with these names"),
        required("verbs", Texts, "the allowed verbs; `*` allows all"),
        optional("urls", Texts, "non-resource URLs, such as `/metrics`"),
        optional("namespace", Text, "writes a Role in this namespace, for any scope of the project"),
        optional("roleName", Text, "the name of the role, if not the default"),
    ],
};

const WEBHOOK_MARKER: MarkerDefinition = MarkerDefinition {
    name: WEBHOOK,
    help: "an admission webhook; either `path` or `url` is required",
    arguments: &[
        required("mutating", Bool, "true for a mutating webhook, false for a validating one"),
        required("failurePolicy", Text, "the result of a request if the webhook does not respond: `fail` or `ignore`"),
        optional("matchPolicy", Text, "`Exact`, or `Equivalent` to match requests through other versions as well"),
        optional("sideEffects", Text, "`None` or `NoneOnDryRun`; required, here or in `patch`"),
        optional("timeoutSeconds", Int, "timeout of a call, 1 to 30"),
        required("groups", Texts, "API groups; `core` or `\"\"` is the core group"),
        required("resources", Texts, "plural names of resources; subresources as `pods/status`"),
        required("verbs", Texts, "`create`, `update`, `delete`, `connect`, or `*`"),
        required("versions", Texts, "API versions, or `*`"),
        required("name", Text, "a unique name with at least three parts, separated by dots"),
        optional("serviceName", Text, "the name of the Service; default `webhook-service`"),
        optional("serviceNamespace", Text, "the namespace of the Service; default `system`"),
        optional("path", Text, "the path of the webhook at the Service"),
        optional("servicePort", Int, "the port of the Service; default 443"),
        optional("webhookVersions", Texts, "versions of the webhook configuration; only `v1`"),
        required("admissionReviewVersions", Texts, "versions of AdmissionReview that the webhook accepts: `v1`"),
        optional(
            "reinvocationPolicy",
            Text,
            "`Never`, or `IfNeeded` to call the webhook again after others changed the object",
        ),
        optional("url", Text, "the URL of a webhook without a Service; quoted"),
        optional(
            "patch",
            Text,
            "a strategic merge patch of the webhook, JSON in backticks, such as `{\"objectSelector\": {…}}`",
        ),
    ],
};

const WEBHOOK_CONFIGURATION_MARKER: MarkerDefinition = MarkerDefinition {
    name: WEBHOOK_CONFIGURATION,
    help: "the webhook configuration that contains the webhooks",
    arguments: &[
        required(
            "mutating",
            Bool,
            "true for the MutatingWebhookConfiguration, false for the ValidatingWebhookConfiguration",
        ),
        optional("name", Text, "its name"),
    ],
};

const CONVERSION_MARKER: MarkerDefinition = MarkerDefinition {
    name: CONVERSION,
    help: "allows versions with different schemas without a conversion webhook; before the type of the storage version",
    arguments: &[required("none", Text, "why it is correct that the API server changes only the `apiVersion`")],
};

/// kubebuilder markers without a meaning in Rust source, with their replacements. A name that ends in `:` is a prefix.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("kubebuilder:ac:", "Rust has no apply configurations: apply the typed object"),
    ("kubebuilder:default", "write `#[serde(default = …)]`"),
    ("kubebuilder:deprecatedversion", "write `#[kube(deprecated)]`"),
    ("kubebuilder:example", "write `#[schemars(example = …)]`"),
    ("kubebuilder:externalDocs", "write `#[schemars(extend(\"externalDocs\" = …))]`"),
    ("kubebuilder:metadata", "write `#[kube(annotation(…), label(…))]`"),
    ("kubebuilder:object:", "write `#[derive(CustomResource)]`"),
    ("kubebuilder:printcolumn", "write `#[kube(printcolumn(…))]`"),
    ("kubebuilder:pruning:", "write `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`"),
    ("kubebuilder:resource", "write `#[kube(plural = …, shortname = …, category = …, namespaced)]`"),
    ("kubebuilder:selectablefield", "write `#[kube(selectable = …)]`"),
    ("kubebuilder:skip", "write `#[kube(…)]` only on custom resources"),
    ("kubebuilder:skipversion", "remove the type of that version"),
    ("kubebuilder:storageversion", "write `#[kube(storage = …)]`"),
    ("kubebuilder:subresource:", "write `#[kube(status = …, scale(…))]`"),
    ("kubebuilder:title", "write `#[schemars(title = …)]`"),
    ("kubebuilder:unservedversion", "write `#[kube(served = false)]`"),
    ("kubebuilder:validation:", "write `#[schemars(…)]`, or `#[x_kube(validation = …)]` with `KubeSchema`"),
];

const PREFIXES: [&str; 2] = ["kubebuilder:", "memcached-sdk:"];

/// Markers that other commands read.
const OTHERS: &[&str] = &["kubebuilder:docs-gen:", "kubebuilder:scaffold:"];

impl SourceTree {
    /// The markers with these names in the package's own active source, in file order. Reports errors in these markers,
    /// and markers with unknown names.
    pub fn markers(&self, names: &[&str]) -> (Vec<Marker>, Diagnostics) {
        let mut markers = Vec::new();
        let mut diagnostics = Diagnostics::default();
        for prefix in PREFIXES.iter().filter(|prefix| names.iter().any(|name| name.starts_with(*prefix))) {
            for comment in self.comments(prefix) {
                markers.extend(read(&comment, names, &mut diagnostics));
            }
        }
        for name in names {
            for origin in self.lines_of_blocks(&format!("+{name}:")) {
                let message = "a marker in a `/*` comment is ignored";
                let found = Diagnostic::new(Code::UnknownMarker, message).help("use a `//` comment");
                diagnostics.push(found.at(origin));
            }
            // Search for a misspelt first part of the name.
            let (first, last) = name.split_once(':').unwrap_or_default();
            let comments = self.comments(&format!(":{last}:"));
            for comment in comments.iter().filter(|comment| !comment.text.contains(&format!("{first}:"))) {
                if let Some(misspelt) = misspelt(comment, name) {
                    diagnostics.push(misspelt);
                }
            }
        }
        (markers, diagnostics)
    }
}

/// A finding for a marker whose first part is misspelt and whose last part matches this name.
fn misspelt(comment: &Comment, wanted: &str) -> Option<Diagnostic> {
    let text = comment.text.trim().strip_prefix('+')?;
    let (_, last) = wanted.split_once(':')?;
    let (name, _) = text.split_once(&format!(":{last}:"))?;
    let end = comment.origin.range.end;
    let origin = Origin { range: end - comment.text.trim_start().len()..end, ..comment.origin.clone() };
    nearest(name.trim(), ["kubebuilder", "memcached-sdk"].into_iter())?;
    let message = format!("unknown marker `+{}:{last}`", name.trim());
    let help = format!("did you mean `+{wanted}`?");
    Some(Diagnostic::new(Code::UnknownMarker, message).help(help).at(origin))
}

/// Parses a permission marker from text, such as a command-line argument.
///
/// # Errors
///
/// Returns the finding that the same marker in a comment would have.
pub fn parse(text: &str) -> Result<Marker, Diagnostic> {
    let origin = Origin { path: "".into(), text: text.into(), range: 0..text.len() };
    let mut found = Diagnostics::default();
    let comment = Comment { text: text.to_owned(), origin };
    let marker = read(&comment, &[RBAC], &mut found);
    let wrong = || found.iter().next().cloned().unwrap_or_else(|| Diagnostic::new(Code::UnknownMarker, "no marker"));
    marker.ok_or_else(wrong)
}

fn read(comment: &Comment, names: &[&str], diagnostics: &mut Diagnostics) -> Option<Marker> {
    let text = comment.text.trim().strip_prefix('+')?;
    let start = comment.origin.range.end - comment.text.len() + comment.text.find('+')?;
    let at = |offset: usize, length: usize| {
        let start = start + 1 + offset;
        Origin { range: start..start + length, ..comment.origin.clone() }
    };
    let whole = Origin { range: start..start + 1 + text.len(), ..comment.origin.clone() };
    let (anonymous, name) = parse::split(text);
    let definition = [anonymous, name].iter().find_map(|name| MARKERS.iter().find(|marker| marker.name == *name));
    let Some(definition) = definition else {
        if PREFIXES.iter().any(|prefix| text.trim_start().starts_with(prefix)) && !known(OTHERS, anonymous) {
            diagnostics.push(unknown(anonymous, name).at(whole));
        }
        return None;
    };
    if !names.contains(&definition.name) {
        return None;
    }
    match parse::arguments(definition, text) {
        Ok(arguments) => Some(Marker { name: definition.name, arguments, origin: whole }),
        Err(error) => {
            let rest = &text[error.offset..];
            let length = rest.find([',', '=', ' ']).unwrap_or(rest.len());
            let help = match &error.what {
                Wrong::UnknownArgument(argument) => argument_help(definition, argument),
                // `verbs=get,list`: the text after the comma parses as the next argument.
                Wrong::Expected { wanted: parse::EQUALS, .. } => {
                    "separate the items of a list with `;`, and arguments with `,`".to_owned()
                }
                _ => format!("use the form `{}`", form(definition)),
            };
            let is_missing = matches!(error.what, Wrong::MissingArgument(_));
            let origin = if is_missing { whole } else { at(error.offset, length) };
            diagnostics.push(Diagnostic::new(Code::MarkerSyntax, error.what.to_string()).at(origin).help(help));
            None
        }
    }
}

fn known(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| name == *known || (known.ends_with(':') && name.starts_with(known)))
}

fn unknown<'a>(anonymous: &'a str, name: &str) -> Diagnostic {
    let elsewhere =
        ELSEWHERE.iter().find(|(known_name, _)| known(&[known_name], anonymous) || known(&[known_name], name));
    if let Some((_, instead)) = elsewhere {
        let message = format!("marker `+{}` is not supported in Rust source", anonymous.trim());
        return Diagnostic::new(Code::UnknownMarker, message).help(*instead);
    }
    let message = format!("unknown marker `+{anonymous}`");
    let diagnostic = Diagnostic::new(Code::UnknownMarker, message);
    if anonymous.starts_with(char::is_whitespace) {
        return diagnostic.help("remove the space after `+`");
    }
    let names = MARKERS.iter().map(|marker| marker.name);
    let cut = |name: &&'a str| name.rsplit_once(':').map(|(name, _)| name).filter(|name| name.contains(':'));
    let word = anonymous.split_whitespace().next();
    let mut prefixes = std::iter::successors(Some(anonymous.trim()), cut).chain(word);
    let near = prefixes.find_map(|name| nearest(name, names.clone()));
    match near {
        Some(near) if anonymous.strip_prefix(near).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)) => {
            diagnostic.help(match MARKERS.iter().find(|marker| marker.name == near) {
                Some(marker) => format!("use the form `{}`", form(marker)),
                None => format!("write `+{near}`"),
            })
        }
        Some(near) => diagnostic.help(format!("did you mean `+{near}`?")),
        None => diagnostic.help(format!("known markers: {}", names.collect::<Vec<_>>().join(", "))),
    }
}

fn argument_help(definition: &MarkerDefinition, argument: &str) -> String {
    let names = definition.arguments.iter().map(|argument| argument.name);
    match nearest(argument, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("arguments of `+{}`: {}", definition.name, names.collect::<Vec<_>>().join(", ")),
    }
}

fn form(definition: &MarkerDefinition) -> String {
    let argument = |argument: &Argument| format!("{}=…", argument.name);
    let arguments: Vec<_> = definition.arguments.iter().map(argument).collect();
    format!("+{}:{}", definition.name, arguments.join(","))
}

/// The candidate closest to a misspelt name; `None` if none is close.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    let limit = 1 + length / 4;
    candidates
        // Skips long texts: the distance takes the product of both lengths.
        .filter(|candidate| candidate.len().abs_diff(length) <= limit)
        .map(|candidate| (strsim::levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let origin = Origin { path: "a.rs".into(), text: format!("//{text}").into(), range: 0..text.len() + 2 };
        let comment = Comment { text: text.to_string(), origin };
        let mut diagnostics = Diagnostics::default();
        let marker = read(&comment, &[RBAC], &mut diagnostics);
        let mut out: Vec<_> = diagnostics
            .iter()
            .map(|diagnostic| {
                let column = diagnostic.origin.as_ref().unwrap().range.start + 1;
                format!("{column}: {}; {}", diagnostic.message, diagnostic.help.as_deref().unwrap_or_default())
            })
            .collect();
        for (name, value) in marker.iter().flat_map(|marker| &marker.arguments) {
            out.push(match value {
                MarkerValue::Text(text) => format!("{name}={text:?}"),
                MarkerValue::Texts(texts) => format!("{name}={texts:?}"),
                other => panic!("{other:?}"),
            });
        }
        out.join(" ")
    }

    #[test]
    fn rbac_arguments() {
        let form = "use the form `+kubebuilder:rbac:groups=…,resources=…,resourceNames=…,verbs=…,urls=…,namespace=…,roleName=…`";
        for (text, expected) in [
            (" +kubebuilder:rbac:verbs=get", r#"verbs=["get"]"#.to_string()),
            ("+kubebuilder:rbac:verbs=get;list", r#"verbs=["get", "list"]"#.to_string()),
            (" +kubebuilder:rbac:groups=\"\",verbs={get, list}", r#"groups=[""] verbs=["get", "list"]"#.to_string()),
            (" +kubebuilder:rbac:urls=/a;/b/*,verbs=get ", r#"urls=["/a", "/b/*"] verbs=["get"]"#.to_string()),
            (" +kubebuilder:rbac:resources=,verbs=get", r#"resources=[] verbs=["get"]"#.to_string()),
            (" +kubebuilder:rbac:verbs=get;,roleName=`a b`", r#"roleName="a b" verbs=["get"]"#.to_string()),
            (" +kubebuilder:rbac:verbs=get,verbs=list", r#"verbs=["list"]"#.to_string()),
            (" +kubebuilder:rbac:verbs=;get", r#"verbs=[";get"]"#.to_string()),
            (" text +kubebuilder:rbac:verbs=get", String::new()),
            (" +other:marker=1", String::new()),
            (" +kubebuilder:scaffold:crds", String::new()),
            (
                " +kubebuilder:rbac:namespace=,verbs=get",
                format!("4: missing argument \"verbs\"; {form}"),
            ),
            (" +kubebuilder:rbac:verbs=get,verb=list", "32: unknown argument \"verb\"; did you mean `verbs`?".to_string()),
            (" +kubebuilder:rbac:verbs get", format!("4: unknown marker `+kubebuilder:rbac:verbs get`; {form}")),
            (" +kubebuilder:rabc:verbs=get", "4: unknown marker `+kubebuilder:rabc:verbs`; did you mean `+kubebuilder:rbac`?".to_string()),
            (" +kubebuilder:rbac verbs=get", format!("4: unknown marker `+kubebuilder:rbac verbs`; {form}")),
            (" + kubebuilder:rbac:verbs=get", "4: unknown marker `+ kubebuilder:rbac:verbs`; remove the space after `+`".to_string()),
            (" +kubebuilder:rbac:verbs=get,list", "36: expected equals, got \"\"; separate the items of a list with `;`, and arguments with `,`".to_string()),
            (" +kubebuilder:rbac:verbs", format!("4: unknown marker `+kubebuilder:rbac:verbs`; {form}")),
            (" +kubebuilder:rbac", format!("4: missing argument \"verbs\"; {form}")),
            (
                " +kubebuilder:printcolumn:name=a",
                "4: marker `+kubebuilder:printcolumn:name` is not supported in Rust source; write \
                 `#[kube(printcolumn(…))]`"
                    .to_string(),
            ),
            (
                " +kubebuilder:validation:Minimum=1",
                "4: marker `+kubebuilder:validation:Minimum` is not supported in Rust source; write `#[schemars(…)]`, or \
                 `#[x_kube(validation = …)]` with `KubeSchema`"
                    .to_string(),
            ),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }
}
