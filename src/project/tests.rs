use super::name::{Group, Kind, Version};
use super::*;

const TEXT: &str = "\
# a comment
cliVersion: 0.1.0
domain: example.com
layout:
- rust.memcached-sdk.dev/v1
multigroup: true
plugins:
  deploy-image.rust.memcached-sdk.dev/v1:
    resources:
    - image: memcached:1.6-alpine
  rust.memcached-sdk.dev/v1:
    license: Apache-2.0
    other: 1
    owner: The Authors
projectName: memcached-operator
repo: https://github.com/example/memcached-operator
resources:
- api:
    crdVersion: v1
    namespaced: true
    shortNames:
    - mc
    ssa: true
  controller: true
  domain: example.com
  group: cache
  kind: Memcached
  path: memcached_operator::api::v1alpha1
  someday: [1, 2]
  version: v1alpha1
  webhooks:
    validation: true
    webhookVersion: v1
- api:
    crdVersion: v1
  controllers:
  - name: captain
  - name: captain-backup
  domain: example.com
  group: ship
  kind: Captain
  plural: crew
  version: v1
- controller: true
  core: true
  group: apps
  kind: ReplicaSet
  path: k8s_openapi::api::apps::v1
  version: v1
someone: else
version: \"3\"
";

#[test]
fn everything_is_read_and_written_again() {
    let project = Project::parse(TEXT).unwrap();
    assert_eq!(project.name.as_str(), "memcached-operator");
    assert_eq!(project.license.as_deref(), Some("Apache-2.0"));
    assert_eq!(project.resources[1].plural.as_str(), "crew");
    let written = TEXT.replace(" [1, 2]", "\n  - 1\n  - 2");
    assert_eq!(project.to_yaml(), written.replace("# a comment\n", HEADER));
    for text in [project.to_yaml(), TEXT.replace('\n', "\r\n"), format!("\u{feff}{TEXT}")] {
        assert_eq!(Project::parse(&text).unwrap(), project);
    }
    assert_eq!(project.to_yaml_over(&project.to_yaml()), project.to_yaml());
}

#[test]
fn a_bad_file_is_refused_with_the_place_and_the_reason() {
    let replaced = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        TEXT.replace(from, to)
    };
    for (text, expected) in [
        (String::new(), "`PROJECT` is empty"),
        ("- a\n".to_owned(), "`PROJECT` must be a YAML mapping"),
        (TEXT[..TEXT.len() - 13].to_owned(), "`PROJECT` has no `version`"),
        (
            replaced("- rust.memcached-sdk.dev/v1", "- go.kubebuilder.io/v4"),
            "`PROJECT:4`: `layout`: the layout `go.kubebuilder.io/v4` belongs to another tool",
        ),
        (
            replaced("version: \"3\"", "version: \"2\""),
            "`PROJECT:51`: `version`: unsupported format version `2`: only `3` is supported",
        ),
        (
            replaced("projectName: memcached-operator", "projectName: My_Op"),
            "`PROJECT:15`: `projectName`: invalid project name `My_Op`: it must be a DNS-1123 label: lower-case \
             letters, digits and `-`, starting and ending with a letter or digit, at most 63 characters",
        ),
        (replaced("multigroup: true", "multigroup: maybe"), "`PROJECT:6`: `multigroup`: it must be `true` or `false`"),
        (replaced("  kind: Captain\n", ""), "`PROJECT` has no `resources[1].kind`"),
        (
            replaced("kind: Captain", "kind: captain"),
            "`PROJECT:41`: `resources[1].kind`: invalid kind `captain`: it must be a Rust type name: an upper-case letter, then letters and digits, at most 63 characters",
        ),
        (
            replaced("  kind: Captain\n", "  kind: Captain\n  kind: Captain\n"),
            "`PROJECT:42` is not valid YAML: duplicate mapping key: kind",
        ),
        (replaced("    - mc\n", "    mc\n"), "`PROJECT:22` is not valid YAML: simple key expected ':'"),
        ("a: [\n".to_owned(), "`PROJECT:1` is not valid YAML: unclosed bracket '['"),
        ("a: \"\n".to_owned(), "`PROJECT:1` is not valid YAML: unclosed quote"),
    ] {
        let problem = Project::parse(&text).unwrap_err();
        assert_eq!(problem.message, expected, "{text}");
        assert!(problem.help.is_some(), "{problem}");
    }
}

