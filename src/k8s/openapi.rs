//! Which k8s-openapi code uses, and which names the modules there have.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::schema::k8s;
use crate::source::{CargoManifest, Dependency, DependencyKind, Importer, Namespace};

use super::generated::{Generated, re_exported};

/// The dependency on k8s-openapi of code of `own` in the project of `all`, whose first is the project itself, and its
/// feature for a version of Kubernetes; or why there is none.
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
    // A library may leave the version to those who use it, and choose one for its tests.
    let features: Vec<&str> = if features.is_empty() { tested } else { features }.into_iter().collect();
    match features.as_slice() {
        [feature] => Ok((first, feature)),
        [] => Err("no feature of k8s-openapi says which version of Kubernetes".to_owned()),
        several => Err(format!("k8s-openapi has several features: `{}`", several.join("`, `"))),
    }
}

/// The dependency is on the release that is linked here, with its feature.
pub(super) fn is_linked(dependency: &Dependency, feature: &str) -> bool {
    feature == k8s::FEATURE
        && match &dependency.locked {
            Some(locked) => locked.to_string() == k8s::VERSION && dependency.registry,
            None => dependency.admits(k8s::VERSION),
        }
}

/// The modules of k8s-openapi, once they were read.
#[derive(Debug, Default)]
struct Modules {
    /// By the package that imports from it: another one may choose another version.
    listings: RefCell<BTreeMap<(usize, usize), Rc<Listing>>>,
    modules: RefCell<BTreeMap<PathBuf, Option<Rc<Names>>>>,
}

/// Where the names are for the code of one package.
#[derive(Debug)]
enum Listing {
    /// The folder of the modules of one version of Kubernetes.
    Folder(PathBuf),
    /// There are no sources, but all that is linked is in the project too.
    Linked,
    Unknown,
}

/// The public names of a module: what they are.
type Names = BTreeMap<String, Named>;

#[derive(Debug, PartialEq, Eq)]
enum Named {
    Module,
    /// It is declared in the file of this private module.
    Type(String),
}

/// Whether the module of a path below the crate has a name; `None` when that is not known.
pub(super) fn has(importer: &Importer<'_>, module: &[String], name: &str, namespace: Namespace) -> Option<bool> {
    if namespace == Namespace::Macros {
        return Some(false);
    }
    let modules = importer.cache::<Modules>();
    match &*modules.listing(importer) {
        Listing::Folder(folder) => {
            let folder = module.iter().fold(folder.clone(), |folder, part| folder.join(part));
            match modules.names(&folder)?.get(name) {
                // The root has more than the modules of the version.
                None => (!module.is_empty()).then_some(false),
                Some(Named::Type(file)) if namespace == Namespace::Values => is_tuple_struct(&folder, file, name),
                Some(_) => Some(namespace == Namespace::Types),
            }
        }
        Listing::Linked => {
            let path = format!("k8s_openapi::{}", [module, &[name.to_owned()]].concat().join("::"));
            let below = |known: &str| known.strip_prefix(&path).map(|rest| rest.is_empty() || rest.starts_with("::"));
            let mut known = k8s::types().filter(|known| below(known.path) == Some(true));
            // Not all types are linked.
            known.next().map(|_| namespace == Namespace::Types)
        }
        Listing::Unknown => None,
    }
}

impl Modules {
    fn listing(&self, importer: &Importer<'_>) -> Rc<Listing> {
        let find = || {
            let all: Vec<&CargoManifest> = importer.manifests().collect();
            let Ok((dependency, feature)) = chosen(importer.manifest(), &all) else { return Listing::Unknown };
            let linked = is_linked(dependency, feature);
            let version = match &dependency.locked {
                Some(locked) if dependency.registry => Some(locked.clone()),
                None if linked => k8s::VERSION.parse().ok(),
                _ => None,
            };
            let generated = importer.cache::<Generated>();
            match version.and_then(|version| generated.folder(&all[0].workspace, &version, feature)) {
                Some(folder) => Listing::Folder(folder),
                None if linked => Listing::Linked,
                None => Listing::Unknown,
            }
        };
        Rc::clone(self.listings.borrow_mut().entry(importer.key()).or_insert_with(|| Rc::new(find())))
    }

