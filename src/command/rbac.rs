//! `rbac`: the source → the permissions that it uses.

mod lint;
mod verify;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use super::generate::{features, selection};
use super::outcome::{Outcome, Usage as Misuse};
use crate::cli::{DataFormat, DeriveArgs, DeriveFormat, ExplainArgs, FeatureArgs, PackageArgs};
use crate::diagnostic::{Diagnostic, Diagnostics, Problem};
use crate::k8s;
use crate::ops::elsewhere::elsewhere;
use crate::ops::generate::own_project;
use crate::ops::manifests::{cluster_wide, scope};
use crate::plan::Draft;
use crate::rbac::allow::{self, Allow};
use crate::rbac::check;
use crate::rbac::declared::Manifests;
use crate::rbac::derive::{self, Doubt, Question, propose};
use crate::rbac::environment::Environment;
use crate::rbac::lint::names::Served;
use crate::rbac::marker::RbacMarker;
use crate::rbac::scope::OperatorScope;
use crate::rbac::{PolicyRule, REQUEST_VERBS, RequestScope, Target, Usage, quoted};
use crate::source::{self, marker};
use crate::source::{Packages, Pending, SourceTree};
use crate::term::Term;
use crate::yaml;

pub(super) use self::lint::run as lint;
pub(super) use self::verify::run as verify;

/// The namespace of an operator that has no PROJECT file: what kustomizations replace.
const NAMESPACE: &str = "system";

pub(super) fn derive(args: &DeriveArgs, term: &mut Term) -> Result<Outcome> {
    let part = CodeScope { program: args.code.bin.as_deref(), ..CodeScope::default() };
    let mut code = Code::read(&args.code.features, &args.code.packages, part)?.below(&args.code.packages)?;
    if code.found.has_errors() {
        return code.failed(args.code.output, term);
    }
    let (roles, unbound) = propose::roles(&code.usages, &args.role_name, &code.home);
    code.found.extend(unbound);
    code.found.sort();
    if args.code.output == DataFormat::Json {
        let markers = propose::markers(&code.usages, &code.home);
        return code.json(code.usages.iter(), json!({ "roles": roles, "markers": markers }), term);
    }
    term.diagnostics(&code.found);
    code.tell_elsewhere(term);
    match args.format {
        DeriveFormat::Roles => term.data(&yaml::file(None, &roles))?,
        DeriveFormat::Markers => {
            let lines = propose::markers(&code.usages, &code.home).into_iter().map(|line| line + "\n");
            term.data(&lines.collect::<String>())?;
        }
    }
    Ok(Outcome::Done)
}

pub(super) fn explain(args: &ExplainArgs, term: &mut Term) -> Result<Outcome> {
    let rule = rule(&args.rule.join(" ")).map_err(Misuse)?;
    let part = CodeScope { program: args.code.bin.as_deref(), ..CodeScope::default() };
    let code = Code::read(&args.code.features, &args.code.packages, part)?.below(&args.code.packages)?;
    if code.found.has_errors() {
        return code.failed(args.code.output, term);
    }
    let usages = code.usages.iter().filter(|usage| rule.grants(&usage.permission));
    if args.code.output == DataFormat::Json {
        return code.json(usages, json!({}), term);
    }
    let lines: String = usages.map(line).collect();
    term.diagnostics(&code.found);
    if lines.is_empty() {
        term.status("nothing in the code is known to use it");
    }
    term.data(&lines)?;
    Ok(Outcome::Done)
}

/// Which part of the code counts, and how it is run.
#[derive(Debug, Clone, Copy, Default)]
struct CodeScope<'a> {
    /// One binary.
    program: Option<&'a str>,
    /// Files that say how the operator is run.
    manifests: &'a [PathBuf],
}

