//! `generate bundle`, `generate kustomize manifests` and `bundle validate` on a small stream. `control_plane/olm.rs`
//! runs OLM's own validators.

mod property;

use std::os::unix::fs::PermissionsExt as _;

use memcached_sdk::diagnostic::{Code, Severity};

use super::diagnostics::golden;
use crate::sandbox::{OFFLINE, Run, Sandbox, join};

const STREAM: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: apps}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: shop-webhook, namespace: apps, path: /convert}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A thing that is sold.
        properties:
          spec: {type: object, properties: {listPrice: {type: integer, description: What it costs.}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop, namespace: apps}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: shop-leader, namespace: apps}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shop}
rules:
- {apiGroups: [example.com], resources: [things], verbs: [watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'shop:viewer'}
rules:
- {apiGroups: [example.com], resources: [things], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: shop-leader, namespace: apps}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: shop-leader}
subjects:
- {kind: ServiceAccount, name: shop, namespace: apps}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shop}
subjects:
- {kind: ServiceAccount, name: shop, namespace: apps}
---
apiVersion: v1
kind: Service
metadata: {name: shop-webhook, namespace: apps}
spec: {selector: {app: shop}, ports: [{port: 443, targetPort: 9443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: apps, labels: {app: shop}}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      serviceAccountName: shop
      containers:
      - name: manager
        image: registry/shop:1
        args: [--webhook-cert-path=/certs]
        env:
        - {name: RELATED_IMAGE_DATA_BASE, value: 'registry/data:2'}
        resources: {requests: {cpu: 10m}}
        volumeMounts:
        - {name: certs, mountPath: /tmp/k8s-webhook-server/serving-certs}
      volumes:
      - {name: certs, secret: {secretName: webhook-server-cert}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving, namespace: apps}
spec: {secretName: webhook-server-cert}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shop}
webhooks:
- name: vthing.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: shop-webhook, namespace: apps, path: /validate}}
  rules:
  - {apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v0.0.0, namespace: placeholder}
spec:
  displayName: Shop
  installModes: [{type: AllNamespaces, supported: true}]
  minKubeVersion: 1.30.0
  provider: {name: Team}
  customresourcedefinitions:
    owned:
    - {kind: Thing, name: things.example.com, version: v1, displayName: Goods}
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: sample}
spec: {listPrice: 1}
";

const GENERATE: &str = "generate bundle --manifests install.yaml --package shop";

fn generated(stream: &str, flags: &str) -> (Sandbox, Run) {
    let sandbox = Sandbox::new();
    sandbox.file("install.yaml", stream);
    let run = sandbox.run(&format!("{GENERATE} {flags}"));
    (sandbox, run)
}

#[test]
fn any_stream_gives_a_bundle() {
    let (sandbox, run) = generated(STREAM, "--version 0.1.0 --channels stable,fast --default-channel stable");
    run.success();
    let mut files = sandbox.files();
    files.remove("install.yaml");
    snapbox::assert_data_eq!(join(&files), snapbox::file!["bundle/any_stream.txt"].raw());
    sandbox.run(&format!("{GENERATE} --check")).success();
    sandbox.run("bundle validate --select-optional name=good-practices").success().stderr("`bundle` has no error\n");
}

