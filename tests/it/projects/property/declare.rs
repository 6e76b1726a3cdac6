//! Random type declarations, and the custom resource that uses them.

use super::attribute::Around;
use super::tree::Node;
use super::ty::{Decl, Facts, Param, Shape, Ty};
use super::world::World;

struct Fields {
    nodes: Vec<Node>,
    types: Vec<(String, Ty)>,
    written: bool,
}

#[derive(Clone, Copy)]
struct Traits {
    default: bool,
    ord: bool,
    hash: bool,
}

/// Form of a generic type.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Struct,
    Tuple,
    Enum,
}

const OBJECT: Facts =
    Facts { default: false, ord: false, hash: false, key: false, object: true, written: true, schema: true };

/// The file of a seed.
pub(super) fn resource(seed: u64, file: &str) -> Node {
    let mut world = World::new(seed, file);
    for _ in 0..1 + world.below(4) {
        world.declare();
    }
    world.resource()
}

impl World {
    fn declare(&mut self) {
        match self.below(40) {
            0..=13 => self.declare_struct(),
            14..=16 => self.declare_newtype(),
            17 => self.declare_tuple(),
            18 => self.declare_unit(),
            19..=23 => self.declare_unit_enum(),
            24..=27 => self.declare_data_enum(),
            28..=29 => self.declare_untagged(),
            30 => self.declare_tagged(),
            31..=33 => self.declare_generic(),
            34 => self.declare_alias(),
            35 => self.declare_by_hand(),
            36 => self.declare_converted(),
            37 => self.declare_remote(),
            38 => self.declare_ruled(),
            _ => self.declare_hidden(),
        }
    }

    /// Derives of a type in one or several attributes.
    fn derives(&mut self, module: usize, first: &[&str], traits: Traits) -> Vec<Node> {
        let mut names: Vec<String> =
            ["Serialize", "Deserialize"].iter().map(|name| self.foreign(module, name)).collect();
        let std = |name: &str, long: bool| if long { format!("std::clone::{name}") } else { name.to_owned() };
        names.push(std("Clone", self.chance(10)));
        names.push("Debug".to_owned());
        if traits.default {
            names.push("Default".to_owned());
        }
        if traits.ord {
            names.extend(["PartialEq", "Eq", "PartialOrd", "Ord"].map(str::to_owned));
        }
        if traits.hash {
            names.push("Hash".to_owned());
        }
        self.shuffle(&mut names);
        let mut first: Vec<String> = first.iter().map(|name| self.foreign(module, name)).collect();
        if self.chance(30) {
            let first = first.join(", ");
            return vec![
                Node::fixed(format!("#[derive({first})]\n")),
                Node::fixed(format!("#[derive({})]\n", names.join(", "))),
            ];
        }
        first.extend(names);
        vec![Node::fixed(format!("#[derive({})]\n", first.join(", ")))]
    }

    fn traits(&mut self, types: &[(String, Ty)]) -> Traits {
        let facts: Vec<Facts> = types.iter().map(|(_, ty)| self.facts(ty)).collect();
        let ord = facts.iter().all(|it| it.ord) && self.chance(40);
        Traits {
            default: facts.iter().all(|it| it.default) && self.chance(55),
            ord,
            hash: ord && facts.iter().all(|it| it.hash) && self.chance(50),
        }
    }

    fn add(&mut self, decl: Decl) {
        self.decls.push(decl);
    }

    fn plain(&self, module: usize, name: &str, facts: Facts, shape: Shape) -> Decl {
        Decl { module, name: name.to_owned(), facts, shape, params: Vec::new(), alias: None }
    }

    /// Attributes and docs of a container.
    fn container(
        &mut self,
        module: usize,
        mut derives: Vec<Node>,
        mut serde: Vec<String>,
        mut schemars: Vec<String>,
    ) -> Vec<Node> {
        if self.chance(8) {
            serde.push(self.pick(&["crate = \"serde\"", "expecting = \"something else\""]).to_owned());
        }
        if self.chance(8) {
            schemars.push(self.pick(&["crate = \"schemars\"", "inline"]).to_owned());
        }
        if self.chance(8) {
            schemars.push(format!("title = {}", self.pick(&["\"Titled\"", "concat!(\"A\", 1)"])));
        }
        if self.chance(5) {
            schemars.push("description = \"Described by an attribute\"".to_owned());
        }
        if self.chance(8) {
            let item = self.extension(module);
            schemars.push(format!("extend({item})"));
        }
        if self.chance(4) {
            schemars.push("example = \"an example\"".to_owned());
        }
        let mut others = self.docs(45);
        others.extend(self.attributes("serde", serde));
        others.extend(self.attributes("schemars", schemars));
        if self.chance(4) {
            others.push(Node::part(self.pick(&[
                "#[deprecated]\n",
                "#[allow(dead_code)]\n",
                "#[non_exhaustive]\n",
                "#[must_use]\n",
                "#[rustfmt::skip]\n",
            ])));
        }
        // Docs may precede the derives; helper attributes follow them.
        let above = self.chance(60);
        if above && others.first().is_some_and(|_| true) {
            let docs = self.docs(30);
            let mut all = docs;
            all.append(&mut derives);
            self.shuffle(&mut others);
            all.extend(others);
            return all;
        }
        self.shuffle(&mut others);
        derives.extend(others);
        derives
    }

