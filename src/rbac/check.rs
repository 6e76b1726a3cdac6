//! Errors in markers that can be parsed: the API server would refuse the rule, or no request would match it.
//!
//! Refusals follow `ValidatePolicyRule` of Kubernetes. Matches follow from the names that the server gives to verbs,
//! groups and resources: <https://kubernetes.io/docs/reference/access-authn-authz/authorization/>.

use std::sync::LazyLock;

use super::marker::{self, RbacMarker};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::project::builtin::{self, Builtin};
use crate::project::name;
use crate::rbac::{REQUEST_VERBS, REVIEWS, URL_VERBS};
use crate::source::SourceTree;
use crate::source::marker::{RBAC, nearest};

/// Verbs that the server checks for objects that a request refers to.
const OTHER_VERBS: [&str; 7] = ["approve", "attest", "bind", "escalate", "impersonate", "sign", "use"];
/// Common misspellings of verbs.
const MISTAKEN_VERBS: [(&str, &str); 9] = [
    ("all", "`*`"),
    ("apply", "`create;patch`"),
    ("edit", "`patch` or `update`"),
    ("exec", "`create` for the resource `pods/exec`"),
    ("post", "`create`"),
    ("put", "`update`"),
    ("read", "`get;list;watch`"),
    ("view", "`get;list;watch`"),
    ("write", "`create;patch;update`"),
];
/// Names that stand for users and signers, not for objects, by group; and resources that can't be listed.
const UNLISTED: [(&str, &str); 6] = [
    ("", "bindings"),
    ("", "groups"),
    ("", "uids"),
    ("", "userextras"),
    ("", "users"),
    ("certificates.k8s.io", "signers"),
];
static BUILTINS: LazyLock<Vec<Builtin>> = LazyLock::new(builtin::all);

/// The markers of a package, and what is wrong with them.
pub fn markers(tree: &SourceTree) -> (Vec<RbacMarker>, Diagnostics) {
    let (markers, mut diagnostics) = tree.markers(&[RBAC]);
    let markers: Vec<_> = markers.iter().map(RbacMarker::from).collect();
    diagnostics.extend(check(&markers));
    (markers, diagnostics)
}

fn check(markers: &[RbacMarker]) -> Diagnostics {
    let mut findings = Diagnostics::default();
    for marker in markers {
        let mut check = MarkerCheck { marker, findings: &mut findings };
        check.texts();
        check.place();
        check.shape();
        check.names(markers);
        check.verbs();
        check.groups();
        check.resources();
        check.urls();
    }
    findings
}

struct MarkerCheck<'a> {
    marker: &'a RbacMarker,
    findings: &'a mut Diagnostics,
}

