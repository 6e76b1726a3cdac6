//! Each place of a reference, beside equal words with another meaning.

use serde_json::Value;

use super::{NamedWord, rename};

/// The objects of the manifests. All have the name `widgets` and the namespace `widgets`.
const KINDS: [&str; 9] = [
    "Certificate",
    "ConfigMap",
    "Deployment",
    "Issuer",
    "Role",
    "Secret",
    "Service",
    "ServiceAccount",
    "ValidatingWebhookConfiguration",
];

/// Renames the references of an object: the namespace to `NS`, an object to its kind.
fn renamed(object: &str) -> String {
    let mut value: Value = serde_yaml::from_str(object).unwrap();
    rename(&mut value, &mut |named, word| match named {
        NamedWord::Namespace { .. } => (word == "widgets").then(|| "NS".to_owned()),
        NamedWord::Object { kinds, namespace } => {
            let kind = KINDS.iter().find(|kind| kinds.contains(kind))?;
            let is_there = word == "widgets" && namespace.is_none_or(|namespace| namespace == "widgets");
            is_there.then(|| kind.to_uppercase())
        }
    });
    crate::yaml::document(&value)
}

/// Both documents after the emitter: the object, and the object with its references renamed.
#[track_caller]
fn check(object: &str, expected: &str) {
    let expected: Value = serde_yaml::from_str(expected).unwrap();
    assert_eq!(renamed(object), crate::yaml::document(&expected));
}

#[test]
fn workloads_name_what_their_fields_say() {
    check(
        "
kind: Deployment
metadata: {name: widgets, namespace: widgets, labels: {widgets: widgets, app: widgets}}
spec:
  selector: {matchLabels: {service: widgets}}
  template:
    metadata: {labels: {namespace: widgets}, annotations: {namespace: widgets}}
    spec:
      serviceAccountName: widgets
      imagePullSecrets: [{name: widgets}]
      nodeSelector: {secret: widgets}
      subdomain: widgets
      affinity: {podAffinity: {a: [{namespaces: [widgets], topologyKey: widgets}]}}
      volumes:
      - {name: widgets, configMap: {name: widgets, items: [{key: widgets, path: widgets}]}}
      - {name: b, secret: {secretName: widgets}}
      - {name: c, projected: {sources: [{secret: {name: widgets}}]}}
      containers:
      - name: widgets
        image: widgets
        ports: [{name: widgets}]
        volumeMounts: [{name: widgets, mountPath: /etc/widgets}]
        livenessProbe: {grpc: {service: widgets}}
        envFrom: [{configMapRef: {name: widgets}, prefix: widgets}]
        env: [{name: A, valueFrom: {secretKeyRef: {name: widgets, key: widgets}}}]
",
        "
kind: Deployment
metadata: {name: DEPLOYMENT, namespace: NS, labels: {widgets: widgets, app: widgets}}
spec:
  selector: {matchLabels: {service: widgets}}
  template:
    metadata: {labels: {namespace: widgets}, annotations: {namespace: widgets}}
    spec:
      serviceAccountName: SERVICEACCOUNT
      imagePullSecrets: [{name: SECRET}]
      nodeSelector: {secret: widgets}
      subdomain: SERVICE
      affinity: {podAffinity: {a: [{namespaces: [NS], topologyKey: widgets}]}}
      volumes:
      - {name: widgets, configMap: {name: CONFIGMAP, items: [{key: widgets, path: widgets}]}}
      - {name: b, secret: {secretName: SECRET}}
      - {name: c, projected: {sources: [{secret: {name: SECRET}}]}}
      containers:
      - name: widgets
        image: widgets
        ports: [{name: widgets}]
        volumeMounts: [{name: widgets, mountPath: /etc/widgets}]
        livenessProbe: {grpc: {service: widgets}}
        envFrom: [{configMapRef: {name: CONFIGMAP}, prefix: widgets}]
        env: [{name: A, valueFrom: {secretKeyRef: {name: SECRET, key: widgets}}}]
",
    );
}

