//! Commands and flags of kubebuilder and operator-sdk, of today and of 2019, that have another name here.

/// A command, its first words, and what to do here. The longest row that fits counts.
pub const COMMANDS: &[(&str, &str)] = &[
    ("add", "`create api` adds an API and its controller, `create webhook` webhooks"),
    (
        "alpha",
        "`alpha generate` and `alpha update` are here too; `memcached-sdk edit` makes another choice of the scaffold",
    ),
    (
        "alpha config-gen",
        "`config/default` is plain kustomize: `kubectl kustomize config/default` prints what `make deploy` applies",
    ),
    ("bundle", "`memcached-sdk bundle validate` checks a bundle, `memcached-sdk generate bundle` makes one"),
    ("bundle create", "`memcached-sdk generate bundle` makes a bundle, `make bundle-build` its image"),
    ("catalog", "`memcached-sdk generate catalog` adds bundles to a catalog"),
    (
        "cleanup",
        "`make undeploy` removes what `make deploy` made; what OLM installed goes with `operator-sdk cleanup PACKAGE`, or with \
         `kubectl delete subscription,csv --all -n NAMESPACE`",
    ),
    ("cmd", "the program is `src/main.rs`, where operator-sdk had `cmd/manager/main.go`"),
    ("create config", "`make build-installer` renders `config/` into `dist/install.yaml`"),
    (
        "create controller",
        "`memcached-sdk create api --resource=false` adds a controller, for a kind that is there already or one of Kubernetes",
    ),
    ("create resource", "`memcached-sdk create api --controller=false` adds a custom resource type"),
    (
        "deploy",
        "`make deploy` deploys the operator; `memcached-sdk generate installer` writes manifests into `deploy/`",
    ),
    ("deps", "`cargo tree` prints the dependencies"),
    ("docker-build", "`make docker-build` builds the image"),
    ("docker-push", "`make docker-push` pushes the image"),
    ("docs", "`memcached-sdk --help`, and the folder `docs` of memcached-sdk"),
    ("generate csv", "`memcached-sdk generate bundle` writes the CSV and its bundle"),
    (
        "generate packagemanifests",
        "bundles have replaced package manifests: `memcached-sdk generate bundle` makes one, `memcached-sdk generate catalog` a catalog",
    ),
    ("install", "`make install` installs the CRDs"),
    (
        "migrate project",
        "an operator is a Rust program here; docs/coming-from-kubebuilder.md says what becomes of each part of a project",
    ),
    (
        "olm",
        "`operator-sdk olm` manages the Operator Lifecycle Manager in a cluster, and so does kubectl, see \
         https://olm.operatorframework.io",
    ),
    (
        "olm install",
        "apply a release of OLM with `kubectl apply --server-side -f`: first `crds.yaml`, then `olm.yaml`, from \
         https://github.com/operator-framework/operator-lifecycle-manager/releases",
    ),
    ("olm status", "`kubectl get deployments,csv -n olm` shows the Operator Lifecycle Manager"),
    (
        "olm uninstall",
        "delete what was applied: `kubectl delete -f olm.yaml -f crds.yaml`, with the files of that release of OLM",
    ),
    (
        "olm-catalog",
        "`memcached-sdk generate bundle` makes a bundle for OLM, `memcached-sdk generate catalog` a catalog of bundles",
    ),
    (
        "pkg",
        "the types are in `src/api` and the controllers in `src/controller`, where operator-sdk had `pkg/apis` and `pkg/controller`",
    ),
    (
        "pkgman-to-bundle",
        "make a bundle of the newest version: `memcached-sdk generate bundle --manifests FOLDER --package NAME --version VERSION`",
    ),
    ("print-deps", "`cargo tree` prints the dependencies"),
    (
        "run bundle",
        "push the bundle and a catalog of it with `make bundle-build bundle-push catalog-build catalog-push`, and name the catalog's \
         image in a CatalogSource; `operator-sdk run bundle IMAGE` runs these bundles, too",
    ),
    (
        "run bundle-upgrade",
        "add the new version with `memcached-sdk generate bundle --replaces NAME` and `memcached-sdk generate catalog`: OLM upgrades \
         to it; `operator-sdk run bundle-upgrade IMAGE` runs these bundles, too",
    ),
    (
        "run packagemanifests",
        "bundles have replaced package manifests: `memcached-sdk generate bundle --manifests FOLDER --package NAME` makes one",
    ),
    ("run local", "`make run` runs the operator on this machine"),
    ("test", "`make test` tests the operator; with `make setup-envtest` also on an API server"),
    ("undeploy", "`make undeploy` removes the operator from the cluster"),
    ("uninstall", "`make uninstall` deletes the CRDs"),
    ("vendor", "`cargo vendor` copies the dependencies"),
];