/// Without a pipe, `generate bundle` builds `config/manifests`.
#[test]
fn without_a_pipe_config_manifests_is_rendered() {
    for (program, verb) in [("kubectl", "kustomize"), ("kustomize", "build")] {
        let sandbox = Sandbox::project("");
        sandbox.run("generate kustomize manifests").success();
        sandbox.file("stream.yaml", &STREAM.replace("shop", "demo"));
        let path = format!("bin/{program}");
        sandbox.file(
            &path,
            "#!/bin/sh\necho \"$*\" >called\n[ -f broken ] && echo no such folder >&2 && exit 1\nexec /bin/cat stream.yaml\n",
        );
        std::fs::set_permissions(sandbox.path(&path), std::fs::Permissions::from_mode(0o755)).unwrap();
        let run = || {
            let mut command = sandbox.command("generate bundle --version 0.1.0");
            sandbox.finish("generate bundle", command.env("PATH", sandbox.path("bin")))
        };
        let said = run().success().err();
        assert!(said.contains(&format!("rendered: {program} {verb} config/manifests\n")), "{said}");
        assert_eq!(sandbox.read("called"), format!("{verb} config/manifests\n"));
        assert!(sandbox.path("bundle/manifests/demo.clusterserviceversion.yaml").exists());
        sandbox.file("broken", "");
        assert!(run().code(1).err().contains("failed: no such folder"));
        std::fs::remove_file(sandbox.path(&path)).unwrap();
        let said = run().code(1).err();
        assert!(said.contains("neither `kubectl` nor `kustomize` is in PATH") && said.contains("pipe"), "{said}");
    }
    let sandbox = Sandbox::project("");
    let said = sandbox.run("generate bundle --version 0.1.0").code(1).err();
    assert!(said.contains("run `memcached-sdk generate kustomize manifests` first"), "{said}");
    // Empty stdin is an error: the build before the pipe failed.
    let said = sandbox.pipe("generate bundle --version 0.1.0", "").code(1).err();
    assert!(said.contains("stdin is empty"), "{said}");
}

/// A kustomization may only list files that exist.
#[test]
fn samples_are_in_a_bundle_once_there_are_some() {
    let sandbox = Sandbox::project("");
    let kustomization = "config/manifests/kustomization.yaml";
    sandbox.run("generate kustomize manifests").success();
    assert!(sandbox.read(kustomization).contains("\n# - ../samples\n"));
    sandbox.run("create api --group cache --version v1 --kind Memcached").success();
    sandbox.run("generate kustomize manifests").success();
    assert!(sandbox.read(kustomization).contains("\n- ../samples\n"));
    sandbox.run("generate kustomize manifests").success().stdout("");
}

/// Prompts read stdin as well; they must not consume the manifests.
#[test]
fn manifests_are_read_from_stdin() {
    for file in [
        "generate bundle --package shop --version 0.1.0 --manifests install.yaml",
        "generate helm --manifests install.yaml",
        "generate installer --manifests install.yaml --samples none",
    ] {
        let [of_file, of_stdin] = [Sandbox::new(), Sandbox::new()];
        for sandbox in [&of_file, &of_stdin] {
            sandbox.file("install.yaml", STREAM);
        }
        of_file.run(file).success();
        of_stdin.pipe(&file.replace("install.yaml", "-"), STREAM).success();
        assert_eq!(of_stdin.files(), of_file.files(), "{file}");
    }
    let sandbox = Sandbox::new();
    sandbox.pipe("generate bundle --package shop --version 0.1.0", STREAM).success();
    assert!(sandbox.path("bundle.Dockerfile").exists());
}

/// Values from earlier flags stay within a version. A new version starts from the base.
#[test]
fn a_bundle_is_made_again() {
    let (sandbox, run) = generated(STREAM, "--version 0.2.0 --replaces shop.v0.1.0");
    run.success();
    let csv = "bundle/manifests/shop.clusterserviceversion.yaml";
    sandbox.replace(csv, "    capabilities:", "    createdAt: 2026-01-02T03:04:05Z\n    capabilities:");
    sandbox.file("bundle/manifests/mine.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n").replace(
        "bundle/metadata/annotations.yaml",
        "annotations:\n",
        "annotations:\n  com.example.versions: '1'\n",
    );
    sandbox.file("install.yaml", &STREAM.replace("'shop:viewer'", "shop-editor"));
    sandbox.run(&format!("{GENERATE} --version 0.2.0")).success();
    let again = sandbox.read(csv);
    assert!(again.contains("replaces: shop.v0.1.0") && again.contains("2026-01-02T03:04:05Z"), "{again}");
    assert!(sandbox.path("bundle/manifests/mine.yaml").exists());
    let role =
        |name: &str| sandbox.path(&format!("bundle/manifests/{name}_rbac.authorization.k8s.io_v1_clusterrole.yaml"));
    assert!(role("shop-editor").exists() && !role("shop-viewer").exists());
    assert!(sandbox.read("bundle.Dockerfile").contains("LABEL com.example.versions=1\n"));
    let epoch = sandbox.finish("epoch", sandbox.command(GENERATE).env("SOURCE_DATE_EPOCH", "1000000000"));
    epoch.success();
    assert!(sandbox.read(csv).contains("createdAt: \"2001-09-09T01:46:40Z\""), "{}", sandbox.read(csv));
    sandbox.run(&format!("{GENERATE} --version 0.3.0")).success();
    let next = sandbox.read(csv);
    assert!(next.contains("name: shop.v0.3.0") && !next.contains("replaces") && !next.contains("createdAt"), "{next}");
    sandbox.file(csv, &next.replace("relatedImages:", "relatedImages: 1\n  icons:"));
    let broken = sandbox.files();
    let error = sandbox.run(&format!("{GENERATE} --version 0.3.0")).code(1).err();
    assert!(error.contains("the CSV of the bundle is not valid") && error.contains("correct the type"), "{error}");
    assert_eq!(sandbox.files(), broken);
}