#[test]
fn any_truncation_is_an_error_and_never_a_panic() {
    for end in (0..TEXT.len()).filter(|end| TEXT.is_char_boundary(*end) && *end + 3 < TEXT.len()) {
        assert!(Project::parse(&TEXT[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn the_lock_name_is_the_one_of_kubebuilder() {
    let mut project = Project::new(ProjectName::parse("p").unwrap(), Some(Domain::parse("testproject.org").unwrap()));
    project.repo = Some("sigs.k8s.io/kubebuilder/testdata/project-v4".to_owned());
    assert_eq!(project.leader_election_id(), "da1d9c86.testproject.org");
}

fn resource(gvk: (&str, &str, &str)) -> Resource {
    let (group, version, kind) = gvk;
    let domain = Domain::parse("example.com").unwrap();
    let mut resource = Resource::new(
        Group::parse(group).unwrap(),
        Some(domain),
        Version::parse(version).unwrap(),
        Kind::parse(kind).unwrap(),
    )
    .unwrap();
    resource.api = Some(ResourceApi::new(true));
    resource
}

type Change = fn(&mut Resource);
type Case<'a> = ((&'a str, &'a str, &'a str), bool, Change, Option<&'a str>);

/// Adds each resource to a project with a Memcached and its conversions. Expects the error, if present.
fn check_added(cases: &[Case]) {
    for &(gvk, multigroup, change, expected) in cases {
        let mut project = Project::new(ProjectName::parse("p").unwrap(), None);
        let mut first = resource(("cache", "v1alpha1", "Memcached"));
        first.controllers = Controllers::Default;
        first.webhooks = Some(serde_json::json!({ "conversion": true }));
        project.add(first, false).unwrap();
        project.multigroup = multigroup;
        let mut new = resource(gvk);
        change(&mut new);
        let result = project.add(new, false).map_err(|problem| problem.message);
        assert_eq!(result.err().as_deref(), expected, "{gvk:?}");
    }
}

#[test]
fn what_would_share_a_name_is_refused() {
    let none: Change = |_| {};
    check_added(&[
        (("cache", "v1", "Redis"), false, none, None),
        (
            ("cache", "v1alpha1", "Memcached"),
            false,
            none,
            Some("API resource already exists: `cache.example.com/v1alpha1 Memcached`"),
        ),
        (
            ("ship", "v1", "Frigate"),
            false,
            none,
            Some("multiple groups are not allowed by default: the project has the group `cache`, found `ship`"),
        ),
        (("ship", "v1", "Frigate"), true, none, None),
        (
            ("cache", "v1", "Memcached"),
            false,
            |r| r.plural = name::Plural::parse("mcs").unwrap(),
            Some(
                "`cache.example.com/v1 Memcached` has the plural `mcs`, but `cache.example.com/v1alpha1 Memcached` \
                 has `memcacheds`: all versions of a kind must have the same plural",
            ),
        ),
        (
            ("cache", "v1", "Memcached"),
            false,
            |r| r.api = Some(ResourceApi::new(false)),
            Some(
                "`cache.example.com/v1 Memcached` and `cache.example.com/v1alpha1 Memcached` differ in scope: all \
                 versions of a kind must have the same scope",
            ),
        ),
        (
            ("cache", "v1", "Memcached"),
            false,
            |r| r.controllers = Controllers::Default,
            Some(
                "the controllers of `cache.example.com/v1 Memcached` and `cache.example.com/v1alpha1 Memcached` have \
                 the same name",
            ),
        ),
        (
            ("cache", "v1", "Cluster"),
            false,
            |r| r.plural = name::Plural::parse("memcacheds").unwrap(),
            Some(
                "`cache.example.com/v1 Cluster` and `cache.example.com/v1alpha1 Memcached` have the same plural `memcacheds`",
            ),
        ),
        (
            ("cache", "v1alpha1", "MemCached"),
            false,
            |r| r.plural = name::Plural::parse("others").unwrap(),
            Some(
                "`cache.example.com/v1alpha1 MemCached` and `cache.example.com/v1alpha1 Memcached` differ only in \
                 upper and lower case",
            ),
        ),
    ]);
}

#[test]
fn names_that_are_derived_from_others_are_checked() {
    let none: Change = |_| {};
    let long = "M".repeat(60);
    let too_long = format!("the kind `{long}` is too long: its list kind `{long}List` has 64 characters");
    check_added(&[
        (
            ("cache", "v1", "MemcachedList"),
            false,
            none,
            Some(
                "`cache.example.com/v1 MemcachedList` and `cache.example.com/v1alpha1 Memcached` have the same name \
                 `MemcachedList`, but the API server accepts it only once",
            ),
        ),
        (
            ("cache", "v1", "Cluster"),
            false,
            |r| r.plural = name::Plural::parse("memcached").unwrap(),
            Some(
                "`cache.example.com/v1 Cluster` and `cache.example.com/v1alpha1 Memcached` have the same name \
                 `memcached`, but the API server accepts it only once",
            ),
        ),
        (
            ("cache", "v1", "Cluster"),
            false,
            |r| {
                let short = name::ShortName::parse("memcacheds").unwrap();
                r.api = Some(ResourceApi { short_names: vec![short], ..ResourceApi::new(true) });
            },
            Some(
                "`cache.example.com/v1 Cluster` and `cache.example.com/v1alpha1 Memcached` have the same name \
                 `memcacheds`, but the API server accepts it only once",
            ),
        ),
        (("cache", "v1", &long), false, none, Some(&too_long)),
        (
            ("cache", "v1alpha1", "MemcachedConversion"),
            false,
            none,
            Some(
                "the conversions of `cache.example.com/v1alpha1 Memcached` and the kind `cache.example.com/v1alpha1 \
                 MemcachedConversion` cannot both have the Rust module `memcached_conversion`",
            ),
        ),
        (("cache", "v1", "MemcachedConversion"), false, none, None),
    ]);
}

#[test]
fn a_second_controller_makes_the_first_one_named() {
    let mut project = Project::new(ProjectName::parse("p").unwrap(), None);
    let mut new = resource(("cache", "v1", "MemcachedCluster"));
    new.controllers = Controllers::Default;
    project.add(new.clone(), false).unwrap();
    let backup = ControllerName::parse("backup").unwrap();
    let mut second = Resource { api: None, controllers: Controllers::Named(vec![backup.clone()]), ..new.clone() };
    project.add(second.clone(), false).unwrap();
    let default = ControllerName::parse("memcachedcluster").unwrap();
    let entry = &project.resources[0];
    assert_eq!(entry.controllers, Controllers::Named(vec![default.clone(), backup.clone()]));
    assert!(entry.api.is_some());
    assert_eq!(entry.controller_modules(false, Some(&default)), ["controller", "memcached_cluster"]);
    assert_eq!(entry.controller_modules(false, Some(&backup)), ["controller", "backup"]);

    second.controllers = Controllers::Named(vec![backup]);
    let problem = project.add(second, false).unwrap_err();
    assert_eq!(problem.message, "controller already exists: `cache.example.com/v1 MemcachedCluster` has `backup`");
}