/// The files that only other binaries use.
fn others(tree: &SourceTree, question: &Question) -> BTreeSet<String> {
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
struct Code {
    root: PathBuf,
    /// There is a PROJECT file.
    is_project: bool,
    /// The namespaces in which the operator works.
    home: OperatorScope,
    /// The manager can elect a leader for life.
    leader_for_life: bool,
    usages: Vec<Usage>,
    /// Calls that could not be followed; `found` has a finding for each.
    doubts: Vec<Doubt>,
    found: Diagnostics,
    markers: Vec<RbacMarker>,
    /// Errors in the markers.
    of_markers: Diagnostics,
    allows: Vec<Allow>,
    /// The custom kinds that the code declares.
    served: Served,
    /// The place of other code, if this code has no request.
    elsewhere: Option<Diagnostic>,
}

impl Code {
    fn read(features_of: &FeatureArgs, args: &PackageArgs, part: CodeScope<'_>) -> Result<Self> {
        let packages = Packages::find(Path::new("."), &selection(args))?;
        let selections = packages.features(&features(features_of)).map_err(Misuse)?;
        let project = own_project(&packages.root)?;
        let home = match &project {
            Some(project) => scope(&Draft::open(&packages.root), project)?,
            None => OperatorScope { own: NAMESPACE.to_owned(), ..OperatorScope::default() },
        };
        let mut code = Self {
            root: std::path::absolute(&packages.root)?,
            is_project: project.is_some(),
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
        if let Ok(manifests) = Manifests::of_files(&packages.root, part.manifests) {
            manifests.texts().iter().for_each(|text| environment.deploy(text));
        }
        let question = Question { program: part.program.map(source::crate_name), environment };
        let mut programs = BTreeSet::new();
        for (member, features) in packages.members.iter().zip(&selections) {
            let (mut tree, wrong) = k8s::load_below(&packages.root, &member.dir, features, &Pending::default())?;
            code.note(&wrong);
            programs.extend(tree.programs().map(str::to_owned));
            if question.program.as_ref().is_none_or(|program| tree.programs().any(|found| found == program)) {
                code.add(&mut tree, &question);
            }
        }
        if let (Some(name), Some(program)) = (part.program, &question.program)
            && !programs.contains(program)
        {
            let problem = Problem::new(format!("there is no binary `{name}`"));
            return Err(Misuse(match quoted(programs).as_str() {
                "" => problem,
                names => problem.help(format!("there are {names}")),
            })
            .into());
        }
        // Packages that depend on one another have calls in common.
        let mut seen = BTreeSet::new();
        code.usages.retain(|usage| {
            let Usage { permission, scope, origin, .. } = usage;
            seen.insert((permission.clone(), scope.clone(), origin.path.clone(), origin.range.start))
        });
        code.found.sort();
        if code.usages.is_empty() && code.doubts.is_empty() {
            code.elsewhere = elsewhere(&packages).map(|elsewhere| elsewhere.note("no request was found"));
        }
        Ok(code)
    }

    /// Says where requests may be, if there is none here.
    fn tell_elsewhere(&self, term: &mut Term) {
        if let Some(elsewhere) = &self.elsewhere {
            term.status(&elsewhere.sentence());
        }
    }

    fn add(&mut self, tree: &mut SourceTree, question: &Question) {
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

    /// Only the calls in files and folders that the command line names, if it names any.
    fn below(mut self, args: &PackageArgs) -> Result<Self> {
        let wanted = self.wanted(&args.paths)?;
        self.usages.retain(|usage| wanted(&usage.origin.path));
        Ok(self)
    }

    /// Returns true if these files and folders contain a file of the source. An empty list contains every file.
    fn wanted(&self, paths: &[PathBuf]) -> Result<impl Fn(&str) -> bool + use<>> {
        let paths: Vec<PathBuf> = paths.iter().map(std::path::absolute).collect::<Result<_, _>>()?;
        let root = self.root.clone();
        Ok(move |path: &str| paths.is_empty() || paths.iter().any(|wanted| root.join(path).starts_with(wanted)))
    }

    fn failed(&self, output: DataFormat, term: &mut Term) -> Result<Outcome> {
        match output {
            DataFormat::Text => term.diagnostics(&self.found),
            DataFormat::Json => {
                self.json([].into_iter(), json!({}), term)?;
            }
        }
        Ok(Outcome::Failed)
    }

    /// One document: what was asked for, the calls, and what could not be followed.
    fn json<'a>(
        &self,
        usages: impl Iterator<Item = &'a Usage>,
        mut document: Value,
        term: &mut Term,
    ) -> Result<Outcome> {
        document["uses"] = usages.map(object).collect();
        let found: Diagnostics = self.found.iter().chain(&self.elsewhere).cloned().collect();
        document["diagnostics"] = json!(found.to_json());
        term.data(&format!("{document:#}\n"))?;
        Ok(Outcome::Done)
    }
}

fn object(usage: &Usage) -> Value {
    let (line, column) = usage.origin.line_column();
    let mut object = json!({
        "verb": usage.permission.verb,
        "scope": match &usage.scope {
            RequestScope::Cluster => "cluster",
            RequestScope::Own => "own",
            RequestScope::Namespace(_) => "namespace",
            RequestScope::Namespaced | RequestScope::OfObject => "namespaced",
        },
        "call": usage.call,
        "file": &*usage.origin.path,
        "line": line,
        "column": column,
    });
    match &usage.permission.target {
        Target::Resource { group, resource, .. } => {
            object["group"] = json!(group);
            object["resource"] = json!(resource);
        }
        Target::Url(url) => object["url"] = json!(url),
    }
    if let RequestScope::Namespace(name) = &usage.scope {
        object["namespace"] = json!(name);
    }
    if let Some(role) = usage.role {
        object["role"] = json!(role);
    }
    object
}

/// `file:line:column: permission, where: call`
fn line(usage: &Usage) -> String {
    let (line, column) = usage.origin.line_column();
    let target = &usage.permission.target;
    let place = match &usage.scope {
        RequestScope::Cluster => "cluster-wide".to_owned(),
        RequestScope::Own => "in the namespace of the operator".to_owned(),
        RequestScope::Namespace(name) => format!("in the namespace `{name}`"),
        RequestScope::Namespaced | RequestScope::OfObject => "in any namespace".to_owned(),
    };
    let (verb, call, path) = (&usage.permission.verb, &usage.call, &usage.origin.path);
    format!("{path}:{line}:{column}: {verb} {target} {place}: {call}\n")
}

/// The rule that somebody asks about; what is left out stands for everything.
fn rule(text: &str) -> Result<PolicyRule, Problem> {
    if !text.contains('=') {
        return words(text);
    }
    let text = text.trim_start_matches(['/', ' ']);
    let prefix = if text.starts_with('+') { "" } else { "+kubebuilder:rbac:" };
    let marker = marker::parse(&format!("{prefix}{text}")).map_err(|wrong| {
        let problem = Problem::new(wrong.message);
        wrong.help.into_iter().fold(problem, Problem::help)
    })?;
    let core = |group: String| if group == "core" { String::new() } else { group };
    Ok(open(PolicyRule {
        groups: marker.strings("groups").into_iter().map(core).collect(),
        resources: marker.strings("resources"),
        urls: marker.strings("urls"),
        verbs: marker.strings("verbs"),
        ..PolicyRule::default()
    }))
}

fn words(text: &str) -> Result<PolicyRule, Problem> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_verb = |word: &str| REQUEST_VERBS.contains(&word);
    let (verb, target) = match words.as_slice() {
        [verb] if is_verb(verb) => (Some(*verb), None),
        [target] => (None, Some(*target)),
        [verb, target] => (Some(*verb), Some(*target)),
        _ => {
            let problem = Problem::new(format!("`{text}` is no rule"));
            return Err(problem.help("write a verb and a resource, such as `patch deployments.apps`"));
        }
    };
    let mut rule = PolicyRule { verbs: verb.into_iter().map(str::to_owned).collect(), ..PolicyRule::default() };
    match target {
        Some(url) if url.starts_with('/') => rule.urls.push(url.to_owned()),
        Some(target) => {
            // `deployments.apps/scale` and `deployments/scale.apps` are the same.
            let (plural, rest) = target.split_at(target.find(['.', '/']).unwrap_or(target.len()));
            let (mut group, mut sub) = (None, "");
            if let Some(rest) = rest.strip_prefix('/') {
                let (first, second) = rest.split_once('.').map_or((rest, None), |(sub, group)| (sub, Some(group)));
                (sub, group) = (first, second);
            } else if let Some(rest) = rest.strip_prefix('.') {
                let (first, second) = rest.split_once('/').unwrap_or((rest, ""));
                (group, sub) = (Some(first), second);
            }
            rule.resources.push(if sub.is_empty() { plural.to_owned() } else { format!("{plural}/{sub}") });
            rule.groups.extend(group.map(str::to_owned));
        }
        None => {}
    }
    Ok(open(rule))
}

/// Fills what is not asked about with everything.
fn open(mut rule: PolicyRule) -> PolicyRule {
    let all = || vec!["*".to_owned()];
    if rule.verbs.is_empty() {
        rule.verbs = all();
    }
    if rule.urls.is_empty() {
        if rule.groups.is_empty() {
            rule.groups = all();
        }
        if rule.resources.is_empty() {
            rule.resources = all();
        }
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_asked_about_as_people_write_them() {
        for (text, expected) in [
            ("patch deployments.apps", "apps|deployments||patch"),
            ("patch deployments", "*|deployments||patch"),
            ("deployments.apps/scale", "apps|deployments/scale||*"),
            ("deployments/scale.apps", "apps|deployments/scale||*"),
            ("pods/log", "*|pods/log||*"),
            ("list", "*|*||list"),
            ("get /metrics", "||/metrics|get"),
            ("/metrics", "||/metrics|*"),
            ("groups=apps;core,resources=deployments;pods,verbs=get;list", "apps;|deployments;pods||get;list"),
            ("// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get,namespace=x", "|pods||get"),
        ] {
            let rule = rule(text).unwrap();
            let lists = [&rule.groups, &rule.resources, &rule.urls, &rule.verbs].map(|list| list.join(";"));
            assert_eq!(lists.join("|"), expected, "{text}");
        }
        assert_eq!(rule("a b c").unwrap_err().message, "`a b c` is no rule");
        let wrong = rule("group=apps,verbs=get").unwrap_err();
        assert_eq!(wrong.message, "unknown argument \"group\"");
        assert_eq!(wrong.help.as_deref(), Some("did you mean `groups`?"));
    }
}
