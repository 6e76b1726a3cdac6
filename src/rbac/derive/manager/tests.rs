//! The markers of the runtime, compared with its code.

use std::collections::BTreeSet;
use std::path::Path;

use snapbox::str;

use super::super::index::{FunctionId, Owner};
use super::super::types::Ty;
use super::super::{DerivationQuestion, FunctionReader};
use super::*;
use crate::diagnostic::Diagnostic;
use crate::k8s;
use crate::source::{FeatureSelection, Pending};

/// The line scan finds the methods that syn finds.
#[test]
fn all_public_methods_are_read() {
    let mut expected: BTreeMap<ManagerType, Vec<String>> = BTreeMap::new();
    for text in runtime::sources() {
        for item in syn::parse_file(text).unwrap().items {
            let Item::Impl(block) = item else { continue };
            let Some(of) = owner_of(&block) else { continue };
            for part in block.items {
                if let syn::ImplItem::Fn(method) = part
                    && matches!(method.vis, syn::Visibility::Public(_))
                {
                    expected.entry(of).or_default().push(method.sig.ident.to_string());
                }
            }
        }
    }
    for names in expected.values_mut() {
        names.sort();
    }
    let found: BTreeMap<_, Vec<_>> =
        METHODS.iter().map(|(of, methods)| (*of, methods.keys().map(|name| (*name).to_owned()).collect())).collect();
    assert_eq!(found, expected);
}

/// A marker that cannot be parsed, or that is above something else than a public method, is not lost.
#[test]
fn all_markers_are_read() {
    let written: usize = runtime::sources().map(|text| text.matches("// +requests:").count()).sum();
    let read: usize = METHODS.values().flat_map(BTreeMap::values).map(Vec::len).sum();
    assert_eq!(read, written);
}

/// Methods that only switch something on. `Manager::run` makes their requests.
const SWITCHES: &[(ManagerType, &str)] = &[
    (ManagerType::Manager, "leader_election_id"),
    (ManagerType::Manager, "webhooks"),
    (ManagerType::Webhooks, "defaulting"),
    (ManagerType::Webhooks, "validating"),
    (ManagerType::Webhooks, "conversion"),
];

