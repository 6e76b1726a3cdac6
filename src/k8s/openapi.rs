//! Selects the k8s-openapi dependency of a project, and lists the names in its modules.

use std::collections::BTreeSet;

use crate::schema::k8s;
use crate::source::{CargoManifest, Dependency, DependencyKind, Namespace};

/// The dependency on k8s-openapi in the code of `own`, and its feature for a Kubernetes version. `all` are the
/// project's manifests, its own first. The error explains a missing choice.
pub(super) fn chosen<'a>(
    own: &'a CargoManifest,
    all: &[&'a CargoManifest],
) -> Result<(&'a Dependency, &'a str), String> {
    let project = all.iter().take(1).flat_map(|manifest| manifest.dependency_on("k8s-openapi"));
    let Some(first) = own.dependency_on("k8s-openapi").chain(project).next() else {
        return Err("the project does not depend on k8s-openapi".to_owned());
    };
    let chosen = all.iter().flat_map(|manifest| manifest.dependency_on("k8s-openapi"));
    let chosen = chosen.filter(|dependency| dependency.locked == first.locked);
    let (mut features, mut tested) = (BTreeSet::new(), BTreeSet::new());
    for dependency in chosen {
        let of_build = dependency.kind == DependencyKind::Normal;
        let versions = dependency.features.iter().map(String::as_str);
        let versions = versions.filter(|name| name.starts_with("v1_") || matches!(*name, "latest" | "earliest"));
        if of_build { features.extend(versions) } else { tested.extend(versions) }
    }
    // A library may leave the version to its dependents and select one only for its tests.
    let features: Vec<&str> = if features.is_empty() { tested } else { features }.into_iter().collect();
    match features.as_slice() {
        [feature] => Ok((first, feature)),
        [] => Err("no version feature of k8s-openapi is enabled".to_owned()),
        several => Err(format!("multiple version features of k8s-openapi are enabled: `{}`", several.join("`, `"))),
    }
}

/// Returns true if the dependency is the linked release with its feature.
pub(super) fn is_linked(dependency: &Dependency, feature: &str) -> bool {
    feature == k8s::FEATURE
        && match &dependency.locked {
            Some(locked) => locked.to_string() == k8s::VERSION && dependency.registry,
            None => dependency.admits(k8s::VERSION),
        }
}

/// Returns true if the module at this path has the name in the linked release, which has all types of a module with
/// linked ones. `None` for other modules.
pub(super) fn has(module: &[String], name: &str, namespace: Namespace) -> Option<bool> {
    if namespace == Namespace::Macros {
        return Some(false);
    }
    let module = module.iter().fold("k8s_openapi::".to_owned(), |path, part| path + part + "::");
    let mut names = k8s::types().filter_map(|known| known.path.strip_prefix(&*module)?.split("::").next());
    if names.any(|known| known == name) {
        return Some(namespace == Namespace::Types || TUPLES.contains(&name));
    }
    k8s::types()
        .any(|known| known.path.rsplit_once("::").is_some_and(|(of, _)| module == format!("{of}::")))
        .then_some(false)
}

/// Structs whose names are also functions.
const TUPLES: [&str; 7] =
    ["CustomResourceSubresourceStatus", "FieldsV1", "JSON", "MicroTime", "Quantity", "RawExtension", "Time"];

#[cfg(test)]
mod tests {
    use crate::source::tests::{is_primitive, load, prelude, show};
    use Namespace::{Macros, Types, Values};

    use super::*;

    const CORE: &str = "k8s_openapi::api::core::v1";

    /// Checks the meaning of paths in a module that starts with a text, in a project with the linked k8s-openapi.
    #[track_caller]
    fn check(code: &str, cases: &[(&str, &str, Namespace, &str)]) {
        let manifest = "[package]\nname = \"op\"\nedition = \"2024\"\n[dependencies]\nother = \"1\"\n\
                        serde = \"1\"\nkube = \"5\"\n\
                        k8s-openapi = { version = \"0.29\", features = [\"v1_36\"] }\n";
        let (tree, _) = load(&format!("//- Cargo.toml\n{manifest}//- src/lib.rs\n{code}"));
        for (module, path, namespace, expected) in cases {
            assert_eq!(show(&tree, module, path, *namespace), *expected, "`{path}` in `{module}`");
        }
    }

