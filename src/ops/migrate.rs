//! `migrate storage`: the objects of a cluster, rewritten in the stored version. Requests go through kubectl, see `docs/decisions/0007-storage-migration.md`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::UsageError;
use crate::diagnostic::Problem;
use crate::plan::Draft;
use crate::project::Project;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The number of attempts for an object that others change.
const TRIES: usize = 5;
/// The number of restarts of a list that took too long.
const LISTS: usize = 3;
/// The number of lines of kubectl that are shown about objects.
const LINES: usize = 10;

/// Options of `migrate storage`.
#[derive(Debug, Clone, Default)]
pub(crate) struct MigrateOptions {
    /// Kinds of the project, or CRDs as `PLURAL.GROUP`; empty means all kinds of the project.
    pub(crate) kinds: Vec<String>,
    /// Asks the server to validate only.
    pub(crate) dry_run: bool,
    /// The number of objects in one page of a list.
    pub(crate) page_size: u32,
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) context: Option<String>,
}

/// Rewrites all objects of a CRD in the stored version, and forgets the other versions. `say` gets the progress.
pub(crate) fn storage(options: &MigrateOptions, name: &str, say: &mut dyn FnMut(&str)) -> Result<()> {
    Migration { kubectl: &Kubectl { options }, options, name }.run(say)
}

/// Returns the names of the CRDs.
pub(crate) fn names(options: &MigrateOptions) -> Result<BTreeSet<String>> {
    let is_kind = |name: &&String| !name.contains('.');
    let in_project = options.kinds.is_empty() || options.kinds.iter().any(|name| is_kind(&name));
    let project = in_project.then(|| Project::recorded(&Draft::open(Path::new(".")))).transpose();
    let project =
        project.map_err(|error| error.context("no project found to look the kinds up: write them as PLURAL.GROUP"))?;
    let known: Vec<(&str, String)> = project.iter().flat_map(kinds).collect();
    if options.kinds.is_empty() {
        return Ok(known.into_iter().map(|(_, name)| name).collect());
    }
    let mut names = BTreeSet::new();
    for wanted in &options.kinds {
        if !is_kind(&wanted) {
            names.insert(wanted.clone());
            continue;
        }
        let found: Vec<&String> = known.iter().filter(|(kind, _)| kind == wanted).map(|(_, name)| name).collect();
        if found.is_empty() {
            let problem = Problem::new(format!("the project has no kind `{wanted}`"));
            return Err(UsageError(problem.help("pass a kind of the project, or a CRD as PLURAL.GROUP")).into());
        }
        names.extend(found.into_iter().cloned());
    }
    Ok(names)
}

/// The kinds that a project defines, with the names of their CRDs.
fn kinds(project: &Project) -> impl Iterator<Item = (&str, String)> {
    let own = project.resources.iter().filter(|resource| resource.api.is_some());
    own.map(|resource| (resource.kind.as_str(), format!("{}.{}", resource.plural.as_str(), resource.qualified_group())))
}

struct Migration<'a> {
    kubectl: &'a Kubectl<'a>,
    options: &'a MigrateOptions,
    name: &'a str,
}

/// The number of objects found.
#[derive(Default)]
struct Count {
    rewritten: usize,
    gone: usize,
    /// Messages of kubectl about objects that could not be rewritten.
    failed: Vec<String>,
    left: usize,
}