    fn fields(&mut self, module: usize, types: Vec<(String, Ty)>, around: Around<'_>, visible: bool) -> Fields {
        let mut fields = Fields { nodes: Vec::new(), types: types.clone(), written: true };
        let keyword = if visible { "pub " } else { "" };
        for (name, ty) in types {
            let text = self.text(module, &ty);
            let facts = self.facts(&ty);
            let mut attributes = if !facts.schema {
                super::attribute::FieldAttributes { nodes: vec![Node::fixed("#[serde(skip)]\n")], written: true }
            } else if visible && facts.object && !around.ruled && !around.container_default && self.chance(25) {
                super::attribute::FieldAttributes {
                    nodes: vec![Node::fixed("#[serde(flatten)]\n")],
                    written: facts.written,
                }
            } else {
                self.field_attributes(module, &ty, around)
            };
            if visible && self.chance(4) {
                let cfg = self.pick(&[
                    "feature = \"on\"",
                    "all(feature = \"on\", not(feature = \"off\"))",
                    "any(feature = \"deep\", test)",
                    "not(test)",
                ]);
                attributes.nodes.insert(0, Node::part(format!("#[cfg({cfg})]\n")));
            }
            fields.written &= attributes.written;
            attributes.nodes.push(Node::fixed(format!("{keyword}{name}: {text},\n")));
            fields.nodes.push(Node::around("", attributes.nodes, ""));
        }
        if visible && self.chance(4) {
            let cfg = self.pick(&[
                "feature = \"off\"",
                "test",
                "all(feature = \"on\", feature = \"off\")",
                "not(feature = \"deep\")",
            ]);
            fields.nodes.push(Node::part(format!("#[cfg({cfg})]\n{keyword}gone: NoSuchType,\n")));
        }
        fields
    }

    fn some_types(&mut self, count: usize, depth: usize) -> Vec<(String, Ty)> {
        self.field_names(count).into_iter().map(|name| (name, self.any_type(depth))).collect()
    }

    /// A handwritten `impl Default`, and the attribute that uses it.
    fn default_by_hand(&mut self, module: usize, name: &str, types: &[(String, Ty)]) -> bool {
        let shape = Shape::Struct(types.to_vec());
        let path = self.pick(&["Self", name]).to_owned();
        let Some(value) = self.shape_value(module, &path, &shape, &[], 3, false) else { return false };
        let body = match self.below(4) {
            0 => {
                let number = self.number();
                let item =
                    format!("impl {name} {{\n    pub fn made_{number}() -> Self {{\n        {value}\n    }}\n}}\n\n");
                self.item(module, Node::part(item));
                format!("Self::made_{number}()")
            }
            _ => value,
        };
        let item = format!("impl Default for {name} {{\n    fn default() -> Self {{\n        {body}\n    }}\n}}\n\n");
        self.item(module, Node::part(item));
        true
    }

    fn declare_struct(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let count = self.below(5);
        let types = self.some_types(count, 2);
        self.write_struct(module, &name, types, &["JsonSchema"], Vec::new(), false, 60);
    }

    #[allow(clippy::too_many_arguments)]
    fn write_struct(
        &mut self,
        module: usize,
        name: &str,
        types: Vec<(String, Ty)>,
        first: &[&str],
        extra: Vec<Node>,
        ruled: bool,
        default_by_hand: u64,
    ) -> Facts {
        let traits = self.traits(&types);
        let by_hand = !traits.default && self.chance(default_by_hand) && {
            let types = types.clone();
            self.default_by_hand(module, name, &types)
        };
        let mut serde = Vec::new();
        let mut schemars = Vec::new();
        if self.chance(45) {
            let item = match self.below(6) {
                0 => format!("rename_all(serialize = \"{}\", deserialize = \"{}\")", self.case(), self.case()),
                1 => format!("rename_all(deserialize = \"{}\")", self.case()),
                _ => format!("rename_all = \"{}\"", self.case()),
            };
            serde.push(item);
            match self.below(14) {
                0 => schemars.push("!rename_all".to_owned()),
                1 => schemars.push(format!("rename_all = \"{}\"", self.case())),
                _ => {}
            }
        }
        if self.chance(6) {
            let item = format!("rename = \"{name}{}\"", self.number());
            if self.chance(50) { serde.push(item) } else { schemars.push(item) }
        }
        if self.chance(4) {
            serde.push("bound = \"\"".to_owned());
        }
        let written = types.iter().all(|(_, ty)| self.facts(ty).written);
        let container_default = (traits.default || by_hand) && written && !ruled && self.chance(20);
        if container_default {
            serde.push("default".to_owned());
        }
        let around = Around { owner: Some(name), container_default, ruled, ..Around::default() };
        let fields = self.fields(module, types, around, true);
        let flattens =
            fields.nodes.iter().any(|node| node.print(&std::collections::BTreeSet::new()).contains("flatten"));
        if !flattens && self.chance(10) {
            serde.push("deny_unknown_fields".to_owned());
            if self.chance(15) {
                schemars.push("!deny_unknown_fields".to_owned());
            }
        }
        let mut derives = self.derives(module, first, traits);
        derives.extend(extra);
        let mut nodes = self.container(module, derives, serde, schemars);
        nodes.push(Node::around(format!("pub struct {name} {{\n"), fields.nodes, "}\n\n").kept());
        self.item(module, Node::around("", nodes, ""));
        let facts = Facts {
            default: traits.default || by_hand,
            ord: traits.ord,
            hash: traits.hash,
            written: fields.written,
            ..OBJECT
        };
        let decl = self.plain(module, name, facts, Shape::Struct(fields.types));
        self.add(decl);
        facts
    }

