//! Many kinds with equal Rust and Go sources, one file of about 100 lines for each.

use std::fmt::Write as _;
use std::path::Path;

pub(crate) const GROUP: &str = "bench.example.com";

/// A field in both languages; `{}` in a type is the name of the kind.
struct Field {
    rust: &'static str,
    rust_attribute: &'static str,
    go: &'static str,
    go_marker: &'static str,
    optional: bool,
}

const FIELDS: [Field; 8] = [
    Field {
        rust: "String",
        rust_attribute: "#[schemars(length(min = 1))]",
        go: "string",
        go_marker: "MinLength=1",
        optional: false,
    },
    Field {
        rust: "i32",
        rust_attribute: "#[schemars(range(min = 0))]",
        go: "int32",
        go_marker: "Minimum=0",
        optional: false,
    },
    Field { rust: "Option<i64>", rust_attribute: "", go: "*int64", go_marker: "", optional: true },
    Field { rust: "bool", rust_attribute: "", go: "bool", go_marker: "", optional: false },
    Field { rust: "Option<Vec<String>>", rust_attribute: "", go: "[]string", go_marker: "", optional: true },
    Field {
        rust: "Option<BTreeMap<String, String>>",
        rust_attribute: "",
        go: "map[string]string",
        go_marker: "",
        optional: true,
    },
    Field { rust: "Option<{}Part>", rust_attribute: "", go: "*{}Part", go_marker: "", optional: true },
    Field { rust: "{}Mode", rust_attribute: "", go: "{}Mode", go_marker: "", optional: false },
];

/// Numbers of fields in a spec, a nested struct and a status.
const COUNTS: [(&str, usize, usize); 3] = [("Spec", 16, 8), ("Part", 6, 6), ("Status", 6, 6)];

pub(crate) fn name(number: usize) -> String {
    format!("Kind{number:04}")
}

/// The markers of a kind, equal in both languages.
fn markers(name: &str) -> String {
    let plural = format!("{}s", name.to_lowercase());
    format!(
        "// +kubebuilder:rbac:groups={GROUP},resources={plural},verbs=get;list;watch\n\
         // +kubebuilder:rbac:groups={GROUP},resources={plural}/status,verbs=get;patch;update\n\
         // +kubebuilder:rbac:groups=apps,resources=deployments,resourceNames={plural},verbs=get;patch\n"
    )
}

pub(crate) fn rust(name: &str) -> String {
    let mut text = format!(
        "//! The types of {name}.\n\nuse std::collections::BTreeMap;\n\nuse kube::CustomResource;\nuse schemars::JsonSchema;\n\
         use serde::{{Deserialize, Serialize}};\n\n{}\n",
        markers(name)
    );
    for (part, count, kinds) in COUNTS {
        let (derive, kube) = match part {
            "Spec" => (
                "CustomResource, ",
                format!(
                    "#[kube(group = \"{GROUP}\", version = \"v1\", kind = \"{name}\", status = \"{name}Status\")]\n"
                ),
            ),
            _ => ("", String::new()),
        };
        let _ = write!(
            text,
            "/// The {} of a {name}.\n#[derive({derive}Clone, Debug, Deserialize, Serialize, JsonSchema)]\n{kube}\
             #[serde(rename_all = \"camelCase\")]\npub struct {name}{part} {{\n",
            part.to_lowercase()
        );
        for number in 0..count {
            let field = &FIELDS[number % kinds];
            let _ = writeln!(text, "    /// Field {number} of the {}.", part.to_lowercase());
            if !field.rust_attribute.is_empty() {
                let _ = writeln!(text, "    {}", field.rust_attribute);
            }
            let _ = writeln!(text, "    pub field_{number}: {},", field.rust.replace("{}", name));
        }
        text.push_str("}\n\n");
    }
    let _ = write!(
        text,
        "/// How a {name} works.\n#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]\npub enum {name}Mode {{\n    \
         Fast,\n    Safe,\n}}\n"
    );
    text
}

