//! The manager's crate, built with the dependencies of generated projects.

use std::path::Path;

use quote::ToTokens as _;
use syn::visit::Visit;

use crate::generated;
use crate::golden::samples;

/// The operator chooses the Kubernetes version, so tests must name one.
const VERSION: &str = "--features=k8s-openapi/v1_36";

#[test]
fn against_a_mock_api_server() {
    let version = [VERSION];
    let for_life = ["--features=k8s-openapi/v1_36,anyhow,leader-for-life"];
    let webhook = ["--features=k8s-openapi/v1_36,testing,webhook"];
    let _building = generated::building();
    let cargo = |arguments: &[&str]| drop(crate::projects::cargo(&generated::manager(), arguments));
    cargo(&["fmt", "--check"]);
    for features in [version, for_life, webhook] {
        cargo(&[&["clippy", "--quiet", "--all-targets"], &features[..], &["--", "-D", "warnings"]].concat());
    }
    cargo(&[&["test", "--quiet"], &version[..]].concat());
    cargo(&[&["test", "--quiet", "--lib", "--test=election"], &for_life[..]].concat());
    for tests in ["--lib", "--doc"] {
        cargo(&[&["test", "--quiet", tests], &webhook[..]].concat());
    }
}

/// Public items without an example.
#[derive(Default)]
struct Bare {
    found: Vec<String>,
    /// Prefix of names in the current type or trait: `Name::`.
    inside: String,
}

impl Bare {
    fn look(&mut self, visibility: &syn::Visibility, attributes: &[syn::Attribute], name: &syn::Ident) {
        let documented = attributes.iter().any(|attribute| {
            attribute.path().is_ident("doc") && attribute.meta.to_token_stream().to_string().contains("```")
        });
        if matches!(visibility, syn::Visibility::Public(_)) && !documented {
            self.found.push(format!("{}{name}", self.inside));
        }
    }
}

impl Visit<'_> for Bare {
    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        self.look(&item.vis, &item.attrs, &item.sig.ident);
    }

    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        self.look(&item.vis, &item.attrs, &item.ident);
    }

    fn visit_item_enum(&mut self, item: &syn::ItemEnum) {
        self.look(&item.vis, &item.attrs, &item.ident);
    }

    fn visit_item_trait(&mut self, item: &syn::ItemTrait) {
        self.look(&item.vis, &item.attrs, &item.ident);
        for part in &item.items {
            if let syn::TraitItem::Fn(function) = part {
                self.inside = format!("{}::", item.ident);
                self.look(&item.vis, &function.attrs, &function.sig.ident);
            }
        }
        self.inside.clear();
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        self.inside = format!("{}::", item.self_ty.to_token_stream());
        for part in &item.items {
            if let syn::ImplItem::Fn(function) = part {
                self.look(&function.vis, &function.attrs, &function.sig.ident);
            }
        }
        self.inside.clear();
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        let tests = item.attrs.iter().any(|attribute| attribute.meta.to_token_stream().to_string() == "cfg (test)");
        if !tests {
            syn::visit::visit_item_mod(self, item);
        }
    }
}

#[test]
fn everything_public_has_an_example() {
    let mut bare = Bare::default();
    for (path, text) in samples::libraries() {
        if path.starts_with("manager/src") && Path::new(&path).extension().is_some_and(|extension| extension == "rs") {
            bare.visit_file(&syn::parse_file(&text).unwrap());
        }
    }
    assert_eq!(bare.found, [""; 0]);

    let mut bare = Bare::default();
    bare.visit_file(
        &syn::parse_file("/// Text.\npub struct A;\nimpl A {\n/// Text.\npub fn b() {}\nfn c() {}\n}").unwrap(),
    );
    assert_eq!(bare.found, ["A", "A::b"]);
}