    fn declare_newtype(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let ty = self.any_type(1);
        let ty = if self.facts(&ty).schema { ty } else { Ty::leaf("String") };
        let types = vec![("0".to_owned(), ty.clone())];
        let traits = self.traits(&types);
        let facts = self.facts(&ty);
        // serde ignores a `PhantomData` field.
        let transparent = self.chance(40) && !self.text(module, &ty).contains("PhantomData");
        let serde = if transparent { vec!["transparent".to_owned()] } else { Vec::new() };
        let around =
            Around { owner: Some(&name), bare: true, transparent, container_default: transparent, ..Around::default() };
        let text = self.text(module, &ty);
        let (inside, written, shape) = if transparent && self.chance(40) {
            let body = format!("pub inner: {text},\n");
            let nodes = vec![Node::fixed(body)];
            (
                Node::around(format!("pub struct {name} {{\n"), nodes, "}\n\n"),
                true,
                Shape::Struct(vec![("inner".to_owned(), ty)]),
            )
        } else {
            let mut attributes = if self.chance(50) {
                self.field_attributes(module, &ty, around)
            } else {
                super::attribute::FieldAttributes { nodes: Vec::new(), written: true }
            };
            attributes.nodes.push(Node::fixed(format!("pub {text}")));
            (
                Node::around(format!("pub struct {name}("), attributes.nodes, ");\n\n"),
                attributes.written,
                Shape::Tuple(vec![ty]),
            )
        };
        let derives = self.derives(module, &["JsonSchema"], traits);
        let mut nodes = self.container(module, derives, serde, Vec::new());
        nodes.push(inside.kept());
        self.item(module, Node::around("", nodes, ""));
        let facts = Facts {
            default: traits.default,
            ord: traits.ord,
            hash: traits.hash,
            key: facts.key && traits.ord,
            written: facts.written && written,
            object: facts.object,
            ..OBJECT
        };
        let decl = self.plain(module, &name, facts, shape);
        self.add(decl);
    }

    fn declare_tuple(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let count = 2 + self.below(3);
        let types: Vec<Ty> = (0..count).map(|_| self.any_type(1)).collect();
        let types: Vec<Ty> =
            types.into_iter().map(|ty| if self.facts(&ty).schema { ty } else { Ty::leaf("u8") }).collect();
        let named: Vec<(String, Ty)> = types.iter().map(|ty| (String::new(), ty.clone())).collect();
        let traits = self.traits(&named);
        let written = types.iter().all(|ty| self.facts(ty).written);
        let derives = self.derives(module, &["JsonSchema"], traits);
        let mut nodes = self.container(module, derives, Vec::new(), Vec::new());
        let fields = types
            .iter()
            .map(|ty| {
                let mut parts = self.docs(20);
                parts.push(Node::fixed(format!("pub {},\n", self.text(module, ty))));
                Node::around("", parts, "")
            })
            .collect();
        nodes.push(Node::around(format!("pub struct {name}(\n"), fields, ");\n\n").kept());
        self.item(module, Node::around("", nodes, ""));
        let facts =
            Facts { default: traits.default, ord: traits.ord, hash: traits.hash, written, object: false, ..OBJECT };
        let decl = self.plain(module, &name, facts, Shape::Tuple(types));
        self.add(decl);
    }

    fn declare_unit(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let traits = Traits { default: true, ord: true, hash: true };
        let derives = self.derives(module, &["JsonSchema"], traits);
        let mut nodes = self.container(module, derives, Vec::new(), Vec::new());
        nodes.push(Node::fixed(format!("pub struct {name};\n\n")));
        self.item(module, Node::around("", nodes, ""));
        let facts = Facts { default: true, ord: true, hash: true, object: false, ..OBJECT };
        let decl = self.plain(module, &name, facts, Shape::Unit);
        self.add(decl);
    }

    fn variants(&mut self, count: usize) -> Vec<String> {
        let names =
            ["Always", "IfNotPresent", "Never", "HTTPRoute", "V1Beta1", "Ready", "NotReady", "Custom", "A", "TwoWords"];
        let mut names: Vec<String> = names.map(str::to_owned).to_vec();
        self.shuffle(&mut names);
        names.truncate(count);
        names
    }

    fn declare_unit_enum(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let count = 1 + self.below(5);
        let names = self.variants(count);
        let default = self.chance(50).then(|| self.below(count));
        let documented = self.chance(35);
        let mut serde = Vec::new();
        if self.chance(45) {
            serde.push(format!("rename_all = \"{}\"", self.case()));
        }
        let mut nodes = Vec::new();
        let discriminants = self.chance(10);
        for (index, variant) in names.iter().enumerate() {
            let mut parts = if documented { self.docs(70) } else { Vec::new() };
            let (mut serde, mut schemars) = (Vec::new(), Vec::new());
            match self.below(24) {
                0 | 1 => serde.push(format!("rename = \"{}\"", self.pick(&["", "x-1", "true", "other value"]))),
                2 => serde.push(format!("rename(serialize = \"w{index}\", deserialize = \"r{index}\")")),
                3 => serde.push("alias = \"alias\"".to_owned()),
                4 if default != Some(index) => serde.push("skip_deserializing".to_owned()),
                5 => schemars.push(format!("rename = \"S{index}\"")),
                6 => schemars.push("description = \"of the variant\"".to_owned()),
                7 => {
                    let item = self.extension(module);
                    schemars.push(format!("extend({item})"));
                }
                8 => schemars.push("title = \"Variant\"".to_owned()),
                9 => parts.push(Node::part("#[deprecated]\n")),
                _ => {}
            }
            parts.extend(self.attributes("serde", serde));
            parts.extend(self.attributes("schemars", schemars));
            if default == Some(index) {
                parts.push(Node::fixed("#[default]\n"));
            }
            self.shuffle(&mut parts);
            let value = if discriminants { format!(" = {}", index * 3) } else { String::new() };
            parts.push(Node::fixed(format!("{variant}{value},\n")));
            nodes.push(Node::around("", parts, ""));
        }
        if self.chance(5) {
            nodes.push(Node::part("#[cfg(feature = \"off\")]\nGone(NoSuchType),\n"));
        }
        let traits = Traits { default: default.is_some(), ord: self.chance(70), hash: self.chance(40) };
        let traits = Traits { hash: traits.hash && traits.ord, ..traits };
        let derives = self.derives(module, &["JsonSchema"], traits);
        let mut all = self.container(module, derives, serde, Vec::new());
        all.push(Node::around(format!("pub enum {name} {{\n"), nodes, "}\n\n").kept());
        self.item(module, Node::around("", all, ""));
        // A variant that is not serialized has no value.
        let facts = Facts {
            default: traits.default,
            ord: traits.ord,
            hash: traits.hash,
            key: traits.ord,
            object: false,
            ..OBJECT
        };
        let shape = Shape::Enum(names.into_iter().map(|name| (name, Shape::Unit)).collect());
        let decl = self.plain(module, &name, facts, shape);
        self.add(decl);
    }