    fn names(&self, folder: &Path) -> Option<Rc<Names>> {
        let mut modules = self.modules.borrow_mut();
        modules.entry(folder.to_path_buf()).or_insert_with(|| read(folder).map(Rc::new)).clone()
    }
}

/// The names in a file of the form that k8s-openapi's generator writes: a private module for each type, re-exported.
fn read(folder: &Path) -> Option<Names> {
    let mut names = Names::new();
    for line in std::fs::read_to_string(folder.join("mod.rs")).ok()?.lines() {
        if let Some(module) = line.strip_prefix("pub mod ") {
            names.insert(module.trim_end_matches(';').to_owned(), Named::Module);
        } else if let Some((module, types)) = re_exported(line) {
            names.extend(types.map(|name| (name.to_owned(), Named::Type(module.to_owned()))));
        } else if line.trim_start().starts_with("pub ") {
            return None;
        }
    }
    Some(names)
}

/// Whether the name of a type is a function too; `None` when its file can't be read.
fn is_tuple_struct(folder: &Path, file: &str, name: &str) -> Option<bool> {
    let text = std::fs::read_to_string(folder.join(format!("{file}.rs"))).ok()?;
    Some(text.contains(&format!("pub struct {name}(")))
}

#[cfg(test)]
mod tests {
    use crate::source::tests::{is_primitive, load, prelude, show};
    use Namespace::{Macros, Types, Values};

    use super::*;

    const CORE: &str = "k8s_openapi::api::core::v1";

    /// What paths mean below a module that begins with a text, in a project on the linked k8s-openapi.
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
                    "cannot find `Toleration`; it may come from `use kube::prelude::*` or `use serde::*`, which is another \
                     crate",
                ),
                ("op", "Deployment", Types, "extern k8s_openapi::api::apps::v1::Deployment"),
                (
                    "op::resource",
                    "Tolerations",
                    Types,
                    "cannot find `Tolerations`",
                ),
                // What the other one brings in is not called so, or this would be an error.
                ("op::beside", "Toleration", Types, &toleration),
                ("op", "Vec", Types, "extern std::vec::Vec"),
                ("op::resource", "Quantity", Types, "extern k8s_openapi::apimachinery::pkg::api::resource::Quantity"),
                ("op::resource", "Quantity", Values, "extern k8s_openapi::apimachinery::pkg::api::resource::Quantity"),
                ("op::resource", "Condition", Types, "extern k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition"),
                ("op::resource", "IntOrString::Int", Values, "extern k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int"),
                ("op::own", "Toleration", Types, "op::own::Toleration"),
                ("op::own", "Pod", Types, "cannot find `Pod`: nothing was found for `use crate::resource::A`"),
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
                    "cannot find `Pod`; it may come from `use k8s_openapi::api::core::v1::*`, which is another crate; \
                     it may be generated by a macro this tool does not expand: `make!` at src/lib.rs:1:1",
                ),
                (
                    "op::other",
                    "Pods",
                    Types,
                    "cannot find `Pods`; it may come from `use other::*` or `use serde::*`, which is another crate",
                ),
                (
                    "op::through",
                    "Pod",
                    Types,
                    "cannot find `Pod`; it may come from `use k8s_openapi::api::core::v1::*`, which is another crate",
                ),
                ("op::both", "Pod", Types, &format!("extern {CORE}::Pod")),
            ],
        );
    }

    /// No module of k8s-openapi hides a type of the prelude or a primitive type.
    #[test]
    fn no_type_is_called_like_one_of_the_prelude() {
        let generated = Generated::default();
        let folder = generated.folder(Path::new(""), &k8s::VERSION.parse().unwrap(), k8s::FEATURE);
        let mut folders = vec![folder.unwrap()];
        let mut types = 0;
        while let Some(folder) = folders.pop() {
            for (name, named) in read(&folder).unwrap() {
                if named == Named::Module {
                    folders.push(folder.join(name));
                    continue;
                }
                assert_eq!(prelude(&name, Types), None);
                assert!(!is_primitive(&name), "{name}");
                types += 1;
            }
        }
        assert!(types > 500, "{types}");
    }
}
