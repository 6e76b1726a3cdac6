//! `rbac`: the source → the permissions that it uses and declares, and a judgement of both.

mod declared;
pub(crate) mod lint;
pub(crate) mod verify;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::UsageError;
use super::elsewhere::elsewhere;
use super::generate::own_project;
use super::manifests::{cluster_wide, scope};
use crate::diagnostic::{Diagnostic, Diagnostics, Problem};
use crate::k8s;
use crate::plan::Draft;
use crate::project::Project;
use crate::rbac::allow::{self, Allow};
use crate::rbac::check;
use crate::rbac::declared::RoleManifests;
use crate::rbac::derive::{self, DerivationQuestion, Doubt};
use crate::rbac::environment::Environment;
use crate::rbac::lint::names::Served;
use crate::rbac::marker::RbacMarker;
use crate::rbac::scope::OperatorScope;
use crate::rbac::{RbacUsage, quoted};
use crate::source::{self, FeatureSelection, PackageSelection, Packages, Pending, SourceTree};

/// The namespace of an operator that has no PROJECT file: what kustomizations replace.
const NAMESPACE: &str = "system";

/// The code to read.
#[derive(Debug, Clone, Default)]
pub(crate) struct RbacSourceOptions {
    pub(crate) packages: PackageSelection,
    pub(crate) features: FeatureSelection,
    /// One binary; `None` for all.
    pub(crate) program: Option<String>,
    /// Files that say how the operator is run.
    pub(crate) manifests: Vec<PathBuf>,
}

/// The files that only other binaries use.
fn others(tree: &SourceTree, question: &DerivationQuestion) -> BTreeSet<String> {
    let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
    for item in tree.items() {
        let module = tree.module(item);
        let path = tree.origin(module, syn::spanned::Spanned::span(tree.item(item))).path.to_string();
        if question.is_about(tree, module) {
            own.insert(path)
        } else {
            others.insert(path)
        };
    }
    &others - &own
}

/// The permissions that the code uses and declares.
pub(crate) struct RbacSource {
    pub(crate) root: PathBuf,
    /// There is a PROJECT file.
    pub(crate) is_project: bool,
    /// The role without markers is handwritten, or derived from the code.
    pub(crate) keeps_role: bool,
    /// The namespaces in which the operator works.
    pub(crate) home: OperatorScope,
    /// The manager can elect a leader for life.
    pub(crate) leader_for_life: bool,
    pub(crate) usages: Vec<RbacUsage>,
    /// Calls that could not be followed; `found` has a finding for each.
    pub(crate) doubts: Vec<Doubt>,
    pub(crate) found: Diagnostics,
    pub(crate) markers: Vec<RbacMarker>,
    /// Errors in the markers.
    pub(crate) of_markers: Diagnostics,
    pub(crate) allows: Vec<Allow>,
    /// The custom kinds that the code declares.
    pub(crate) served: Served,
    /// The place of other code, if this code has no request.
    pub(crate) elsewhere: Option<Diagnostic>,
}

