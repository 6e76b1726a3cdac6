//! Builds of generated projects. One target folder, lock file, feature set and profile compile each dependency once.
//! The sample project is built once for all tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use memcached_sdk::edit::kustomization;

use crate::cluster::Cluster;
use crate::sandbox::files;

/// The target folder of all generated projects.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("projects")
}

/// Serializes builds and runs: packages with one name share their files in the target folder.
pub(crate) fn building() -> MutexGuard<'static, ()> {
    static BUILDING: Mutex<()> = Mutex::new(());
    crate::timing::start();
    BUILDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock file from which generated projects start.
pub(crate) fn lock() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/memcached-operator/Cargo.lock")
}

/// The manifest of a package with the sample's dependencies, features and profile.
pub(crate) fn manifest(name: &str) -> toml_edit::DocumentMut {
    let sample = lock().with_file_name("Cargo.toml");
    let mut manifest: toml_edit::DocumentMut = std::fs::read_to_string(sample).unwrap().parse().unwrap();
    manifest["package"]["name"] = toml_edit::value(name);
    manifest["workspace"] = toml_edit::table();
    for section in ["dependencies", "dev-dependencies"] {
        manifest[section]["manager"]["path"] = toml_edit::value(manager().to_str().unwrap());
    }
    manifest["dev-dependencies"]["explorer"]["path"] =
        toml_edit::value(manager().with_file_name("explorer").to_str().unwrap());
    manifest.remove("lints");
    manifest
}

pub(crate) fn manager() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("manager")
}

pub(crate) fn cargo(project: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    // Other flags would rebuild every dependency.
    command.args(args).current_dir(project).env("CARGO_TARGET_DIR", target()).env_remove("RUSTFLAGS");
    // Without an API server, tests that need one fail when this variable is set.
    command.env_remove("CI");
    // A workspace member has no profile of its own: set the profile for the manager's tests.
    command.env("CARGO_PROFILE_DEV_DEBUG", "none");
    command
}

/// Namespace and account of the operator in `config/default`.
pub(crate) const SYSTEM: &str = "memcached-operator-system";
pub(crate) const ACCOUNT: &str = "memcached-operator-controller-manager";

pub(crate) struct Project {
    root: PathBuf,
    binary: PathBuf,
}