impl MarkerCheck<'_> {
    fn warn(&mut self, message: impl Into<String>, help: impl Into<String>) {
        let finding = Diagnostic::new(Code::RbacRule, message).help(help);
        self.findings.push(finding.at(self.marker.origin.clone()));
    }

    /// Items with a separator or blank inside.
    fn texts(&mut self) {
        let RbacMarker { groups, resources, resource_names, verbs, urls, .. } = self.marker;
        let lists = [
            ("groups", groups),
            ("resources", resources),
            ("resourceNames", resource_names),
            ("verbs", verbs),
            ("urls", urls),
        ];
        for (argument, item) in
            lists.into_iter().flat_map(|(argument, items)| items.iter().map(move |item| (argument, item)))
        {
            // The core group has no name.
            if item.is_empty() && argument != "groups" {
                self.warn(format!("an item of `{argument}` is empty"), "remove it");
            } else if !item.is_empty() && !is_plain(item) {
                self.warn(
                    format!("`{argument}` has the item `{item}`"),
                    "separate items with a single `;`; a quoted text is one item",
                );
            }
        }
    }

    /// The name and namespace of the role.
    fn place(&mut self) {
        let RbacMarker { namespace, role_name, .. } = self.marker;
        for (argument, text) in [("namespace", namespace), ("roleName", role_name)] {
            if text.starts_with(',') {
                self.warn(
                    format!("`{argument}` has no value and takes the next text as its value: `{text}`"),
                    format!("remove `{argument}=`, or write `{argument}=\"\"`"),
                );
            } else if argument == "roleName" {
                if let Some(why) = marker::wrong_role_name(text).filter(|_| !text.is_empty()) {
                    self.warn(format!("`{text}` is not a valid role name: {why}"), "choose another `roleName`");
                }
            } else if !text.is_empty()
                && let Err(problem) = name::Namespace::parse(text)
            {
                self.warn(problem.message, problem.help.unwrap_or_default());
            }
        }
    }

    /// Checks the combination of the arguments.
    fn shape(&mut self) {
        let RbacMarker { groups, resources, resource_names, verbs, urls, namespace, .. } = self.marker;
        if !urls.is_empty() && !namespace.is_empty() {
            self.warn(
                "a Role cannot grant `urls`: they are not namespaced",
                "remove `namespace`, or move `urls` to a marker of its own",
            );
        }
        let about_objects = [groups, resources, resource_names].iter().any(|list| !list.is_empty());
        if !urls.is_empty() && about_objects {
            self.warn("a rule has `resources` or `urls`, not both", "write two markers");
        }
        if urls.is_empty() && resources.is_empty() {
            self.warn("the rule has neither `resources` nor `urls`", "add `resources` or `urls`");
        }
        if !resources.is_empty() && groups.is_empty() {
            self.warn("the rule has `resources` without `groups`", "add `groups`; the core group is `groups=core`");
        }
        if verbs.is_empty() {
            self.warn("`verbs` is empty", "add verbs, for example `verbs=get;list;watch`");
        }
    }

    /// Groups, resources and verbs that no request can have.
    fn names(&mut self, markers: &[RbacMarker]) {
        let RbacMarker { resources, resource_names, verbs, .. } = self.marker;
        if resource_names.is_empty() {
            return;
        }
        if resource_names.iter().any(|name| name == "*") {
            self.warn("`*` in `resourceNames` matches an object named `*`, not all objects", "remove `resourceNames`");
        }
        let has = |verb: &str| verbs.iter().any(|had| had == verb);
        // A subresource is created of an object that is there.
        let whole = resources.iter().any(|resource| !resource.contains('/'));
        if has("create") && whole && !self.may_create_by_name(markers) {
            self.warn(
                "`create` cannot be restricted by `resourceNames`: the request has no object name",
                "move this verb to a marker without `resourceNames`; or create by server-side apply, and add `patch`",
            );
        }
        if has("deletecollection") {
            self.warn(
                "`deletecollection` cannot be restricted by `resourceNames`: the request has no object name",
                "move this verb to a marker without `resourceNames`",
            );
        }
    }

    /// Apply and update ask for `create` with the name of the object that is not there yet.
    fn may_create_by_name(&self, markers: &[RbacMarker]) -> bool {
        let same = |list: &[String], other: &[String]| list.iter().any(|item| item == "*" || other.contains(item));
        markers.iter().any(|other| {
            (&other.namespace, &other.role_name) == (&self.marker.namespace, &self.marker.role_name)
                && other.verbs.iter().any(|verb| matches!(verb.as_str(), "patch" | "update" | "*"))
                && same(&other.groups, &self.marker.groups)
                && same(&other.resources, &self.marker.resources)
        })
    }

    fn verbs(&mut self) {
        let about_urls = self.marker.resources.is_empty() && !self.marker.urls.is_empty();
        for verb in self.marker.verbs.iter().filter(|verb| is_plain(verb) && *verb != "*") {
            if about_urls {
                self.url_verb(verb);
            } else {
                self.resource_verb(verb);
            }
        }
    }

    fn url_verb(&mut self, verb: &str) {
        if URL_VERBS.contains(&verb) {
            return;
        }
        let lower = verb.to_lowercase();
        let help = if URL_VERBS.contains(&lower.as_str()) {
            format!("write `{lower}`")
        } else {
            format!("the verbs of `urls` are HTTP methods in lower case: {}", URL_VERBS.join(", "))
        };
        self.warn(format!("`{verb}` is not a valid verb for `urls`"), help);
    }

    fn resource_verb(&mut self, verb: &str) {
        let known = || REQUEST_VERBS.into_iter().chain(OTHER_VERBS);
        // Impersonation limited to parts of a user has verbs such as `impersonate:user-info`.
        if known().any(|known| known == verb) || verb.starts_with("impersonate:") || verb.starts_with("impersonate-on:")
        {
            return;
        }
        let lower = verb.to_lowercase();
        let mistaken = MISTAKEN_VERBS.iter().find(|(mistaken, _)| *mistaken == lower);
        let near = nearest(&lower, known());
        // Whoever serves a group of their own may ask for verbs of their own.
        let theirs =
            !self.marker.groups.iter().all(|group| BUILTINS.iter().any(|builtin| builtin.group == core(group)));
        let misspelt = near.is_some_and(|near| near == lower || (lower.len() > 3 && is_misspelt(&lower, near)));
        if theirs && !misspelt {
            return;
        }
        let help = match (mistaken, near) {
            (Some((_, instead)), _) => format!("write {instead}"),
            (None, Some(near)) if near == lower => format!("write `{near}`"),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => format!("the verbs of Kubernetes are {}", known().collect::<Vec<_>>().join(", ")),
        };
        self.warn(format!("`{verb}` is not a verb of Kubernetes"), help);
    }

    fn groups(&mut self) {
        for group in self.marker.groups.iter().filter(|group| is_plain(group) && *group != "*") {
            if let Some(help) = wrong_group(core(group)) {
                self.warn(format!("`{group}` is not a valid API group"), help);
            }
        }
    }

    fn resources(&mut self) {
        let groups: Vec<&str> = self.marker.groups.iter().map(|group| core(group)).collect();
        let all_known = groups.iter().all(|group| BUILTINS.iter().any(|builtin| builtin.group == *group));
        for resource in self.marker.resources.iter().filter(|resource| is_plain(resource) && *resource != "*") {
            let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            if subresource == "*" {
                self.warn(
                    format!("`{resource}` matches nothing: `*` must stand for the whole resource"),
                    format!("write the subresources, for example `{plural}/status`, or `*` for everything"),
                );
            } else if plural != "*" && all_known && !groups.is_empty() {
                self.builtin(&groups, plural);
            } else if resource.to_lowercase() != *resource {
                self.warn(
                    format!("`{resource}` is not a valid resource: resources are in lower case"),
                    format!("write the plural in lower case, for example `{}`", lower_plural(resource)),
                );
            }
        }
    }

    /// About a resource in groups of Kubernetes itself, which are all known.
    fn builtin(&mut self, groups: &[&str], plural: &str) {
        let here: Vec<&Builtin> = BUILTINS.iter().filter(|builtin| groups.contains(&builtin.group)).collect();
        if let Some(found) = here.iter().find(|builtin| builtin.plural == plural) {
            let of_cluster = here.iter().all(|builtin| builtin.plural != plural || !builtin.namespaced);
            // A namespace is read by requests that are about that namespace.
            if of_cluster && !self.marker.namespace.is_empty() && plural != "namespaces" {
                self.warn(
                    format!("a Role cannot grant `{plural}`: a {} is not namespaced", found.kind),
                    "remove `namespace` from this marker, and bind the ClusterRole",
                );
            }
            return;
        }
        if UNLISTED.iter().any(|(group, name)| groups.contains(group) && *name == plural) {
            return;
        }
        let in_groups = groups.iter().map(|group| shown_group(group)).collect::<Vec<_>>().join(", ");
        let lower = plural.to_lowercase();
        let kind = here.iter().find(|builtin| builtin.kind.to_lowercase() == lower || builtin.plural == lower);
        let near = kind.map(|builtin| builtin.plural).or_else(|| {
            let elsewhere = BUILTINS.iter().any(|builtin| builtin.plural == plural);
            let near = nearest(&lower, here.iter().map(|builtin| builtin.plural));
            near.filter(|near| !elsewhere && strsim::levenshtein(&lower, near) <= 2)
        });
        let elsewhere = BUILTINS.iter().find(|builtin| builtin.plural == lower);
        let help = match (near, elsewhere) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Some(builtin)) => format!("it is in {}", shown_group(builtin.group)),
            (None, None) => return,
        };
        self.warn(format!("resource `{plural}` not found in {in_groups}"), help);
    }

    fn urls(&mut self) {
        for url in self.marker.urls.iter().filter(|url| is_plain(url) && *url != "*") {
            if !url.starts_with('/') {
                self.warn(format!("`{url}` is not a path: no request matches it"), format!("write `/{url}`"));
            } else if url.trim_end_matches('*').contains('*') {
                self.warn(
                    format!("`{url}` has a `*` in the middle, which matches only itself"),
                    "only a `*` at the end is a wildcard",
                );
            }
        }
    }
}

