//! The manager among the objects: its Deployment, and its container.

use serde_json::Value;

use super::object::{items, kind, name, text};
use crate::diagnostic::Problem;

/// The name of kubebuilder's Deployment, after the prefix of the project.
const SUFFIX: &str = "-controller-manager";
/// The annotation of a pod that names its main container.
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-kubernetes-io-default-container>
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// Returns the manager's Deployment: the one with kubebuilder's label, or the only one.
pub(crate) fn deployment(objects: &[Value]) -> Result<&Value, Problem> {
    let deployments = || objects.iter().filter(|object| kind(object) == "Deployment");
    let labelled = deployments().find(|object| object["metadata"]["labels"]["control-plane"] == "controller-manager");
    let names: Vec<&str> = deployments().map(name).collect();
    let only = deployments().next().filter(|_| names.len() == 1);
    labelled.or(only).ok_or_else(|| match &*names {
        [] => Problem::new("the manifests have no Deployment").help("pass the manifests of the whole operator"),
        names => Problem::new(format!("the manifests have several Deployments: {}", names.join(", ")))
            .help("set the label `control-plane: controller-manager` on the manager's Deployment"),
    })
}

/// Returns the name of the operator: the name of its Deployment without kubebuilder's suffix.
pub(crate) fn project(deployment: &Value) -> &str {
    let manager = name(deployment);
    manager.strip_suffix(SUFFIX).filter(|project| !project.is_empty()).unwrap_or(manager)
}

/// Returns the index of the manager among the containers of its Deployment: the container that the pod's annotation names; else the
/// only one; else the only one with the image of the project; else the one called `manager`.
pub(crate) fn container(deployment: &Value) -> Result<usize, Problem> {
    let pod = &deployment["spec"]["template"];
    let containers = items(&pod["spec"]["containers"]);
    let names: Vec<&str> = containers.iter().map(|container| text(&container["name"])).collect();
    let called = |wanted: &str| names.iter().position(|name| *name == wanted);
    let what = format!("Deployment `{}`", name(deployment));
    if !containers.iter().all(Value::is_object) {
        return Err(Problem::new(format!("a container of {what} is not an object")));
    }
    if let Some(wanted) = pod["metadata"]["annotations"][DEFAULT_CONTAINER].as_str() {
        return called(wanted).ok_or_else(|| {
            Problem::new(format!(
                "the annotation `{DEFAULT_CONTAINER}` of {what} has a value that is not a container: `{wanted}`"
            ))
            .help(format!("set it to the manager's container, one of {}", names.join(", ")))
        });
    }
    let is_project = |container: &&Value| {
        let image = Image::new(text(&container["image"]));
        let last = image.repository.rsplit('/').next().unwrap_or_default();
        [name(deployment), project(deployment), "controller"].contains(&last)
    };
    let only_project = || {
        let mut of_project = containers.iter().enumerate().filter(|(_, container)| is_project(container));
        of_project.next().filter(|_| of_project.next().is_none()).map(|(index, _)| index)
    };
    match &*names {
        [] => Err(Problem::new(format!("{what} has no container"))),
        [_] => Ok(0),
        names => only_project().or_else(|| called("manager")).ok_or_else(|| {
            Problem::new(format!("cannot tell which container of {what} is the manager: {}", names.join(", ")))
                .help(format!("set it in the pod template with the annotation `{DEFAULT_CONTAINER}`"))
        }),
    }
}

/// The parts of an image's name. <https://pkg.go.dev/github.com/distribution/reference>
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Image<'a> {
    /// Registry, with its port, and path.
    pub(crate) repository: &'a str,
    /// A tag, a digest, or a tag with a digest behind an `@`; empty if there is neither.
    pub(crate) version: &'a str,
}

impl<'a> Image<'a> {
    pub(crate) fn new(image: &'a str) -> Self {
        let (name, digest) = image.split_once('@').unwrap_or((image, ""));
        // A slash follows a port.
        let repository = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')).map_or(name, |(name, _)| name);
        let version = match (&image[repository.len()..], digest) {
            (rest, _) if rest.starts_with(':') => &rest[1..],
            (_, digest) => digest,
        };
        Self { repository, version }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Image, container};

    #[test]
    fn an_image_has_a_repository_and_a_version() {
        for (image, repository, version) in [
            ("op", "op", ""),
            ("op:v1", "op", "v1"),
            ("op@sha256:01", "op", "sha256:01"),
            ("op:v1@sha256:01", "op", "v1@sha256:01"),
            ("localhost:5000/op", "localhost:5000/op", ""),
            ("localhost:5000/op:v1", "localhost:5000/op", "v1"),
            ("localhost:5000/a/op:v1@sha256:01", "localhost:5000/a/op", "v1@sha256:01"),
            ("", "", ""),
        ] {
            assert_eq!(Image::new(image), Image { repository, version }, "{image}");
        }
    }

    #[test]
    fn the_manager_is_named_or_known() {
        for (annotation, containers, expected) in [
            ("", &[("a", "x/a")][..], Ok(0)),
            ("b", &[("a", "x/op:1"), ("b", "x/b")], Ok(1)),
            ("", &[("manager", "x/proxy:1"), ("a", "r:5000/op:1")], Ok(1)),
            ("", &[("a", "x/op:1"), ("b", "x/op:1"), ("manager", "x/c")], Ok(2)),
            ("", &[("a", "x/a"), ("manager", "x/b")], Ok(1)),
            ("", &[("a", "x/a"), ("b", "controller:latest")], Ok(1)),
            (
                "c",
                &[("a", "x/a")],
                Err(
                    "the annotation `kubectl.kubernetes.io/default-container` of Deployment `op-controller-manager` has a value that is not a container: `c`",
                ),
            ),
            (
                "",
                &[("a", "x/a"), ("b", "x/b")],
                Err("cannot tell which container of Deployment `op-controller-manager` is the manager: a, b"),
            ),
            ("", &[], Err("Deployment `op-controller-manager` has no container")),
        ] {
            let containers: Vec<_> =
                containers.iter().map(|(name, image)| json!({ "name": name, "image": image })).collect();
            let mut deployment = json!({ "kind": "Deployment", "metadata": { "name": "op-controller-manager" },
                "spec": { "template": { "spec": { "containers": containers } } } });
            if !annotation.is_empty() {
                deployment["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"] =
                    annotation.into();
            }
            assert_eq!(container(&deployment).map_err(|problem| problem.to_string()), expected.map_err(str::to_owned));
        }
    }
}