    /// A struct or newtype variant. Fields start with the variant's name, so that variants share no field.
    fn data_variant(&mut self, module: usize, variant: &str, newtype: bool, untagged: bool) -> (Node, Shape, bool) {
        let mut parts = self.docs(35);
        if newtype {
            let ty = self.any_type(1);
            let facts = self.facts(&ty);
            let fits = facts.schema && (!untagged || facts.object);
            let ty = if fits { ty } else { Ty::leaf("String") };
            let text = self.text(module, &ty);
            parts.push(Node::fixed(format!("{variant}({text}),\n")));
            let written = self.facts(&ty).written;
            return (Node::around("", parts, ""), Shape::Tuple(vec![ty]), written);
        }
        let prefix = variant.to_lowercase();
        let count = 1 + self.below(3);
        let types: Vec<(String, Ty)> = self
            .some_types(count, 1)
            .into_iter()
            .map(|(name, ty)| (format!("{prefix}_{}", name.trim_start_matches("r#")), ty))
            .collect();
        let fields = self.fields(module, types, Around::default(), false);
        let mut serde = Vec::new();
        if self.chance(25) {
            serde.push(format!("rename_all = \"{}\"", self.case()));
        }
        if self.chance(10) {
            serde.push(format!("rename = \"{prefix}-renamed\""));
        }
        parts.extend(self.attributes("serde", serde));
        parts.push(Node::around(format!("{variant} {{\n"), fields.nodes, "},\n").kept());
        (Node::around("", parts, ""), Shape::Struct(fields.types), fields.written)
    }

    fn write_enum(
        &mut self,
        module: usize,
        name: &str,
        serde: Vec<String>,
        nodes: Vec<Node>,
        shape: Vec<(String, Shape)>,
        written: bool,
    ) {
        let traits = Traits { default: false, ord: false, hash: false };
        let derives = self.derives(module, &["JsonSchema"], traits);
        let mut all = self.container(module, derives, serde, Vec::new());
        all.push(Node::around(format!("pub enum {name} {{\n"), nodes, "}\n\n").kept());
        self.item(module, Node::around("", all, ""));
        let mut facts = Facts { written, ..OBJECT };
        if self.chance(25)
            && let Some((variant, inside)) = shape.first()
            && let Some(value) = self.shape_value(module, &format!("{name}::{variant}"), inside, &[], 2, false)
        {
            let item =
                format!("impl Default for {name} {{\n    fn default() -> Self {{\n        {value}\n    }}\n}}\n\n");
            self.item(module, Node::part(item));
            facts.default = true;
        }
        let decl = self.plain(module, name, facts, Shape::Enum(shape));
        self.add(decl);
    }

    fn declare_data_enum(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let count = 1 + self.below(3);
        // kube rejects a mix of unit and data variants.
        let mixed = self.chance(5);
        let (mut nodes, mut shape, mut written) = (Vec::new(), Vec::new(), true);
        for (index, variant) in self.variants(count).into_iter().enumerate() {
            if mixed && index == 0 {
                nodes.push(Node::part(format!("{variant},\n")));
                shape.push((variant, Shape::Unit));
                continue;
            }
            let newtype = self.chance(45);
            let (node, inside, of_this) = self.data_variant(module, &variant, newtype, false);
            nodes.push(node);
            shape.push((variant, inside));
            written &= of_this;
        }
        let mut serde = Vec::new();
        if self.chance(50) {
            serde.push(format!("rename_all = \"{}\"", self.case()));
        }
        if self.chance(25) {
            serde.push(format!("rename_all_fields = \"{}\"", self.case()));
        }
        let flattens = nodes.iter().any(|node| node.print(&std::collections::BTreeSet::new()).contains("flatten"));
        if self.chance(8) && !flattens {
            serde.push("deny_unknown_fields".to_owned());
        }
        self.write_enum(module, &name, serde, nodes, shape, written);
    }

    fn declare_untagged(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let count = 1 + self.below(3);
        let scalars = self.chance(30);
        let (mut nodes, mut shape, mut written) = (Vec::new(), Vec::new(), true);
        for variant in self.variants(count) {
            let (node, inside, of_this) = if scalars {
                let ty = Ty::Leaf(&super::ty::LEAVES[self.below(super::ty::SCALARS)]);
                let text = self.text(module, &ty);
                (Node::part(format!("{variant}({text}),\n")), Shape::Tuple(vec![ty]), true)
            } else {
                let newtype = self.chance(40);
                self.data_variant(module, &variant, newtype, true)
            };
            nodes.push(node);
            shape.push((variant, inside));
            written &= of_this;
        }
        self.write_enum(module, &name, vec!["untagged".to_owned()], nodes, shape, written);
    }

