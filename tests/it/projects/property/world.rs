//! Modules of a generated file: their items and the names that each can use.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Node;
use super::ty::Decl;
use crate::random::Random;

/// A module of the file; the first one is the file.
pub(super) struct Module {
    path: Vec<&'static str>,
    style: Style,
    /// Imported paths by name.
    uses: BTreeMap<String, String>,
    names: BTreeSet<String>,
    items: Vec<Node>,
}

/// The style in which a module names foreign items.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Style {
    /// `use schemars::JsonSchema;`
    Plain,
    /// `use schemars::JsonSchema as Schema;`
    Renamed,
    /// `#[derive(schemars::JsonSchema)]`
    Paths,
    /// `use super::*;` with a parent that imports everything.
    Glob,
}

/// Foreign items: name, path and alias.
const FOREIGN: [(&str, &str, &str); 14] = [
    ("CustomResource", "kube::CustomResource", "CR"),
    ("KubeSchema", "kube::KubeSchema", "Ruled"),
    ("JsonSchema", "schemars::JsonSchema", "Schemed"),
    ("Serialize", "serde::Serialize", "Ser"),
    ("Deserialize", "serde::Deserialize", "De"),
    ("BTreeMap", "std::collections::BTreeMap", "Map"),
    ("BTreeSet", "std::collections::BTreeSet", "Set"),
    ("HashMap", "std::collections::HashMap", "Hashed"),
    ("HashSet", "std::collections::HashSet", "HashedSet"),
    ("VecDeque", "std::collections::VecDeque", "Queue"),
    ("Schema", "schemars::Schema", "Made"),
    ("SchemaGenerator", "schemars::SchemaGenerator", "Generator"),
    ("json", "serde_json::json", "literal"),
    ("json_schema", "schemars::json_schema", "schema"),
];

pub(super) struct World {
    pub(super) random: Random,
    pub(super) file: String,
    pub(super) modules: Vec<Module>,
    pub(super) decls: Vec<Decl>,
    words: Vec<&'static str>,
    count: usize,
    /// `use a::{b, c};`
    grouped: bool,
}

const TYPES: [&str; 40] = [
    "Backup",
    "Bucket",
    "Cache",
    "Chart",
    "Condition",
    "Config",
    "Container",
    "Duration",
    "Endpoint",
    "Entry",
    "Event",
    "Extra",
    "Gateway",
    "Image",
    "Ingress",
    "Item",
    "Key",
    "Limits",
    "Listener",
    "Mode",
    "Mount",
    "Network",
    "Node",
    "Phase",
    "Placement",
    "Pool",
    "Port",
    "Probe",
    "Range",
    "Replica",
    "Route",
    "Ruleset",
    "Schedule",
    "Secret",
    "Service",
    "Shard",
    "Storage",
    "Target",
    "Topology",
    "Volume",
];

const FIELDS: [&str; 44] = [
    "active",
    "address",
    "annotations",
    "args",
    "backend_ref",
    "bind_address",
    "ca_bundle",
    "class_name",
    "cluster",
    "count",
    "disk_size_gb",
    "enabled",
    "env",
    "extra_args",
    "hosts",
    "http2",
    "image",
    "image_pull_policy",
    "interval",
    "key",
    "labels",
    "level",
    "max_surge",
    "mode",
    "name",
    "node_selector",
    "options",
    "path",
    "port",
    "priority",
    "r#type",
    "r#ref",
    "replicas",
    "resources",
    "secret_name",
    "size",
    "state",
    "tls",
    "ttl_seconds",
    "url_2",
    "user",
    "value",
    "version",
    "x_offset",
];