impl RbacSource {
    /// Reads the code, and the manifests that say how the operator is run.
    pub(crate) fn read(options: &RbacSourceOptions) -> Result<Self> {
        let packages = Packages::find(Path::new("."), &options.packages)?;
        let selections = packages.features(&options.features).map_err(UsageError)?;
        let project = own_project(&packages.root)?;
        let home = match &project {
            Some(project) => scope(&Draft::open(&packages.root), project)?,
            None => OperatorScope { own: NAMESPACE.to_owned(), ..OperatorScope::default() },
        };
        let mut code = Self {
            root: std::path::absolute(&packages.root)?,
            is_project: project.is_some(),
            keeps_role: project.as_ref().is_some_and(Project::is_adopted),
            home,
            leader_for_life: false,
            usages: Vec::new(),
            doubts: Vec::new(),
            found: Diagnostics::default(),
            markers: Vec::new(),
            of_markers: Diagnostics::default(),
            allows: Vec::new(),
            served: Served::default(),
            elsewhere: None,
        };
        let mut environment = Environment::below(&packages.root);
        // Their errors are reported where they are read.
        if let Ok(manifests) = RoleManifests::of_files(&packages.root, &options.manifests) {
            manifests.texts().iter().for_each(|text| environment.deploy(text));
        }
        let question = DerivationQuestion { program: options.program.as_deref().map(source::crate_name), environment };
        let mut programs = BTreeSet::new();
        for (member, features) in packages.members.iter().zip(&selections) {
            let (mut tree, wrong) = k8s::load_below(&packages.root, &member.dir, features, &Pending::default())?;
            code.note(&wrong);
            programs.extend(tree.programs().map(str::to_owned));
            if question.program.as_ref().is_none_or(|program| tree.programs().any(|found| found == program)) {
                code.add(&mut tree, &question);
            }
        }
        if let (Some(name), Some(program)) = (&options.program, &question.program)
            && !programs.contains(program)
        {
            let problem = Problem::new(format!("binary `{name}` not found"));
            return Err(UsageError(match quoted(programs).as_str() {
                "" => problem,
                names => problem.help(format!("the binaries are {names}")),
            })
            .into());
        }
        // Packages that depend on one another have calls in common.
        let mut seen = BTreeSet::new();
        code.usages.retain(|usage| {
            let RbacUsage { permission, scope, origin, .. } = usage;
            seen.insert((permission.clone(), scope.clone(), origin.path.clone(), origin.range.start))
        });
        code.found.sort();
        if code.usages.is_empty() && code.doubts.is_empty() {
            code.elsewhere = elsewhere(&packages).map(|elsewhere| elsewhere.note("no request was found"));
        }
        Ok(code)
    }

    fn add(&mut self, tree: &mut SourceTree, question: &DerivationQuestion) {
        self.leader_for_life |= derive::leader_for_life(tree);
        let ((usages, doubts), read) = tree.settle(|tree| derive::uses_of(tree, question));
        self.usages.extend(usages);
        self.found.extend(doubts.iter().map(Diagnostic::from).collect());
        self.doubts.extend(doubts);
        self.note(&read);
        let ((markers, diagnostics), read) = tree.settle(check::markers);
        let others = others(tree, question);
        self.markers.extend(markers.into_iter().filter(|marker| !others.contains(&*marker.origin.path)));
        self.of_markers.extend(diagnostics);
        self.note(&read);
        for item in tree.all_items() {
            if let Some(kind) = k8s::custom_resource(tree, item) {
                let plural = crate::api::plural_of(&kind);
                self.served.entry(kind.group).or_default().insert(plural, kind.kind.to_lowercase());
            }
        }
        let (kinds, read) = tree.settle(cluster_wide);
        self.home.cluster_wide.extend(kinds);
        self.note(&read);
        let (comments, read) = tree.settle(|tree| tree.comments(allow::WORD));
        let comments = comments.iter().filter(|comment| !others.contains(&*comment.origin.path));
        self.allows.extend(comments.filter_map(|comment| Allow::read(&comment.text, &comment.origin)));
        self.note(&read);
    }

    /// Takes what reading the source says. A module that is generated later is something that can't be followed.
    fn note(&mut self, read: &Diagnostics) {
        for diagnostic in read {
            match Doubt::of_module(diagnostic) {
                Some(doubt) => {
                    self.found.push(Diagnostic::from(&doubt));
                    self.doubts.push(doubt);
                }
                None => self.found.push(diagnostic.clone()),
            }
        }
    }

    /// Returns true if the role of the project declares the permissions, since no marker does.
    pub(crate) fn has_role_only(&self) -> bool {
        self.keeps_role && self.markers.is_empty()
    }

    /// Keeps only the calls in these files and folders; all, if there are none.
    pub(crate) fn below(mut self, paths: &[PathBuf]) -> Result<Self> {
        let wanted = self.wanted(paths)?;
        self.usages.retain(|usage| wanted(&usage.origin.path));
        Ok(self)
    }

    /// Returns true if these files and folders contain a file of the source. An empty list contains every file.
    pub(crate) fn wanted(&self, paths: &[PathBuf]) -> Result<impl Fn(&str) -> bool + use<>> {
        let paths: Vec<PathBuf> = paths.iter().map(std::path::absolute).collect::<Result<_, _>>()?;
        let root = self.root.clone();
        Ok(move |path: &str| paths.is_empty() || paths.iter().any(|wanted| root.join(path).starts_with(wanted)))
    }
}