impl Migration<'_> {
    fn run(&self, say: &mut dyn FnMut(&str)) -> Result<()> {
        let name = self.name;
        let before = self.definition()?;
        let storage = stored(&before).ok_or_else(|| Problem::new(format!("the CRD `{name}` stores no version")))?;
        let known = &before["status"]["storedVersions"];
        if *known == json!([storage]) {
            say(&format!("{name}: all objects are stored in `{storage}`"));
            return Ok(());
        }
        let count = self.rewrite(&before, storage, say)?;
        let Count { rewritten, gone, failed, left } = &count;
        if *left > 0 {
            let shown = failed.iter().take(LINES).map(String::as_str).collect::<Vec<_>>().join("\n");
            let problem = Problem::new(format!("{left} objects of `{name}` could not be rewritten:\n{shown}"));
            return Err(problem
                .help(
                    "make them valid, and run the command again; until then no version is removed from \
                    `status.storedVersions`",
                )
                .into());
        }
        if self.options.dry_run {
            say(&format!("{name}: {rewritten} objects can be rewritten in `{storage}`: nothing was written"));
            return Ok(());
        }
        self.forget(&before, storage)?;
        let gone = if *gone == 0 { String::new() } else { format!(", {gone} were deleted in the meantime") };
        say(&format!("{name}: {rewritten} objects are stored in `{storage}`{gone}; other versions are forgotten"));
        Ok(())
    }

    fn definition(&self) -> Result<Value> {
        let found = self.kubectl.get(&format!("{DEFINITIONS}/{}", self.name))?;
        let missing = || Problem::new(format!("CRD `{}` not found in the cluster", self.name)).help("install it first");
        Ok(found.ok_or_else(missing)?)
    }

    /// Every object, page by page: an update without a change is stored in the version that is stored now.
    fn rewrite(&self, definition: &Value, storage: &str, say: &mut dyn FnMut(&str)) -> Result<Count> {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut served = spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true);
        let version = served.clone().find(|version| version["name"] == *storage).or_else(|| served.next());
        let version = version.ok_or_else(|| Problem::new(format!("the CRD `{}` serves no version", self.name)))?;
        let base = format!("/apis/{}/{}", text(&spec["group"]), text(&version["name"]));
        let plural = text(&spec["names"]["plural"]);
        let limit = self.options.page_size;
        let mut count = Count::default();
        let (mut token, mut lists) = (String::new(), 1);
        loop {
            let path = format!("{base}/{plural}?limit={limit}&continue={token}");
            let Some(page) = self.kubectl.get(&path)? else {
                // The server remembers for some minutes only what it has listed.
                lists += 1;
                if lists > LISTS {
                    let problem = Problem::new(format!("the API server timed out while it listed `{}`", self.name));
                    return Err(problem.help("pass a smaller `--page-size`").into());
                }
                say(&format!("{}: the list has expired and starts over", self.name));
                (token, count) = (String::new(), Count::default());
                continue;
            };
            let items = page["items"].as_array().cloned().unwrap_or_default();
            self.page(items, &mut count)?;
            let left = page["metadata"]["remainingItemCount"].as_u64().unwrap_or_default();
            say(&format!("{}: {} of {} objects", self.name, count.met(), count.met() as u64 + left));
            token = text(&page["metadata"]["continue"]);
            if token.is_empty() {
                return Ok(count);
            }
        }
    }

    fn page(&self, mut items: Vec<Value>, count: &mut Count) -> Result<()> {
        for attempt in 1..=TRIES {
            if items.is_empty() {
                return Ok(());
            }
            let replaced = self.kubectl.replace(&items)?;
            let is_done =
                |item: &Value| item["metadata"]["uid"].as_str().is_some_and(|uid| replaced.done.contains(uid));
            count.rewritten += items.iter().filter(|item| is_done(item)).count();
            items.retain(|item| !is_done(item));
            if attempt == TRIES {
                count.left += items.len();
                count.failed.extend(replaced.errors);
                return Ok(());
            }
            // Objects that others have changed are read again.
            let again = self.kubectl.read(&items)?;
            count.gone += items.len().saturating_sub(again.len());
            items = again;
        }
        Ok(())
    }

    /// The CRD says that only one version is stored; unless it is another CRD by now.
    fn forget(&self, before: &Value, storage: &str) -> Result<()> {
        let now = self.definition()?;
        let same = |pointer: &str| now.pointer(pointer) == before.pointer(pointer);
        if !["/metadata/uid", "/metadata/generation", "/status/storedVersions"].into_iter().all(same) {
            let problem = Problem::new(format!(
                "the CRD `{}` has changed, so no version was removed from `status.storedVersions`",
                self.name
            ));
            return Err(problem.help("run the command again").into());
        }
        let patch = json!({
            "metadata": { "resourceVersion": now["metadata"]["resourceVersion"] },
            "status": { "storedVersions": [storage] },
        });
        let args = ["patch", "customresourcedefinitions.apiextensions.k8s.io", self.name, "--subresource=status"];
        let patch = format!("--patch={patch}");
        let output = self.kubectl.run(&[&args[..], &["--type=merge", &patch]].concat(), "")?;
        if !output.succeeded {
            let problem = Problem::new(format!(
                "cannot remove versions from `status.storedVersions` of `{}`: {}",
                self.name,
                output.stderr.trim()
            ));
            return Err(problem.help("run the command again").into());
        }
        Ok(())
    }
}