impl World {
    pub(super) fn new(seed: u64, file: &str) -> Self {
        let mut world = World {
            random: Random(seed),
            file: file.to_owned(),
            modules: Vec::new(),
            decls: Vec::new(),
            words: TYPES.to_vec(),
            count: 0,
            grouped: false,
        };
        world.grouped = world.chance(50);
        world.add_module(&[]);
        let nested: &[&[&'static str]] = match world.below(6) {
            0 => &[&["inner"]],
            1 => &[&["inner"], &["inner", "deep"]],
            2 => &[&["parts"], &["values"]],
            3 => &[&["inner"], &["inner", "deep"], &["values"]],
            _ => &[],
        };
        for path in nested {
            world.add_module(path);
        }
        world
    }

    fn add_module(&mut self, path: &[&'static str]) {
        let style = match self.below(8) {
            0 | 1 => Style::Renamed,
            2 => Style::Paths,
            3..=5 if !path.is_empty() => Style::Glob,
            _ => Style::Plain,
        };
        let mut uses = BTreeMap::new();
        for (name, path, renamed) in FOREIGN {
            match style {
                Style::Plain => uses.insert(name.to_owned(), path.to_owned()),
                Style::Renamed => uses.insert(renamed.to_owned(), path.to_owned()),
                Style::Paths | Style::Glob => None,
            };
        }
        let names = uses.keys().cloned().collect();
        if let Some((name, parent)) = path.split_last() {
            let parent = self.modules.iter_mut().find(|module| module.path == parent).unwrap();
            parent.names.insert((*name).to_owned());
        }
        self.modules.push(Module { path: path.to_vec(), style, uses, names, items: Vec::new() });
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.random.below(end as u64)).unwrap()
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.random.percent(percent)
    }

    pub(super) fn pick<'l, T: ?Sized>(&mut self, list: &[&'l T]) -> &'l T {
        list[self.below(list.len())]
    }

    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for index in (1..list.len()).rev() {
            let other = self.below(index + 1);
            list.swap(index, other);
        }
    }

    /// A number that is unique in this file.
    pub(super) fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    pub(super) fn any_module(&mut self) -> usize {
        self.below(self.modules.len())
    }

    /// A type name that is unique in this file.
    pub(super) fn type_name(&mut self, module: usize) -> String {
        let name = if self.words.is_empty() {
            format!("Type{}", self.number())
        } else {
            let index = self.below(self.words.len());
            self.words.swap_remove(index).to_owned()
        };
        self.modules[module].names.insert(name.clone());
        name
    }

    pub(super) fn field_names(&mut self, count: usize) -> Vec<String> {
        let mut names = FIELDS.to_vec();
        self.shuffle(&mut names);
        names.truncate(count);
        names.into_iter().map(str::to_owned).collect()
    }

    /// Adds an item at a random position.
    pub(super) fn item(&mut self, module: usize, item: Node) {
        let items = &mut self.modules[module].items;
        let at = usize::try_from(self.random.below(items.len() as u64 + 1)).unwrap();
        items.insert(at, item);
    }

    /// The name of a foreign item in a module's style.
    pub(super) fn foreign(&self, module: usize, name: &str) -> String {
        let (_, path, renamed) = FOREIGN.iter().find(|(of, ..)| *of == name).unwrap();
        match self.modules[module].style {
            Style::Plain => name.to_owned(),
            Style::Renamed => (*renamed).to_owned(),
            Style::Paths => (*path).to_owned(),
            Style::Glob => {
                let parent = &self.modules[module].path;
                let parent = self.modules.iter().position(|of| of.path == parent[..parent.len() - 1]).unwrap();
                self.foreign(parent, name)
            }
        }
    }

    /// A random form of the path from one module to a name of another.
    pub(super) fn path(&mut self, from: usize, to: usize, name: &str) -> String {
        let mut absolute = vec!["crate".to_owned(), self.file.clone()];
        absolute.extend(self.modules[to].path.iter().map(|&part| part.to_owned()));
        let absolute = absolute.join("::");
        let relative = self.relative(from, to);
        let way = if self.chance(30) { absolute.clone() } else { relative.clone() };
        if from == to {
            return match self.below(8) {
                0 => format!("self::{name}"),
                1 => format!("{absolute}::{name}"),
                _ => name.to_owned(),
            };
        }
        match self.below(6) {
            0 => format!("{absolute}::{name}"),
            1 => format!("{relative}::{name}"),
            2 => {
                // A renamed re-export in the file.
                let again = format!("{name}{}", self.letter());
                self.import(0, &format!("{}::{name}", self.relative(0, to)), &again);
                let absolute = format!("crate::{}", self.file);
                format!("{absolute}::{again}")
            }
            3 => {
                let again = format!("Other{}", name.replace('_', ""));
                if name.starts_with(char::is_uppercase) && self.import(from, &format!("{way}::{name}"), &again) {
                    again
                } else {
                    format!("{way}::{name}")
                }
            }
            4 if self.modules[to].path.len() > 1 || (self.modules[to].path.len() == 1 && from != 0) => {
                let module = self.modules[to].path.last().unwrap().to_owned();
                if self.modules[from].path.last() != Some(&module) && self.import(from, &absolute, module) {
                    format!("{module}::{name}")
                } else {
                    format!("{way}::{name}")
                }
            }
            _ => {
                if self.import(from, &format!("{way}::{name}"), name) {
                    name.to_owned()
                } else {
                    format!("{way}::{name}")
                }
            }
        }
    }

    fn letter(&mut self) -> char {
        char::from(b'A' + u8::try_from(self.below(2)).unwrap())
    }

    fn relative(&self, from: usize, to: usize) -> String {
        let (from, to) = (&self.modules[from].path, &self.modules[to].path);
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        let mut parts = vec!["super"; from.len() - common];
        if parts.is_empty() {
            parts.push("self");
        }
        parts.extend(&to[common..]);
        parts.join("::")
    }

    /// The path of a module in the file, as a prefix.
    pub(super) fn path_below(&self, module: usize) -> String {
        self.modules[module].path.iter().map(|part| format!("{part}::")).collect()
    }

    /// Imports a path under a name. Returns false if the name is taken.
    fn import(&mut self, module: usize, path: &str, name: &str) -> bool {
        let module = &mut self.modules[module];
        if module.uses.get(name).is_some_and(|known| known == path) {
            return true;
        }
        if module.names.contains(name) {
            return false;
        }
        module.names.insert(name.to_owned());
        module.uses.insert(name.to_owned(), path.to_owned());
        true
    }

    pub(super) fn print(mut self, head: String) -> Node {
        let mut order: Vec<usize> = (0..self.modules.len()).collect();
        // Inner modules first: they become items of the outer ones.
        order.sort_by_key(|module| std::cmp::Reverse(self.modules[*module].path.len()));
        for module in order {
            let uses = self.uses(module);
            let items = std::mem::take(&mut self.modules[module].items);
            let path = self.modules[module].path.clone();
            let Some((name, parent)) = path.split_last() else {
                let mut all = uses;
                all.extend(items);
                return Node::around(head, all, "").kept();
            };
            let mut all = uses;
            all.extend(items);
            let parent = self.modules.iter().position(|module| module.path == parent).unwrap();
            let docs = if self.chance(30) { "/// A module.\n" } else { "" };
            let node = Node::around(format!("{docs}pub mod {name} {{\n"), all, "}\n\n");
            self.item(parent, node);
        }
        unreachable!("the file is a module")
    }

    fn uses(&mut self, module: usize) -> Vec<Node> {
        let Module { style, path, uses, .. } = &self.modules[module];
        let visible = if path.is_empty() { "pub use" } else { "use" };
        let mut lines = Vec::new();
        let mut grouped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let group = self.grouped;
        for (name, path) in uses {
            let (parent, last) = path.rsplit_once("::").unwrap();
            let last = if last == name { last.to_owned() } else { format!("{last} as {name}") };
            let own = path.starts_with("self") || path.starts_with("super") || path.starts_with("crate");
            if group && !own {
                grouped.entry(parent).or_default().push(last);
            } else {
                lines.push(Node::part(format!("{visible} {parent}::{last};\n")));
            }
        }
        for (parent, names) in grouped {
            let names = names.join(", ");
            lines.push(Node::part(format!("{visible} {parent}::{{{names}}};\n")));
        }
        if *style == Style::Glob {
            lines.push(Node::part("use super::*;\n"));
        }
        lines
    }
}
