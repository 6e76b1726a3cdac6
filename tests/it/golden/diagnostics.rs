//! Diagnostics about types without a CRD. `fixtures/diagnostics` has a file for each code, named after it, with the
//! full text beside it.
//! A line `//! dependency: …` adds or replaces a line of the package's `Cargo.toml`. `//! fix: all` applies all fixes
//! first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use memcached_sdk::crd::conversion::{self, Conversions, Converted};
use memcached_sdk::crd::fix::{self, CrdFix, Fixable};
use memcached_sdk::crd::{self, structural};
use memcached_sdk::diagnostic::{Code, Severity};
use memcached_sdk::k8s;
use memcached_sdk::source::marker::CONVERSION;
use memcached_sdk::source::{FeatureSelection, Pending};
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

use super::crd::crds;
use crate::lock;
use crate::sandbox::{Sandbox, files};

fn check(file: &Path) {
    let name = file.file_stem().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let mut dependencies = BTreeMap::from([
        ("k8s-openapi", "k8s-openapi = { version = \"0.29\", features = [\"schemars\", \"v1_36\"] }"),
        ("kube", "kube = { version = \"5\", default-features = false, features = [\"derive\"] }"),
        ("schemars", "schemars = \"1\""),
        ("serde", "serde = { version = \"1\", features = [\"derive\"] }"),
        ("serde_json", "serde_json = \"1\""),
        ("serde_with", "serde_with = \"3\""),
    ]);
    for line in text.lines().filter_map(|line| line.strip_prefix("//! dependency: ")) {
        dependencies.insert(line.split(' ').next().unwrap(), line);
    }
    let dependencies: Vec<&str> = dependencies.into_values().collect();
    let folder = tempfile::tempdir().unwrap();
    let manifest =
        format!("[package]\nname = \"x\"\nedition = \"2024\"\n\n[dependencies]\n{}\n", dependencies.join("\n"));
    std::fs::create_dir(folder.path().join("src")).unwrap();
    if name != "no-lock" {
        std::fs::write(folder.path().join("Cargo.lock"), lock::text([manifest.as_str()])).unwrap();
    }
    std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), &text).unwrap();

    let (mut tree, found) = k8s::load(folder.path()).unwrap();
    assert!(found.is_empty(), "{name}: {}", found.render(false));
    let (of_types, mut found) = crds(&mut tree);
    let wanted = if text.starts_with("//! fix: all\n") { Fixable::ALL.to_vec() } else { Vec::new() };
    let (markers, wrong) = tree.markers(&[CONVERSION]);
    found.extend(wrong);
    let unknown = name == Code::ConversionUnknown.as_str();
    let converted = if unknown { Converted::Unknown } else { Converted::All(Conversions::default()) };
    found.extend(conversion::check(&of_types, &markers, &converted));
    for crd in of_types {
        let (crd, fixes) = fix::fix(crd, &wanted);
        found.extend(fixes.iter().map(CrdFix::done).collect());
        found.extend(fix::advice(&crd));
        found.extend(structural::check(&crd));
    }
    // `ListKind` applies to every CRD that kube derives.
    if name != Code::ListKind.as_str() {
        found = found.iter().filter(|found| found.code != Code::ListKind).cloned().collect();
    }
    found.sort();
    let codes: BTreeSet<&str> = found.iter().map(|diagnostic| diagnostic.code.as_str()).collect();
    assert_eq!(codes, BTreeSet::from([name]), "{}", found.render(false));
    let code = Code::ALL.iter().find(|code| code.as_str() == name).unwrap();
    assert_eq!(found.has_errors(), code.severity() == Severity::Error);
    let loaded = k8s::load_with(folder.path(), &FeatureSelection::default(), &Pending::default());
    assert_eq!(crds(&mut loaded.unwrap().0), crds(&mut tree));
    Assert::new()
        .action_env("SNAPSHOTS")
        .eq(found.render(false), Data::read_from(&file.with_extension("stderr"), Some(DataFormat::Text)));
}

#[test]
fn every_code_about_types_has_a_file_with_its_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/diagnostics");
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<_> = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs")).collect();
    for file in &files {
        check(file);
    }
    let named: BTreeSet<&str> = files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    let used = used(&[
        "src/api.rs",
        "src/api",
        "src/schema.rs",
        "src/schema",
        "src/crd.rs",
        "src/crd/conversion.rs",
        "src/crd/fix.rs",
        "src/crd/structural.rs",
        "src/crd/structural",
    ]);
    // A source file cannot trigger these: only the project's own crdgen prints an invalid schema key, and downloads
    // depend on the machine.
    let others = [Code::NotDownloaded, Code::UnknownSchemaKey];
    let codes = Code::ALL.iter().filter(|code| !others.contains(code));
    let codes = codes.filter(|code| used.contains(&format!("{code:?}"))).map(|code| code.as_str());
    assert_eq!(named, codes.collect());
}