impl Project {
    /// The built project of `new memcached-operator --sample memcached`.
    pub(crate) fn sample() -> &'static Self {
        static SAMPLE: OnceLock<Project> = OnceLock::new();
        crate::timing::start();
        SAMPLE.get_or_init(|| Self::generate("new").build())
    }

    /// The sample with the feature of `config/components/leader-for-life`.
    pub(crate) fn for_life() -> &'static Self {
        static FOR_LIFE: OnceLock<Project> = OnceLock::new();
        FOR_LIFE.get_or_init(|| {
            let project = Self::generate("for-life");
            let manifest = project.path("Cargo.toml");
            let text = std::fs::read_to_string(&manifest).unwrap();
            let with = text.replacen("path = \"manager\"", "path = \"manager\", features = [\"leader-for-life\"]", 1);
            assert_ne!(with, text);
            std::fs::write(&manifest, with).unwrap();
            project.build()
        })
    }

    /// The sample with webhooks of all three kinds, a version that lacks a field of the stored one, and network policies.
    pub(crate) fn with_webhooks() -> Self {
        let project = Self::generate("webhooks");
        let webhooks = "--version v1alpha1 --defaulting --programmatic-validation --conversion --spoke v1beta1";
        for command in ["create api --version v1beta1 --controller=false", &format!("create webhook {webhooks}")] {
            project.run(&format!("{command} --group cache --kind Memcached"));
        }
        for (path, from, to) in [
            (
                "src/webhook/v1alpha1/memcached.rs",
                "        Ok(())\n",
                "        self.spec.image.get_or_insert_with(|| \"localhost/memcached:1.6.18\".to_owned());\n        Ok(())\n",
            ),
            (
                "src/webhook/v1alpha1/memcached.rs",
                "let errors = FieldErrors::new();",
                "let mut errors = FieldErrors::new();\n        if self.spec.size > 5 {\n            errors.invalid(\"spec.size\", self.spec.size, \"must not be above 5\");\n        }",
            ),
            (
                "src/api/v1beta1/memcached.rs",
                "    /// The image of the container; by default the one that the operator was given.
    #[serde(skip_serializing_if = \"Option::is_none\")]
    #[schemars(length(min = 1))]
    pub image: Option<String>,

",
                "",
            ),
            ("config/default/kustomization.yaml", "#- ../network-policy", "- ../network-policy"),
        ] {
            let path = project.path(path);
            let text = std::fs::read_to_string(&path).unwrap();
            let with = text.replacen(from, to, 1);
            assert_ne!(with, text, "{}", path.display());
            std::fs::write(path, with).unwrap();
        }
        // Update the lock file for the dependencies of webhooks.
        let output = project.cargo(&["metadata", "--format-version=1"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        project.run("generate");
        project.build()
    }

    fn run(&self, command: &str) {
        let output = Command::new(env!("CARGO_BIN_EXE_memcached-sdk"))
            .args(command.split(' '))
            .current_dir(&self.root)
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Builds the project and copies the binary: a later build of a project with this name overwrites it.
    fn build(self) -> Self {
        let _building = building();
        let output = self.cargo(&["build", "--locked"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::copy(target().join("debug/memcached-operator"), &self.binary).unwrap();
        self
    }

    /// Generates the sample in `folder`, which is emptied first.
    pub(crate) fn generate(folder: &str) -> Self {
        let name = "memcached-operator";
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = temporary.join(folder);
        if dir.exists() {
            std::fs::remove_dir_all(&dir).unwrap();
        }
        std::fs::create_dir_all(&dir).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_memcached-sdk"))
            .args(["new", name, "--sample", "memcached", "--fetch-deps=false"])
            .current_dir(&dir)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let root = dir.join(name);
        std::fs::copy(lock(), root.join("Cargo.lock")).unwrap();
        Self { binary: dir.join("operator"), root }
    }

    /// A release build of the sample after an edit of its controller, in this folder.
    pub(crate) fn release(folder: &str, edit: impl Fn(&str) -> String) -> Self {
        let project = Self::generate(folder);
        let controller = project.path("src/controller/memcached.rs");
        std::fs::write(&controller, edit(&std::fs::read_to_string(&controller).unwrap())).unwrap();
        let _building = building();
        let output = project.cargo(&["build", "--release", "--locked"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::copy(target().join("release/memcached-operator"), &project.binary).unwrap();
        project
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Applies `config/default` without an operator. There is no kubelet, so the operator runs as a process with its
    /// pod's identity.
    #[track_caller]
    pub(crate) fn deploy(&self, kubectl: &Cluster) {
        Self::deploy_from(&self.path("config"), kubectl);
    }

    /// Like [`Self::deploy`], but from another `config` folder. Like `make deploy`, applies roles in other namespaces,
    /// too.
    #[track_caller]
    pub(crate) fn deploy_from(folder: &Path, kubectl: &Cluster) {
        let config = |path: &str| folder.join(path).display().to_string();
        kubectl.run(&["apply", "--warnings-as-errors", "-f", &config("crd/bases")]);
        kubectl.wait_for("the CRD to be served", &["crd", "memcacheds.cache.example.com"], |crd| {
            let mut conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|it| it["type"] == "Established" && it["status"] == "True")
        });
        let whole = if folder.join("namespaces").exists() { "namespaces" } else { "default" };
        kubectl.run(&["apply", "--warnings-as-errors", "-k", &config(whole)]);
        kubectl.run(&["scale", "deployment", "-n", SYSTEM, "--all", "--replicas=0"]);
    }

    /// Copies `config/` to `folder` and enables leader for life there, with the roles to read nodes.
    pub(crate) fn config_for_life(&self, folder: &Path) {
        for (path, text) in files(&self.path("config")) {
            let blocks: &[&str] = match path.as_str() {
                "default/kustomization.yaml" => &["components:\n- ../components/leader-for-life"],
                "components/leader-for-life/kustomization.yaml" => &["- node_role.yaml\n- node_role_binding.yaml"],
                _ => &[],
            };
            let text = blocks.iter().fold(text, |text, block| kustomization::uncomment(&text, block).unwrap());
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        cargo(&self.root, args)
    }
}