/// The defect that a case adds to a stream or a bundle.
enum Wrong<'a> {
    Stream(&'a str, &'a str),
    Text(&'a str, &'a str, &'a str),
    File(&'a str, &'a str),
    Nothing,
}

#[test]
fn every_code_about_bundles_has_its_message() {
    use Wrong::{File, Nothing, Stream, Text};
    let csv = "bundle/manifests/shop.clusterserviceversion.yaml";
    let old = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: shop}\n";
    let object = |kind: &str, metadata: &str| format!("apiVersion: v1\nkind: {kind}\nmetadata: {{{metadata}}}\n");
    let (account, pod, map) = (
        object("ServiceAccount", "name: shop"),
        object("Pod", "name: shop"),
        object("ConfigMap", "name: shop, namespace: apps"),
    );
    let other = "bundle/manifests/other.yaml";
    let selector = "  sideEffects: None\n  matchConditions: [{name: a, expression: 'true'}]\n";
    for (code, wrong, flags) in [
        (Code::BundleLeftOut, Stream("kind: Namespace", "kind: Job"), ""),
        (Code::BundleNamespace, Stream("kind: ClusterRole, name: shop", "kind: ClusterRole, name: view"), ""),
        (Code::BundleWebhookField, Stream("  sideEffects: None\n", selector), ""),
        (Code::BundleAccount, File(other, &account), ""),
        (
            Code::BundleCapability,
            Text(csv, "capabilities: Basic Install", "capabilities: Best"),
            "suite=operatorframework",
        ),
        (
            Code::BundleCategory,
            Text(
                csv,
                "    capabilities: Basic Install",
                "    capabilities: Basic Install\n    categories: Database,Best",
            ),
            "name=categories",
        ),
        (
            Code::BundleCrd,
            Text("bundle/manifests/example.com_things.yaml", "  group: example.com", "  group: example.org"),
            "",
        ),
        (Code::BundleCsv, Text(csv, "\n  displayName: Shop\n", "\n"), ""),
        (Code::BundleCsvField, Text(csv, "  minKubeVersion: 1.30.0\n", ""), ""),
        (Code::BundleExample, Text(csv, "\"kind\": \"Thing\"", "\"kind\": \"Thin\""), ""),
        (Code::BundleHub, Text(csv, "    name: Team", "    name: ''"), "name=operatorhubv2"),
        (Code::BundleHubField, Nothing, "name=operatorhubv2"),
        (Code::BundleImage, Text(csv, "registry/data:2", "Registry//data"), ""),
        (Code::BundleInstallMode, Text(csv, "- supported: true", "- supported: false"), ""),
        (Code::BundleKind, File(other, &pod), ""),
        (Code::BundleMetadata, Text("bundle/metadata/annotations.yaml", ": manifests/", ": objects/"), ""),
        (Code::BundleNoExample, Text(csv, "alm-examples", "examples"), ""),
        (Code::BundleObject, File(other, &map), ""),
        (Code::BundlePractice, Nothing, "name=good-practices"),
        (Code::BundleRemovedApi, File(other, old), "name=alpha-deprecated-apis --optional-values k8s-version=1.25"),
        (Code::BundleStructure, File("bundle/manifests/.hidden", ""), ""),
        (Code::BundleWebhook, Text(csv, "sideEffects: None", "sideEffects: Some"), ""),
    ] {
        let stream = match &wrong {
            Stream(from, to) => {
                assert!(STREAM.contains(from), "{from}");
                STREAM.replace(from, to)
            }
            _ => STREAM.to_owned(),
        };
        let (sandbox, run) = generated(&stream, "--version 0.1.0 -q");
        if matches!(wrong, Stream(..)) {
            golden(code, &run.success().err());
            continue;
        }
        run.success();
        match wrong {
            Text(path, from, to) => _ = sandbox.replace(path, from, to),
            File(path, text) => _ = sandbox.file(path, text),
            Stream(..) | Nothing => {}
        }
        let select = if flags.is_empty() { String::new() } else { format!("--select-optional {flags}") };
        let run = sandbox.run(&format!("bundle validate {select}"));
        golden(code, &run.code(i32::from(code.severity() == Severity::Error)).err());
    }
    let (sandbox, run) = generated(&STREAM.replace("1.30.0", "1.20.0"), "--version 0.1.0 -q");
    run.success();
    sandbox.file(other, old);
    let run = sandbox.run("bundle validate --select-optional name=alpha-deprecated-apis");
    golden(Code::BundleRemovedApiLater, &run.code(0).err());
}