/// Returns the refusal of a project with these dependencies, if any. A line of the lock file is a package with its
/// dependencies.
fn refusal(dependencies: &[&str], locked: &[&str]) -> Option<String> {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/diagnostics/dependency-version.rs"),
    );
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    write("src/lib.rs", text.unwrap());
    let dependencies = dependencies.join("\n");
    write("Cargo.toml", format!("[package]\nname = \"x\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n"));
    if !locked.is_empty() {
        let mut lock = "version = 4\n".to_owned();
        for line in locked {
            let mut words = line.split_whitespace();
            let (name, version) = (words.next().unwrap(), words.next().unwrap());
            lock += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
            let local = words.clone().next() == Some("local") || name == "x";
            if !local {
                lock += "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
            }
            let of: String = words.filter(|word| *word != "local").map(|word| format!(" \"{word}\",\n")).collect();
            if !of.is_empty() {
                lock += &format!("dependencies = [\n{of}]\n");
            }
        }
        write("Cargo.lock", lock.replace('~', " "));
    }
    let (_, found) = crds(&mut k8s::load(folder.path()).unwrap().0);
    let mut found = found.iter();
    let refused = found.next().map(|diagnostic| {
        assert!([Code::DependencyVersion, Code::NewRelease, Code::NoLock].contains(&diagnostic.code));
        assert_eq!(diagnostic.code.severity(), Severity::Error);
        diagnostic.message.clone()
    });
    assert!(found.next().is_none());
    refused
}

/// Derives are reproduced for known versions only; other versions are refused.
#[test]
fn projects_on_other_versions_are_refused() {
    let kube = "kube = { version = \"5\", features = [\"derive\"] }";
    let serde = "serde = \"1\"";
    let schemars = "schemars = \"1\"";
    let usual = &["kube = { version = \">=1\", features = [\"derive\"] }", serde, "schemars = \">=0.8\""];
    let lock = |kube: &'static str, schemars: &'static str| {
        vec!["x 0.1.0 kube schemars serde serde_json", kube, schemars, "serde 1.0.229", "serde_json 1.0.145 serde"]
    };
    let open = "without a `Cargo.lock` the releases of kube and schemars are unknown";
    let new = |what: &str| Some(format!("{what} is newer than this program and may generate other CRDs"));
    let old = |what: &str| Some(format!("{what}, whose CRDs only the compiler can generate"));
    assert_eq!(refusal(usual, &[]).as_deref(), Some(open));
    for (kube, schemars, expected) in [
        ("kube 5.0.0", "schemars 1.2.3", None),
        ("kube 2.0.0", "schemars 1.0.0", None),
        ("kube 3.1.0", "schemars 1.2.0", None),
        ("kube 5.1.2", "schemars 1.2.3", new("kube 5.1.2")),
        ("kube 5.0.0", "schemars 1.2.4", new("schemars 1.2.4")),
        ("kube 5.0.0", "schemars 1.3.0", new("schemars 1.3.0")),
        ("kube 1.1.0", "schemars 1.2.3", old("kube is locked at 1.1.0")),
        ("kube 5.0.0", "schemars 0.8.22", old("schemars is locked at 0.8.22")),
        (
            "kube 5.0.0",
            "schemars 1.2.3 local",
            Some("schemars does not come from a registry, so its code is unknown".to_owned()),
        ),
    ] {
        assert_eq!(refusal(usual, &lock(kube, schemars)), expected, "{kube} {schemars}");
    }
    let verified =
        &[usual[0], usual[1], usual[2], "[package.metadata.memcached-sdk]", "verified = [\"schemars 1.2.4\"]"];
    assert_eq!(refusal(verified, &lock("kube 5.0.0", "schemars 1.2.4")), None);
    assert_eq!(refusal(verified, &lock("kube 5.0.0", "schemars 1.2.5")), new("schemars 1.2.5"));
    let behind = Some("`Cargo.lock` has no schemars, which `Cargo.toml` asks for".to_owned());
    assert_eq!(refusal(usual, &["x 0.1.0 kube", "kube 5.0.0"]), behind);

    // With two schemars, only the manifest can tell which one a derive uses.
    let old_schemars = old("schemars is locked at 0.8.22");
    let old = "old = { package = \"schemars\", version = \"0.8\" }";
    let both = ["x 0.1.0 kube schemars~0.8.22 schemars~1.2.3 serde", "kube 5.0.0", "schemars 0.8.22", "schemars 1.2.3"];
    assert_eq!(refusal(&[kube, serde, schemars, old], &both), old_schemars);
    let of_another =
        ["x 0.1.0 kube schemars~1.2.3 y", "y 1.0.0 schemars~0.8.22", "kube 5.0.0", "schemars 0.8.22", "schemars 1.2.3"];
    assert_eq!(refusal(&[kube, serde, schemars, "y = \"1\""], &of_another), None);

    // `preserve_order` does not change the schema; `arbitrary_precision` changes the digits of numbers.
    let ordered = "serde_json = { version = \"1\", features = [\"preserve_order\"] }";
    assert_eq!(refusal(&[kube, serde, schemars, ordered], &lock("kube 5.0.0", "schemars 1.2.3")), None);
    let precise = "serde_json = { version = \"1\", features = [\"arbitrary_precision\"] }";
    let digits = "the feature `arbitrary_precision` of serde_json changes how numbers of defaults are written";
    assert_eq!(
        refusal(&[kube, serde, schemars, precise], &lock("kube 5.0.0", "schemars 1.2.3")).as_deref(),
        Some(digits)
    );
}