pub(crate) fn go(name: &str) -> String {
    let mut text = format!(
        "package v1\n\nimport (\n\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n)\n\n{}\n\
         // A {name}.\n// +kubebuilder:object:root=true\n// +kubebuilder:subresource:status\n\
         // +kubebuilder:resource:scope=Cluster\ntype {name} struct {{\n\tmetav1.TypeMeta   `json:\",inline\"`\n\
         \tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n\n\tSpec   {name}Spec    `json:\"spec\"`\n\
         \tStatus *{name}Status `json:\"status,omitempty\"`\n}}\n\n",
        markers(name)
    );
    for (part, count, kinds) in COUNTS {
        let _ = writeln!(text, "// The {} of a {name}.\ntype {name}{part} struct {{", part.to_lowercase());
        for number in 0..count {
            let field = &FIELDS[number % kinds];
            let _ = writeln!(text, "\t// Field {number} of the {}.", part.to_lowercase());
            if !field.go_marker.is_empty() {
                let _ = writeln!(text, "\t// +kubebuilder:validation:{}", field.go_marker);
            }
            let omit = if field.optional { ",omitempty" } else { "" };
            let _ = writeln!(text, "\tField{number} {} `json:\"field{number}{omit}\"`", field.go.replace("{}", name));
        }
        text.push_str("}\n\n");
    }
    let _ = write!(text, "// How a {name} works.\n// +kubebuilder:validation:Enum=Fast;Safe\ntype {name}Mode string\n");
    text
}

/// Writes a crate with `kinds` kinds, each with the files of `more`. Returns its lines and bytes.
pub(crate) fn write_rust(folder: &Path, kinds: usize, more: &[String]) -> (usize, usize) {
    let manifest = "[package]\nname = \"kinds\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
                    kube = { version = \"5\", default-features = false, features = [\"derive\"] }\n\
                    schemars = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\n";
    let mut root = String::new();
    let (mut lines, mut bytes) = (0, 0);
    let mut write = |path: String, text: &str| {
        lines += text.lines().count();
        bytes += text.len();
        std::fs::write(folder.join("src").join(path), text).unwrap();
    };
    std::fs::create_dir_all(folder.join("src")).unwrap();
    for kind in (0..kinds).map(name) {
        let module = kind.to_lowercase();
        let _ = writeln!(root, "pub mod {module};");
        write(format!("{module}.rs"), &rust(&kind));
        for (number, text) in more.iter().enumerate() {
            let _ = writeln!(root, "mod {module}_{number};");
            write(format!("{module}_{number}.rs"), text);
        }
    }
    write("lib.rs".to_owned(), &root);
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("Cargo.lock"), lock()).unwrap();
    (lines, bytes)
}

/// A lock file with the linked releases.
fn lock() -> String {
    let package = |(name, version): (&str, &str)| {
        let source = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}")
    };
    let all = [("kube", "5.0.0"), ("schemars", "1.2.3"), ("serde", "1.0.229")].map(package).concat();
    let own = "\n[[package]]\nname = \"kinds\"\nversion = \"0.1.0\"\ndependencies = [\n \"kube\",\n \"schemars\",\n \"serde\",\n]\n";
    format!("version = 4\n{own}{all}")
}

/// Writes the kinds as a package of a Go module, with `go.mod` and `go.sum` of `module`. Returns its lines.
pub(crate) fn write_go(folder: &Path, kinds: usize, module: &Path) -> usize {
    let api = folder.join("api/v1");
    std::fs::create_dir_all(&api).unwrap();
    for file in ["go.mod", "go.sum"] {
        std::fs::copy(module.join(file), folder.join(file)).unwrap();
    }
    let package = format!(
        "// Package v1 has many kinds.\n// +kubebuilder:object:generate=true\n// +groupName={GROUP}\npackage v1\n"
    );
    let mut lines = package.lines().count();
    std::fs::write(api.join("doc.go"), package).unwrap();
    for kind in (0..kinds).map(name) {
        let text = go(&kind);
        lines += text.lines().count();
        std::fs::write(api.join(format!("{}.go", kind.to_lowercase())), text).unwrap();
    }
    lines
}
