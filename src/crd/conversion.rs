//! Kinds that need a conversion webhook. Without one the API server changes only the `apiVersion`, so served versions
//! must have equal schemas.
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#specify-multiple-versions>

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::Crd;
use super::walk::{self, SchemaPath, SchemaStep};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::source::marker::{CONVERSION, Marker};

const DOCUMENTATION: [&str; 4] = ["description", "title", "example", "externalDocs"];

/// Returns true if the kind has several served versions.
pub fn is_needed(crd: &Crd) -> bool {
    served(crd).count() > 1
}

/// The kinds of a project with a conversion webhook.
#[derive(Debug, Clone, Default)]
pub struct Conversions {
    /// The names, as `Kind.group`.
    pub kinds: BTreeSet<String>,
    /// The domain that the project's commands append to groups.
    pub domain: Option<String>,
}

impl Conversions {
    /// The command that adds a conversion. Puts the newest version first: it is the hub, stored or not.
    fn command(&self, crd: &Crd) -> String {
        let group = crd.value["spec"]["group"].as_str().unwrap_or_default();
        let domain = self.domain.as_deref().filter(|domain| !domain.is_empty());
        let short = domain.and_then(|domain| group.strip_suffix(domain)).map(|short| short.trim_end_matches('.'));
        let group = match short.unwrap_or(group) {
            "" => String::new(),
            group => format!("--group {group} "),
        };
        let versions: Vec<&str> = served(crd).map(|(name, _)| name).collect();
        let (hub, spokes) = versions.split_first().map_or(("", &[][..]), |(hub, spokes)| (*hub, spokes));
        format!(
            "memcached-sdk create webhook {group}--version {hub} --kind {} --conversion --spoke {}",
            crd.kind(),
            spokes.join(",")
        )
    }
}

/// The state of conversions.
#[derive(Debug, Clone)]
pub enum Converted {
    /// Exactly these.
    All(Conversions),
    /// These so far: a command adds a version before its conversion.
    SoFar(Conversions),
    /// Outside of a project.
    Unknown,
}

impl Converted {
    fn has(&self, kind: &str) -> bool {
        match self {
            Self::All(known) | Self::SoFar(known) => known.kinds.contains(kind),
            Self::Unknown => false,
        }
    }
}

/// Reports kinds without a required conversion. A marker in `markers` suppresses the finding.
pub fn check(crds: &[Crd], markers: &[Marker], converted: &Converted) -> Diagnostics {
    let mut found = Diagnostics::default();
    for crd in crds.iter().filter(|crd| !converted.has(&crd.name())) {
        let Some((one, other, path)) = difference(crd) else { continue };
        let stored = stored(crd);
        let origin = crd.declared.get(stored).map(|declared| &declared.origin);
        if markers.iter().any(|marker| origin.is_some_and(|origin| is_before(marker, origin, crds))) {
            continue;
        }
        let what = if path == SchemaPath::default() { String::new() } else { format!(" in `{path}`") };
        let message =
            format!("`{}` serves `{one}` and `{other}`, which differ{what}, but has no conversion", crd.kind());
        let marker = format!("`// +{CONVERSION}:none=…` before the type of `{stored}`");
        let convert = |known: &Conversions| {
            format!("create a conversion with `{}`, or state why none is needed: {marker}", known.command(crd))
        };
        let (code, help) = match converted {
            Converted::All(known) => (Code::ConversionNone, convert(known)),
            Converted::SoFar(known) => (Code::ConversionUnknown, convert(known)),
            Converted::Unknown => {
                (Code::ConversionUnknown, format!("add a conversion webhook, or state why none is needed: {marker}"))
            }
        };
        found.push(Diagnostic::new(code, message).at(origin.cloned()).help(help).about(crd.name()));
    }
    found
}

fn served(crd: &Crd) -> impl Iterator<Item = (&str, &Value)> {
    crd.versions().filter(|(_, version)| version["served"] == true)
}

fn stored(crd: &Crd) -> &str {
    crd.versions().find(|(_, version)| version["storage"] == true).map(|(name, _)| name).unwrap_or_default()
}

/// Returns true if the marker has a reason and precedes this type, without another custom resource in between.
fn is_before(marker: &Marker, origin: &Origin, crds: &[Crd]) -> bool {
    let between = |other: &Origin| {
        other.path == origin.path && (marker.origin.range.end..origin.range.start).contains(&other.range.start)
    };
    let mut others = crds.iter().flat_map(|crd| crd.declared.values()).map(|declared| &declared.origin);
    marker.origin.path == origin.path
        && marker.origin.range.end <= origin.range.start
        && !others.any(between)
        && !marker.string("none").trim().is_empty()
}

fn difference(crd: &Crd) -> Option<(String, String, SchemaPath)> {
    if !is_needed(crd) {
        return None;
    }
    let mut value = crd.value.clone();
    walk::edit(&mut value, &mut |_, _, schema| schema.retain(|key, _| !DOCUMENTATION.contains(&key.as_str())));
    let plain = Crd { file_name: String::new(), value, declared: BTreeMap::new() };
    let schema = |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
    let mut versions = served(&plain);
    let (one, first) = versions.next()?;
    let first = schema(first);
    versions.find_map(|(other, version)| {
        let path = differ(&first, &schema(version), &SchemaPath::default())?;
        Some((one.to_owned(), other.to_owned(), path))
    })
}

fn differ(one: &Value, other: &Value, path: &SchemaPath) -> Option<SchemaPath> {
    if one == other {
        return None;
    }
    let none = Map::new();
    let fields = |schema: &Value| schema["properties"].as_object().unwrap_or(&none).clone();
    let (here, there) = (fields(one), fields(other));
    let names: BTreeSet<&String> = here.keys().chain(there.keys()).collect();
    let of_field = |name: &String| match (here.get(name), there.get(name)) {
        (Some(one), Some(other)) => differ(one, other, &path.field(name)),
        _ => Some(path.field(name)),
    };
    let of_part = |key: &str, step: SchemaStep| match (&one[key], &other[key]) {
        (one @ Value::Object(_), other @ Value::Object(_)) => differ(one, other, &path.then(step)),
        _ => None,
    };
    names
        .into_iter()
        .find_map(of_field)
        .or_else(|| of_part("items", SchemaStep::Items))
        .or_else(|| of_part("additionalProperties", SchemaStep::Values))
        .or_else(|| Some(path.clone()))
}