    /// A tagged enum; kube gives a CRD only with one variant.
    fn declare_tagged(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let count = if self.chance(80) { 1 } else { 2 };
        let adjacent = self.chance(50);
        let (mut nodes, mut shape, mut written) = (Vec::new(), Vec::new(), true);
        for variant in self.variants(count) {
            let (node, inside, of_this) = match self.below(3) {
                0 => (Node::part(format!("{variant},\n")), Shape::Unit, true),
                1 if adjacent => self.data_variant(module, &variant, true, false),
                _ => self.data_variant(module, &variant, false, false),
            };
            nodes.push(node);
            shape.push((variant, inside));
            written &= of_this;
        }
        let mut serde = vec!["tag = \"kind\"".to_owned()];
        if adjacent {
            serde.push("content = \"with\"".to_owned());
        }
        self.write_enum(module, &name, serde, nodes, shape, written);
    }

    /// A generic struct, tuple struct or enum.
    fn declare_generic(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        // Arguments need a default, declared as a bound or not.
        let default = self.chance(60);
        let declares = default && self.chance(60);
        let written = self.chance(35);
        let two = self.chance(25);
        let param = Param { default, written };
        let mut params = vec![param];
        let mut bounds = Vec::new();
        if declares {
            bounds.push(self.pick(&["Default", "std::default::Default"]).to_owned());
        }
        if written {
            bounds.push(self.pick(&["Serialize", "serde::Serialize"]).to_owned());
        }
        if self.chance(20) {
            bounds.push("Clone".to_owned());
        }
        let bounds: Vec<String> = bounds
            .into_iter()
            .map(|bound| if bound == "Serialize" { self.foreign(module, "Serialize") } else { bound })
            .collect();
        let (mut declared, mut clause) = (Vec::new(), String::new());
        if bounds.is_empty() || self.chance(70) {
            declared.push(if bounds.is_empty() { "A".to_owned() } else { format!("A: {}", bounds.join(" + ")) });
        } else {
            declared.push("A".to_owned());
            let bounds: Vec<String> = bounds.iter().map(|bound| format!("    A: {bound},\n")).collect();
            clause = format!("\nwhere\n{}", bounds.concat());
        }
        if two {
            declared.push(if self.chance(50) { "B = String".to_owned() } else { "B".to_owned() });
            params.push(Param { default, written: false });
        }
        let mut types = Vec::new();
        let inner = self.decls.iter().position(|decl| decl.params == [Param { default: false, written: false }]);
        let count = 1 + self.below(4);
        for (index, name) in self.field_names(count + 1).into_iter().enumerate() {
            let param = if two && (index == 0 || self.chance(30)) { Ty::Param(1) } else { Ty::Param(0) };
            types.push((
                name,
                match self.below(9) {
                    _ if index == count => Ty::Param(0),
                    0 => param.list(),
                    1 => param.option(),
                    2 => Ty::map(Ty::leaf("String"), param.list()),
                    3 => Ty::Tuple(vec![param, Ty::leaf("i32")]),
                    4 => param.list().option(),
                    5 if inner.is_some() => Ty::Decl(inner.unwrap(), vec![param]),
                    6 | 7 => self.any_type(1),
                    _ => param,
                },
            ));
        }
        if two && !types.iter().any(|(_, ty)| self.mentions(ty, 1)) {
            types[0].1 = Ty::Param(1).option();
        }
        let types: Vec<(String, Ty)> = types
            .into_iter()
            .map(|(name, ty)| (name, if self.facts(&ty).schema { ty } else { Ty::leaf("bool") }))
            .collect();
        let form = self.pick(&[&Form::Tuple, &Form::Enum, &Form::Enum, &Form::Struct, &Form::Struct, &Form::Struct]);
        let mut nodes = Vec::new();
        let mut serde = Vec::new();
        if self.chance(40) {
            serde.push(format!("rename_all = \"{}\"", self.case()));
        }
        let mut all_written = true;
        let mut variants = self.variants(types.len());
        let mut shapes = Vec::new();
        for (field, ty) in &types {
            let text = self.text(module, ty);
            let variant = variants.pop().unwrap();
            if *form == Form::Tuple || *form == Form::Enum && self.chance(50) {
                let mut parts = self.docs(20);
                parts.push(Node::fixed(if *form == Form::Tuple {
                    format!("pub {text},\n")
                } else {
                    format!("{variant}({text}),\n")
                }));
                nodes.push(Node::around("", parts, ""));
                shapes.push((variant, Shape::Tuple(vec![ty.clone()])));
                continue;
            }
            let mut attributes = if ty.mentions_param() {
                let mut items = Vec::new();
                let facts = self.facts(ty);
                // serde requires `Default` for each parameter of the field.
                let fits = default
                    && (facts.default && !matches!(ty, Ty::Decl(..) | Ty::Tuple(_)) || declares && *ty == Ty::Param(0));
                if fits && self.chance(60) {
                    items.push("default".to_owned());
                    if (ty.is_list() || ty.is_map()) && self.chance(30) {
                        let of = text.split('<').next().unwrap();
                        items.push(format!("skip_serializing_if = \"{of}::is_empty\""));
                    }
                }
                let mut nodes = self.docs(20);
                nodes.extend(self.attributes("serde", items));
                nodes
            } else {
                let attributes = self.field_attributes(module, ty, Around::default());
                all_written &= attributes.written;
                attributes.nodes
            };
            if *form == Form::Enum {
                attributes.push(Node::fixed(format!("{field}: {text},\n")));
                nodes.push(Node::around(format!("{variant} {{\n"), attributes, "},\n"));
                shapes.push((variant, Shape::Struct(vec![(field.clone(), ty.clone())])));
            } else {
                attributes.push(Node::fixed(format!("pub {field}: {text},\n")));
                nodes.push(Node::around("", attributes, ""));
            }
        }
        let facts: Vec<Facts> = types.iter().map(|(_, ty)| self.facts(ty)).collect();
        let derived = declares
            && *form != Form::Enum
            && !two
            && facts.iter().zip(&types).all(|(it, (_, ty))| it.default || *ty == Ty::Param(0))
            && self.chance(50);
        let traits = Traits { default: derived, ord: false, hash: false };
        let derives = self.derives(module, &["JsonSchema"], traits);
        let mut all = self.container(module, derives, serde, Vec::new());
        let declared = declared.join(", ");
        let (open, close) = match form {
            Form::Struct => (format!("pub struct {name}<{declared}>{clause} {{\n"), "}\n\n".to_owned()),
            Form::Tuple => (format!("pub struct {name}<{declared}>(\n"), format!("){clause};\n\n")),
            Form::Enum => (format!("pub enum {name}<{declared}>{clause} {{\n"), "}\n\n".to_owned()),
        };
        all.push(Node::around(open, nodes, close).kept());
        self.item(module, Node::around("", all, ""));
        let written = all_written && types.iter().all(|(_, ty)| self.facts(ty).written);
        let facts = Facts { default: derived, written, object: *form != Form::Tuple, ..OBJECT };
        let shape = match form {
            Form::Struct => Shape::Struct(types),
            Form::Tuple => Shape::Tuple(types.into_iter().map(|(_, ty)| ty).collect()),
            Form::Enum => Shape::Enum(shapes),
        };
        let mut decl = self.plain(module, &name, facts, shape);
        decl.params = params;
        self.add(decl);
    }

