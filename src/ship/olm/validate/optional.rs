//! Validators that must be selected: the rules of catalogs, and advice.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::Value;

use super::check::BundleCheck;
use crate::diagnostic::Code;
use crate::ship::objects::{items, kind, name, pod, shown, text};
use crate::ship::olm::metadata;

/// The validators of operator-sdk that only read the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Optional {
    /// The rules of `OperatorHub.io` for a CSV.
    OperatorHub,
    /// The level of capabilities is known.
    Capabilities,
    /// The categories are known.
    Categories,
    /// APIs that Kubernetes has removed.
    RemovedApis,
    /// Best practices.
    GoodPractices,
}

impl Optional {
    /// All optional validators.
    pub(crate) const ALL: [Self; 5] =
        [Self::OperatorHub, Self::Capabilities, Self::Categories, Self::RemovedApis, Self::GoodPractices];

    /// Returns the name in operator-sdk.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::OperatorHub => "operatorhubv2",
            Self::Capabilities => "capabilities",
            Self::Categories => "categories",
            Self::RemovedApis => "alpha-deprecated-apis",
            Self::GoodPractices => "good-practices",
        }
    }
}

pub(super) fn check(check: &mut BundleCheck, selected: &BTreeSet<Optional>, kubernetes: Option<&semver::Version>) {
    for one in selected {
        match one {
            Optional::OperatorHub => {
                hub(check);
                removed(check, kubernetes);
            }
            Optional::Capabilities => capabilities(check),
            Optional::Categories => categories(check),
            Optional::RemovedApis => removed(check, kubernetes),
            Optional::GoodPractices => practices(check),
        }
    }
}

const BASE: &str = "write it into the base in config/manifests/bases";

fn hub(check: &mut BundleCheck) {
    let spec = check.spec();
    let mut wrong = Vec::new();
    if text(&spec["provider"]["name"]).trim().is_empty() {
        wrong.push("`spec.provider.name` is missing".to_owned());
    }
    for maintainer in items(&spec["maintainers"]) {
        let (name, email) = (text(&maintainer["name"]), text(&maintainer["email"]));
        if name.is_empty() || email.is_empty() {
            wrong.push(format!("a maintainer must have a name and an email address: `{name}`, `{email}`"));
        }
        if !email.is_empty() && !is_address(email) {
            wrong.push(format!("`{email}` is not a valid email address"));
        }
    }
    for link in items(&spec["links"]) {
        let (name, url) = (text(&link["name"]), text(&link["url"]));
        if name.is_empty() || url.is_empty() {
            wrong.push(format!("a link must have a name and a URL: `{name}`, `{url}`"));
        }
        if !url.is_empty() && !url.starts_with('/') && url::Url::parse(url).is_err() {
            wrong.push(format!("`{url}` is not a valid URL"));
        }
    }
    if ["", "0.0.0"].contains(&text(&spec["version"])) {
        wrong.push("`spec.version` is missing".to_owned());
    }
    let icons = items(&spec["icon"]);
    if icons.len() > 1 {
        wrong.push(format!("the CSV has {} icons, expected one", icons.len()));
    }
    if let Some(icon) = icons.first() {
        let (media, data) = (text(&icon["mediatype"]), text(&icon["base64data"]));
        if media.is_empty() || data.is_empty() {
            wrong.push("an icon must have `base64data` and `mediatype`".to_owned());
        }
        if !media.is_empty() && !["image/gif", "image/jpeg", "image/png", "image/svg+xml"].contains(&media) {
            wrong.push(format!("the icon has the unsupported media type `{media}`"));
        }
        let packed: String = data.split_whitespace().collect();
        if base64::prelude::BASE64_STANDARD.decode(packed).is_err() {
            wrong.push("the icon is not in Base64".to_owned());
        }
    }
    let has_icon = !icons.is_empty();
    for message in wrong {
        check.csv(Code::BundleHub, message, BASE);
    }
    if !has_icon {
        check.csv(
            Code::BundleHubField,
            "the CSV has no icon",
            "`generate kustomize manifests --icon FILE` writes it into a new base",
        );
    }
}

