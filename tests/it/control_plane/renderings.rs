//! Every rendering of a project with any options. The API server accepts it without a warning, another prefix and
//! namespace apply everywhere, and kustomize, the installer, `deploy/`, the chart and the bundle have the same objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Once;

use serde_json::Value;

use crate::control_plane::makefile::make;
use crate::control_plane::{self, ControlPlane, Shared, helm, olm};
use crate::golden::samples::MULTI_GROUP;
use crate::sandbox::{OFFLINE, Sandbox};

/// The values of each `init` option.
const QUESTIONS: &[&[&str]] = &[
    &["", "--namespaced", "--namespaces=a,b"],
    &["--webhook-cert-mode=self", "--webhook-cert-mode=cert-manager", "--webhook-cert-mode=files"],
    &["", "--leader-election=life"],
    &["", "--prometheus"],
    &["", "--network-policy"],
    &["", "--metrics-cert"],
];

/// The sample with webhooks, or a multi-group project with a cluster-scoped kind and a kind of two versions.
fn commands(multigroup: bool) -> Vec<&'static str> {
    if multigroup {
        return MULTI_GROUP[1..].to_vec();
    }
    vec![
        "create api --group cache --version v1alpha1 --kind Memcached --image memcached:1.6-alpine --image-container-port 11211",
        "create webhook --group cache --version v1alpha1 --kind Memcached --defaulting --programmatic-validation",
    ]
}

/// Pairwise combinations: any two values of different options occur together. Entries are indexes.
fn pairwise() -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for answers in QUESTIONS {
        let with = |given: &Vec<usize>, n: usize| [given.as_slice(), &[n]].concat();
        all = all.iter().flat_map(|given| (0..answers.len()).map(|n| with(given, n))).collect();
    }
    let pairs = |given: &Vec<usize>| -> BTreeSet<[usize; 4]> {
        let given: Vec<(usize, usize)> = given.iter().copied().enumerate().collect();
        let behind =
            |&(a, x): &(usize, usize)| given.iter().filter(move |(b, _)| a < *b).map(move |&(b, y)| [a, x, b, y]);
        given.iter().flat_map(behind).collect()
    };
    let mut missing: BTreeSet<[usize; 4]> = all.iter().flat_map(pairs).collect();
    let mut chosen = Vec::new();
    while !missing.is_empty() {
        let best = all.iter().max_by_key(|given| pairs(given).intersection(&missing).count()).unwrap();
        missing = missing.difference(&pairs(best)).copied().collect();
        chosen.push(best.clone());
    }
    chosen
}

type Objects = BTreeMap<String, Value>;

fn objects(text: &str) -> Objects {
    let documents: Vec<Value> = serde_yaml::from_multiple(text).unwrap();
    let mut objects = Objects::new();
    for object in documents.into_iter().filter(|object| !object.is_null()) {
        let [namespace, name] =
            ["namespace", "name"].map(|field| object["metadata"][field].as_str().unwrap_or_default());
        let before = objects.insert(format!("{} {namespace}/{name}", object["kind"].as_str().unwrap()), object);
        assert_eq!(before, None, "twice");
    }
    objects
}

/// Drops the chart's additions, and sorts variables, because a chart moves the configurable ones to the end.
fn comparable(objects: Objects) -> Objects {
    let mut objects = helm::comparable(objects);
    for object in objects.values_mut().filter(|object| object["kind"] == "Deployment") {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
        for env in containers.iter_mut().filter_map(|container| container["env"].as_array_mut()) {
            env.sort_by_key(|variable| variable["name"].to_string());
        }
    }
    objects
}

