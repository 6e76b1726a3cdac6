//! `edit` switches a scaffolding choice on and off; `generate --check` agrees afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use similar::{ChangeTag, TextDiff};
use snapbox::{IntoData as _, str};

use crate::golden::samples::is_of_library;
use crate::random::Random;
use crate::sandbox::{OFFLINE, Run, Sandbox, join};

/// Flags that make a choice and undo it. Alternatives of one choice are adjacent.
const SWITCHES: &[(&str, &str)] = &[
    ("--webhook-cert-mode=cert-manager", "--webhook-cert-mode=self"),
    ("--webhook-cert-mode=files", "--webhook-cert-mode=self"),
    ("--namespaced", "--namespaced=false"),
    ("--namespaces=a,b", "--namespaced=false"),
    ("--leader-election=life", "--leader-election=lease"),
    ("--license=mit", "--license=apache2"),
    ("--owner=Authors", "--owner="),
    ("--prometheus", "--prometheus=false"),
    ("--network-policy", "--network-policy=false"),
    ("--metrics-cert", "--metrics-cert=false"),
    ("--plugins=helm", "--plugins=helm=false"),
    ("--plugins=grafana.kubebuilder.io/v1-alpha", "--plugins=grafana=false"),
    ("--plugins=manifests.sdk.operatorframework.io/v2", "--plugins=olm=false"),
    MULTIGROUP,
];

const MULTIGROUP: (&str, &str) = ("--multigroup", "--multigroup=false");

const COMMANDS: [&str; 5] = [
    "create api --group cache --version v1 --kind Memcached --image memcached:1.6 --image-container-port 11211 \
     --resource --controller --make=false",
    "create api --group cache --version v1alpha1 --kind Memcached --resource --controller=false --make=false",
    "create webhook --group cache --version v1 --kind Memcached --defaulting --programmatic-validation --conversion \
     --spoke v1alpha1 --make=false",
    "create api --group shapes --version v1 --kind Square --resource=false --controller --external-api-path shapes::v1 \
     --external-api-domain example.org --external-api-module shapes@1 --make=false",
    "create api --group apps --version v1 --kind ReplicaSet --resource=false --controller",
];

fn project(flags: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --domain example.com --project-name demo {OFFLINE} {flags}")).success();
    for command in COMMANDS {
        sandbox.run(command).success();
    }
    sandbox
}

/// Runs `generate` with a lock file, then removes it: `edit` would update a lock file.
fn generate(sandbox: &Sandbox, flag: &str) -> Run {
    let run = sandbox.lock().run(&format!("generate {flag}"));
    std::fs::remove_file(sandbox.path("Cargo.lock")).unwrap();
    run
}

type Files = BTreeMap<String, String>;

fn with(files: &Files) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in files {
        sandbox.file(path, text);
    }
    sandbox
}

fn each<T: Sync>(items: &[T], act: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    act(item);
                }
            });
        }
    });
}

#[track_caller]
fn assert_equal(files: &Files, expected: &Files, what: &str) {
    let differing: Files = files
        .iter()
        .filter(|(path, text)| expected.get(*path) != Some(*text))
        .map(|(p, t)| (p.clone(), t.clone()))
        .collect();
    let missing: Vec<_> = expected.keys().filter(|path| !files.contains_key(*path)).collect();
    let of = |path: &String| (path.clone(), expected.get(path).cloned().unwrap_or_default());
    let expected: Files = differing.keys().map(of).collect();
    assert!(missing.is_empty(), "{what}: {missing:?}");
    snapbox::assert_data_eq!(format!("{what}\n{}", join(&differing)), format!("{what}\n{}", join(&expected)).raw());
}

#[test]
fn a_choice_that_is_made_later_gives_what_init_would_have() {
    let plain = project("").files();
    // The multi-group layout is left out: objects keep their names in clusters.
    each(SWITCHES.strip_suffix(&[MULTIGROUP]).unwrap(), |(on, off)| {
        let chosen = project(on).files();
        let sandbox = with(&plain);
        sandbox.run(&format!("edit {on}")).success();
        assert_equal(&sandbox.files(), &chosen, on);
        assert_ne!(sandbox.files(), plain, "{on}");
        sandbox.run(&format!("edit {on}")).success();
        assert_equal(&sandbox.files(), &chosen, &format!("{on}, twice"));
        sandbox.run(&format!("edit {off}")).success();
        assert_equal(&sandbox.files(), &plain, off);
    });
}