    fn mentions(&self, ty: &Ty, param: usize) -> bool {
        match ty {
            Ty::Param(number) => *number == param,
            Ty::Of(_, types) | Ty::Tuple(types) | Ty::Decl(_, types) => types.iter().any(|ty| self.mentions(ty, param)),
            Ty::Array(..) | Ty::Leaf(_) => false,
        }
    }

    fn declare_alias(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let generic = self.chance(50);
        let (ty, params) = if generic {
            let inner = match self.below(3) {
                0 => Ty::Param(0).list(),
                1 => Ty::map(Ty::leaf("String"), Ty::Param(0)),
                _ => Ty::Param(0).option(),
            };
            (inner, vec![Param { default: false, written: false }])
        } else {
            (self.any_type(2), Vec::new())
        };
        if !self.facts(&ty).schema {
            return;
        }
        let text = self.text(module, &ty);
        let declared = if generic { "<A>" } else { "" };
        self.item(module, Node::part(format!("pub type {name}{declared} = {text};\n\n")));
        let facts = self.facts(&ty);
        let mut decl = self.plain(module, &name, Facts { key: false, ..facts }, Shape::Opaque);
        decl.alias = Some(ty);
        decl.params = params;
        self.add(decl);
    }

    /// A type with a handwritten `impl JsonSchema`.
    fn declare_by_hand(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let body = self.schema_body(module);
        let (generator, schema, made) = (
            self.foreign(module, "SchemaGenerator"),
            self.foreign(module, "Schema"),
            self.foreign(module, "JsonSchema"),
        );
        let traits = Traits { default: true, ord: true, hash: true };
        let mut nodes = self.derives(module, &[], traits);
        if let Some(first) = nodes.first()
            && first.print(&std::collections::BTreeSet::new()).contains("derive()")
        {
            nodes.remove(0);
        }
        nodes.push(Node::fixed(format!("#[serde(transparent)]\npub struct {name}(pub String);\n\n")));
        let returns = match self.below(3) {
            0 => format!("\"{name}\".into()"),
            1 => format!("std::borrow::Cow::Borrowed(\"{name}\")"),
            _ => "String::schema_name()".to_owned(),
        };
        // `String::schema_name` needs an import of the trait.
        let returns = if returns.starts_with("String::") {
            "<String as schemars::JsonSchema>::schema_name()".to_owned()
        } else {
            returns
        };
        let inline = if self.chance(50) { "    fn inline_schema() -> bool {\n        true\n    }\n\n" } else { "" };
        nodes.push(Node::fixed(format!(
            "impl {made} for {name} {{\n{inline}    fn schema_name() -> std::borrow::Cow<'static, str> {{\n        {returns}\n    }}\n\n    \
             fn json_schema(generator: &mut {generator}) -> {schema} {{\n    {body}\n    }}\n}}\n\n"
        )));
        self.item(module, Node::around("", nodes, ""));
        let facts = Facts { default: true, ord: true, hash: true, object: false, ..OBJECT };
        let decl = self.plain(module, &name, facts, Shape::Tuple(vec![Ty::leaf("String")]));
        self.add(decl);
    }

