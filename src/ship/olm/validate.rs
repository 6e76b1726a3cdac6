//! Validates a bundle by the rules of OLM and operator-sdk. The rules and their order follow
//! <https://github.com/operator-framework/api/tree/v0.45.0/pkg/validation>. This file has its `DefaultBundleValidators`;
//! `optional.rs` has the validators that must be selected.

mod check;
mod crds;
mod image;
mod optional;

use std::collections::BTreeSet;

use serde_json::Value;

use self::check::{BundleCheck, ObjectGvk, owned, shown_kind};
pub(crate) use self::optional::Optional;
use super::folder::{Contents, Folder};
use super::kinds::{CSV, SUPPORTED};
use super::{metadata, namespaces};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::ship::objects::{group, items, kind, name, namespace, pod, shown, text, version};

/// Returns all findings about a bundle. `kubernetes` is a version on which the operator must run.
pub(crate) fn validate(
    folder: &Folder,
    selected: &BTreeSet<Optional>,
    kubernetes: Option<&semver::Version>,
) -> Diagnostics {
    let (contents, mut found) = folder.read();
    found.extend(annotations(folder, &contents));
    let Some((path, csv)) = contents.csv() else {
        found.sort();
        return found;
    };
    let mut check = BundleCheck { folder, contents: &contents, csv, path, found };
    names(&mut check);
    examples(&mut check);
    install_modes(&mut check);
    required(&mut check);
    annotation_names(&mut check);
    webhooks(&mut check);
    crds::check(&mut check);
    objects(&mut check);
    image::related(&mut check);
    optional::check(&mut check, selected, kubernetes);
    let mut found = check.found;
    found.sort();
    found
}

/// Checks the annotations. OLM recognizes the image of a bundle by them.
fn annotations(folder: &Folder, contents: &Contents) -> Diagnostics {
    let mut found = Diagnostics::default();
    let mut wrong = |message: String| {
        let help = "generate the bundle again";
        found.push(Diagnostic::new(Code::BundleMetadata, message).help(help).at(folder.place(metadata::FILE)));
    };
    let Some(annotations) = &contents.annotations else {
        if !folder.files.contains_key(metadata::FILE) {
            wrong("`annotations` is missing".to_owned());
        }
        return found;
    };
    let value = |key: &str| annotations.get(key).map_or("", String::as_str);
    for key in [metadata::MEDIA_TYPE, metadata::MANIFESTS, metadata::METADATA, metadata::PACKAGE, metadata::CHANNELS] {
        if value(key).is_empty() {
            wrong(format!("the annotation `{key}` is missing"));
        }
    }
    for (key, wanted) in
        [(metadata::MEDIA_TYPE, "registry+v1"), (metadata::MANIFESTS, "manifests/"), (metadata::METADATA, "metadata/")]
    {
        if !value(key).is_empty() && value(key) != wanted {
            wrong(format!("the annotation `{key}` is `{}`, expected `{wanted}`", value(key)));
        }
    }
    let default = value(metadata::DEFAULT_CHANNEL);
    if !default.is_empty() && !value(metadata::CHANNELS).split(',').any(|channel| channel.trim() == default) {
        wrong(format!("the default channel `{default}` is not one of the channels `{}`", value(metadata::CHANNELS)));
    }
    found
}

/// Checks a name that is also the value of a label.
fn wrong_name(name: &str) -> Option<&'static str> {
    let of_part = |part: &str| {
        let of = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && part.chars().all(of) && !part.starts_with('-') && !part.ends_with('-')
    };
    match name {
        "" => Some("it is empty"),
        _ if name.len() > 63 => Some("it has more than 63 characters"),
        _ if !name.split('.').all(of_part) => Some("it must consist of lower-case letters, digits, `-` and `.`"),
        _ => None,
    }
}

fn names(check: &mut BundleCheck) {
    let of_csv =
        [("metadata.name", name(check.csv).to_owned()), ("spec.replaces", text(&check.spec()["replaces"]).to_owned())];
    for (field, name) in of_csv {
        if let Some(why) = wrong_name(&name).filter(|_| field != "spec.replaces" || !name.is_empty()) {
            let message = match name.as_str() {
                "" => format!("`{field}` is missing"),
                name => format!("`{field}` is `{name}`, which is not valid: {why}"),
            };
            check.csv(Code::BundleCsv, message, "generate the bundle again, which names it `PACKAGE.vVERSION`");
        }
    }
    match check.spec()["minKubeVersion"].as_str().map(str::trim).filter(|version| !version.is_empty()) {
        None => check.csv(
            Code::BundleCsvField,
            "`spec.minKubeVersion` is missing, so the operator may be installed on a cluster where it cannot run",
            "write it into the base in config/manifests/bases, such as 1.30.0",
        ),
        Some(version) if semver::Version::parse(version).is_err() => {
            let message = format!("`spec.minKubeVersion` is `{version}`, which is not a valid semantic version");
            check.csv(Code::BundleCsv, message, "write three numbers into the base, such as 1.30.0");
        }
        Some(_) => {}
    }
}