/// The markers declare the requests that a derivation finds in the bodies. These differences remain:
///
/// - Outside a cluster, `run` registers webhooks with the credentials of the developer, not of the operator.
/// - `apply` and `create` may list and publish. Every `Objects` comes from `Manager::objects`, which declares both.
/// - `create` sends its request by path, so the body does not show it. The client of `Manager` passes requests on to
///   another client.
/// - One function patches objects, finalizers and the status; its subresource is an argument.
/// - `migrate_storage` forgets its kind, to fit in a list.
#[test]
fn markers_are_what_bodies_request() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("manager");
    let selection =
        FeatureSelection { features: BTreeSet::from(["webhook".to_owned()]), ..FeatureSelection::default() };
    let (mut tree, _) = k8s::load_with(&dir, &selection, &Pending::default()).unwrap();
    let (differences, _) = tree.settle(|tree| {
        let complete = tree.request_code() && tree.request_expansion();
        if complete { differences(tree) } else { String::new() }
    });
    snapbox::assert_data_eq!(
        differences,
        str![[r#"
Manager::migrate_storage
  marker alone: K get;list;update
  body alone: kube::DynamicObject get;list;update
Manager::new
  doubt: `Client::send`: requests by path are not analyzed
Manager::objects
  doubt: `Client::send`: requests by path are not analyzed
Manager::objects_with
  doubt: `Client::send`: requests by path are not analyzed
Manager::run
  body alone: customresourcedefinitions.apiextensions.k8s.io update
  body alone: mutatingwebhookconfigurations.admissionregistration.k8s.io create;deletecollection
  body alone: validatingwebhookconfigurations.admissionregistration.k8s.io create;deletecollection
Manager::run_until
  body alone: customresourcedefinitions.apiextensions.k8s.io update
  body alone: mutatingwebhookconfigurations.admissionregistration.k8s.io create;deletecollection
  body alone: validatingwebhookconfigurations.admissionregistration.k8s.io create;deletecollection
Manager::with_client
  doubt: `Client::send`: requests by path are not analyzed
Objects::add_finalizer
  doubt: `Api::patch_subresource`: the subresource is not a literal in the source
Objects::apply
  body alone: K list
  body alone: events.events.k8s.io create;patch
  doubt: `Api::patch_subresource`: the subresource is not a literal in the source
Objects::apply_status
  body alone: K create;patch
Objects::create
  marker alone: K create
  body alone: K list
  doubt: `Client::request`: requests by path are not analyzed
Objects::finalizer
  doubt: `Api::patch_subresource`: the subresource is not a literal in the source
Objects::patch
  doubt: `Api::patch_subresource`: the subresource is not a literal in the source
  doubt: `Api::patch` may be a server-side apply
Objects::remove_finalizer
  doubt: `Api::patch_subresource`: the subresource is not a literal in the source
"#]]
    );
}

fn differences(tree: &SourceTree) -> String {
    let question = DerivationQuestion::default();
    let mut reader = FunctionReader::new(tree, &question);
    reader.read();
    let mut shown = Vec::new();
    for (of, methods) in &*METHODS {
        for name in methods.keys() {
            let declared: BTreeSet<_> = if matches!(*name, "run" | "run_until") && *of == ManagerType::Manager {
                SWITCHES.iter().chain([&(*of, *name)]).flat_map(|(of, name)| declared(*of, name)).collect()
            } else if SWITCHES.contains(&(*of, name)) {
                BTreeSet::new()
            } else {
                declared(*of, name).collect()
            };
            let (found, doubts) = reader.reached(method(&reader, *of, name));
            let found: BTreeSet<_> = found
                .into_iter()
                .flat_map(|(kind, sub, verb)| {
                    kind_names(&reader, &kind).into_iter().map(move |kind| (resource(&kind, sub), verb.to_owned()))
                })
                .collect();
            let doubts: BTreeSet<String> = doubts.iter().map(|doubt| Diagnostic::from(doubt).message).collect();
            let mut lines = alone("marker", &declared, &found);
            lines.extend(alone("body", &found, &declared));
            lines.extend(doubts.iter().map(|doubt| format!("  doubt: {doubt}")));
            if !lines.is_empty() {
                shown.push(format!("{of:?}::{name}"));
                shown.extend(lines);
            }
        }
    }
    shown.join("\n")
}

/// A resource or type parameter with its subresource, and a verb.
type Request = (String, String);

fn alone(what: &str, requests: &BTreeSet<Request>, others: &BTreeSet<Request>) -> Vec<String> {
    let mut verbs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (of, verb) in requests.difference(others) {
        verbs.entry(of).or_default().push(verb);
    }
    verbs.iter().map(|(of, verbs)| format!("  {what} alone: {of} {}", verbs.join(";"))).collect()
}

fn method(reader: &FunctionReader<'_>, of: ManagerType, name: &str) -> FunctionId {
    let is_it = |id: &&FunctionId| match reader.types.index.get(**id).owner {
        Some(Owner::Impl(block, None)) => owner_of(block.item) == Some(of),
        _ => false,
    };
    *reader.types.index.methods(name).iter().find(is_it).unwrap()
}

fn declared(of: ManagerType, method: &str) -> impl Iterator<Item = Request> {
    requests(of, method).unwrap().iter().flat_map(|request| {
        let of = match &request.of {
            Requested::Parameter(name) => (*name).to_owned(),
            Requested::Resource(resource, _) => resource_name(resource),
        };
        let of = resource(&of, request.subresource);
        request.verbs.iter().map(move |verb| (of.clone(), (*verb).to_owned()))
    })
}

/// The resources or the type parameter that a type stands for, or that it wraps.
fn kind_names(reader: &FunctionReader<'_>, kind: &Ty) -> Vec<String> {
    let kind = reader.resolve(kind);
    match (reader.types.kinds.resources(&kind), &kind) {
        (Some(resources), _) => resources.iter().map(resource_name).collect(),
        (None, Ty::Param(name)) => vec![name.to_string()],
        (None, Ty::Foreign(found, _)) => vec![found.to_string()],
        (None, kind) => kind.parts().first().map_or_else(|| vec!["?".to_owned()], |part| kind_names(reader, part)),
    }
}

fn resource_name(resource: &DerivedResource) -> String {
    format!("{}.{}", resource.plural, resource.group).trim_end_matches('.').to_owned()
}

fn resource(of: &str, subresource: Option<&str>) -> String {
    subresource.map_or(of.to_owned(), |name| format!("{of}/{name}"))
}