/// The codes that these source files name.
fn used(paths: &[&str]) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for path in paths.iter().map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path)) {
        for text in files(&path).into_values() {
            codes.extend(
                text.split("Code::")
                    .skip(1)
                    .filter_map(|rest| rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next())
                    .map(str::to_owned),
            );
        }
    }
    codes
}

macro_rules! webhook {
    ($arguments:literal) => {
        concat!(
            "// +kubebuilder:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups=a,resources=x,verbs=create,",
            "versions=v1,name=v.a.example.com,admissionReviewVersions=v1,",
            $arguments,
            "\n"
        )
    };
}

/// Diagnostics of commands: the command, and a package that triggers the code. The message is in
/// `fixtures/diagnostics`.
#[test]
fn commands_have_codes_of_their_own() {
    let init = format!("init --domain example.com {}", crate::sandbox::OFFLINE);
    let long = "a".repeat(50);
    for (code, command, source) in [
        (Code::LongProjectName, format!("{init} --project-name {long} --dry-run"), ""),
        (Code::MarkerSyntax, "generate rbac".to_owned(), "// +kubebuilder:rbac:groups=apps,verbs\n"),
        (
            Code::RbacElsewhere,
            "rbac derive".to_owned(),
            "pub fn namespace() -> String {\n    std::env::var(\"OPERATOR_NAMESPACE\").unwrap()\n}\n",
        ),
        (
            Code::RbacNotFollowed,
            "rbac derive".to_owned(),
            "pub async fn ask(client: kube::Client, request: http::Request<Vec<u8>>) {\n    let _ = client.request_text(request).await;\n}\n",
        ),
        (Code::DuplicateWebhook, "generate webhooks".to_owned(), concat!(webhook!("path=/a"), webhook!("path=/b"))),
        (Code::WebhookMarker, "generate webhooks".to_owned(), webhook!("path=/a,url=\"https://example.com\"")),
        (Code::WebhookRule, "generate webhooks".to_owned(), webhook!("path=/a,verbs=patch")),
        (
            Code::WebhookUnmarked,
            "generate webhooks".to_owned(),
            "fn register(manager: &mut Manager) {\n    manager.webhooks(Context {}).validating::<Thing>(\"/validate\");\n}\n",
        ),
        (
            Code::WebhookUnserved,
            "generate webhooks".to_owned(),
            concat!(
                webhook!("path=/a"),
                "\nfn register(manager: &mut Manager) {\n    manager.webhooks(Context {});\n}\n"
            ),
        ),
        (Code::MissingModule, "generate crds".to_owned(), "mod missing;\n"),
        (
            Code::RbacRule,
            "generate rbac".to_owned(),
            "// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=read\n",
        ),
        (Code::UnknownMarker, "generate rbac".to_owned(), "// +kubebuilder:rabc:groups=apps\n"),
        (Code::NotTyped, "create api --from-crd thing.json --dry-run".to_owned(), "crd"),
        (Code::UnusualVersion, "create api --group a --version first --kind Thing --dry-run".to_owned(), "project"),
    ] {
        let sandbox = match source {
            "" => Sandbox::new(),
            "project" => Sandbox::project(""),
            "crd" => {
                let sandbox = Sandbox::project("");
                let part =
                    serde_json::json!({ "type": "object", "oneOf": [{ "properties": { "a": { "enum": ["x"] } } }] });
                let schema =
                    serde_json::json!({ "type": "object", "required": ["spec"], "properties": { "spec": part } });
                sandbox.file("thing.json", &crd_of("v1", &schema).to_string());
                sandbox
            }
            source => {
                let sandbox = Sandbox::new();
                sandbox
                    .file("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n\n[dependencies]\nkube = \"5\"\n")
                    .file("src/lib.rs", source)
                    .lock();
                sandbox
            }
        };
        // `-q` leaves only the diagnostic.
        let quiet = if command.starts_with("rbac") { "" } else { "-q" };
        let run = sandbox.run(&format!("{command} {quiet}"));
        let expected = if code.severity() == Severity::Error { 1 } else { 0 };
        golden(code, &run.code(expected).err());
    }
}

