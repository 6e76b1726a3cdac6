//! Finds etcd and kube-apiserver.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROGRAMS: [&str; 2] = ["etcd", "kube-apiserver"];

/// Returns the folder with etcd and kube-apiserver: `KUBEBUILDER_ASSETS`, else the newest release in the setup-envtest
/// store. `ENVTEST_K8S_VERSION` selects a release there, such as `1.36`. The error says what to do.
pub(super) fn find() -> Result<PathBuf, String> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("KUBEBUILDER_ASSETS") {
        let folder = std::path::absolute(&folder).unwrap_or_else(|_| folder.into());
        return match PROGRAMS
            .iter()
            .find(|program| !folder.join(program).is_file())
        {
            None => Ok(folder),
            Some(program) => Err(format!(
                "KUBEBUILDER_ASSETS is `{}`, which has no `{program}`; unset it and run `memcached-sdk envtest`",
                folder.display()
            )),
        };
    }
    let wanted = variable("ENVTEST_K8S_VERSION")
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let store = store(std::env::consts::OS, variable);
    let found = store
        .as_deref()
        .and_then(|store| newest(&store.join("k8s"), &wanted));
    found.ok_or_else(|| {
        let release = if wanted.is_empty() { String::new() } else { format!(" {wanted}") };
        let store = store.map_or_else(|| "no home folder".to_owned(), |store| store.display().to_string());
        format!(
            "etcd and kube-apiserver{release} not found in `{store}`; run `memcached-sdk envtest`, or set \
             KUBEBUILDER_ASSETS to a folder with both"
        )
    })
}

/// Returns the folder of setup-envtest on a platform.
fn store(os: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = || variable("HOME").map(PathBuf::from);
    Some(match os {
        "windows" => PathBuf::from(variable("LocalAppData")?).join("kubebuilder-envtest"),
        "macos" => home()?.join("Library/Application Support/io.kubebuilder.envtest"),
        _ => {
            let data = variable("XDG_DATA_HOME").map(PathBuf::from);
            data.or_else(|| Some(home()?.join(".local/share")))?
                .join("kubebuilder-envtest")
        }
    })
}

/// Returns the newest release below a folder whose version begins with `wanted`. Folders are named `VERSION-OS-ARCH`.
fn newest(releases: &Path, wanted: &str) -> Option<PathBuf> {
    let parts = wanted.trim_start_matches('v').split('.');
    let wanted: Vec<u64> = parts.map_while(|part| part.parse().ok()).collect();
    let platform = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let entries = std::fs::read_dir(releases).ok()?.filter_map(Result::ok);
    let versions = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_suffix(platform)?.split('-').next()?;
        let parts = version.split('.').map(|part| part.parse().ok());
        let version: Vec<u64> = parts.collect::<Option<_>>()?;
        let path = entry.path();
        let whole = PROGRAMS.iter().all(|program| path.join(program).is_file());
        (whole && version.starts_with(&wanted)).then_some((version, path))
    });
    versions.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_that_of_setup_envtest() {
        let variables = |name: &str| match name {
            "HOME" => Some("/home/me".into()),
            "LocalAppData" => Some("/local".into()),
            _ => None,
        };
        for (os, expected) in [
            ("linux", "/home/me/.local/share/kubebuilder-envtest"),
            (
                "macos",
                "/home/me/Library/Application Support/io.kubebuilder.envtest",
            ),
            ("windows", "/local/kubebuilder-envtest"),
        ] {
            assert_eq!(store(os, variables), Some(PathBuf::from(expected)));
        }
        let data = |name: &str| (name == "XDG_DATA_HOME").then(|| "/data".into());
        assert_eq!(
            store("linux", data),
            Some(PathBuf::from("/data/kubebuilder-envtest"))
        );
        assert_eq!(store("linux", |_| None), None);
    }

    #[test]
    fn the_newest_whole_release_is_taken() {
        let folder = std::env::temp_dir().join(format!("releases-{}", std::process::id()));
        let arch = if cfg!(target_arch = "aarch64") {
            "arm64"
        } else {
            "amd64"
        };
        let release = |version: &str, programs: &[&str]| {
            let path = folder.join(format!("{version}-linux-{arch}"));
            std::fs::create_dir_all(&path).unwrap();
            programs
                .iter()
                .for_each(|program| std::fs::write(path.join(program), "").unwrap());
            path
        };
        let [old, new] = ["1.9.0", "1.36.2"].map(|version| release(version, &PROGRAMS));
        release("1.37.0", &["etcd"]);
        release("next", &PROGRAMS);
        assert_eq!(newest(&folder, ""), Some(new.clone()));
        assert_eq!(newest(&folder, "1.36"), Some(new));
        assert_eq!(newest(&folder, "v1.9.0"), Some(old));
        assert_eq!(newest(&folder, "1.3"), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
