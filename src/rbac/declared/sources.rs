//! The sources that `--role` names: a file, a kustomization, a Helm chart or a folder of manifests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::quoted;
use super::{Home, RoleManifests, shown};
use crate::diagnostic::{Code, Diagnostic, Origin, Problem};
use crate::yaml::template;

const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
const CHART: &str = "Chart.yaml";
/// The maximum number of files that are read of a folder.
const FILES: usize = 5_000;

/// The kustomization of a folder, if it has one.
pub(super) fn kustomization_of(folder: &Path) -> Option<PathBuf> {
    KUSTOMIZATIONS.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

impl RoleManifests {
    /// Reads the roles in the files and folders that `--role` names; paths are shown relative to `root`.
    ///
    /// # Errors
    ///
    /// One can't be read, or there is no role in them.
    pub(crate) fn of_files(root: &Path, paths: &[PathBuf]) -> Result<Self, Problem> {
        let mut manifests = Self::default();
        let mut seen = BTreeSet::new();
        for path in paths {
            let is_kustomization =
                path.file_name().is_some_and(|name| KUSTOMIZATIONS.iter().any(|known| name == *known));
            let folder = if is_kustomization { path.parent().unwrap_or(path) } else { path };
            // The parent of a bare file name.
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            if is_kustomization || (folder.is_dir() && kustomization_of(folder).is_some()) {
                manifests.kustomization(root, folder, &mut seen, true)?;
            } else if folder.is_dir() {
                let mut left = FILES;
                manifests.folder(root, folder, &mut left)?;
            } else {
                manifests.file(root, path)?;
            }
        }
        if manifests.roles.is_empty() && manifests.builtin_grants(&Home::default()).is_empty() {
            let paths = quoted(paths.iter().map(|path| path.display()));
            return Err(Problem::new(format!("no role found in {paths}")).help(
                "pass files with a `Role` or `ClusterRole`, a kustomization, a chart, or a folder of them; render \
                    other templates first",
            ));
        }
        Ok(manifests)
    }

    fn file(&mut self, root: &Path, file: &Path) -> Result<(), Problem> {
        let bytes =
            std::fs::read(file).map_err(|error| Problem::new(format!("cannot read `{}`: {error}", file.display())))?;
        self.read(&shown(root, file), &bytes)
    }

    /// The manifests and charts below a folder that is not a kustomization.
    fn folder(&mut self, root: &Path, folder: &Path, left: &mut usize) -> Result<(), Problem> {
        if folder.join(CHART).is_file() {
            return self.chart(root, folder);
        }
        for path in entries(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && !matches!(name.as_str(), "target" | "node_modules") && !path.is_symlink() {
                    self.folder(root, &path, left)?;
                }
                continue;
            }
            if !is_yaml(&name) {
                continue;
            }
            *left = left.checked_sub(1).ok_or_else(|| {
                Problem::new(format!("more than {FILES} manifests below `{}`", folder.display()))
                    .help("pass the folder with the roles")
            })?;
            // Other YAML files may be anything: values, a workflow, a template of another tool.
            if has_role(&std::fs::read_to_string(&path).unwrap_or_default()) {
                self.file(root, &path)?;
            } else {
                let _ = self.file(root, &path);
            }
        }
        Ok(())
    }

    /// The templates of a chart, as they are without values.
    fn chart(&mut self, root: &Path, folder: &Path) -> Result<(), Problem> {
        let mut open = vec![folder.join("templates")];
        let mut is_template = false;
        while let Some(templates) = open.pop().filter(|folder| folder.is_dir()) {
            for path in entries(&templates)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if path.is_dir() {
                    if name != "tests" && !path.is_symlink() {
                        open.push(path);
                    }
                    continue;
                }
                if !is_yaml(&name) {
                    continue;
                }
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| Problem::new(format!("cannot read `{}`: {error}", path.display())))?;
                let shown = shown(root, &path);
                is_template |= text.contains("{{");
                let plain = without_actions(&text);
                if plain.writes_rules {
                    return Err(unrendered(&shown, folder));
                }
                if self.add(&shown, &plain.text).is_err() && has_role(&text) {
                    return Err(unrendered(&shown, folder));
                }
            }
        }
        if is_template {
            let message = "the templates of the chart are read without values: each branch of a condition counts";
            let help =
                format!("for certainty, run `helm template {} > all.yaml`, and pass that file", folder.display());
            let path = shown(root, &folder.join(CHART));
            let origin = Origin { path: path.as_str().into(), text: "".into(), range: 0..0 };
            self.notes.push(Diagnostic::new(Code::RbacUnproven, message).help(help).at(origin));
        }
        Ok(())
    }
}