/// A line diff of each file that differs.
fn difference(from: &Files, to: &Files) -> String {
    let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let mut shown = String::new();
    for path in paths {
        match (from.get(path), to.get(path)) {
            (Some(old), Some(new)) => {
                let diff = TextDiff::from_lines(old.as_str(), new.as_str());
                let lines = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
                let lines: String = lines.map(|change| format!("{}{}", change.tag(), change.value())).collect();
                if !lines.is_empty() {
                    _ = write!(shown, "{path}\n{lines}");
                }
            }
            (Some(_), None) => _ = writeln!(shown, "-{path}"),
            (None, _) => _ = writeln!(shown, "+{path}"),
        }
    }
    shown
}

#[test]
fn files_move_for_several_groups_and_all_that_leads_to_them_follows() {
    let sandbox = project("");
    sandbox.file("src/api/v1/sizes.rs", "//! Mine.\n");
    sandbox.replace("src/api/v1.rs", "pub mod memcached;\n", "pub mod memcached;\npub mod sizes;\n");
    sandbox
        .file("examples/print.rs", "use demo::{\n    api::v1::memcached::Memcached,\n    controller::memcached,\n};\n");
    sandbox.file("src/api/shared.rs", "//! crate::api::v1 is no code.\nuse crate::api::{v1::memcached, v1alpha1};\n");
    let before = sandbox.files();
    sandbox.run("edit --multigroup").success();
    let after = sandbox.files();
    // Like `init --multigroup`, except for the names in clusters and the author's files.
    snapbox::assert_data_eq!(
        difference(&project("--multigroup").files(), &after),
        str![[r#"
config/rbac/cache_memcached_admin_role.yaml
-  name: cache-memcached-admin-role
+  name: memcached-admin-role
config/rbac/cache_memcached_editor_role.yaml
-  name: cache-memcached-editor-role
+  name: memcached-editor-role
config/rbac/cache_memcached_viewer_role.yaml
-  name: cache-memcached-viewer-role
+  name: memcached-viewer-role
+examples/print.rs
src/api/cache/v1.rs
+pub mod sizes;
+src/api/cache/v1/sizes.rs
+src/api/shared.rs
src/controller/apps/replica_set.rs
-        .controller("apps-replicaset", &context.objects)
+        .controller("replicaset", &context.objects)
src/controller/cache/memcached.rs
-        .controller("cache-memcached", &context.objects)
+        .controller("memcached", &context.objects)
src/controller/shapes/square.rs
-        .controller("shapes-square", &context.objects)
+        .controller("square", &context.objects)

"#]]
    );
    generate(&sandbox, "--check").success();
    sandbox.run("edit --multigroup").success();
    assert_equal(&sandbox.files(), &after, "twice");
    sandbox.run("edit --multigroup=false").success();
    assert_equal(&sandbox.files(), &before, "back");
    assert!(!sandbox.path("src/api/cache").exists());

    // A PROJECT file that the author edited.
    sandbox.replace("PROJECT", "plugins:", "multigroup: true\nplugins:");
    sandbox.run("edit --multigroup").success();
    assert_equal(&sandbox.files(), &after, "by hand");
    sandbox.file("src/api/v1.rs", "");
    sandbox.run("edit --multigroup=false").code(1).stdout("").stderr(str![[r#"
error: cannot move `src/api/cache/v1.rs` to `src/api/v1.rs`: it exists
help: move one of them away, and run the command again

"#]]);
    std::fs::remove_file(sandbox.path("src/api/v1.rs")).unwrap();
    sandbox.run("create api --group ship --version v1 --kind Frigate --resource --controller --make=false").success();
    sandbox.run("edit --multigroup=false").code(1).stdout("").stderr(str![[r#"
error: the project has types of several groups: `cache`, `ship`
help: files without folders per group are for one group only

"#]]);
}

/// Adds comments of an author at random places.
fn annotated(files: &Files, random: &mut Random) -> Files {
    let mut files = files.clone();
    for (path, text) in &mut files {
        let comment = match path.rsplit('.').next() {
            _ if is_of_library(path) || path.contains("/bases/") || path == "Cargo.lock" => continue,
            Some("rs") => "// mine",
            Some("yaml" | "toml") => "# mine",
            _ => continue,
        };
        if matches!(path.as_str(), "config/rbac/role.yaml" | "config/webhook/manifests.yaml") || random.percent(50) {
            continue;
        }
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = random.below(lines.len() as u64 + 1);
        lines.insert(usize::try_from(at).unwrap(), format!("{comment} {}", random.below(100)));
        *text = lines.join("\n") + "\n";
    }
    files
}

/// Runs `edit`. Returns nothing if it was refused, which must leave the files unchanged.
fn edit(from: &Files, flag: &str, seed: u64) -> Option<Files> {
    let sandbox = with(from);
    let run = sandbox.run(&format!("edit {flag}"));
    if run.exit_code() == Some(1) {
        assert!(run.err().contains("error[edit-conflict]"), "seed {seed}: {run}");
        assert_equal(&sandbox.files(), from, &format!("seed {seed}: {flag}"));
        return None;
    }
    run.success();
    Some(sandbox.files())
}

#[test]
fn any_two_choices_are_taken_back_in_any_order() {
    let seed = std::env::var("EDIT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let base = annotated(&project("").files(), &mut Random(seed));
    let singles: Vec<(usize, Files)> = {
        let found = std::sync::Mutex::new(Vec::new());
        each(&(0..SWITCHES.len()).collect::<Vec<_>>(), |&n| {
            let (on, off) = SWITCHES[n];
            let Some(made) = edit(&base, on, seed) else { return };
            let back = edit(&made, off, seed).unwrap_or_else(|| panic!("seed {seed}: {off} is refused after {on}"));
            assert_equal(&back, &base, &format!("seed {seed}: {on} and back"));
            found.lock().unwrap().push((n, made));
        });
        found.into_inner().unwrap()
    };
    assert!(
        singles.len() * 4 >= SWITCHES.len() * 3,
        "seed {seed}: only {} of the switches could be made",
        singles.len()
    );
    let mut pairs = Vec::new();
    for (a, one) in &singles {
        for (b, other) in &singles {
            // The next choice replaces the first one if both answer the same question.
            if SWITCHES[*a].1 != SWITCHES[*b].1 && a < b {
                pairs.push((*a, one, *b, other));
            }
        }
    }
    let refused = AtomicUsize::new(0);
    each(&pairs, |(a, one, b, other)| {
        let ((first, back), (second, _)) = (SWITCHES[*a], SWITCHES[*b]);
        let what = format!("seed {seed}: {first}, {second}, {back}");
        let Some(both) = edit(one, second, seed) else {
            refused.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let left = edit(&both, back, seed).unwrap_or_else(|| panic!("{what}: refused"));
        assert_equal(&left, other, &what);
    });
    let refused = refused.into_inner();
    assert!(!pairs.is_empty() && refused * 10 <= pairs.len(), "seed {seed}: {refused} of {} are refused", pairs.len());
}

#[test]
fn what_the_author_has_changed_stays_or_stands_in_the_way() {
    let sandbox = project("");
    sandbox.run("edit --webhook-cert-mode=cert-manager").success();
    sandbox.replace("config/certmanager/issuer.yaml", "  selfSigned: {}", "  selfSigned: {} # mine");
    sandbox.replace(
        "config/manager/manager.yaml",
        "        # +kubebuilder:scaffold:env",
        "        - name: MINE\n          value: x\n        # +kubebuilder:scaffold:env",
    );
    sandbox
        .run("edit --webhook-cert-mode=files --namespaced --dry-run")
        .success()
        .stdout(str![[r#"
update    Makefile
update    PROJECT
update    README.md
remove    config/certmanager/certificate-webhook.yaml
remove    config/certmanager/kustomization.yaml
remove    config/certmanager/kustomizeconfig.yaml
update    config/default/kustomization.yaml
remove    config/default/manager_webhook_patch.yaml
update    config/manager/manager.yaml
update    config/rbac/memcached_admin_role.yaml
update    config/rbac/memcached_editor_role.yaml
update    config/rbac/memcached_viewer_role.yaml
update    config/rbac/role.yaml
update    config/rbac/role_binding.yaml
update    config/webhook/kustomization.yaml
create    config/webhook/kustomizeconfig.yaml
update    config/webhook/manifests.yaml
update    src/main.rs
update    tests/e2e.rs

"#]])
        .stderr(str![[r#"
warning[edit-kept]: `config/certmanager/issuer.yaml` is no longer part of the scaffold and stays, since you have changed it
help: remove it if you don't need it
1 created, 14 updated, 4 removed, 1 unchanged: nothing was written

"#]]);
    let before = sandbox.files();
    sandbox.run("edit --webhook-cert-mode=files --namespaced").success();
    assert!(sandbox.read("config/manager/manager.yaml").contains("- name: MINE"));
    sandbox.run("edit --webhook-cert-mode=cert-manager --namespaced=false").success();
    assert_equal(&sandbox.files(), &before, "back");

    sandbox.replace("config/rbac/role_binding.yaml", "  kind: ClusterRole\n", "  kind: ClusterRole # mine\n");
    let before = sandbox.files();
    sandbox.run("edit --namespaced").code(1).stdout("").stderr(str![[r#"
error[edit-conflict]: `config/rbac/role_binding.yaml:10` conflicts: you have changed lines that this command changes
  --> config/rbac/role_binding.yaml:10:1
   |
10 |   kind: ClusterRole # mine
   | ^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = help: write there, and run the command again:
             kind: Role

"#]]);
    assert_equal(&sandbox.files(), &before, "nothing is written");
    sandbox.run("edit --namespaced -o json").code(1).stderr("").stdout(str![[r#"
{
  "changes": [],
  "diagnostics": [
    {
      "code": "edit-conflict",
      "severity": "error",
      "message": "`config/rbac/role_binding.yaml:10` conflicts: you have changed lines that this command changes",
      "file": "config/rbac/role_binding.yaml",
      "line": 10,
      "column": 1,
      "help": "write there, and run the command again:\n  kind: Role"
    }
  ]
}

"#]]);
    // Follow the help of the message.
    sandbox.replace("config/rbac/role_binding.yaml", "  kind: ClusterRole # mine\n", "  kind: Role\n");
    sandbox.run("edit --namespaced").success();
    generate(&sandbox, "--check").success();
}

#[test]
fn files_that_say_another_choice_than_the_record_are_found_and_put_right() {
    let sandbox = project("");
    let before = sandbox.files();
    generate(&sandbox, "--check").success();
    sandbox.replace("PROJECT", "projectName:", "namespaced: true\nprojectName:");
    generate(&sandbox, "").success();
    let changes = str![[r#"
update    Makefile
update    README.md
update    config/default/kustomization.yaml
update    config/manager/manager.yaml
update    config/rbac/memcached_admin_role.yaml
update    config/rbac/memcached_editor_role.yaml
update    config/rbac/memcached_viewer_role.yaml
update    config/rbac/role_binding.yaml
update    config/webhook/kustomization.yaml
update    src/main.rs
update    tests/e2e.rs

"#]];
    // A missing file may have been removed by the author.
    let all = str![[r#"
update    Makefile
update    README.md
update    config/default/kustomization.yaml
update    config/manager/manager.yaml
update    config/rbac/memcached_admin_role.yaml
update    config/rbac/memcached_editor_role.yaml
update    config/rbac/memcached_viewer_role.yaml
update    config/rbac/role_binding.yaml
update    config/webhook/kustomization.yaml
create    config/webhook/kustomizeconfig.yaml
update    src/main.rs
update    tests/e2e.rs

"#]];
    generate(&sandbox, "--check").code(3).stdout(changes).stderr(str![[r#"
warning[project-differs]: `PROJECT` says `--namespaced`, but these files do not: `Makefile`, `README.md`, `config/default/kustomization.yaml`, `config/manager/manager.yaml`, `config/rbac/memcached_admin_role.yaml`, `config/rbac/memcached_editor_role.yaml`, `config/rbac/memcached_viewer_role.yaml`, `config/rbac/role_binding.yaml`, `config/webhook/kustomization.yaml`, `src/main.rs`, `tests/e2e.rs`
help: run `memcached-sdk edit --namespaced`, or another choice
11 updated, 3 unchanged

"#]]);
    sandbox.run("edit --namespaced").success().stdout(all);
    generate(&sandbox, "--check").success();
    sandbox.run("edit --namespaced=false").success();
    assert_equal(&sandbox.files(), &before, "back");

    sandbox.replace("PROJECT", "webhookCertMode: self", "webhookCertMode: files");
    generate(&sandbox, "--check").code(3).stderr(str![[r#"
warning[project-differs]: `PROJECT` says `--webhook-cert-mode=files`, but these files do not: `config/default/kustomization.yaml`, `config/rbac/kustomization.yaml`
help: run `memcached-sdk edit --webhook-cert-mode=files`, or another choice
2 updated, 3 unchanged

"#]]);
    sandbox.run("edit --webhook-cert-mode=self").success();
    assert_equal(&sandbox.files(), &before, "as it was");
}

#[test]
fn what_edit_can_not_do() {
    let sandbox = project("");
    let before = sandbox.files();
    sandbox.run("edit").code(2).stderr(str![[r#"
error: no flag is given
help: pass the choice to change, such as `--namespaced`; see `--help`

"#]]);
    sandbox.run("edit --namespaced --namespaces=a").code(2);
    sandbox.run("edit --namespaces=A").code(2).stderr(str![[r#"
error: invalid namespace `A`: it must be a DNS-1123 label: lower-case letters, digits and `-`, starting and ending with a letter or digit, at most 63 characters
help: use `a`

"#]]);
    sandbox.run("edit --owner=a\\b").code(2).stderr(str![[r#"
error: invalid `--owner`: quotes, backslashes and control characters are not allowed

"#]]);
    sandbox
        .run("create webhook --group core --version v1 --kind Pod --defaulting --webhook-cert-mode=files")
        .code(1)
        .stderr(str![[r#"
error: the project has `--webhook-cert-mode=self`
help: all webhooks share one certificate: leave the flag out, or run `memcached-sdk edit --webhook-cert-mode=files` first

"#]]);
    sandbox.file(
        "PROJECT",
        &before["PROJECT"].replace("    webhookCertMode", "    leaderElection: x\n    webhookCertMode"),
    );
    sandbox.run("edit --prometheus").code(1).stderr(str![[r#"
error: `PROJECT:19`: `plugins.rust.memcached-sdk.dev/v1.leaderElection`: `x` is neither `lease` nor `life`
help: correct the file

"#]]);
    sandbox.file("PROJECT", &before["PROJECT"]);
    assert_equal(&sandbox.files(), &before, "nothing is written");
    Sandbox::new().run("edit --prometheus").code(1).stderr(str![[r#"
error: not in a project: could not find `PROJECT` in this folder or any parent folder
help: change to the folder of the project, or create a project with `memcached-sdk init`

"#]]);
}

/// A Role cannot grant access to a cluster-scoped kind.
#[test]
fn users_of_a_kind_of_the_whole_cluster_have_cluster_roles() {
    let wanted = |sandbox: &Sandbox, roles: [(&str, &str); 2]| {
        for ((kind, role), who) in
            roles.into_iter().flat_map(|kind| ["admin", "editor", "viewer"].map(|who| (kind, who)))
        {
            let text = sandbox.read(&format!("config/rbac/{kind}_{who}_role.yaml"));
            assert!(text.contains(&format!("\nkind: {role}\n")), "{text}");
            assert_eq!(text.contains("namespace: system"), role == "Role", "{text}");
        }
    };
    let sandbox = Sandbox::project("--namespaced");
    sandbox.run("create api --group a --version v1 --kind Room --make=false").success();
    sandbox.run("create api --group a --version v1 --kind House --namespaced=false --make=false").success();
    wanted(&sandbox, [("room", "Role"), ("house", "ClusterRole")]);
    sandbox.run("edit --namespaced=false --make=false").success();
    wanted(&sandbox, [("room", "ClusterRole"), ("house", "ClusterRole")]);
    sandbox.run("edit --namespaced --make=false").success();
    wanted(&sandbox, [("room", "Role"), ("house", "ClusterRole")]);
}
