//! `edit`: applies the difference between two scaffolds to the files of the user.

mod multigroup;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;
use similar::TextDiff;

use super::choice::Choice;
use super::replay::{Scaffold, replay};
use super::{Findings, UsageError, crd_place, init, manifests, rename};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin, Problem};
use crate::edit::merge::{ConflictChoice, MergeConflict, Merged, marked, merge, without};
use crate::edit::structure;
use crate::parallel;
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::crd_place::CrdPlace;
use crate::project::manager::ManagerSource;
use crate::project::name::Domain;
use crate::project::{Project, Resource};
use crate::scaffold::{self, manager};

/// Options of `edit`.
#[derive(Debug, Clone, Default)]
pub(crate) struct EditOptions {
    pub(crate) choices: Vec<Choice>,
    /// The layout for several API groups, or for one; `None` keeps it.
    pub(crate) multigroup: Option<bool>,
    /// The suffix of the API groups.
    pub(crate) domain: Option<String>,
    /// The URL of the repository.
    pub(crate) repo: Option<String>,
    /// The place of CRDs beside `config/crd/bases`: a pattern or a folder. Empty for none.
    pub(crate) crds: Option<String>,
    /// Plans the generated manifests as well.
    pub(crate) generate: bool,
    /// Overwrites files that exist with different content.
    pub(crate) force: bool,
}

/// The treatment of a file that the author has edited, and that is no longer part of the scaffold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edited {
    /// Keep it, with a warning.
    Keep,
    /// Report an error that shows the edits.
    Refuse,
    /// Remove it.
    Discard,
}

/// The treatment of changes of the author.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeRules {
    /// For files that only the new scaffold has.
    pub(crate) if_exists: IfExists,
    /// For files that only the old scaffold has.
    pub(crate) edited: Edited,
    /// For lines that both have changed.
    pub(crate) conflicts: ConflictChoice,
    /// The command has the flag `--conflicts`.
    pub(crate) conflicts_flag: bool,
    /// Merges by structure if lines conflict. Not for a guess of the old scaffold, where a conflict means a wrong guess.
    pub(crate) by_structure: bool,
}

impl MergeRules {
    /// Conflicts are errors.
    pub(crate) fn new(if_exists: IfExists, edited: Edited) -> Self {
        Self { if_exists, edited, conflicts: ConflictChoice::Refuse, conflicts_flag: false, by_structure: true }
    }
}

/// Plans the difference that the choices make in the files of the draft. The value says what is left to do in clusters.
pub(crate) fn run(draft: &mut Draft, options: &EditOptions) -> Result<Findings<String>> {
    let mut next = String::new();
    let mut found = Diagnostics::default();
    if options.domain.is_some() || options.repo.is_some() {
        let before = Project::recorded(draft)?;
        let after = renamed(&before, options)?;
        if after != before {
            found.extend(rename::apply(draft, &before, &after)?);
            next = before
                .resources
                .iter()
                .zip(&after.resources)
                .filter_map(|(old, new)| rename::in_clusters(old, new))
                .collect();
        }
    }
    if found.has_errors() {
        return Ok(Findings { value: next, diagnostics: found });
    }
    let recorded = Project::recorded(draft)?;
    let if_exists = if options.force { IfExists::Overwrite } else { IfExists::Skip };
    let rules = MergeRules::new(if_exists, Edited::Keep);
    let mut project = recorded.clone();
    if let Some(multigroup) = options.multigroup {
        project = multigroup::regroup(draft, project, multigroup, &mut found)?;
    }
    let mut wanted = project.clone();
    for choice in &options.choices {
        choice.apply_to(&mut wanted);
    }
    refuse_for_adopted(&recorded, options)?;
    if let Some(crds) = &options.crds {
        let place = CrdPlace::parse_choice(crds).map_err(UsageError)?;
        if let (Some(from), Some(to)) = (&recorded.crds, &place) {
            let kinds = wanted.resources.iter().filter(|kind| kind.api.is_some()).map(Resource::crd_file_names);
            found.extend(crd_place::relocate_all(draft, from, to, &kinds.collect::<Vec<_>>())?);
        }
        wanted.crds = place;
    }
    let after = replay(&wanted)?;
    if wanted != project {
        found.extend(apply_difference(draft, &replay(&project)?, &after, rules)?);
    }
    // Files may follow another choice than PROJECT records.
    let rules = MergeRules { by_structure: false, ..rules };
    for choice in options.choices.iter().filter(|choice| choice.is_of(&project)) {
        for other in choice.others(&wanted) {
            let _other_choices_conflicts =
                apply_difference(draft, &replay(&other.applied_to(&wanted))?, &after, rules)?;
        }
    }
    if wanted.manager != recorded.manager {
        manager::check(draft.root(), &wanted.manager)?;
    }
    let carries = |project: &Project| project.manager == ManagerSource::Vendored;
    if carries(&wanted) != carries(&recorded) {
        found.extend(if carries(&wanted) { manager::files(draft, options.force)? } else { manager::remove(draft)? });
    }
    if wanted != recorded {
        draft.edit(&RelPath::new(RECORD)?, |before| Ok(wanted.to_yaml_over(before)))?;
    }
    if options.generate && !found.has_errors() {
        found.extend(manifests::manifests(draft, &wanted)?);
    }
    Ok(Findings { value: next, diagnostics: found })
}