/// OLM chooses the namespace. `generate bundle` reports each fixed namespace; `bundle validate` reports those that
/// remain.
#[test]
fn namespaces_are_said() {
    let binding = |kind: &str, metadata: &str, subject: &str| {
        format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{{metadata}}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shop}}\nsubjects: [{{{subject}}}]\n"
        )
    };
    let add = |text: &str| (String::new(), text.to_owned());
    let edit = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let arguments = "args: [--webhook-cert-path=/certs]";
    let mut text = String::new();
    for (what, (from, to)) in [
        (
            "another account",
            add(&binding("ClusterRoleBinding", "name: b", "kind: ServiceAccount, name: scraper, namespace: apps")),
        ),
        (
            "the account's name elsewhere",
            add(&binding("ClusterRoleBinding", "name: b", "kind: ServiceAccount, name: shop, namespace: other")),
        ),
        (
            "a user",
            add(&binding(
                "RoleBinding",
                "name: b, namespace: apps",
                "kind: User, name: 'system:serviceaccount:apps:scraper'",
            )),
        ),
        (
            "all accounts",
            add(&binding(
                "RoleBinding",
                "name: b, namespace: apps",
                "kind: Group, name: 'system:serviceaccounts:apps'",
            )),
        ),
        ("everybody", add(&binding("ClusterRoleBinding", "name: b", "kind: Group, name: 'system:authenticated'"))),
        (
            "another namespace",
            add(&binding(
                "RoleBinding",
                "name: b, namespace: users",
                "kind: ServiceAccount, name: shop, namespace: apps",
            )),
        ),
        (
            "a Role without a binding",
            add(
                "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: users}\nrules: []\n",
            ),
        ),
        ("a Role that is made wider", edit("resources: [leases]", "resources: [secrets]")),
        ("an argument", edit(arguments, "args: [--leader-election-namespace=apps, --kind=apps]")),
        ("a flag and its value", edit(arguments, "args: [--watch-namespaces, 'a,b']")),
        (
            "a variable",
            edit("env:\n", "env:\n        - {name: POD_NAMESPACE, value: apps}\n        - {name: KIND, value: apps}\n"),
        ),
        ("an address", edit("env:\n", "env:\n        - {name: URL, value: 'https://shop-webhook.apps.svc/apps'}\n")),
        ("a namespace of the platform", edit(arguments, "args: [--dns-namespace=kube-system]")),
        ("a variable as argument", edit(arguments, "args: [--namespace=$(POD)]")),
        (
            "a ConfigMap",
            add(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: apps}\ndata: {config.yaml: 'namespace: apps'}\n",
            ),
        ),
        (
            "a ConfigMap elsewhere",
            add("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: users}\ndata: {kind: apps}\n"),
        ),
        (
            "two containers",
            edit(
                "      - name: manager\n        image: registry/shop:1\n",
                "      - {name: a, image: 'r/a:1'}\n      - name: b\n        image: registry/b:1\n",
            ),
        ),
        ("the namespaces of the group", edit("AllNamespaces, supported: true", "OwnNamespace, supported: true")),
    ] {
        let selector = "  sideEffects: None\n  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: apps}}\n";
        let stream = match from.as_str() {
            "" => format!("{STREAM}{to}"),
            from => {
                assert!(STREAM.contains(from), "{from}");
                STREAM.replace(from, &to)
            }
        };
        let stream = if what == "the namespaces of the group" {
            stream.replace("  sideEffects: None\n", selector)
        } else {
            stream
        };
        let (sandbox, run) = generated(&stream, "--version 0.1.0 -q");
        text += &format!("──── {what}\n{}", run.success().err());
        text += &format!("─ validate\n{}", sandbox.run("bundle validate").err());
    }
    snapbox::assert_data_eq!(text, snapbox::file!["bundle/namespaces.txt"].raw());
}

