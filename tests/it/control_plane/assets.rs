//! Programs of the control plane, from `KUBEBUILDER_ASSETS` or built once from `tests/control-plane`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

#[derive(Clone)]
pub(super) struct Assets {
    pub(super) etcd: PathBuf,
    pub(super) kube_apiserver: PathBuf,
    pub(super) kube_controller_manager: PathBuf,
    pub(super) kubectl: PathBuf,
}

impl Assets {
    pub(super) fn find() -> Self {
        static FOUND: OnceLock<Assets> = OnceLock::new();
        FOUND
            .get_or_init(|| {
                let given = std::env::var_os("KUBEBUILDER_ASSETS").filter(|dir| !dir.is_empty()).map(PathBuf::from);
                let program = |name: &str| match &given {
                    Some(dir) if dir.join(name).exists() => dir.join(name),
                    // An envtest folder has no kube-controller-manager.
                    _ => built().join(name),
                };
                Self {
                    etcd: program("etcd"),
                    kube_apiserver: program("kube-apiserver"),
                    kube_controller_manager: program("kube-controller-manager"),
                    kubectl: program("kubectl"),
                }
            })
            .clone()
    }
}

/// The folder of `tests/control-plane/build`, which is built if it is missing.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("control-plane");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/control-plane/build");
        let output = Command::new(script).arg(&dir).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "the control plane is not built (it needs Go, or KUBEBUILDER_ASSETS): {error}"
        );
        dir
    })
}
