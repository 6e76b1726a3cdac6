//! `generate helm` on small streams. The control-plane tests render the charts with helm.

use memcached_sdk::diagnostic::Code;

use super::diagnostics::golden;
use crate::sandbox::{Sandbox, join};

const STREAM: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: apps}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop, namespace: apps}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shop-binding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: ServiceAccount, name: shop, namespace: apps}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-config, namespace: apps}
data:
  greeting: 'hello {{ .Name }} of shop'
  service: shop-web.apps.svc
  shopping: shop-webs and workshop-web
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
      - name: shop
        image: registry:5000/team/shop
        args: [--config=shop-config, --fast]
        env:
        - {name: LEVEL, value: info}
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
---
apiVersion: v1
kind: Service
metadata: {name: shop-web, namespace: apps}
spec: {selector: {app: shop}, ports: [{port: 80}]}
";

fn stream(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("install.yaml", text);
    sandbox
}

#[test]
fn any_stream_gives_a_chart() {
    let sandbox = stream(STREAM);
    sandbox.run("generate helm --manifests install.yaml --output-dir .").success();
    let mut files = sandbox.files();
    files.retain(|path, _| path.starts_with("chart/") && !path.ends_with(".helmignore"));
    assert_eq!(files.remove("chart/.values.yaml"), files.get("chart/values.yaml").cloned());
    snapbox::assert_data_eq!(join(&files), snapbox::file!["chart/any_stream.txt"].raw());
    sandbox.run("generate helm --manifests install.yaml --output-dir . --check").success();
}

/// Ambiguous flags and variables stay unchanged and are reported.
#[test]
fn names_that_may_be_meant_are_said() {
    let arguments = "args: [--config=shop-config, --fast]";
    let sandbox =
        stream(&STREAM.replace(arguments, "args: [--with=shop-config, --web, shop-web, --app=apps, --kind=shop]"));
    let run = sandbox.run("generate helm --manifests install.yaml --output-dir . -q");
    golden(Code::ChartName, &run.success().err());
}

/// The author's values, files and notes stay; generated templates follow the manifests.
#[test]
fn a_chart_is_made_again() {
    let sandbox = stream(STREAM);
    sandbox.run("generate helm --manifests install.yaml --output-dir .").success();
    let extra = "{{- if .Values.extra }}\nkind: Extra\n{{- end }}\n";
    sandbox
        .replace("chart/values.yaml", "  replicas: 1\n", "  # Two are enough.\n  replicas: 2\n")
        .replace("chart/Chart.yaml", "version: 0.1.0", "version: 0.2.0")
        .file("chart/templates/custom/extra.yaml", extra);
    let config = STREAM.find("---\napiVersion: v1\nkind: ConfigMap").unwrap();
    let deployment = STREAM.find("---\napiVersion: apps/v1").unwrap();
    let changed = format!("{}{}", &STREAM[..config], &STREAM[deployment..]).replace("value: info", "value: debug");
    sandbox.file("install.yaml", &changed);
    sandbox.run("generate helm --manifests install.yaml --output-dir .").success().stdout(
        "update    chart/.values.yaml\n\
         skip      chart/Chart.yaml (exists with different content and is kept)\n\
         remove    chart/templates/extras/config.yaml\n\
         update    chart/templates/manager/manager.yaml\n\
         update    chart/values.yaml\n",
    );
    let values = sandbox.read("chart/values.yaml");
    assert!(values.contains("  # Two are enough.\n  replicas: 2\n") && values.contains("value: debug"), "{values}");
    assert!(sandbox.read("chart/Chart.yaml").contains("version: 0.2.0"));
    assert_eq!(sandbox.read("chart/templates/custom/extra.yaml"), extra);
}

#[test]
fn what_can_be_no_chart_is_refused() {
    let values = |text: &str| {
        let sandbox = stream(STREAM);
        sandbox.run("generate helm --manifests install.yaml --output-dir .").success();
        sandbox.file("chart/values.yaml", text);
        sandbox
    };
    let foreign = stream(STREAM);
    foreign.file("chart/templates/manager/manager.yaml", "kind: Mine\n");
    let second = STREAM.replace("name: shop, namespace: apps, labels", "name: stock, namespace: apps, labels");
    let cases = [
        ("no file", Sandbox::new()),
        ("no YAML", stream("a: [")),
        ("no object", stream("kind: Deployment\n")),
        ("no Deployment", stream("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n")),
        (
            "two Deployments",
            stream(&format!("{STREAM}---\n{}", &second[second.find("apiVersion: apps/v1").unwrap()..])),
        ),
        ("no container", stream("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n")),
        ("values that are no YAML", values("manager: [")),
        ("values without some", values("manager: {}\n")),
        ("a file of others", foreign),
    ];
    let mut text = String::new();
    for (name, sandbox) in cases {
        let before = sandbox.files();
        let run = sandbox.run("generate helm --manifests install.yaml --output-dir .");
        text += &format!("──── {name}\n{}", run.code(1).err());
        assert_eq!(sandbox.files(), before, "{name}");
    }
    snapbox::assert_data_eq!(text, snapbox::file!["chart/refused.txt"].raw());
}
