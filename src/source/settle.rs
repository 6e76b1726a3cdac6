//! Reads on demand: a query records its dependencies, and runs again once they are read.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use proc_macro2::TokenStream;
use syn::spanned::Spanned as _;

use super::files::Pending;
use super::ident::crate_name;
use super::loader::Loader;
use super::macros::expansion;
use super::outline::has_word;
use super::package::{Package, PackageId};
use super::registry;
use super::resolve::Scopes;
use super::sources::{ItemRef, ModuleId, index};
use super::tree::SourceTree;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// The reason why a package is not read.
#[derive(Debug)]
pub enum Unread {
    /// Not downloaded: `name version`.
    NotDownloaded(String),
    /// Another reason, as text.
    Other(&'static str),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDownloaded(package) => write!(f, "the sources of {package} are not downloaded; run `cargo fetch`"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl SourceTree {
    /// Runs `ask` until everything it requests is read. Returns the last answer and the diagnostics of the new files.
    pub fn settle<T>(&mut self, mut ask: impl FnMut(&Self) -> T) -> (T, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let mut again = false;
        loop {
            let answer = ask(self);
            let packages = self.sources.requested_packages.take();
            let expands = self.sources.wants_expansion.take();
            if self.sources.requested.borrow().is_empty() && packages.is_empty() {
                if !expands {
                    return (answer, diagnostics);
                }
                diagnostics.extend(self.expand_macros());
                continue;
            }
            if !packages.is_empty() {
                diagnostics.extend(self.read_packages(packages));
                continue;
            }
            // The first round reads by name, the second everything, to bound the number of rounds.
            if std::mem::replace(&mut again, true) {
                self.sources.request_files(|_| true);
            }
            diagnostics.extend(self.read_requested());
        }
    }

    /// Requests the expansion of macro calls in the tree. Returns false until it is done.
    pub fn request_expansion(&self) -> bool {
        let done = self.sources.expanded.items == Some(self.sources.items.len());
        self.sources.wants_expansion.set(!done);
        done
    }

    fn expand_macros(&mut self) -> Diagnostics {
        let diagnostics = expansion::expand(&mut self.sources, &self.scopes);
        self.scopes = Scopes::build(&self.sources);
        self.impls.take();
        diagnostics
    }

    /// Returns true if a `macro_rules!` of a module has a call. Needs [`Self::request_expansion`].
    pub fn is_called_macro(&self, item: ItemRef) -> bool {
        self.sources.expanded.is_called(item)
    }

    /// The rules of the macros that an unexpanded call may mean.
    pub fn refused_macro(&self, module: ModuleId, call: &syn::Macro) -> Option<&TokenStream> {
        self.sources.expanded.refused(module, call.path.span())
    }

    /// Returns true if no request is pending.
    pub fn is_settled(&self) -> bool {
        let sources = &self.sources;
        let reads = !sources.requested.borrow().is_empty() || !sources.requested_packages.borrow().is_empty();
        !reads && !sources.wants_expansion.get()
    }

    fn read_packages(&mut self, packages: BTreeSet<(String, semver::Version)>) -> Diagnostics {
        let pending = Pending::default();
        let root = self.manifest().dir.clone();
        let workspace = self.manifest().workspace.clone();
        let mut loader = Loader::new(&mut self.sources, &root, &pending, true);
        for (name, version) in packages {
            let found = registry::locate(&workspace, &name, &version);
            let manifest = found.and_then(|dir| loader.sources.fetched_manifest(&dir, &name, &version));
            loader.sources.located.insert((name, version), manifest.is_some());
            let Some((manifest, cfg)) = manifest else { continue };
            let package = PackageId(index(loader.sources.packages.len()));
            let lib = manifest.targets.iter().find(|target| target.lib).cloned();
            loader.sources.packages.push(Package { manifest, cfg, lib: None, own: false, fetched: true });
            if let Some(lib) = lib {
                loader.target(package, lib.name, true, &lib.root);
            }
        }
        // A missing part of a registry package shows as an unresolved name, if anything needs it.
        self.read_requested()
    }

    /// Requests a package by its crate name in a module. Returns the reason if it cannot be read. `None` means that it
    /// is read next: [`SourceTree::settle`] discards the current answer and runs the query again.
    pub fn request_package(&self, module: ModuleId, name: &str) -> Option<Unread> {
        let here = self.manifest_of(module).dependencies.values();
        let anywhere = self.manifests().flat_map(|manifest| manifest.dependencies.values());
        let mut found = here.chain(anywhere).filter(|dependency| crate_name(&dependency.package) == name);
        let Some(dependency) = found.next() else { return Some(Unread::Other("dependency not found")) };
        let Some(version) = dependency.locked.clone() else {
            return Some(Unread::Other("its version was not found in `Cargo.lock`"));
        };
        if found.any(|other| other.locked.as_ref().is_some_and(|other| *other != version)) {
            return Some(Unread::Other("multiple versions of it are in use"));
        }
        if !dependency.registry {
            return Some(Unread::Other("it is not from a registry"));
        }
        let key = (dependency.package.clone(), version);
        match self.sources.located.get(&key) {
            None => {
                self.sources.requested_packages.borrow_mut().insert(key);
                None
            }
            Some(true) => Some(Unread::Other("its re-export is not supported")),
            Some(false) => Some(self.lacks(&key.0, &key.1)),
        }
    }

    /// Records that an answer depends on a package that is not downloaded.
    pub fn lacks(&self, package: &str, version: &semver::Version) -> Unread {
        self.sources.lacking.borrow_mut().insert((package.to_owned(), version.clone()));
        Unread::NotDownloaded(format!("{package} {version}"))
    }

    /// The missing packages that answers depend on, each as `name version`.
    pub fn lacking(&self) -> Vec<String> {
        self.sources.lacking.borrow().iter().map(|(package, version)| format!("{package} {version}")).collect()
    }

    /// Forgets which packages are missing, after a download.
    pub fn look_again(&mut self) {
        self.sources.lacking.take();
        self.sources.located.retain(|_, there| *there);
    }

    /// Parses every file. Returns the diagnostics of the files that were not parsed before.
    pub fn read_all(&mut self) -> Diagnostics {
        self.sources.request_files(|_| true);
        self.read_requested()
    }

    /// Parses the requested modules, and those that their names depend on.
    pub(super) fn read_requested(&mut self) -> Diagnostics {
        let pending = Pending::default();
        let mut loader = Loader::new(&mut self.sources, Path::new(""), &pending, false);
        loop {
            for module in loader.sources.requested.take() {
                loader.complete(module);
            }
            self.scopes = Scopes::build(loader.sources);
            if loader.sources.requested.borrow().is_empty() {
                break;
            }
        }
        let found = loader.diagnostics;
        self.impls.take();
        let fetched: BTreeSet<&str> = self.sources.fetched_files().collect();
        let ours =
            |diagnostic: &&Diagnostic| diagnostic.origin.as_ref().is_none_or(|origin| !fetched.contains(&*origin.path));
        found.iter().filter(ours).cloned().collect()
    }

    /// Requests all files with functions. Returns false if some are not parsed yet.
    pub fn request_code(&self) -> bool {
        self.sources.request_files(|file| file.text.contains("fn"));
        self.sources.requested.borrow().is_empty()
    }

    /// Requests all files that contain one of the words.
    pub fn request_words(&self, words: &BTreeSet<String>) {
        self.sources.request_files(|file| words.iter().any(|word| has_word(&file.text, word)));
    }

    /// Requests everything.
    pub fn request_all(&self) {
        self.sources.request_files(|_| true);
    }
}