impl Count {
    fn met(&self) -> usize {
        self.rewritten + self.gone + self.left
    }
}

/// The version that is stored.
fn stored(definition: &Value) -> Option<&str> {
    let mut versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    versions.find(|version| version["storage"] == true)?["name"].as_str()
}

/// Objects as one document.
fn list(items: &[Value]) -> String {
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}

struct Kubectl<'a> {
    options: &'a MigrateOptions,
}

struct KubectlOutput {
    succeeded: bool,
    stdout: String,
    stderr: String,
}

/// The result for objects that were to be replaced.
struct Replaced {
    /// The UIDs of those that were.
    done: BTreeSet<String>,
    /// Why others were not.
    errors: Vec<String>,
}

impl Kubectl<'_> {
    /// The object at a path; `None` when it is gone.
    fn get(&self, path: &str) -> Result<Option<Value>> {
        let output = self.run(&["get", "--raw", path], "")?;
        if output.succeeded {
            let value = serde_json::from_str(&output.stdout);
            return Ok(Some(value.with_context(|| format!("the answer to `{path}` is not valid JSON"))?));
        }
        if ["(NotFound)", "(Expired)", "(Gone)"].iter().any(|reason| output.stderr.contains(reason)) {
            return Ok(None);
        }
        Err(Problem::new(format!("`kubectl get --raw {path}` failed: {}", output.stderr.trim())).into())
    }

    /// These objects as they are now, without those that are gone.
    fn read(&self, items: &[Value]) -> Result<Vec<Value>> {
        let output = self.run(&["get", "--filename=-", "--ignore-not-found", "--output=json"], &list(items))?;
        if !output.succeeded {
            return Err(Problem::new(format!("`kubectl get` failed: {}", output.stderr.trim())).into());
        }
        if output.stdout.trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut found: Value =
            serde_json::from_str(&output.stdout).context("the output of `kubectl get` is not valid JSON")?;
        Ok(match found.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => vec![found],
        })
    }

    /// Each object is written if nobody has changed it since it was read.
    fn replace(&self, items: &[Value]) -> Result<Replaced> {
        let mut args =
            vec!["replace", "--filename=-", "--validate=ignore", r#"--output=jsonpath={.metadata.uid}{"\n"}"#];
        if self.options.dry_run {
            args.push("--dry-run=server");
        }
        let output = self.run(&args, &list(items))?;
        let done = output.stdout.lines().map(str::to_owned).collect();
        Ok(Replaced { done, errors: output.stderr.lines().map(str::to_owned).collect() })
    }

    fn run(&self, args: &[&str], input: &str) -> Result<KubectlOutput> {
        let mut command = Command::new("kubectl");
        if let Some(file) = &self.options.kubeconfig {
            command.arg("--kubeconfig").arg(file);
        }
        if let Some(context) = &self.options.context {
            command.arg("--context").arg(context);
        }
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cannot = |error| {
            let problem = Problem::new(format!("cannot run `kubectl`: {error}"));
            problem.help("install it to a folder in `PATH`: https://kubernetes.io/docs/tasks/tools")
        };
        let mut child = command.spawn().map_err(cannot)?;
        let stdin = child.stdin.take();
        // A reader that ends early says why.
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
            let output = child.wait_with_output()?;
            Ok(KubectlOutput {
                succeeded: output.status.success(),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            })
        })
    }
}