    /// A type with `from`, `into` or a schema of another type.
    fn declare_converted(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let other = self.any_type(1);
        let other = if self.facts(&other).schema { other } else { Ty::leaf("String") };
        let text = self.text(module, &other);
        let way = self.below(5);
        let value = self.value(module, &other, 2);
        let (serde, schemars, written) = match (way, &value) {
            (0, _) => (vec![format!("from = \"{text}\"")], Vec::new(), true),
            (1, _) => (vec![format!("try_from = \"{text}\"")], Vec::new(), true),
            (2, Some(_)) => (vec![format!("from = \"{text}\""), format!("into = \"{text}\"")], Vec::new(), false),
            (3, Some(_)) => (vec![format!("into = \"{text}\"")], Vec::new(), false),
            _ => (Vec::new(), vec![format!("with = \"{text}\"")], true),
        };
        let mut body = String::new();
        if matches!(way, 0 | 2) && serde.iter().any(|item| item.starts_with("from")) {
            body += &format!(
                "impl From<{text}> for {name} {{\n    fn from(_: {text}) -> Self {{\n        {name} {{ size: 1 }}\n    }}\n}}\n\n"
            );
        }
        if serde.iter().any(|item| item.starts_with("try_from")) {
            body += &format!(
                "impl TryFrom<{text}> for {name} {{\n    type Error = String;\n\n    fn try_from(_: {text}) -> Result<Self, String> {{\n        Ok({name} {{ size: 1 }})\n    }}\n}}\n\n"
            );
        }
        if let Some(value) = value.filter(|_| serde.iter().any(|item| item.starts_with("into"))) {
            body += &format!(
                "impl From<{name}> for {text} {{\n    fn from(_: {name}) -> Self {{\n        {value}\n    }}\n}}\n\n"
            );
            // The orphan rule requires a type of this file.
        }
        let derives = self.derives(module, &["JsonSchema"], Traits { default: true, ord: true, hash: true });
        let mut nodes = self.container(module, derives, Vec::new(), Vec::new());
        nodes.extend(serde.iter().map(|item| Node::fixed(format!("#[serde({item})]\n"))));
        nodes.extend(self.attributes("schemars", schemars));
        nodes.push(Node::fixed(format!("pub struct {name} {{\n    pub size: i32,\n}}\n\n{body}")));
        self.item(module, Node::around("", nodes, ""));
        let facts = Facts { default: true, ord: true, hash: true, object: false, written, ..OBJECT };
        let decl = self.plain(module, &name, facts, Shape::Struct(vec![("size".to_owned(), Ty::leaf("i32"))]));
        self.add(decl);
    }

    /// A `#[serde(remote = "…")]` definition, used by a newtype.
    fn declare_remote(&mut self) {
        let module = self.any_module();
        let (remote, definition, user) = (self.type_name(module), self.type_name(module), self.type_name(module));
        let traits = Traits { default: false, ord: false, hash: false };
        let mut nodes = vec![Node::fixed(format!(
            "#[derive(Clone, Debug)]\npub struct {remote} {{\n    pub size: i32,\n    pub name: String,\n}}\n\n"
        ))];
        let derives = self.derives(module, &["JsonSchema"], traits);
        let container = self.container(module, derives, vec![format!("remote = \"{remote}\"")], Vec::new());
        // The attribute and the type go together.
        nodes.extend(container.into_iter().map(Node::kept));
        nodes.push(Node::fixed(format!(
            "pub struct {definition} {{\n    pub size: i32,\n    /// A name.\n    pub name: String,\n}}\n\n"
        )));
        let derives = self.derives(module, &["JsonSchema"], traits);
        nodes.extend(derives);
        let with = if self.chance(50) {
            format!("#[serde(with = \"{definition}\")]")
        } else {
            format!("#[serde(with = \"{definition}\")]\n    #[schemars(with = \"{definition}\")]")
        };
        nodes.push(Node::fixed(format!("pub struct {user} {{\n    {with}\n    pub inner: {remote},\n}}\n\n")));
        self.item(module, Node::around("", nodes, ""));
        let decl = self.plain(module, &user, Facts { written: false, ..OBJECT }, Shape::Opaque);
        self.add(decl);
    }

    /// A struct that derives `KubeSchema`.
    fn declare_ruled(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        let count = 1 + self.below(4);
        let types = self.some_types(count, 1);
        let types = types.into_iter().filter(|(_, ty)| self.facts(ty).schema).collect();
        let rules: Vec<String> = (0..self.below(3)).map(|_| format!("validation = {}", self.rule(module))).collect();
        let extra = self.attributes("x_kube", rules);
        self.write_struct(module, &name, types, &["KubeSchema"], extra, true, 30);
    }

    /// A type without a schema, for skipped fields.
    fn declare_hidden(&mut self) {
        let module = self.any_module();
        let name = self.type_name(module);
        self.item(
            module,
            Node::part(format!(
                "#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]\npub struct {name};\n\n"
            )),
        );
        let facts = Facts { default: true, ord: true, hash: true, object: false, schema: false, ..OBJECT };
        let decl = self.plain(module, &name, facts, Shape::Unit);
        self.add(decl);
    }