fn examples(check: &mut BundleCheck) {
    let Some(annotations) = check.csv["metadata"]["annotations"].as_object().filter(|map| !map.is_empty()) else {
        check.csv(Code::BundleCsvField, "the CSV has no annotations", "generate the bundle again");
        return;
    };
    let Some(examples) = annotations.get("alm-examples").or(annotations.get("olm.examples")).and_then(Value::as_str)
    else {
        let help =
            "add `../samples` to the resources of config/manifests/kustomization.yaml, and generate the bundle again";
        check.csv(Code::BundleNoExample, "the annotation `alm-examples` is missing", help);
        return;
    };
    let parsed = if examples.is_empty() { Ok(Vec::new()) } else { serde_json::from_str::<Vec<Value>>(examples) };
    let examples = match parsed {
        Ok(examples) => examples,
        Err(error) => {
            let message = format!("the annotation `alm-examples` is not a JSON list: {error}");
            check.csv(Code::BundleExample, message, "correct the samples and generate the bundle again");
            return;
        }
    };
    for owned in items(&check.spec()["customresourcedefinitions"]["owned"]) {
        if !text(&owned["name"]).contains('.') {
            let message = format!("`{}` is not the name of a CRD, which is `PLURAL.GROUP`", text(&owned["name"]));
            check.csv(Code::BundleCrd, message, "generate the bundle again");
        }
    }
    let of = |object: &Value| (group(object).to_owned(), version(object).to_owned(), kind(object).to_owned());
    let shown: BTreeSet<ObjectGvk> = examples.iter().map(of).collect();
    let services = items(&check.spec()["apiservicedefinitions"]["owned"]).iter();
    let of_service = |api: &Value| ["group", "version", "kind"].map(|key| text(&api[key]).to_owned()).into();
    let provided: BTreeSet<ObjectGvk> = owned(check.csv).into_iter().chain(services.map(of_service)).collect();
    for kind in shown.difference(&provided) {
        let message = format!("an example has the kind {}, which the CSV does not own", shown_kind(kind));
        check.csv(Code::BundleExample, message, "remove the sample, or add the CRD");
    }
    for kind in provided.difference(&shown) {
        let message = format!("{} has no example", shown_kind(kind));
        check.csv(Code::BundleNoExample, message, "add one to config/samples/kustomization.yaml");
    }
}

fn install_modes(check: &mut BundleCheck) {
    let modes = items(&check.spec()["installModes"]).to_vec();
    let help = "see `installModes` of the base in config/manifests/bases";
    if modes.is_empty() {
        check.csv(Code::BundleInstallMode, "`spec.installModes` is missing", help);
        return;
    }
    let supported = |mode: &Value| mode["supported"] == true;
    if !modes.iter().any(supported) {
        check.csv(Code::BundleInstallMode, "no mode in `spec.installModes` is supported", help);
    }
    let everywhere = |mode: &Value| (mode["type"] == "AllNamespaces") == supported(mode);
    if !modes.iter().all(everywhere) {
        for webhook in items(&check.spec()["webhookdefinitions"]) {
            if !items(&webhook["conversionCRDs"]).is_empty() {
                let name = text(&webhook["generateName"]);
                let message = format!(
                    "the webhook `{name}` converts CRDs, which are cluster-wide, so AllNamespaces must be the only \
                        install mode"
                );
                let help = "let the operator watch all namespaces: run `memcached-sdk edit --namespaced=false`, and \
                    set AllNamespaces in the base";
                check.csv(Code::BundleInstallMode, message, help);
            }
        }
    }
}

/// Completes a version as OLM does: it may start with `v`, and omit the minor and the patch number.
fn whole(version: &str) -> String {
    let version = version.trim().trim_start_matches('v');
    let parts = version.split('.').count();
    if parts < 3 && !version.contains(['+', '-']) {
        return version.to_owned() + &".0".repeat(3 - parts);
    }
    version.to_owned()
}

/// Checks the fields that every CSV must have.
fn required(check: &mut BundleCheck) {
    let spec = check.spec();
    let is_empty = |value: &Value| value.as_object().is_none_or(serde_json::Map::is_empty);
    let mut missing = Vec::new();
    if is_empty(spec) {
        missing.push("spec");
    } else {
        if text(&spec["displayName"]).is_empty() {
            missing.push("spec.displayName");
        }
        let install = &spec["install"];
        if is_empty(install) {
            missing.push("spec.install");
        } else {
            if text(&install["strategy"]).is_empty() {
                missing.push("spec.install.strategy");
            }
            if !is_empty(&install["spec"]) && install["spec"]["deployments"].is_null() {
                missing.push("spec.install.spec.deployments");
            }
        }
        if let Some(version) = spec["version"].as_str()
            && semver::Version::parse(&whole(version)).is_err()
        {
            let message = format!("`spec.version` is `{version}`, which is not a valid semantic version");
            check.csv(Code::BundleCsv, message, "write three numbers, such as 0.0.1");
        }
    }
    if text(&check.csv["apiVersion"]).is_empty() {
        missing.push("apiVersion");
    }
    for field in missing {
        let help = "write it into the base in config/manifests/bases, and generate the bundle again";
        check.csv(Code::BundleCsv, format!("`{field}` is missing"), help);
    }
}