/// Refuses a choice about the runtime, in a project without it; and a project without it that had it.
fn refuse_for_adopted(project: &Project, options: &EditOptions) -> Result<()> {
    let is_of_code = |choice: &&Choice| match choice {
        Choice::Scope(_) | Choice::Owner(_) | Choice::License(_) => false,
        Choice::Manager(source) => (*source == ManagerSource::None) != project.is_adopted(),
        Choice::CertMode(_) | Choice::LeaderElection(_) | Choice::Switch(..) => project.is_adopted(),
    };
    let Some(choice) = options.choices.iter().find(is_of_code) else { return Ok(()) };
    let flag = choice.flag();
    let problem = if project.is_adopted() {
        Problem::new(format!(
            "`{flag}` is about the runtime, which this project does not have: its crate was there before"
        ))
    } else {
        Problem::new(format!("`{flag}` is for a crate that was there before its project"))
    };
    let is_move = project.is_adopted() && matches!(choice, Choice::Manager(_));
    let help = if is_move {
        "the runtime starts controllers that are written for it. To move to it, make a project in another folder: `memcached-sdk \
         init FOLDER`, there `memcached-sdk create api --from-crd FILE` for each file of `config/crd/bases`, and move your \
         reconcilers into its controllers"
    } else {
        "leave it out"
    };
    Err(UsageError(problem.help(help)).into())
}

/// The project with the domain and the repository of the options.
fn renamed(project: &Project, options: &EditOptions) -> Result<Project> {
    let mut wanted = project.clone();
    if let Some(domain) = &options.domain {
        wanted = rename::with_domain(&wanted, &Domain::parse(domain).map_err(UsageError)?);
    }
    if let Some(repo) = &options.repo {
        wanted.repo = init::repository(repo)?;
    }
    Ok(wanted)
}

/// Makes the project of the draft another one. Reports what stands in the way.
pub(crate) fn change(draft: &mut Draft, wanted: &Project, edited: Edited) -> Result<Diagnostics> {
    let (before, after) = (replay(&Project::recorded(draft)?)?, replay(wanted)?);
    let found = apply_difference(draft, &before, &after, MergeRules::new(IfExists::Skip, edited))?;
    draft.edit(&RelPath::new(RECORD)?, |before| Ok(wanted.to_yaml_over(before)))?;
    Ok(found)
}