    fn resource(mut self) -> Node {
        let status = self.chance(45).then(|| {
            let module = self.any_module();
            let name = self.type_name(module);
            let count = 1 + self.below(3);
            let types = self.some_types(count, 1);
            self.write_struct(module, &name, types, &["JsonSchema"], Vec::new(), false, 20);
            (module, name)
        });
        let module = self.any_module();
        let kind =
            self.pick(&["Gizmo", "Memcached", "Policy", "Proxy", "Batch", "Database", "HTTPThing", "Day"]).to_owned();
        let spec = self.pick(&["Definition", "Wanted", "Desired"]).to_owned();
        let root = if self.chance(15) { "Root".to_owned() } else { kind.clone() };
        let mode = match self.below(25) {
            0 => "disabled",
            1 => "manual",
            2 => "derived",
            _ => "",
        };
        let ruled = mode.is_empty() && self.chance(20);
        let no_spec = mode != "manual" && !ruled && self.chance(6);
        let count = 1 + self.below(4);
        let mut types = self.some_types(count, 2);
        if no_spec {
            types.retain(|(name, _)| !["kind", "status", "metadata", "api_version"].contains(&name.as_str()));
        }
        // Use every declaration.
        for (index, field) in
            (0..self.decls.len()).zip(["first", "second", "third", "fourth", "fifth", "sixth", "seventh"])
        {
            let decl = self.decls[index].clone();
            if decl.params.is_empty() && decl.facts.schema && self.chance(60) {
                types.push((field.to_owned(), Ty::Decl(index, Vec::new())));
            } else if decl.facts.schema && self.chance(60) {
                let decls = self.decls.split_off(index + 1);
                let ty = self.last_decl_type();
                self.decls.extend(decls);
                types.push((field.to_owned(), ty));
            }
        }
        if ruled {
            types.retain(|(_, ty)| self.facts(ty).schema);
        }
        let extra = self.kube_attributes(module, &kind, &root, status, mode, no_spec);
        let first: &[&str] = match (mode, ruled) {
            ("disabled", _) => &["CustomResource", "JsonSchema"],
            (_, true) => &["CustomResource", "KubeSchema"],
            _ => &["CustomResource", "JsonSchema"],
        };
        self.write_struct(module, &spec, types, first, extra, ruled, 20);
        if mode == "manual" {
            let (generator, schema, made) = (
                self.foreign(module, "SchemaGenerator"),
                self.foreign(module, "Schema"),
                self.foreign(module, "JsonSchema"),
            );
            let literal = self.foreign(module, "json_schema");
            let item = format!(
                "impl {made} for {root} {{\n    fn schema_name() -> std::borrow::Cow<'static, str> {{\n        \"{root}\".into()\n    }}\n\n    \
                 fn json_schema(generator: &mut {generator}) -> {schema} {{\n        let spec = generator.subschema_for::<{spec}>();\n        \
                 {literal}!({{ \"type\": \"object\", \"properties\": {{ \"spec\": spec }}, \"required\": [\"spec\"] }})\n    }}\n}}\n\n"
            );
            self.item(module, Node::fixed(item));
        }
        let path = self.path_below(module);
        let root = format!("{path}{root}");
        self.print(format!("//! crds: {root}\n\n"))
    }

    fn last_decl_type(&mut self) -> Ty {
        let arguments = vec![Ty::leaf("String"); self.decls.last().unwrap().params.len()];
        Ty::Decl(self.decls.len() - 1, arguments)
    }

    fn kube_attributes(
        &mut self,
        module: usize,
        kind: &str,
        root: &str,
        status: Option<(usize, String)>,
        mode: &str,
        no_spec: bool,
    ) -> Vec<Node> {
        let mut items = Vec::new();
        let has_status = status.is_some();
        if let Some((of, name)) = status {
            let path = self.path(module, of, &name);
            items.push(format!("status = \"{path}\""));
        }
        if self.chance(60) {
            items.push("namespaced".to_owned());
        }
        for _ in 0..self.below(3) {
            let number = self.number();
            items.push(match self.below(12) {
                0 => format!("shortname = \"s{number}\""),
                1 => format!("category = \"c{number}\""),
                2 => format!("selectable = \".spec.field{number}\""),
                3 => format!("printcolumn(name = \"C{number}\", type_ = \"string\", json_path = \".spec.name\")"),
                4 => format!("printcolumn(json_path = \".status.x\", priority = {number}, name = \"P\", format = \"int32\", type_ = \"integer\", description = \"a \\\"column\\\"\")"),
                5 => format!("printcolumn = r#\"{{\"name\":\"J{number}\",\"type\":\"date\",\"jsonPath\":\".metadata.creationTimestamp\",\"priority\":{number}}}\"#"),
                6 => format!("annotation(\"example.com/a{number}\", \"value {number}\")"),
                7 => format!("label(\"l{number}\", \"\")"),
                8 => format!("attr = \"doc = \\\"more {number}\\\"\""),
                9 => "attr = \"allow(dead_code)\"".to_owned(),
                10 if mode.is_empty() => format!("validation = {}", self.rule(module)),
                _ => format!("shortname = \"o{number}\""),
            });
        }
        let mut once = |world: &mut World, percent: u64, item: &str| {
            if world.chance(percent) {
                items.push(item.to_owned());
            }
        };
        once(self, 10, "plural = \"irregulars\"");
        once(self, 8, "singular = \"one\"");
        once(self, 5, "served = false");
        once(self, 5, "storage = false");
        once(self, 6, "deprecated");
        once(self, 10, "doc = \"# About\\n\\nEverything.\"");
        once(self, 3, "crates(kube_core = \"kube::core\", serde = \"serde\")");
        once(
            self,
            if has_status { 15 } else { 4 },
            "scale(spec_replicas_path = \".spec.size\", status_replicas_path = \".status.size\")",
        );
        if root != kind {
            items.push(format!("root = \"{root}\""));
        }
        if !mode.is_empty() {
            items.push(format!("schema = \"{mode}\""));
        }
        if no_spec {
            items.push("no_spec".to_owned());
        }
        let group = self.pick(&["example.com", "a.b.example.org"]);
        let version = self.pick(&["v1", "v1alpha1", "v2beta3"]);
        let mut nodes =
            vec![Node::fixed(format!("#[kube(group = \"{group}\", version = \"{version}\", kind = \"{kind}\")]\n"))];
        let essential = |item: &String| ["root", "schema", "no_spec"].iter().any(|key| item.starts_with(key));
        let (fixed, others): (Vec<String>, Vec<String>) = items.into_iter().partition(essential);
        nodes.extend(fixed.into_iter().map(|item| Node::fixed(format!("#[kube({item})]\n"))));
        nodes.extend(self.attributes("kube", others));
        nodes
    }
}
