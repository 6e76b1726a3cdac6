//! Facts about the types of a kind of the project, which PROJECT does not record.

use anyhow::Result;
use serde_json::{Map, Value, json};
use syn::{Fields, GenericArgument, Item, ItemStruct, PathArguments, PathSegment, Type};

use super::manifests::{self, WantedManifests};
use crate::crd::{Crd, sample};
use crate::k8s;
use crate::plan::{Draft, RelPath};
use crate::project::{Project, Resource};
use crate::source::SourceChoice;

/// Returns true if the status of a kind has a list of conditions and a default, as the scaffold of a controller needs it. Types that
/// are not in their file count as those of the scaffold.
pub(super) fn has_conditions(draft: &Draft, project: &Project, resource: &Resource) -> Result<bool> {
    let path = RelPath::new(format!("src/{}.rs", resource.api_modules(project.multigroup).join("/")))?;
    let Some(text) = draft.read(&path)? else { return Ok(true) };
    let Ok(file) = syn::parse_file(&text) else { return Ok(true) };
    let name = format!("{}Status", resource.kind);
    let status = file.items.iter().find_map(|item| match item {
        Item::Struct(item) if item.ident == name => Some(item),
        _ => None,
    });
    Ok(status.is_some_and(|status| lists_conditions(status) && has_default(status, &file.items)))
}

fn lists_conditions(status: &ItemStruct) -> bool {
    let Fields::Named(fields) = &status.fields else { return false };
    let conditions = fields.named.iter().find(|field| field.ident.as_ref().is_some_and(|name| name == "conditions"));
    let Some(list) = conditions.and_then(|field| last_segment(&field.ty)).filter(|list| list.ident == "Vec") else {
        return false;
    };
    let PathArguments::AngleBracketed(arguments) = &list.arguments else { return false };
    matches!(arguments.args.first(), Some(GenericArgument::Type(item)) if last_segment(item).is_some_and(|item| item.ident == "Condition"))
}

fn has_default(status: &ItemStruct, items: &[Item]) -> bool {
    let is_derived = status.attrs.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        let mut found = false;
        // A derive that cannot be read is not one of `Default`.
        let _unread = attribute.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|last| last.ident == "Default");
            Ok(())
        });
        found
    });
    is_derived
        || items.iter().any(|item| {
            let Item::Impl(item) = item else { return false };
            let of_default = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
            of_default.is_some_and(|of| of.ident == "Default")
                && last_segment(&item.self_ty).is_some_and(|of| of.ident == status.ident)
        })
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    if let Type::Path(path) = ty { path.path.segments.last() } else { None }
}

/// The required fields of an object of a kind, without the general ones: those of its sample, or else of its schema. `None` if
/// the project does not have the types.
pub(super) fn fields(draft: &Draft, project: &Project, resource: &Resource) -> Result<Option<Map<String, Value>>> {
    let resource = project.find(resource).unwrap_or(resource);
    if draft.is_imagined() || !(resource.api.is_some() || resource.has_local_types()) {
        return Ok(None);
    }
    let sample = RelPath::new(format!("config/samples/{}", resource.sample_file()))?;
    if let Some(text) = draft.read(&sample)?.filter(|_| resource.api.is_some())
        && let Ok(Value::Object(mut object)) = serde_yaml::from_str(&text)
    {
        object.retain(|field, _| !sample::GENERAL.contains(&field.as_str()));
        return Ok(Some(object));
    }
    let (mut options, pending) = manifests::of_draft(draft, project)?;
    options.what = WantedManifests { crds: true, roles: false, webhooks: false };
    // Kinds of other projects count too.
    options.choice = SourceChoice::default();
    options.keep_going = true;
    let crds = manifests::generate(&options, &pending, None, &mut |_| {})?.value.crds.unwrap_or_default();
    let name = k8s::kind_name(resource.kind.as_str(), &resource.qualified_group());
    let crd = crds.iter().find(|crd| crd.name() == name);
    let mut versions = crd.into_iter().flat_map(Crd::versions);
    let version = versions.find(|(version, _)| *version == resource.version.as_str());
    Ok(version.and_then(|(_, version)| version["schema"]["openAPIV3Schema"].as_object()).map(least))
}

/// The required fields of an object with the schema.
pub(super) fn least(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = schema.clone();
    if schema.get("properties").is_some_and(|properties| properties.get("spec").is_some()) {
        // kube requires it.
        let required = schema.entry("required").or_insert_with(|| json!([]));
        if let Some(names) = required.as_array_mut().filter(|names| names.iter().all(|name| name != "spec")) {
            names.push("spec".into());
        }
    }
    sample::least(&schema).unwrap_or_default()
}