#[test]
fn what_can_be_no_bundle_is_refused() {
    let mut text = String::new();
    for (what, stream, flags) in [
        ("no version", STREAM.to_owned(), ""),
        ("no Deployment", STREAM.replace("kind: Deployment", "kind: StatefulSet"), "--version 0.1.0"),
        ("a CSV of others", STREAM.replace("name: shop.v0.0.0", "name: other.v0.0.0"), "--version 0.1.0"),
        ("no YAML", "a: [".to_owned(), "--version 0.1.0"),
        (
            "a field of another type",
            STREAM.replace("name: shop.v0.0.0,", "name: shop.v0.0.0, annotations: [],"),
            "--version 0.1.0",
        ),
    ] {
        let (sandbox, run) = generated(&stream, flags);
        text += &format!("──── {what}\n{}", run.code(1).err());
        assert_eq!(sandbox.files().len(), 1, "{what}");
    }
    snapbox::assert_data_eq!(text, snapbox::file!["bundle/refused.txt"].raw());
}

enum Edit {
    Text(&'static str, &'static str),
    File(&'static str),
    Gone,
}

/// Defects of [`STREAM`]'s bundle: name, file and change.
const BROKEN: &[(&str, &str, Edit)] = {
    use Edit::{File, Gone, Text};
    const CSV: &str = "manifests/shop.clusterserviceversion.yaml";
    const CRD: &str = "manifests/example.com_things.yaml";
    const ANNOTATIONS: &str = "metadata/annotations.yaml";
    const OTHER: &str = "manifests/other.yaml";
    &[
        ("nothing", CSV, Text("v0.1.0", "v0.1.0")),
        (
            "the kind of lists of another",
            OTHER,
            File(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: lists.example.com}\n\
                 spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: ThingList, plural: lists}\n  \
                 versions: [{name: v1, served: true, storage: true}]\n",
            ),
        ),
        ("no CSV", CSV, Gone),
        ("no manifests", "manifests", Gone),
        ("no metadata", "metadata", Gone),
        ("no CRD", CRD, Gone),
        (
            "two CSVs",
            OTHER,
            File(
                "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: shop.v0.2.0}\nspec: {displayName: Shop, install: {strategy: deployment}}\n",
            ),
        ),
        ("a CSV that is no YAML", CSV, File("kind: [\n")),
        ("a file that is no YAML", OTHER, File("kind: [\n")),
        ("a file without a kind", OTHER, File("a: 1\n")),
        ("a hidden file", "manifests/.hidden", File("")),
        ("a folder", "manifests/more/map.yaml", File("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\n")),
        (
            "two documents",
            OTHER,
            File(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n",
            ),
        ),
        ("no package", ANNOTATIONS, Text("  operators.operatorframework.io.bundle.package.v1: shop\n", "")),
        ("another media type", ANNOTATIONS, Text("registry+v1", "helm")),
        ("another default channel", ANNOTATIONS, Text("default.v1: stable", "default.v1: slow")),
        ("no annotations", ANNOTATIONS, File("labels: {}\n")),
        ("no name", CSV, Text("  name: shop.v0.1.0\n", "")),
        ("a name in capitals", CSV, Text("name: shop.v0.1.0", "name: Shop.v0.1.0")),
        ("a name without a version", CSV, Text("name: shop.v0.1.0", "name: shop")),
        ("a version with a v", CSV, Text("version: 0.1.0", "version: v0.1.0")),
        ("no version", CSV, Text("  version: 0.1.0\n", "")),
        ("no displayName", CSV, Text("  displayName: Shop\n", "")),
        ("no minKubeVersion", CSV, Text("  minKubeVersion: 1.30.0\n", "")),
        ("a minKubeVersion that is none", CSV, Text("1.30.0", "'1.30'")),
        ("no strategy", CSV, Text("    strategy: deployment\n", "")),
        ("an unknown strategy", CSV, Text("strategy: deployment", "strategy: hope")),
        ("no installModes", CSV, Text("  installModes:\n  - supported: true\n    type: AllNamespaces\n", "")),
        ("an installMode that is not supported", CSV, Text("- supported: true", "- supported: false")),
        ("an unknown installMode", CSV, Text("type: AllNamespaces", "type: Everywhere")),
        (
            "a conversion in one namespace",
            CSV,
            Text("  - supported: true\n", "  - supported: true\n    type: OwnNamespace\n  - supported: true\n"),
        ),
        ("no examples", CSV, Text("alm-examples", "examples")),
        ("examples that are no JSON", CSV, Text("\"kind\": \"Thing\",", "\"kind\": \"Thing\"")),
        ("an example of another kind", CSV, Text("\"kind\": \"Thing\"", "\"kind\": \"Thin\"")),
        ("a misspelt annotation", CSV, Text("    capabilities:", "    olm.skiprange: '>=0.0.1'\n    capabilities:")),
        ("properties as an annotation", CSV, Text("    capabilities:", "    olm.properties: '[]'\n    capabilities:")),
        ("an owned CRD of another version", CSV, Text("      version: v1\n", "      version: v2\n")),
        ("an owned CRD with a wrong name", CSV, Text("      name: things.example.com\n", "      name: things\n")),
        ("a CRD of another name", CRD, Text("  name: things.example.com", "  name: thing.example.com")),
        ("a CRD of another kind", CRD, Text("kind: Thing\n", "kind: Thin\n")),
        ("a CRD that stores nothing", CRD, Text("storage: true", "storage: false")),
        ("a CRD without a scope", CRD, Text("  scope: Namespaced\n", "")),
        ("a CRD of an old version", CRD, Text("apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n")),
        (
            "a webhook of another Deployment",
            CSV,
            Text("    deploymentName: shop\n    generateName: v", "    deploymentName: other\n    generateName: v"),
        ),
        ("a webhook of no type", CSV, Text("ValidatingAdmissionWebhook", "Webhook")),
        ("two webhooks of one name", CSV, Text("vthing.example.com", "cthings.kb.io")),
        ("a conversion of another CRD", CSV, Text("    - things.example.com\n", "    - others.example.com\n")),
        ("a kind that OLM has not", OTHER, File("apiVersion: v1\nkind: Pod\nmetadata: {name: shop}\n")),
        ("the account of the operator", OTHER, File("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: shop}\n")),
        (
            "an object in a namespace",
            OTHER,
            File("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, namespace: apps}\n"),
        ),
        ("an object without a name", OTHER, File("apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n")),
        ("an image that is none", CSV, Text("  - image: registry/data:2", "  - image: Registry//data")),
        ("an unknown capability", CSV, Text("Basic Install", "Best")),
        ("an unknown category", CSV, Text("    capabilities:", "    categories: Database,Best\n    capabilities:")),
        ("no provider", CSV, Text("  provider:\n    name: Team\n", "")),
        (
            "a maintainer without an address",
            CSV,
            Text("  provider:\n", "  maintainers: [{name: Ada, email: ada}]\n  provider:\n"),
        ),
        ("a link that is none", CSV, Text("  provider:\n", "  links: [{name: Source, url: here}]\n  provider:\n")),
        (
            "an icon of another type",
            CSV,
            Text("  provider:\n", "  icon: [{base64data: YQ==, mediatype: image/bmp}]\n  provider:\n"),
        ),
        (
            "an icon that is no Base64",
            CSV,
            Text("  provider:\n", "  icon: [{base64data: '?', mediatype: image/png}]\n  provider:\n"),
        ),
        (
            "a removed API",
            OTHER,
            File(
                "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: shop}\nspec: {minAvailable: 1}\n",
            ),
        ),
        (
            "a container without requests",
            CSV,
            Text("                resources:\n                  requests:\n                    cpu: 10m\n", ""),
        ),
    ]
};

