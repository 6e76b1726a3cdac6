//! Types of k8s-openapi, read from generated files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use semver::Version;
use syn::{ItemImpl, ItemStruct};

use crate::source::CargoManifest;

/// The parts of a k8s-openapi type that determine its schema and default.
#[derive(Debug)]
pub struct GeneratedType {
    /// `impl JsonSchema`
    pub schema: ItemImpl,
    /// The type, if it is a struct that derives `Default`.
    pub item: Option<ItemStruct>,
    /// The keys in `impl Serialize`, by field.
    pub keys: BTreeMap<String, String>,
    /// The constants of `impl Resource`, such as `KIND`.
    pub constants: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
pub(super) struct GeneratedModule {
    types: RefCell<BTreeMap<GeneratedPath, Option<Rc<GeneratedType>>>>,
    folders: RefCell<BTreeMap<(Version, String), PathBuf>>,
}

type GeneratedPath = (PathBuf, Vec<String>);

impl GeneratedModule {
    /// The folder of the modules that a feature enables; `latest` means the newest.
    pub(super) fn folder(&self, workspace: &Path, version: &Version, feature: &str) -> Option<PathBuf> {
        let key = (version.clone(), feature.to_owned());
        if let Some(found) = self.folders.borrow().get(&key) {
            return Some(found.clone());
        }
        // A missing folder is not cached, because a download may add it.
        let found = modules(workspace, version, feature)?;
        self.folders.borrow_mut().insert(key, found.clone());
        Some(found)
    }

    /// The type at a path below a folder of modules, such as `api::core::v1::Pod`.
    pub(super) fn get(&self, dir: &Path, path: &[String]) -> Option<Rc<GeneratedType>> {
        let key = (dir.to_path_buf(), path.to_vec());
        if let Some(found) = self.types.borrow().get(&key) {
            return found.clone();
        }
        let found = read_generated(dir, path).map(Rc::new);
        self.types.borrow_mut().insert(key, found.clone());
        found
    }
}

fn modules(workspace: &Path, version: &Version, feature: &str) -> Option<PathBuf> {
    let package = CargoManifest::fetched(workspace, "k8s-openapi", version)?;
    let feature = match package.features.get(feature)?.as_slice() {
        [other] => other,
        _ => feature,
    };
    Some(package.dir.join("src").join(feature)).filter(|dir| dir.is_dir())
}

/// The private module and the types in a re-export line.
fn re_exported(line: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let (module, names) = line.trim_start().strip_prefix("pub use self::")?.strip_suffix(';')?.split_once("::")?;
    Some((module, names.trim_start_matches('{').trim_end_matches('}').split(',').map(str::trim)))
}

/// The text of the file that declares a type. k8s-openapi has a private module per type and re-exports the type.
fn generated_text(dir: &Path, path: &[String]) -> Option<String> {
    let (name, modules) = path.split_last()?;
    let mut folder = dir.to_path_buf();
    folder.extend(modules);
    let declarations = std::fs::read_to_string(folder.join("mod.rs")).ok()?;
    let module = declarations.lines().find_map(|line| {
        let (module, mut names) = re_exported(line)?;
        names.any(|other| other == name).then_some(module)
    })?;
    std::fs::read_to_string(folder.join(format!("{module}.rs"))).ok()
}

fn generated_item<'a>(text: &'a str, start: &str) -> Option<(usize, &'a str)> {
    let at = text.find(start)?;
    let end = text[at..].find("\n}\n").map_or(text.len(), |end| at + end + 2);
    Some((at, &text[at..end]))
}

/// Reads a type in the format of k8s-openapi's generator.
fn read_generated(dir: &Path, path: &[String]) -> Option<GeneratedType> {
    let name = path.last()?;
    let text = generated_text(dir, path)?;
    let item = |start: &str| generated_item(&text, start);
    let (_, schema) = item(&format!("impl crate::schemars::JsonSchema for {name} {{"))?;
    let derives_default = |at: usize| {
        let attribute = text[..at].lines().next_back().unwrap_or_default();
        attribute.starts_with("#[derive(") && attribute.contains("Default")
    };
    let declared = item(&format!("pub struct {name} {{")).filter(|(at, _)| derives_default(*at));
    let serialize = item(&format!("impl crate::serde::Serialize for {name} {{")).map_or("", |(_, text)| text);
    let mut optional = None;
    let keys = serialize.lines().filter_map(|line| {
        let line = line.trim();
        if let Some(field) = line.strip_prefix("if let Some(value) = &self.") {
            optional = field.strip_suffix(" {");
        }
        let call = line.strip_prefix("crate::serde::ser::SerializeStruct::serialize_field(&mut state, \"")?;
        let (key, value) = call.split_once("\", ")?;
        let field = match value.strip_suffix(")?;")? {
            "value" => optional.take()?,
            value => value.strip_prefix("&self.")?,
        };
        Some((field.to_owned(), key.to_owned()))
    });
    let resource = item(&format!("impl crate::Resource for {name} {{")).map_or("", |(_, text)| text);
    let constants = resource.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix("const ")?.split_once(": &'static str = ")?;
        Some((name.to_owned(), syn::parse_str::<syn::LitStr>(value.strip_suffix(';')?).ok()?.value()))
    });
    Some(GeneratedType {
        schema: syn::parse_str(schema).ok()?,
        item: declared.and_then(|(_, text)| syn::parse_str(text).ok()),
        keys: keys.collect(),
        constants: constants.collect(),
    })
}