fn unrendered(template: &str, chart: &Path) -> Problem {
    Problem::new(format!("the permissions of `{template}` depend on values that are not known"))
        .help(format!("render the chart, and pass the result: `helm template {} > all.yaml`", chart.display()))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let wrong = |error: std::io::Error| Problem::new(format!("cannot read `{}`: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(wrong)?;
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry.map_err(wrong)?.path())).collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}

fn is_yaml(name: &str) -> bool {
    [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
}

/// The text may declare or bind a role.
fn has_role(text: &str) -> bool {
    let kinds = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
    text.lines()
        .filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("kind:"))
        .any(|kind| kinds.contains(&kind.trim().trim_matches(['"', '\''])))
}

/// A template without its actions.
struct Plain {
    text: String,
    /// An action writes rules, or items of one.
    writes_rules: bool,
}

/// Takes the actions of a Helm template out: a line of nothing else is empty, another one stands for a name that is the
/// same wherever the action is.
fn without_actions(template: &str) -> Plain {
    let mut writes_rules = false;
    let text = template::without_actions(template, |action| {
        let line = action.above.rsplit('\n').next().unwrap_or_default();
        let writes_url = !action.is_line && line.trim_start().starts_with("- nonResource");
        writes_rules |= in_rules(action.above) && !writes_url;
        if action.is_line { String::new() } else { placeholder(action.text) }
    });
    Plain { text, writes_rules }
}

/// The text ends inside of the rules of a role.
fn in_rules(text: &str) -> bool {
    let document = &text[text.rfind("\n---").unwrap_or(0)..];
    let top = document.lines().rev().find(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()));
    top.is_some_and(|line| line.starts_with("rules:"))
}

/// A name for what an action writes; the release's namespace is the one of the operator.
fn placeholder(action: &str) -> String {
    if action == ".Release.Namespace" {
        return "system".to_owned();
    }
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = action.chars().filter(|letter| !letter.is_whitespace()).map(plain).collect();
    name.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_taken_out() {
        for (template, expected) in [
            ("a: {{ .Values.a }}\n", "a: values-a\n"),
            ("{{- if .Values.a }}\na: b\n{{- else }}\na: c\n{{- end }}\n", "\na: b\n\na: c\n\n"),
            ("name: {{ include \"x.name\" . }}-role\n", "name: include-x-name-role\n"),
            ("name: {{ include \"x.name\" . | quote }}\n", "name: include-x-name---quote\n"),
            ("namespace: {{ .Release.Namespace }}\n", "namespace: system\n"),
            ("labels:\n  {{- include \"x\" . | nindent 4 }}\na: b\n", "labels:\n  \na: b\n"),
            ("{{/* a\nb */}}\na: b\n", "\n\na: b\n"),
            ("a: {{- if .x }} b {{- end }}\n", "a:  b \n"),
            ("a: {{ .x\n", "a: x\n"),
        ] {
            assert_eq!(without_actions(template).text, expected, "{template}");
        }
    }

    #[test]
    fn rules_of_values_are_not_known() {
        for (template, expected) in [
            ("kind: Role\nrules:\n{{ toYaml .Values.rules }}\n", true),
            ("kind: Role\nrules:\n- verbs: {{ .Values.verbs }}\n", true),
            ("kind: Role\nrules:\n{{- if .Values.a }}\n- verbs: [get]\n{{- end }}\n", false),
            ("kind: Role\nmetadata:\n  {{ include \"x\" . }}\nrules: []\n", false),
            ("kind: Role\nrules: []\n---\nkind: Pod\nspec:\n  {{ .Values.a }}\n", false),
        ] {
            assert_eq!(without_actions(template).writes_rules, expected, "{template}");
        }
    }
}