pub(crate) fn broken() -> Vec<(&'static str, Sandbox)> {
    let flags = "--version 0.1.0 --channels stable --default-channel stable -q";
    let (whole, run) = generated(STREAM, flags);
    run.success();
    let files = whole.files();
    let made = BROKEN.iter().map(|(what, path, edit)| {
        let sandbox = Sandbox::new();
        for (path, text) in files.iter().filter(|(path, _)| path.starts_with("bundle/")) {
            sandbox.file(path, text);
        }
        let path = format!("bundle/{path}");
        match edit {
            Edit::Text(from, to) => _ = sandbox.replace(&path, from, to),
            Edit::File(text) => _ = sandbox.file(&path, text),
            Edit::Gone if sandbox.path(&path).is_dir() => std::fs::remove_dir_all(sandbox.path(&path)).unwrap(),
            Edit::Gone => std::fs::remove_file(sandbox.path(&path)).unwrap(),
        }
        (*what, sandbox)
    });
    made.collect()
}

/// Selects every validator.
pub(crate) const VALIDATE: &str = "bundle validate --select-optional suite=operatorframework";

#[test]
fn a_broken_bundle_is_told_from_a_whole_one() {
    let mut text = String::new();
    for (what, sandbox) in broken() {
        let run = sandbox.run(VALIDATE);
        text += &format!("──── {what}: {}\n{}", run.exit_code().unwrap(), run.err());
    }
    snapbox::assert_data_eq!(text, snapbox::file!["bundle/broken.txt"].raw());
}