fn annotation_names(check: &mut BundleCheck) {
    const KNOWN: [&str; 5] =
        ["olm.operatorGroup", "olm.operatorNamespace", "olm.providedAPIs", "olm.skipRange", "olm.targetNamespaces"];
    let annotations = check.csv["metadata"]["annotations"].as_object();
    for key in annotations.into_iter().flat_map(|map| map.keys()) {
        if let Some(known) = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(key) && *known != key) {
            check.csv(
                Code::BundleCsv,
                format!("the annotation `{key}` is misspelled: it is `{known}`"),
                "see the base in config/manifests/bases",
            );
        }
        if key == "olm.properties" {
            let message = "the annotation `olm.properties` is deprecated";
            check.csv(Code::BundleCsvField, message, "write them into metadata/properties.yaml");
        }
    }
}

/// Finds webhook definitions that OLM can't install.
fn webhooks(check: &mut BundleCheck) {
    let install = &check.spec()["install"]["spec"]["deployments"];
    let deployments: BTreeSet<&str> = items(install).iter().map(|deployment| text(&deployment["name"])).collect();
    let crds: BTreeSet<&str> =
        items(&check.spec()["customresourcedefinitions"]["owned"]).iter().map(|owned| text(&owned["name"])).collect();
    let mut names = BTreeSet::new();
    for webhook in items(&check.spec()["webhookdefinitions"]) {
        let name = text(&webhook["generateName"]);
        let mut wrong = Vec::new();
        if name.is_empty() || !names.insert(name) {
            wrong.push("`generateName` is missing or not unique".to_owned());
        }
        let kind = text(&webhook["type"]);
        if !["ConversionWebhook", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"].contains(&kind) {
            wrong.push(format!("unknown `type` `{kind}`"));
        }
        let deployment = text(&webhook["deploymentName"]);
        if !deployments.contains(deployment) {
            wrong.push(format!("`deploymentName` is `{deployment}`, which the CSV does not install"));
        }
        if items(&webhook["admissionReviewVersions"]).is_empty() {
            wrong.push("`admissionReviewVersions` is missing".to_owned());
        }
        if !["None", "NoneOnDryRun"].contains(&text(&webhook["sideEffects"])) {
            wrong.push("`sideEffects` is neither `None` nor `NoneOnDryRun`".to_owned());
        }
        let converted = items(&webhook["conversionCRDs"]);
        if (kind == "ConversionWebhook") == converted.is_empty() {
            wrong.push("`conversionCRDs` is set if and only if the type is ConversionWebhook".to_owned());
        }
        for crd in converted.iter().map(text).filter(|crd| !crds.contains(crd)) {
            wrong.push(format!("it converts `{crd}`, which the CSV does not own"));
        }
        for why in wrong {
            check.csv(
                Code::BundleWebhook,
                format!("the webhook `{name}` is refused: {why}"),
                "generate the bundle again",
            );
        }
    }
}

/// Checks the objects beside the CSV.
fn objects(check: &mut BundleCheck) {
    let deployments = items(&check.spec()["install"]["spec"]["deployments"]);
    let accounts: BTreeSet<&str> =
        deployments.iter().map(|deployment| text(&pod(deployment)["serviceAccountName"])).collect();
    let own = check.csv["metadata"]["annotations"]["operatorframework.io/suggested-namespace"].as_str();
    for deployment in deployments {
        for diagnostic in namespaces::arguments(text(&deployment["name"]), pod(deployment), own) {
            check.found.push(diagnostic.at(check.folder.place(check.path)));
        }
    }
    for (path, object) in &check.contents.objects {
        let place = check.folder.place(path);
        let is_own = |subject: &Value| accounts.contains(text(&subject["name"]));
        let named = own.and_then(|own| namespaces::object(object, own));
        for diagnostic in namespaces::subjects(object, is_own).into_iter().chain(named) {
            check.found.push(diagnostic.at(place.clone()));
        }
        if [CSV, "CustomResourceDefinition"].contains(&kind(object)) {
            continue;
        }
        if !SUPPORTED.contains(&kind(object)) {
            let message = format!("bundles do not support {}", shown(object));
            check.push(Code::BundleKind, place.clone(), message, "let the operator create it");
        }
        if name(object).is_empty() {
            check.push(
                Code::BundleObject,
                place.clone(),
                format!("a {} has no name", kind(object)),
                "set `metadata.name`",
            );
        }
        if !namespace(object).is_empty() {
            let message = format!("{} has a namespace, but OLM chooses the namespace", shown(object));
            check.push(Code::BundleObject, place.clone(), message, "generate the bundle again");
        }
        if kind(object) == "ServiceAccount" && accounts.contains(name(object)) {
            let message = format!("{} belongs to a Deployment that OLM creates", shown(object));
            check.push(Code::BundleAccount, place, message, "generate the bundle again");
        }
    }
}