#[test]
fn arguments_and_variables_say_what_they_name() {
    let list = |items: &[(&str, &str)], of: fn(&(&str, &str)) -> String| items.iter().map(of).collect::<Vec<_>>();
    let arguments = [
        ("--namespace=widgets", "--namespace=NS"),
        ("--watch-namespaces=a,widgets", "--watch-namespaces=a,NS"),
        ("--kind=widgets", "--kind=widgets"),
        ("--namespace", "--namespace"),
        ("widgets", "NS"),
        ("widgets", "widgets"),
        ("--verbose", "--verbose"),
        ("widgets", "widgets"),
        ("--webhook-secret=widgets/widgets", "--webhook-secret=NS/SECRET"),
        ("--webhook-secret=others/widgets", "--webhook-secret=others/widgets"),
        (
            "--webhook-configurations=validating:widgets",
            "--webhook-configurations=validating:VALIDATINGWEBHOOKCONFIGURATION",
        ),
        ("--service=widgets:443", "--service=SERVICE:443"),
        ("--url=https://widgets.widgets.svc:8443/widgets", "--url=https://SERVICE.NS.svc:8443/widgets"),
        ("--proxy=http://widgets/widgets", "--proxy=http://SERVICE/widgets"),
        ("--peer=widgets.widgets:80", "--peer=SERVICE.NS:80"),
        ("--crd=widgets.widgets.example.com", "--crd=widgets.widgets.example.com"),
        ("--api=https://widgets.example.com/widgets", "--api=https://widgets.example.com/widgets"),
        ("--user=system:serviceaccount:widgets:widgets", "--user=system:serviceaccount:NS:SERVICEACCOUNT"),
        ("--of=$(PLACE)", "--of=$(PLACE)"),
        ("--own-namespace=$(PLACE)", "--own-namespace=$(PLACE)"),
        ("run --namespace=widgets --kind=widgets", "run --namespace=NS --kind=widgets"),
    ];
    let variables = [
        ("PLACE: widgets", "PLACE: NS"),
        ("WATCH: widgets", "WATCH: widgets"),
        ("POD_NAMESPACE: widgets", "POD_NAMESPACE: NS"),
        ("SERVICE_NAME: widgets", "SERVICE_NAME: SERVICE"),
        ("NO_PROXY: .widgets.svc,widgets", "NO_PROXY: .NS.svc,widgets"),
    ];
    let pod = |arguments: Vec<String>, variables: Vec<String>| {
        let variables = variables.iter().map(|one| one.split_once(": ").unwrap());
        let env: Vec<Value> =
            variables.map(|(name, value)| serde_json::json!({ "name": name, "value": value })).collect();
        let containers = serde_json::json!([{ "name": "widgets", "args": arguments, "env": env }]);
        serde_json::json!({ "kind": "Pod", "metadata": { "name": "a", "namespace": "widgets" },
            "spec": { "containers": containers } })
        .to_string()
    };
    let before = pod(list(&arguments, |one| one.0.to_owned()), list(&variables, |one| one.0.to_owned()));
    let after = pod(list(&arguments, |one| one.1.to_owned()), list(&variables, |one| one.1.to_owned()));
    check(&before, &after.replace("\"namespace\":\"widgets\"", "\"namespace\":\"NS\""));
}

#[test]
fn roles_and_bindings_name_what_their_kinds_say() {
    check(
        "
kind: ClusterRole
metadata: {name: widgets}
rules:
- {apiGroups: [widgets], resources: [widgets, widgets/status], verbs: [get]}
- {apiGroups: [widgets], resources: [widgets], resourceNames: [widgets], verbs: [get]}
- {apiGroups: [''], resources: [secrets], resourceNames: [widgets, others], verbs: [get]}
- {apiGroups: [''], resources: [namespaces], resourceNames: [widgets], verbs: [get]}
- {nonResourceURLs: [widgets], verbs: [get]}
",
        "
kind: ClusterRole
metadata: {name: widgets}
rules:
- {apiGroups: [widgets], resources: [widgets, widgets/status], verbs: [get]}
- {apiGroups: [widgets], resources: [widgets], resourceNames: [widgets], verbs: [get]}
- {apiGroups: [''], resources: [secrets], resourceNames: [SECRET, others], verbs: [get]}
- {apiGroups: [''], resources: [namespaces], resourceNames: [NS], verbs: [get]}
- {nonResourceURLs: [widgets], verbs: [get]}
",
    );
    check(
        "
kind: RoleBinding
metadata: {name: widgets, namespace: widgets}
roleRef: {kind: Role, name: widgets}
subjects:
- {kind: ServiceAccount, name: widgets, namespace: widgets}
- {kind: ServiceAccount, name: widgets, namespace: others}
- {kind: User, name: widgets}
- {kind: User, name: 'system:serviceaccount:widgets:widgets'}
- {kind: Group, name: 'system:serviceaccounts:widgets'}
",
        "
kind: RoleBinding
metadata: {name: widgets, namespace: NS}
roleRef: {kind: Role, name: ROLE}
subjects:
- {kind: ServiceAccount, name: SERVICEACCOUNT, namespace: NS}
- {kind: ServiceAccount, name: widgets, namespace: others}
- {kind: User, name: widgets}
- {kind: User, name: 'system:serviceaccount:NS:SERVICEACCOUNT'}
- {kind: Group, name: 'system:serviceaccounts:NS'}
",
    );
}