#[test]
fn bundles_make_a_catalog() {
    let (sandbox, run) = generated(STREAM, "--version 0.1.0 --channels stable");
    run.success();
    let catalog = "generate catalog bundle=registry.example.com/shop-bundle:v0.1.0";
    sandbox.run(catalog).success();
    sandbox.run(&format!("{catalog} --check")).success();
    let flags = "--version 0.2.0 --channels stable,fast --default-channel stable --replaces shop.v0.1.0";
    sandbox.run(&format!("{GENERATE} {flags} --output-dir next")).success();
    sandbox.file(
        "next/metadata/dependencies.yaml",
        "dependencies:\n- type: olm.package\n  value: {packageName: cert-manager, version: '>=1.0.0'}\n",
    );
    sandbox.run("generate catalog next=registry.example.com/shop-bundle:v0.2.0").success();
    let mut files = sandbox.files();
    files.retain(|path, _| path.starts_with("catalog"));
    snapbox::assert_data_eq!(join(&files), snapbox::file!["bundle/catalog.txt"].raw());
    // Adding both bundles in one run gives the same catalog.
    let both =
        "generate catalog bundle=registry.example.com/shop-bundle:v0.1.0 next=registry.example.com/shop-bundle:v0.2.0";
    sandbox.run(&format!("{both} --output-dir out/catalog")).success();
    assert_eq!(sandbox.read("out/catalog/shop/catalog.yaml"), sandbox.read("catalog/shop/catalog.yaml"));

    let mut text = String::new();
    for (what, change, arguments) in [
        ("no image", None, "bundle"),
        ("no folder", None, "none=registry/a:1"),
        ("an error", Some(("bundle/metadata/annotations.yaml", "registry+v1", "helm")), "bundle=registry/a:1"),
        (
            "no version",
            Some(("bundle/manifests/shop.clusterserviceversion.yaml", "  version: 0.1.0\n", "")),
            "bundle=registry/a:1",
        ),
        (
            "two newest versions",
            Some(("next/manifests/shop.clusterserviceversion.yaml", "  replaces: shop.v0.1.0\n", "")),
            "next=registry/a:2",
        ),
        (
            "a circle",
            Some((
                "bundle/manifests/shop.clusterserviceversion.yaml",
                "  version: 0.1.0\n",
                "  version: 0.1.0\n  replaces: shop.v0.2.0\n",
            )),
            "bundle=registry/a:1",
        ),
        ("another default channel", None, "next=registry/a:2 --default-channel slow"),
        ("a file of others", Some(("catalog/shop/catalog.yaml", "# Code", "# Text")), "bundle=registry/a:1"),
    ] {
        let sandbox = {
            let copy = Sandbox::new();
            for (path, text) in sandbox.files() {
                copy.file(&path, &text);
            }
            copy
        };
        if let Some((path, from, to)) = change {
            sandbox.replace(path, from, to);
        }
        let before = sandbox.files();
        let run = sandbox.run(&format!("generate catalog {arguments}"));
        text += &format!("──── {what}: {}\n{}", run.exit_code().unwrap(), run.err());
        assert_eq!(sandbox.files(), before, "{what}");
    }
    snapbox::assert_data_eq!(text, snapbox::file!["bundle/catalog_refused.txt"].raw());
}