/// Flags of kubebuilder and operator-sdk that have another name here.
pub const FLAGS: &[(&str, &str)] = &[
    ("--apis-dir", "leave it out: the types are where `generate` finds them"),
    ("--cluster-scoped", "an operator is for all namespaces, unless `--namespaced` or `--namespaces` says otherwise"),
    ("--component-config", "flags of the manager are in `config/manager/manager.yaml`"),
    ("--crds-dir", "`--manifests FOLDER` reads all manifests of a folder"),
    ("--custom-api-import", "`create api --external-api-path` names the Rust module of a type of another crate"),
    ("--dep-manager", "leave it out: cargo manages the dependencies"),
    ("--deploy-dir", "`--manifests FOLDER` reads all manifests of a folder"),
    ("--enable-delve", "`rust-gdb` and `rust-lldb` debug `target/debug`, where `make run` builds"),
    ("--example", "leave it out: the controller that `--image` makes is an example"),
    (
        "--generate-playbook",
        "an operator is a Rust program here: leave it out, and write in `reconcile` what the playbook does",
    ),
    (
        "--generate-role",
        "an operator is a Rust program here: leave it out, and write in `reconcile` what the role does",
    ),
    ("--go-build-args", "arguments of the build are in `Dockerfile`"),
    ("--helm-chart", "an operator is a Rust program here: `operator-sdk` makes operators of charts"),
    ("--helm-chart-repo", "an operator is a Rust program here: `operator-sdk` makes operators of charts"),
    ("--helm-chart-version", "an operator is a Rust program here: `operator-sdk` makes operators of charts"),
    ("--image-build-args", "arguments of the build are in the target `docker-build` of `Makefile`"),
    ("--legacy", "leave it out: there is one layout of webhooks"),
    (
        "--license-file",
        "`--license none`, and a `LICENSE` of your own, which stays; `--owner` is at the top of Rust files",
    ),
    ("--manifests", "`generate helm --manifests FILE` makes the chart of a file"),
    ("--metadata", "leave it out: `generate bundle` writes manifests and metadata"),
    ("--operator-namespace", "`make deploy` puts the operator into the namespace that `config/default` says"),
    ("--output-dir", "`generate helm --output-dir DIR` makes the chart in a folder"),
    (
        "--plugins",
        "there is one kind of project; `create api --image` does what the plugin `deploy-image` does, and `edit --plugins` \
         adds to a project: `helm` a chart, `olm` a bundle, `grafana` dashboards",
    ),
    ("--project-version", "there is one version of the `PROJECT` file"),
    ("--skip-go-version-check", "`rust-version` in `Cargo.toml` is what cargo checks"),
    ("--type", "leave it out: there is one kind of project; `create api` adds an API and its controller"),
    ("--use-image-digests", "name images by their digests in `config/manager`: the bundle has them as they are there"),
];

/// The command that these arguments begin with, and what to do here.
pub(crate) fn answer<'a>(words: &[&str]) -> Option<&'a (&'a str, &'a str)> {
    let begins = |command: &str| {
        let command: Vec<&str> = command.split(' ').collect();
        words.starts_with(&command)
    };
    COMMANDS.iter().filter(|(command, _)| begins(command)).max_by_key(|(command, _)| command.len())
}