/// Makes the differences between two scaffolds in the files of the draft. Reports what stands in the way.
pub(crate) fn apply_difference(
    draft: &mut Draft,
    from: &Scaffold,
    to: &Scaffold,
    rules: MergeRules,
) -> Result<Diagnostics> {
    let MergeRules { if_exists, edited, conflicts: choice, conflicts_flag: _, by_structure } = rules;
    let mut found = Diagnostics::default();
    let paths: BTreeSet<&RelPath> = from.keys().chain(to.keys()).collect();
    let differing = paths.into_iter().filter(|path| from.get(path) != to.get(path));
    // rustfmt runs as one process per file.
    let formatted = parallel::map(differing, |path: &RelPath| {
        (path, [from, to].map(|files| files.get(path).map(|text| scaffold::formatted(path, text))))
    });
    for (path, [old, new]) in formatted {
        match (old, new, draft.read(path)?) {
            (Some(old), None, Some(text)) if is_same(&old, &text) => draft.remove(path.clone()),
            (Some(_), None, Some(_)) if edited == Edited::Discard => draft.remove(path.clone()),
            (Some(old), None, Some(text)) if edited == Edited::Refuse => {
                let message = format!("`{path}` has changes of yours that would be lost");
                let help =
                    format!("pass `--discard` to delete them, or move them to another file:\n{}", edits(&old, &text));
                found.push(Diagnostic::new(Code::EditDiscarded, message).help(help));
            }
            (Some(_), None, Some(_)) => {
                let message =
                    format!("`{path}` is no longer part of the scaffold and stays, since you have changed it");
                found.push(Diagnostic::new(Code::EditKept, message).help("remove it if you don't need it"));
            }
            (None, Some(new), there) if there.as_deref() != Some(&new) => draft.scaffold(path.clone(), new, if_exists),
            (Some(old), Some(new), Some(_)) => {
                let mut refused = None;
                draft.edit(path, |text| {
                    if edited != Edited::Keep
                        && let Some(text) = without(&old, &new, text)
                    {
                        return Ok(text);
                    }
                    let merged = if by_structure { merged } else { merged_lines };
                    let merged = merged(path, &old, &new, text, choice);
                    if !merged.conflicts.is_empty() {
                        refused = Some((text.to_owned(), merged.conflicts));
                    }
                    Ok(merged.text)
                })?;
                if let Some((text, conflicts)) = refused {
                    found.extend(conflict_findings(path, &text, &conflicts, rules));
                }
            }
            // The user has removed a file that is missing.
            _ => {}
        }
    }
    Ok(found)
}

/// The changed lines, as a diff without context.
fn edits(old: &str, new: &str) -> String {
    let text =
        TextDiff::from_lines(old, new.replace("\r\n", "\n").as_str()).unified_diff().context_radius(0).to_string();
    text.trim_end().to_owned()
}

fn is_same(scaffolded: &str, text: &str) -> bool {
    text == scaffolded || text.replace("\r\n", "\n") == scaffolded
}

/// Applies the difference to the text, by line and then by structure. The whole text is a conflict if the merge by line is not
/// reversible or breaks valid YAML.
fn merged(path: &RelPath, old: &str, new: &str, text: &str, choice: ConflictChoice) -> Merged {
    let merged = merged_lines(path, old, new, text, choice);
    if merged.conflicts.is_empty() {
        return merged;
    }
    match structure::merge(path.as_str(), old, new, text) {
        Some(text) => Merged { text, conflicts: Vec::new(), ..merged },
        None => merged,
    }
}

fn merged_lines(path: &RelPath, old: &str, new: &str, text: &str, choice: ConflictChoice) -> Merged {
    let merged = merge(old, new, text, choice);
    let is_yaml = |text: &str| serde_yaml::from_multiple::<Value>(text).is_ok();
    let breaks = path.is_yaml() && is_yaml(text) && !is_yaml(&merged.text);
    let stays = merged.conflicts.is_empty() && !merged.was_there && merge(new, old, &merged.text, choice).text != text;
    let has_markers = choice == ConflictChoice::Markers && !merged.conflicts.is_empty();
    if breaks && !has_markers || stays {
        let conflict = MergeConflict { range: 0..text.len(), wanted: String::new() };
        let text = match choice {
            ConflictChoice::Refuse | ConflictChoice::Author => text.to_owned(),
            ConflictChoice::Scaffold => new.to_owned(),
            ConflictChoice::Markers => marked(text, new),
        };
        return Merged { text, conflicts: vec![conflict], ..merged };
    }
    merged
}