/// Each scorecard test passes once and fails once.
#[test]
fn a_bundle_has_a_scorecard() {
    let csv = "bundle/manifests/shop.clusterserviceversion.yaml";
    let mut text = String::new();
    for (what, path, from, to, flags) in [
        ("no resources", csv, "", "", ""),
        (
            "all passes",
            csv,
            "      name: things",
            "      resources: [{kind: Deployment, version: v1}]\n      name: things",
            "",
        ),
        ("no spec", csv, "\"spec\": {", "\"data\": {", "--selector suite=basic"),
        ("an error", csv, "  displayName: Shop\n", "", "-l test=olm-bundle-validation-test"),
        (
            "an unknown field",
            "bundle/manifests/example.com_things.yaml",
            "listPrice:",
            "price:",
            "-l test=olm-crds-have-validation-test",
        ),
        ("no descriptor", csv, "        path: listPrice", "        path: price", "-l test=olm-spec-descriptors-test"),
        (
            "a status",
            csv,
            "\"spec\": {",
            "\"status\": { \"sold\": 1 },\n          \"spec\": {",
            "-l test=olm-status-descriptors-test",
        ),
        (
            "a status without descriptors",
            "bundle/manifests/example.com_things.yaml",
            "          spec:\n",
            "          status: {type: object, properties: {sold: {type: integer}}}\n          spec:\n",
            "-l test=olm-status-descriptors-test",
        ),
        ("for programs", csv, "", "", "-o json -l test=olm-crds-have-resources-test"),
        ("no such test", csv, "", "", "-l suite=olm -l test=basic-check-spec-test"),
        ("no CSV", csv, "kind: ClusterServiceVersion", "kind: ConfigMap", ""),
    ] {
        let (sandbox, run) = generated(STREAM, "--version 0.1.0 -q");
        run.success();
        if !from.is_empty() {
            sandbox.replace(path, from, to);
        }
        let run = sandbox.run(&format!("scorecard {flags}"));
        text += &format!("──── {what}: {}\n{}{}", run.exit_code().unwrap(), run.out(), run.err());
    }
    snapbox::assert_data_eq!(text, snapbox::file!["bundle/scorecard.txt"].raw());
}

/// Flags fill the base once; later edits of the author stay.
#[test]
fn a_project_has_a_base() {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("init --domain example.com --project-name demo {OFFLINE}")).success();
    let flags = "--display-name=Demo --provider=Team --maintainer=Ada=ada@example.com --min-kube-version=1.30.0";
    sandbox.run(&format!("generate kustomize manifests {flags}")).success();
    let mut files = sandbox.files();
    files.retain(|path, _| path.starts_with("config/manifests/") || path.starts_with("config/scorecard/"));
    snapbox::assert_data_eq!(join(&files), snapbox::file!["bundle/base.txt"].raw());
    let base = "config/manifests/bases/demo.clusterserviceversion.yaml";
    sandbox.replace(base, "maturity: alpha", "maturity: stable # At last.");
    let before = sandbox.files();
    sandbox.run("generate kustomize manifests --interactive=false -q").success();
    assert_eq!(sandbox.files(), before);
    sandbox.run("generate kustomize manifests --provider=Others").code(1).stdout("");
    assert_eq!(sandbox.files(), before);
}