/// Returns true for a text with one `@` between a name and a host. Mail servers may have more rules.
fn is_address(text: &str) -> bool {
    let address = text.split_once('<').map_or(text, |(_, rest)| rest.trim_end_matches('>'));
    let said =
        |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || "<>(),;:\\\"[]".contains(c));
    address.split_once('@').is_some_and(|(name, host)| said(name) && said(host) && !host.contains('@'))
}

fn capabilities(check: &mut BundleCheck) {
    const LEVELS: [&str; 5] = ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];
    if let Some(level) = check.csv["metadata"]["annotations"]["capabilities"].as_str()
        && !LEVELS.contains(&level)
    {
        let message = format!("`{level}` is not a capability level");
        check.csv(Code::BundleCapability, message, format!("one of {}", LEVELS.join(", ")));
    }
}

fn categories(check: &mut BundleCheck) {
    const KNOWN: [&str; 16] = [
        "AI/Machine Learning",
        "Application Runtime",
        "Big Data",
        "Cloud Provider",
        "Database",
        "Developer Tools",
        "Integration & Delivery",
        "Logging & Tracing",
        "Modernization & Migration",
        "Monitoring",
        "Networking",
        "Observability",
        "OpenShift Optional",
        "Security",
        "Storage",
        "Streaming & Messaging",
    ];
    let Some(categories) = check.csv["metadata"]["annotations"]["categories"].as_str() else { return };
    for category in categories.split(',').map(str::trim).filter(|category| !KNOWN.contains(category)) {
        let message = format!("`{category}` is not a category of OperatorHub.io");
        check.csv(Code::BundleCategory, message, format!("some of {}", KNOWN.join(", ")));
    }
}

