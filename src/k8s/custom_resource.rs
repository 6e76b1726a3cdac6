//! Reads the names of a custom resource from `#[kube(…)]`, without validating the rest of the attribute.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Item, Meta};

/// The names of a custom resource in `#[kube(…)]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomResource {
    /// API group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// The type that the derive generates.
    pub root: String,
    /// The name in URLs, if it is explicit.
    pub plural: Option<String>,
    /// Short names for kubectl.
    pub short_names: Vec<String>,
    /// True if objects live in namespaces.
    pub namespaced: bool,
    /// The keys `schema` and `no_spec` may give the root a schema that is not derived from spec and status.
    pub own_schema: bool,
    /// The type of the status, as written.
    pub status: Option<String>,
    /// The path of kube's core, if it is not the default.
    pub kube_core: Option<String>,
    /// The path of `serde_json`, if it is not the default.
    pub serde_json: Option<String>,
}

/// The name of a custom resource as `Kind.group`.
pub fn kind_name(kind: &str, group: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

impl CustomResource {
    /// The name as `Kind.group`.
    pub fn name(&self) -> String {
        kind_name(&self.kind, &self.group)
    }

    /// The custom resource whose spec is this item. Before version 1, kube uses `struct` in place of `root`.
    pub fn of(item: &Item) -> Option<Self> {
        let attributes = match item {
            Item::Struct(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            _ => return None,
        };
        Self::from_attributes(attributes)
    }

    fn from_attributes(attributes: &[Attribute]) -> Option<Self> {
        let mut found = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("kube")) {
            if let Meta::List(list) = &attribute.meta {
                found.read(list.tokens.clone());
            }
        }
        if found.root.is_empty() {
            found.root.clone_from(&found.kind);
        }
        (!found.kind.is_empty()).then_some(found)
    }

    fn read(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let TokenTree::Ident(name) = token else { continue };
            self.own_schema |= name == "schema" || name == "no_spec";
            match tokens.peek() {
                Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {}
                Some(TokenTree::Group(group)) if name == "crates" => {
                    self.read(group.stream());
                    continue;
                }
                _ => {
                    self.namespaced |= name == "namespaced";
                    continue;
                }
            }
            tokens.next();
            let Some(TokenTree::Literal(value)) = tokens.next() else { continue };
            let Ok(value) = syn::parse_str::<syn::LitStr>(&value.to_string()) else { continue };
            match name.to_string().as_str() {
                "group" => self.group = value.value(),
                "version" => self.version = value.value(),
                "kind" => self.kind = value.value(),
                "root" | "struct" => self.root = value.value(),
                "shortname" => self.short_names.push(value.value()),
                "plural" => self.plural = Some(value.value()),
                "status" => self.status = Some(value.value()),
                "kube_core" => self.kube_core = Some(value.value()),
                "serde_json" => self.serde_json = Some(value.value()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_any_attribute_of_kube() {
        let read = |text: &str| CustomResource::of(&syn::parse_str(text).unwrap());
        let full = "#[kube(group = \"g.io\", version = \"v1\", kind = \"A\", shortname = \"a\")] \
                    #[kube(namespaced, status = \"x::S\", plural = \"as\", struct = \"R\", unheard(of), scale(kind = \"no\"))] \
                    #[kube(crates(kube_core = \"::k::core\", serde = \"s\"), validation = Rule::new(kind))] struct Spec;";
        let expected = CustomResource {
            group: "g.io".to_owned(),
            version: "v1".to_owned(),
            kind: "A".to_owned(),
            root: "R".to_owned(),
            plural: Some("as".to_owned()),
            short_names: vec!["a".to_owned()],
            namespaced: true,
            own_schema: false,
            status: Some("x::S".to_owned()),
            kube_core: Some("::k::core".to_owned()),
            serde_json: None,
        };
        assert_eq!(read(full), Some(expected));
        assert_eq!(read("#[kube(kind = \"A\", root = \"R\")] struct Spec;").unwrap().root, "R");
        assert_eq!(read("#[kube(group = \"g.io\", kind = \"A\")] enum Spec {}").unwrap().root, "A");
        assert!(read("#[kube(kind = \"A\", schema = \"disabled\")] struct Spec;").unwrap().own_schema);
        assert!(read("#[kube(kind = \"A\", no_spec)] struct Spec;").unwrap().own_schema);
        assert_eq!(read("#[kube(namespaced)] struct Spec;"), None);
        assert_eq!(read("#[other(kind = \"A\")] struct Spec;"), None);
    }
}
