//! The releases of kube that the program knows, and what their crates are called in a manifest.

use std::fmt;

use crate::diagnostic::Problem;

/// The first two numbers of a release of kube.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KubeRelease(pub(super) u16, pub(super) u16);

impl fmt::Display for KubeRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(major @ 1.., 0) => write!(f, "{major}"),
            Self(major, minor) => write!(f, "{major}.{minor}"),
        }
    }
}

/// The first release whose changes are in the table.
pub(super) const OLDEST: KubeRelease = KubeRelease(0, 88);

/// The newest release that the program knows, with the crates that belong to it.
pub(super) const TARGET: KubeRelease = KubeRelease(5, 0);

/// A crate that moves with kube.
#[derive(Debug)]
pub(super) struct LockstepPackage {
    pub(super) name: &'static str,
    /// The release that belongs to [`TARGET`].
    pub(super) version: [u64; 3],
    /// All features, sorted; those of optional dependencies too. Empty if they are not checked.
    pub(super) features: &'static [&'static str],
    /// Features with other names: the old one, and the new one if it means the same.
    pub(super) renamed: &'static [(&'static str, Option<&'static str>)],
}

/// The features of kube 5. Source: its manifest.
const KUBE: &[&str] = &[
    "admission",
    "aws-lc-rs",
    "cel",
    "client",
    "config",
    "default",
    "derive",
    "gzip",
    "http-proxy",
    "hyper-util-tracing",
    "jsonpatch",
    "kubelet-debug",
    "oauth",
    "oidc",
    "openssl-tls",
    "proxy",
    "ring",
    "runtime",
    "rustls-tls",
    "socks5",
    "unstable-client",
    "unstable-runtime",
    "webpki-roots",
    "ws",
];

/// The features of k8s-openapi 0.29.
const OPENAPI: &[&str] =
    &["default", "earliest", "latest", "schemars", "std", "v1_33", "v1_34", "v1_35", "v1_36", "v1_37"];

/// The features of schemars 1.
const SCHEMARS: &[&str] = &[
    "arrayvec07",
    "bigdecimal04",
    "bytes1",
    "chrono04",
    "default",
    "derive",
    "either1",
    "indexmap2",
    "jiff02",
    "preserve_order",
    "raw_value",
    "rust_decimal1",
    "semver1",
    "smallvec1",
    "smol_str02",
    "smol_str03",
    "std",
    "url2",
    "uuid1",
];

/// Features of kube that were renamed.
const KUBE_RENAMED: &[(&str, Option<&str>)] = &[("http_proxy", Some("http-proxy"))];

/// Features of schemars 0.8. Those for older releases of other crates have no successor.
/// Source: <https://graham.cool/schemars/migrating/>.
const SCHEMARS_RENAMED: &[(&str, Option<&str>)] = &[
    ("bytes", Some("bytes1")),
    ("chrono", Some("chrono04")),
    ("either", Some("either1")),
    ("rust_decimal", Some("rust_decimal1")),
    ("semver", Some("semver1")),
    ("smallvec", Some("smallvec1")),
    ("url", Some("url2")),
    ("derive_json_schema", None),
    ("impl_json_schema", None),
];

/// The crates that move with kube.
pub(super) const LOCKSTEP: &[LockstepPackage] = &[
    LockstepPackage { name: "kube", version: [5, 0, 0], features: KUBE, renamed: KUBE_RENAMED },
    LockstepPackage { name: "kube-client", version: [5, 0, 0], features: &[], renamed: KUBE_RENAMED },
    LockstepPackage { name: "kube-core", version: [5, 0, 0], features: &[], renamed: &[] },
    LockstepPackage { name: "kube-derive", version: [5, 0, 0], features: &[], renamed: &[] },
    LockstepPackage { name: "kube-runtime", version: [5, 0, 0], features: &[], renamed: &[] },
    LockstepPackage { name: "k8s-openapi", version: [0, 29, 0], features: OPENAPI, renamed: &[("api", None)] },
    LockstepPackage { name: "schemars", version: [1, 0, 0], features: SCHEMARS, renamed: SCHEMARS_RENAMED },
];

/// The oldest Kubernetes version that k8s-openapi has a feature for.
pub(super) const OLDEST_KUBERNETES: &str = "v1_33";

/// The minimum release of Rust.
pub(super) const RUST: (u16, u16) = (1, 89);

/// Parses the argument of `--kube`: `5`, `5.0` or `5.0.0`.
pub(super) fn target(text: &str) -> Result<KubeRelease, Problem> {
    let numbers: Option<Vec<u16>> = text.split('.').map(|part| part.parse().ok()).collect();
    match numbers.as_deref() {
        Some([5] | [5, 0] | [5, 0, _]) => Ok(TARGET),
        Some([_, ..]) => Err(Problem::new(format!("kube {text} is not known to this version of memcached-sdk"))
            .help(format!("leave out the release: `update --kube` takes kube {TARGET}, the newest one that it knows"))),
        _ => Err(Problem::new(format!("`{text}` is not a release of kube"))
            .help(format!("write `--kube {TARGET}`, or leave out the release"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{LOCKSTEP, TARGET};

    #[test]
    fn the_target_is_the_linked_release() {
        let lock = include_str!("../../../../Cargo.lock");
        for package in LOCKSTEP {
            let [major, minor, _] = package.version;
            let minor = if package.name == "k8s-openapi" { format!("{minor}.") } else { String::new() };
            let entry = format!("name = \"{}\"\nversion = \"{major}.{minor}", package.name);
            assert!(lock.contains(&entry), "{entry} {TARGET}");
        }
    }
}