    #[test]
    fn a_glob_has_the_names_that_the_module_has() {
        let toleration = format!("extern {CORE}::Toleration");
        check(
            "use k8s_openapi::api::core::v1::*; use k8s_openapi::api::apps::v1::*; use serde::*; use kube::prelude::*;
             mod resource { use k8s_openapi::apimachinery::pkg::{api::resource::*, apis::meta::v1::*, util::intstr::*}; }
             mod own { use k8s_openapi::api::core::v1::*; pub struct Toleration; use crate::resource::A as Pod; }
             mod beside { use k8s_openapi::api::core::v1::*; use ::other::*; }
             mod prelude { pub use k8s_openapi::api::core::v1::*; }
             mod through { use crate::prelude::*; }
             mod named { use crate::prelude::Toleration; }
             mod modules { use k8s_openapi::api::*; }",
            &[
                ("op", "Toleration", Types, &toleration),
                ("op", "Toleration::default", Values, &format!("{toleration}::default")),
                (
                    "op",
                    "Toleration",
                    Macros,
                    "cannot find `Toleration`; it may come from `use kube::prelude::*` or `use serde::*`, a glob \
                     import of another crate",
                ),
                ("op", "Deployment", Types, "extern k8s_openapi::api::apps::v1::Deployment"),
                (
                    "op::resource",
                    "Tolerations",
                    Types,
                    "cannot find `Tolerations`",
                ),
                // The other glob does not have this name, or this would be an error.
                ("op::beside", "Toleration", Types, &toleration),
                ("op", "Vec", Types, "extern std::vec::Vec"),
                ("op::resource", "Quantity", Types, "extern k8s_openapi::apimachinery::pkg::api::resource::Quantity"),
                ("op::resource", "Quantity", Values, "extern k8s_openapi::apimachinery::pkg::api::resource::Quantity"),
                ("op::resource", "Condition", Types, "extern k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition"),
                ("op::resource", "IntOrString::Int", Values, "extern k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int"),
                ("op::own", "Toleration", Types, "op::own::Toleration"),
                ("op::own", "Pod", Types, "cannot find `Pod`: cannot resolve `use crate::resource::A`"),
                ("op::through", "Toleration", Types, &toleration),
                ("op::named", "Toleration", Types, &toleration),
                ("op", "prelude::Toleration", Types, &toleration),
                ("op::modules", "core::v1::Toleration", Types, &toleration),
            ],
        );
    }

    #[test]
    fn what_may_hide_a_name_leaves_it_open() {
        check(
            "make!();
             use k8s_openapi::api::core::v1::*;
             mod other { use k8s_openapi::api::core::v1::*; use ::other::*; use serde::*; }
             mod prelude { pub use k8s_openapi::api::core::v1::*; make!(); }
             mod through { use crate::prelude::*; }
             mod both { use crate::prelude::*; use k8s_openapi::api::core::v1::*; }",
            &[
                (
                    "op",
                    "Pod",
                    Types,
                    "cannot find `Pod`; it may come from `use k8s_openapi::api::core::v1::*`, a glob import of \
                     another crate; it may be generated by a macro that this tool does not expand: `make!` at \
                     src/lib.rs:1:1",
                ),
                (
                    "op::other",
                    "Pods",
                    Types,
                    "cannot find `Pods`; it may come from `use other::*` or `use serde::*`, a glob import of another \
                     crate",
                ),
                (
                    "op::through",
                    "Pod",
                    Types,
                    "cannot find `Pod`; it may come from `use k8s_openapi::api::core::v1::*`, a glob import of \
                     another crate",
                ),
                ("op::both", "Pod", Types, &format!("extern {CORE}::Pod")),
            ],
        );
    }

    /// No module of k8s-openapi shadows a type of the prelude or a primitive type.
    #[test]
    fn no_type_is_called_like_one_of_the_prelude() {
        for known in k8s::types() {
            let name = known.path.rsplit("::").next().unwrap();
            assert_eq!(prelude(name, Types), None);
            assert!(!is_primitive(name), "{name}");
        }
    }
}