fn conflict_findings(path: &RelPath, text: &str, conflicts: &[MergeConflict], rules: MergeRules) -> Diagnostics {
    let flag = if rules.conflicts_flag { "\nor pass `--conflicts=markers`, `ours` or `theirs`" } else { "" };
    let made = match rules.conflicts {
        ConflictChoice::Refuse => None,
        ConflictChoice::Author => Some("your lines stay"),
        ConflictChoice::Scaffold => Some("the lines of the scaffold replace yours"),
        ConflictChoice::Markers => Some("both are between conflict markers"),
    };
    let finding = |MergeConflict { range, wanted }: &MergeConflict| {
        if let Some(made) = made {
            let message = format!("`{path}` conflicted with your changes: {made}");
            let shown = range.start..range.end.saturating_sub(1).max(range.start);
            let origin = Origin { path: path.as_str().into(), text: text.into(), range: shown };
            return Diagnostic::new(Code::ConflictResolved, message).at(origin);
        }
        if wanted.is_empty() && range.len() == text.len() {
            let message = format!("`{path}` conflicts: you have changed what this command changes");
            let help = format!("revert your changes, run the command again, and make them again{flag}");
            return Diagnostic::new(Code::EditConflict, message).at(Origin::file(path.as_str())).help(help);
        }
        // The line feed at the end is part of the line.
        let shown = range.start..range.end.saturating_sub(1).max(range.start);
        let origin = Origin { path: path.as_str().into(), text: text.into(), range: shown };
        let (first, last) = (origin.line_column().0, origin.end_line_column().0);
        let lines = if first < last { format!("{first} to {last}") } else { first.to_string() };
        let message = format!("`{path}:{lines}` conflicts: you have changed lines that this command changes");
        let help = if wanted.is_empty() {
            format!("remove these lines, and run the command again{flag}")
        } else {
            format!("write there, and run the command again:\n{}{flag}", wanted.trim_end_matches('\n'))
        };
        Diagnostic::new(Code::EditConflict, message).at(origin).help(help)
    };
    conflicts.iter().map(finding).collect()
}

/// For `generate --check`: reports scaffolded files that contradict PROJECT, and corrects them in the draft.
pub(crate) fn verify_choices(draft: &mut Draft, project: &Project) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    // A project that no commands can reproduce cannot be compared.
    let Ok(wanted) = replay(project) else { return Ok(found) };
    for choice in Choice::recorded(project) {
        let mut differing: BTreeMap<RelPath, String> = BTreeMap::new();
        for other in choice.others(project) {
            let Ok(from) = replay(&other.applied_to(project)) else { continue };
            for (path, new) in &wanted {
                let (Some(old), Some(text)) = (from.get(path), draft.read(path)?) else { continue };
                if old == new || differing.contains_key(path) {
                    continue;
                }
                let [old, new] = [old, new].map(|text| scaffold::formatted(path, text));
                let text = text.replace("\r\n", "\n");
                let merged = merged_lines(path, &old, &new, &text, ConflictChoice::Refuse);
                if merged.text != text {
                    differing.insert(path.clone(), merged.text);
                }
            }
        }
        if differing.is_empty() {
            continue;
        }
        let paths: Vec<String> = differing.keys().map(|path| format!("`{path}`")).collect();
        let message = format!("`PROJECT` says `{}`, but these files do not: {}", choice.flag(), paths.join(", "));
        let help = format!("run `memcached-sdk edit {}`, or another choice", choice.flag());
        found.push(Diagnostic::new(Code::ProjectDiffers, message).help(help));
        for (path, text) in differing {
            draft.edit(&path, |_| Ok(text))?;
        }
    }
    Ok(found)
}
