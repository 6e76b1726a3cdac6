//! How the tests build generated projects, so that each dependency is compiled once: one target folder, one lock file,
//! one set of features and one profile. And the project as a user gets it, built once for all tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use memcached_sdk::edit::kustomization;

use crate::cluster::Cluster;
use crate::sandbox::files;

/// The target folder that all generated projects share.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("projects")
}

/// The right to build there, until what was built has run: members and path dependencies of one name have one file there,
/// whatever the project.
pub(crate) fn building() -> MutexGuard<'static, ()> {
    static BUILDING: Mutex<()> = Mutex::new(());
    BUILDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock file that all generated projects start from.
pub(crate) fn lock() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/memcached-operator/Cargo.lock")
}

/// The manifest of a package with the sample's dependencies, features and profile, so that all share one build of each
/// dependency.
pub(crate) fn manifest(name: &str) -> toml_edit::DocumentMut {
    let sample = lock().with_file_name("Cargo.toml");
    let mut manifest: toml_edit::DocumentMut = std::fs::read_to_string(sample).unwrap().parse().unwrap();
    manifest["package"]["name"] = toml_edit::value(name);
    manifest["workspace"] = toml_edit::table();
    for section in ["dependencies", "dev-dependencies"] {
        manifest[section]["manager"]["path"] = toml_edit::value(manager().to_str().unwrap());
    }
    manifest.remove("lints");
    manifest
}

/// The package of the runtime.
pub(crate) fn manager() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("manager")
}

/// `cargo` in a project, as all of them are built.
pub(crate) fn cargo(project: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    // Other flags would be another build of every dependency.
    command.args(args).current_dir(project).env("CARGO_TARGET_DIR", target()).env_remove("RUSTFLAGS");
    // With it tests that find no API server fail.
    command.env_remove("CI");
    // A package that is not the root of its workspace has no profile of its own: that of the manager's tests.
    command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    command
}

/// Where `config/default` puts the operator, and as whom it runs there.
pub(crate) const SYSTEM: &str = "memcached-operator-system";
pub(crate) const ACCOUNT: &str = "memcached-operator-controller-manager";

pub(crate) struct Project {
    root: PathBuf,
    binary: PathBuf,
}

impl Project {
    /// `new memcached-operator --sample memcached`, built.
    pub(crate) fn sample() -> &'static Self {
        static SAMPLE: OnceLock<Project> = OnceLock::new();
        SAMPLE.get_or_init(|| Self::generate("new").build())
    }

    /// The same with the feature that `config/components/leader-for-life` needs.
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

    /// The same with webhooks that default, validate and convert it, and with network policies.
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
            ("config/default/kustomization.yaml", "#- ../network-policy", "- ../network-policy"),
        ] {
            let path = project.path(path);
            let text = std::fs::read_to_string(&path).unwrap();
            let with = text.replacen(from, to, 1);
            assert_ne!(with, text, "{}", path.display());
            std::fs::write(path, with).unwrap();
        }
        // The lock file lacks what webhooks need.
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

    /// Other projects of this name may be built while this one runs, so it runs a copy.
    fn build(self) -> Self {
        let _building = building();
        let output = self.cargo(&["build", "--locked"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::copy(target().join("debug/memcached-operator"), &self.binary).unwrap();
        self
    }

    /// Generates it in `folder`, which is emptied before.
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

    /// The same with the optimizations of a release and after an edit of its controller, in a folder of this name.
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

    /// The operator's program.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Everything of `config/default`, but no operator: there is no kubelet, so that it runs as a process, under the
    /// identity of its pod.
    #[track_caller]
    pub(crate) fn deploy(&self, kubectl: &Cluster) {
        Self::deploy_from(&self.path("config"), kubectl);
    }

    /// The same from another folder than `config`; as `make deploy` does, with the roles in other namespaces if there are any.
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

    /// Copies `config/` to `folder`, and uncomments leader for life there, with the roles to read nodes.
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

    /// `cargo` in the project.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        cargo(&self.root, args)
    }
}