#[track_caller]
fn assert_same(what: &str, objects: &Objects, wanted: &Objects) {
    assert_eq!(objects.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{what}");
    for (name, wanted) in wanted {
        assert_eq!(objects[name], *wanted, "{what}: {name}");
    }
}

/// A server with foreign CRDs that warns about pods below the *restricted* level.
fn server() -> Shared {
    static PREPARED: Once = Once::new();
    let plane = ControlPlane::shared();
    PREPARED.call_once(|| {
        let crds = include_str!("renderings/crds.yaml");
        plane.admin.send(&["create", "-f", "-"], crds);
        for name in ["demo-system", "elsewhere", "a", "b"] {
            plane.admin.run(&["create", "namespace", name]);
            plane.admin.run(&["label", "namespace", name, "pod-security.kubernetes.io/warn=restricted"]);
        }
        established(&plane, crds);
    });
    plane
}

fn established(plane: &ControlPlane, crds: &str) {
    plane.admin.send(&["wait", "-f", "-", "--for", "condition=Established", "--timeout=60s"], crds);
}

const DRY_RUN: [&str; 6] = ["apply", "--server-side", "--dry-run=server", "--warnings-as-errors", "-f", "-"];

#[test]
fn every_rendering_is_accepted_without_a_warning_and_is_the_same_by_every_road() {
    let plane = server();
    let kustomize =
        |project: &Sandbox, folder: &str| plane.admin.run(&["kustomize", &project.path(folder).display().to_string()]);
    for (given, multigroup) in pairwise().iter().flat_map(|given| [(given, false), (given, true)]) {
        let flags: Vec<&str> = given.iter().zip(QUESTIONS).map(|(n, answers)| answers[*n]).collect();
        let what = format!("{} {}", if multigroup { "--multigroup" } else { "" }, flags.join(" "));
        let project = Sandbox::new();
        let init = if multigroup { "init --multigroup" } else { "init" };
        project
            .run(&format!("{init} --domain example.com --project-name demo {OFFLINE} {}", flags.join(" ")))
            .success();
        project.lock();
        for command in commands(multigroup) {
            project.run(&format!("{command} --make=false")).success();
        }
        project.lock().run("generate").success();
        let everything =
            if project.path("config/namespaces").exists() { "config/namespaces" } else { "config/default" };
        let rendered = kustomize(&project, everything);
        plane.admin.attempt(&DRY_RUN, &rendered).unwrap_or_else(|error| panic!("{what}: {error}"));

        make(project.root(), &plane.admin, &["build-installer"]).unwrap_or_else(|error| panic!("{what}: {error}"));
        let wanted = objects(&rendered);
        assert_same(&format!("{what}: installer"), &objects(&project.read("dist/install.yaml")), &wanted);
        project.run("generate installer").success();
        let files = crate::sandbox::files(&project.path("deploy"));
        let files = files.into_iter().filter(|(path, _)| !path.ends_with("_cr.yaml"));
        assert_same(&format!("{what}: deploy/"), &objects(&files.map(|(_, text)| text).collect::<String>()), &wanted);
        project.run("generate helm").success();
        let wanted: Objects = wanted.into_iter().filter(|(name, _)| !name.starts_with("Namespace ")).collect();
        let chart = objects(&helm::template(&project, "demo", "--namespace demo-system"));
        assert_same(&format!("{what}: chart"), &comparable(chart), &comparable(wanted));

        project.run("generate kustomize manifests --provider Team").success();
        project.pipe("generate bundle --version 0.1.0", &kustomize(&project, "config/manifests")).success();
        // OLM provides webhook certificates, but not metrics certificates, which is a warning.
        let of_certificates = |name: &String| {
            ["Certificate ", "Issuer "].iter().any(|kind| name.starts_with(kind))
                || ["role", "rolebinding"].iter().any(|end| {
                    name.ends_with(&format!("-webhook-ca-{end}")) || name.ends_with(&format!("-webhook-cert-{end}"))
                })
        };
        let mut lost = olm::lost(&rendered, &project.path("bundle"));
        lost.retain(|name| !of_certificates(name));
        assert_eq!(lost, BTreeSet::new(), "{what}: bundle");
        let mut errors = olm::judge(&project).errors;
        // OLM supports conversion for operators in all namespaces only.
        let is_converted = multigroup && flags.iter().any(|flag| flag.starts_with("--namespace"));
        assert_eq!(errors.iter().any(|error| error.contains("when conversionCRDs is present")), is_converted, "{what}");
        errors.retain(|error| !error.contains("when conversionCRDs is present"));
        assert_eq!(errors, [""; 0], "{what}: bundle");

        // Another prefix and namespace.
        project.replace("config/default/kustomization.yaml", "namePrefix: demo-", "namePrefix: other-");
        project.replace("config/default/kustomization.yaml", "namespace: demo-system", "namespace: elsewhere");
        project.run("generate").success();
        let renamed = kustomize(&project, everything);
        let old: Vec<&str> = renamed.lines().filter(|line| line.contains("demo-")).collect();
        assert_eq!(old, [""; 0], "{what}");
        plane.admin.attempt(&DRY_RUN, &renamed).unwrap_or_else(|error| panic!("{what}, renamed: {error}"));
    }
}

/// The server knows the samples' kinds; it reports wrong renderings.
#[test]
fn samples_are_accepted_and_what_is_wrong_is_not() {
    let plane = server();
    for multigroup in [false, true] {
        let project = Sandbox::new();
        let init = if multigroup { "init --multigroup" } else { "init" };
        project.run(&format!("{init} --domain samples.example.com --project-name demo {OFFLINE}")).success();
        project.lock();
        let apis = commands(multigroup).into_iter().filter(|command| command.starts_with("create api"));
        for command in apis.filter(|command| !command.contains("v1 --kind Frigate")) {
            project.run(&format!("{command} --make=false")).success();
        }
        project.lock().run("generate").success();
        let kustomize = |folder: &str| {
            let mut kubectl = std::process::Command::new(control_plane::kubectl());
            let output = kubectl.args(["kustomize", folder]).current_dir(project.root()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let crds = kustomize("config/crd");
        plane.admin.send(&["apply", "--server-side", "-f", "-"], &crds);
        established(&plane, &crds);
        plane.admin.send(&DRY_RUN, &kustomize("config/samples"));

        let rendered = kustomize("config/default");
        for (from, to, said) in [
            ("runAsNonRoot: true", "runAsNonRoot: false", "violate PodSecurity"),
            ("protocol: TCP", "protocol: XXX", "XXX"),
            ("verbs:", "verb:", "verb"),
        ] {
            assert!(rendered.contains(from), "{from}");
            let error = plane.admin.attempt(&DRY_RUN, &rendered.replace(from, to)).unwrap_err();
            assert!(error.contains(said), "{from}: {error}");
        }
    }
}