/// Only the project's own crdgen can print an invalid schema key.
#[test]
fn a_key_that_no_schema_has() {
    let schema =
        serde_json::json!({ "type": "object", "properties": { "spec": { "type": "object", "propertees": {} } } });
    let version = serde_json::json!({ "name": "v1", "storage": true, "schema": { "openAPIV3Schema": schema } });
    let names = serde_json::json!({ "kind": "Thing", "plural": "things", "singular": "thing" });
    let spec = serde_json::json!({ "group": "example.com", "names": names, "versions": [version] });
    let crd = crd::merge(crd::CrdDefinition::split(serde_json::json!({ "spec": spec }), None)).0.pop().unwrap();
    golden(Code::UnknownSchemaKey, &structural::check(&crd).render(false));
}

pub(super) fn golden(code: Code, text: &str) {
    assert!(text.contains(&format!("[{code}]")), "{code}: {text}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/diagnostics/{code}.stderr"));
    let text = text.trim_end().to_owned() + "\n";
    Assert::new().action_env("SNAPSHOTS").eq(text, Data::read_from(&file, Some(DataFormat::Text)));
}

/// Codes that need cargo, git, rustfmt or a whole project, each with the test file that covers it.
const ELSEWHERE: [(Code, &str); 39] = [
    (Code::CrdPlace, "crd_place.rs"),
    (Code::DanglingKustomization, "generate.rs"),
    (Code::CommandFailed, "generate.rs"),
    (Code::CompileFailed, "engine.rs"),
    (Code::ConflictResolved, "scaffold_update.rs"),
    (Code::CrdDiffers, "compare.rs"),
    (Code::CrdNotDeclared, "compare.rs"),
    (Code::CrdNotShipped, "compare.rs"),
    (Code::CrdPanic, "engine.rs"),
    (Code::CrdPatch, "generate.rs"),
    (Code::CrdTwice, "compare.rs"),
    (Code::EditConflict, "choices.rs"),
    (Code::EditKept, "choices.rs"),
    (Code::EnginesDiffer, "engine.rs"),
    (Code::FileConflict, "init.rs"),
    (Code::InvalidSample, "generate.rs"),
    (Code::KubeChange, "update_kube.rs"),
    (Code::KubeDependency, "update_kube.rs"),
    (Code::ManagerDiffers, "update.rs"),
    (Code::ManagerForeign, "update.rs"),
    (Code::MissingCrd, "engine.rs"),
    (Code::NoGit, "init.rs"),
    (Code::NotFetched, "create_api.rs"),
    (Code::NotGenerated, "new_release.rs"),
    (Code::NotRecorded, "new_release.rs"),
    (Code::NotDownloaded, "clone.rs"),
    (Code::CrdKept, "generate.rs"),
    (Code::Elsewhere, "generate.rs"),
    (Code::RoleKept, "generate.rs"),
    (Code::OldName, "rename.rs"),
    (Code::OnlyRead, "kinds.rs"),
    (Code::ProjectDiffers, "choices.rs"),
    (Code::EditDiscarded, "delete.rs"),
    (Code::ReleaseDiffers, "new_release.rs"),
    (Code::StillNamed, "delete.rs"),
    (Code::Syntax, "any_project.rs"),
    (Code::Unformatted, "tidy.rs"),
    (Code::WebhookDeadlock, "create_webhook.rs"),
    (Code::WebhookResource, "generate.rs"),
];

#[test]
fn the_message_of_every_code_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = ["rbac-lint", "rbac-verify"].map(|folder| root.join("fixtures").join(folder));
    let files = folders.iter().flat_map(|folder| folder.read_dir().unwrap()).map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "stderr"));
    let permissions: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    for code in Code::ALL {
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| other == code);
        let tested = match elsewhere {
            Some((_, file)) => {
                let levels = ["golden", "projects"].map(|level| root.join("it").join(level).join(file));
                let text = levels.iter().find_map(|file| std::fs::read_to_string(file).ok()).unwrap();
                text.contains(&format!("[{code}]")) || text.contains(&format!("\"code\": \"{code}\""))
            }
            None => {
                root.join(format!("fixtures/diagnostics/{code}.stderr")).exists()
                    || permissions.contains(&format!("[{code}]"))
            }
        };
        assert!(tested, "no test shows a message of `{code}`");
    }
}

/// The CRD `things.a.example.com` with one version.
fn crd_of(version: &str, schema: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.a.example.com" },
        "spec": {
            "group": "a.example.com",
            "names": { "kind": "Thing", "plural": "things" },
            "scope": "Namespaced",
            "versions": [
                { "name": version, "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }
            ]
        }
    })
}