#[test]
fn webhooks_and_certificates_name_services() {
    check(
        "
kind: ValidatingWebhookConfiguration
metadata: {name: widgets, annotations: {cert-manager.io/inject-ca-from: widgets/widgets, other: widgets/widgets}}
webhooks:
- name: widgets
  clientConfig: {service: {name: widgets, namespace: widgets, path: /widgets}}
  rules: [{apiGroups: [widgets], resources: [widgets], operations: [CREATE]}]
  objectSelector: {matchLabels: {namespace: widgets}}
  namespaceSelector:
    matchLabels: {kubernetes.io/metadata.name: widgets, name: widgets}
    matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: In, values: [a, widgets]}
    - {key: widgets, operator: In, values: [widgets]}
  matchConditions: [{name: widgets, expression: request.namespace == 'widgets' && request.name != 'widgets'}]
",
        "
kind: ValidatingWebhookConfiguration
metadata: {name: VALIDATINGWEBHOOKCONFIGURATION, annotations: {cert-manager.io/inject-ca-from: NS/CERTIFICATE, other: widgets/widgets}}
webhooks:
- name: widgets
  clientConfig: {service: {name: SERVICE, namespace: NS, path: /widgets}}
  rules: [{apiGroups: [widgets], resources: [widgets], operations: [CREATE]}]
  objectSelector: {matchLabels: {namespace: widgets}}
  namespaceSelector:
    matchLabels: {kubernetes.io/metadata.name: NS, name: widgets}
    matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: In, values: [a, NS]}
    - {key: widgets, operator: In, values: [widgets]}
  matchConditions: [{name: widgets, expression: request.namespace == 'NS' && request.name != 'widgets'}]
",
    );
    check(
        "
kind: CustomResourceDefinition
metadata: {name: widgets.example.com, annotations: {cert-manager.io/inject-ca-from: widgets/widgets}}
spec:
  group: widgets
  names: {kind: Service, plural: widgets, singular: widgets}
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: widgets, namespace: widgets}}}}
  versions: [{name: v1, schema: {properties: {namespace: {default: widgets}, a: {default: {namespace: widgets}}}}}]
",
        "
kind: CustomResourceDefinition
metadata: {name: widgets.example.com, annotations: {cert-manager.io/inject-ca-from: NS/CERTIFICATE}}
spec:
  group: widgets
  names: {kind: Service, plural: widgets, singular: widgets}
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: SERVICE, namespace: NS}}}}
  versions: [{name: v1, schema: {properties: {namespace: {default: widgets}, a: {default: {namespace: widgets}}}}}]
",
    );
    check(
        "
kind: Certificate
metadata: {name: widgets, namespace: widgets}
spec:
  secretName: widgets
  issuerRef: {name: widgets}
  dnsNames: [widgets, widgets.widgets, widgets.widgets.svc, widgets.widgets.svc.cluster.local, widgets.example.com]
",
        "
kind: Certificate
metadata: {name: CERTIFICATE, namespace: NS}
spec:
  secretName: SECRET
  issuerRef: {name: ISSUER}
  dnsNames: [SERVICE, SERVICE.NS, SERVICE.NS.svc, SERVICE.NS.svc.cluster.local, widgets.example.com]
",
    );
}

#[test]
fn data_and_expressions_assign() {
    check(
        "
kind: ConfigMap
metadata: {name: widgets, namespace: widgets}
data:
  POD_NAMESPACE: widgets
  WIDGETS: widgets
  config.yaml: |
    kind: widgets
    leaderElection: {resourceNamespace: widgets, resourceName: widgets}
    service: \"widgets\"
    endpoint: https://widgets.widgets.svc/widgets
    # In the namespace: widgets, that is.
  app.properties: |
    my.namespace=widgets
    my.group=widgets
",
        "
kind: ConfigMap
metadata: {name: CONFIGMAP, namespace: NS}
data:
  POD_NAMESPACE: NS
  WIDGETS: widgets
  config.yaml: |
    kind: widgets
    leaderElection: {resourceNamespace: NS, resourceName: widgets}
    service: \"SERVICE\"
    endpoint: https://SERVICE.NS.svc/widgets
    # In the namespace: NS, that is.
  app.properties: |
    my.namespace=NS
    my.group=widgets
",
    );
    check(
        "
kind: PrometheusRule
metadata: {name: a, namespace: widgets, labels: {namespace: widgets}}
spec: {groups: [{name: widgets, rules: [{alert: widgets, expr: 'up{namespace=\"widgets\",job=~\"widgets\",service=\"widgets\"} == 0'}]}]}
",
        "
kind: PrometheusRule
metadata: {name: a, namespace: NS, labels: {namespace: widgets}}
spec: {groups: [{name: widgets, rules: [{alert: widgets, expr: 'up{namespace=\"NS\",job=~\"widgets\",service=\"SERVICE\"} == 0'}]}]}
",
    );
    check(
        "
kind: ServiceMonitor
metadata: {name: a, namespace: widgets}
spec:
  namespaceSelector: {matchNames: [widgets, others]}
  selector: {matchLabels: {service: widgets}}
  endpoints: [{port: widgets, tlsConfig: {serverName: widgets.widgets.svc, ca: {secret: {name: widgets, key: widgets}}}}]
",
        "
kind: ServiceMonitor
metadata: {name: a, namespace: NS}
spec:
  namespaceSelector: {matchNames: [NS, others]}
  selector: {matchLabels: {service: widgets}}
  endpoints: [{port: widgets, tlsConfig: {serverName: SERVICE.NS.svc, ca: {secret: {name: SECRET, key: widgets}}}}]
",
    );
}