/// An API version and its kinds.
type ApiKinds = (&'static str, &'static [&'static str]);

/// The APIs that each release removed: the API version and its kinds.
/// <https://kubernetes.io/docs/reference/using-api/deprecation-guide/>
const REMOVED: [(u64, &[ApiKinds]); 3] = [
    (
        22,
        &[
            (
                "admissionregistration.k8s.io/v1beta1",
                &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
            ),
            ("apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition"]),
            ("apiregistration.k8s.io/v1beta1", &["APIService"]),
            ("certificates.k8s.io/v1beta1", &["CertificateSigningRequest"]),
            ("coordination.k8s.io/v1beta1", &["Lease"]),
            ("extensions/v1beta1", &["Ingress"]),
            ("networking.k8s.io/v1beta1", &["Ingress", "IngressClass"]),
            ("rbac.authorization.k8s.io/v1beta1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
            ("scheduling.k8s.io/v1beta1", &["PriorityClass"]),
            ("storage.k8s.io/v1beta1", &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"]),
        ],
    ),
    (
        25,
        &[
            ("autoscaling/v2beta1", &["HorizontalPodAutoscaler"]),
            ("batch/v1beta1", &["CronJob"]),
            ("discovery.k8s.io/v1beta1", &["EndpointSlice"]),
            ("events.k8s.io/v1beta1", &["Event"]),
            ("node.k8s.io/v1beta1", &["RuntimeClass"]),
            ("policy/v1beta1", &["PodDisruptionBudget", "PodSecurityPolicy"]),
        ],
    ),
    (26, &[("autoscaling/v2beta2", &["HorizontalPodAutoscaler"])]),
];

fn removed(check: &mut BundleCheck, kubernetes: Option<&semver::Version>) {
    let oldest = semver::Version::parse(text(&check.spec()["minKubeVersion"])).ok();
    for (minor, apis) in REMOVED {
        let is_removed = |object: &Value| {
            apis.iter().any(|(version, kinds)| object["apiVersion"] == *version && kinds.contains(&kind(object)))
        };
        let objects = check.contents.objects.iter().map(|(_, object)| object);
        let mut gone: Vec<String> = objects.filter(|object| is_removed(object)).map(shown).collect();
        for list in ["owned", "required"] {
            for crd in items(&check.spec()["customresourcedefinitions"][list]) {
                let of = |resource: &Value| (text(&resource["version"]).to_owned(), text(&resource["kind"]).to_owned());
                let listed = items(&crd["resources"]).iter().map(of).filter(|(version, kind)| {
                    apis.iter().any(|(removed, kinds)| removed == version && kinds.contains(&kind.as_str()))
                });
                gone.extend(listed.map(|(_, kind)| format!("{kind} among the resources of `{}`", text(&crd["name"]))));
            }
        }
        let release = semver::Version::new(1, minor, 0);
        let is_needed = [kubernetes, oldest.as_ref()].into_iter().flatten().any(|version| *version >= release);
        let code = if is_needed { Code::BundleRemovedApi } else { Code::BundleRemovedApiLater };
        if !gone.is_empty() {
            let message = format!("Kubernetes 1.{minor} no longer serves the API of {}", gone.join(", "));
            check.csv(code, message, "use a version that is served");
        }
    }
    let permissions = ["permissions", "clusterPermissions"].map(|list| &check.spec()["install"]["spec"][list]);
    let rules = permissions.into_iter().flat_map(items).flat_map(|account| items(&account["rules"]));
    let is_of_policies = |rule: &&Value| {
        items(&rule["apiGroups"]).iter().any(|group| group == "policy")
            && items(&rule["resources"]).iter().any(|resource| resource == "podsecuritypolicies")
    };
    if rules.filter(is_of_policies).count() > 0 {
        let message = "a permission is for `podsecuritypolicies`, which Kubernetes 1.25 removed";
        check.csv(Code::BundleRemovedApiLater, message, "remove its marker");
    }
}

fn practices(check: &mut BundleCheck) {
    const NAMED: &str = "`generate bundle` names a CSV `PACKAGE.vVERSION`";
    let install = check.spec()["install"]["spec"].clone();
    if install["deployments"].is_null() {
        check.csv(Code::BundleCsv, "the CSV installs no Deployment", "generate the bundle again");
    }
    let mut advice: Vec<(String, &str)> = Vec::new();
    for deployment in items(&install["deployments"]) {
        for container in items(&pod(deployment)["containers"]) {
            if container["resources"]["requests"].is_null() {
                advice.push((
                    format!("the container `{}` requests neither memory nor CPU", text(&container["name"])),
                    "add `resources.requests` to config/manager/manager.yaml",
                ));
            }
        }
    }
    for list in ["owned", "required"] {
        for crd in items(&check.spec()["customresourcedefinitions"][list]) {
            if text(&crd["description"]).is_empty() {
                advice.push((
                    format!("the CRD `{}` has no description", text(&crd["name"])),
                    "add a doc comment to its type, and generate the bundle again",
                ));
            }
        }
    }
    let annotation = |key| check.contents.annotations.as_ref().and_then(|all| all.get(key)).map_or("", String::as_str);
    let channels: BTreeSet<&str> = [metadata::CHANNELS, metadata::DEFAULT_CHANNEL]
        .into_iter()
        .flat_map(|key| annotation(key).split(','))
        .map(str::trim)
        .filter(|channel| {
            !channel.is_empty() && !["candidate", "fast", "stable"].iter().any(|name| channel.starts_with(name))
        })
        .collect();
    if !channels.is_empty() {
        let channels: Vec<&str> = channels.into_iter().collect();
        advice.push((
            format!("channels should be named candidate, fast or stable, not {}", channels.join(", ")),
            "set them with `generate bundle --channels`",
        ));
    }
    let accounts = ["permissions", "clusterPermissions"].into_iter().flat_map(|list| items(&install[list]));
    let has = |list: &Value, wanted: &[&str]| items(list).iter().any(|one| wanted.contains(&text(one)));
    let makes_crds = |rule: &Value| {
        has(&rule["apiGroups"], &["apiextensions.k8s.io"])
            && has(&rule["resources"], &["customresourcedefinitions", "*"])
            && has(&rule["verbs"], &["create", "patch", "*"])
    };
    if accounts.flat_map(|account| items(&account["rules"])).any(makes_crds) {
        advice.push((
            "the operator has permission to create CRDs, which OLM should create".to_owned(),
            "remove the marker: CRDs are files of the bundle",
        ));
    }
    let name = name(check.csv);
    let (_, version) = name.split_once(".v").unwrap_or_default();
    if !name.is_empty() && semver::Version::parse(version).is_err() {
        advice.push((format!("`{name}` does not end with a version"), NAMED));
    }
    if !name.is_empty() && name.split(".v").count() != 2 {
        advice.push((format!("`{name}` is not of the form `PACKAGE.vVERSION`"), NAMED));
    }
    for (message, help) in advice {
        check.csv(Code::BundlePractice, message, help);
    }
}