/// Returns true if a resource is known and cluster-scoped in each of its groups.
pub(crate) fn is_cluster_wide(groups: &[String], plural: &str) -> bool {
    let in_groups = |group: &str| groups.iter().any(|had| core(had) == group);
    let mut found = BUILTINS.iter().filter(|builtin| builtin.plural == plural && in_groups(builtin.group)).peekable();
    let review = REVIEWS.iter().any(|(group, _, name, namespaced)| *name == plural && !namespaced && in_groups(group));
    review || (found.peek().is_some() && found.all(|builtin| !builtin.namespaced))
}

fn core(group: &str) -> &str {
    if group == "core" { "" } else { group }
}

fn shown_group(group: &str) -> String {
    if group.is_empty() { "the core group".to_owned() } else { format!("`{group}`") }
}

fn lower_plural(resource: &str) -> String {
    let lower = resource.to_lowercase();
    if lower.ends_with('s') || lower.contains('/') { lower } else { format!("{lower}s") }
}

/// No separator, bracket or blank, which no item has.
fn is_plain(item: &str) -> bool {
    !item.is_empty()
        && !item.contains(|char: char| char.is_whitespace() || char.is_control() || ",;{}\"'`".contains(char))
}

/// One letter is wrong, missing or too much, or two have changed places.
fn is_misspelt(word: &str, meant: &str) -> bool {
    let sorted = |word: &str| {
        let mut chars: Vec<char> = word.chars().collect();
        chars.sort_unstable();
        chars
    };
    strsim::levenshtein(word, meant) == 1 || sorted(word) == sorted(meant)
}

/// Returns the replacement for an invalid group.
fn wrong_group(group: &str) -> Option<String> {
    let groups = || BUILTINS.iter().map(|builtin| builtin.group);
    if group.is_empty() || groups().any(|known| known == group) {
        return None;
    }
    if let Some((before, _)) = group.split_once('/') {
        return Some(format!("remove the version: `{}`", if before.is_empty() { "core" } else { before }));
    }
    let lower = group.to_lowercase();
    if lower != group {
        return Some(format!("write `{lower}`"));
    }
    if group == "v1" {
        return Some("the core group is `core`".to_owned());
    }
    if group.contains('*') {
        return Some("`*` alone matches all groups; inside a name it is not a wildcard".to_owned());
    }
    // The groups of custom resources have a dot.
    let theirs = group.contains('.');
    let short = BUILTINS.iter().find(|builtin| !theirs && builtin.project_group().0 == group);
    let near = || nearest(group, groups()).filter(|near| !theirs || is_misspelt(group, near));
    if let Some(meant) = short.map(|builtin| builtin.group).or_else(near) {
        return Some(format!("did you mean `{meant}`?"));
    }
    name::Domain::parse(group).err().map(|problem| problem.help.unwrap_or(problem.message))
}
