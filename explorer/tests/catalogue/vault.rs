//! Vault: a Secret with a generated password, and a ConfigMap.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use explorer::{Explorer, Oracle};
use futures::StreamExt as _;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::DynamicObject;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::common::{Operator, Planted, apply, crd, delete, in_hash_order, kind, merge, now, owners, server, unique};

pub(crate) const VAULT: Planted = Planted {
    name: "vault",
    bugs: &[
        ("generates the password at each start", Oracle::Quiet),
        ("generates the password in each reconcile", Oracle::Quiet),
        ("joins users in the order of a hash set", Oracle::Quiet),
        ("owner reference with a wrong UID", Oracle::Quiet),
        ("writes the number of its start", Oracle::Quiet),
        ("requeues at once", Oracle::Quiet),
        ("keeps a removed field", Oracle::History),
        ("updates one field only", Oracle::History),
        ("panics at the maximum", Oracle::History),
        ("changes the transition time with the spec", Oracle::Status),
        ("observes the first generation only", Oracle::Status),
        ("writes a reason with spaces", Oracle::Status),
        ("has no rule for a rare deletion", Oracle::Permission),
        ("has no rule to create what it applies", Oracle::Permission),
    ],
    explorer,
};

struct Vaults {
    operator: Operator,
    passwords: Mutex<BTreeMap<String, String>>,
    started: String,
}

impl Vaults {
    fn new_password(&self, name: &str) -> String {
        let has = |bug| self.operator.has(bug);
        let new = format!("password-{}", unique());
        let mut known = self.passwords.lock().unwrap();
        if has("generates the password at each start") {
            known.entry(name.to_owned()).or_insert(new).clone()
        } else {
            new
        }
    }

    async fn reconcile(&self, cached: &DynamicObject) -> Result<Action, kube::Error> {
        let has = |bug| self.operator.has(bug);
        let (name, namespace) = (cached.name_any(), cached.namespace().unwrap_or_default());
        let vaults: Api<DynamicObject> =
            Api::namespaced_with(self.operator.client.clone(), &namespace, &kind("Vault", "vaults"));
        let Some(vault) = vaults.get_opt(&name).await?.filter(|vault| vault.metadata.deletion_timestamp.is_none())
        else {
            return Ok(Action::await_change());
        };
        let mut owners = owners(&vault);
        let secrets: Api<Secret> = self.operator.api(&namespace);
        let known = secrets.get_opt(&name).await?.and_then(|secret| secret.data?.remove("password"));
        let known = known.filter(|_| !self.operator.bug.starts_with("generates the password"));
        let password = known.unwrap_or_else(|| ByteString(self.new_password(&name).into_bytes()));
        if has("owner reference with a wrong UID") {
            owners[0]["uid"] = "7".into();
        }
        let metadata = json!({ "name": name, "ownerReferences": owners });
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": { "password": password },
        });
        apply(&secrets, secret).await?;
        self.settings(&vault, &name, &namespace).await?;
        self.status(&vaults, &vault).await?;
        Ok(if has("requeues at once") { Action::requeue(Duration::ZERO) } else { Action::await_change() })
    }

    async fn settings(&self, vault: &DynamicObject, name: &str, namespace: &str) -> Result<(), kube::Error> {
        let has = |bug| self.operator.has(bug);
        let spec = &vault.data["spec"];
        let maps: Api<ConfigMap> = self.operator.api(namespace);
        let name = format!("{name}-settings");
        if spec["settings"] == false {
            return delete(&maps, &name).await;
        }
        let length = usize::try_from(spec["length"].as_u64().unwrap_or_default()).unwrap();
        if has("panics at the maximum") {
            let _ = [0; 12][length];
        }
        let mut data = json!({ "length": length.to_string(), "users": "ada,bob,eve,mia,tom,zoe" });
        if has("joins users in the order of a hash set") {
            data["users"] = in_hash_order(('a'..='z').map(String::from)).join(",").into();
        }
        if has("writes the number of its start") {
            data["started"] = self.started.clone().into();
        }
        if let Some(user) = spec["user"].as_str() {
            data["user"] = user.into();
        }
        let live = maps.get_opt(&name).await?;
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": { "name": name, "ownerReferences": owners(vault) },
        });
        let is_current = |live: &ConfigMap| {
            let user = live.data.as_ref().and_then(|data| data.get("user"));
            user.map(String::as_str) == spec["user"].as_str() && live.metadata.owner_references.is_some()
        };
        if has("updates one field only") && live.as_ref().is_some_and(is_current) {
            return Ok(());
        }
        if has("keeps a removed field") && live.is_some() {
            merge(&maps, &name, json!({ "data": data })).await?;
        } else {
            apply(&maps, map).await?;
        }
        Ok(())
    }

    async fn status(&self, vaults: &Api<DynamicObject>, vault: &DynamicObject) -> Result<(), kube::Error> {
        let has = |bug| self.operator.has(bug);
        let (name, live) = (vault.name_any(), &vault.data["status"]);
        let known = &live["conditions"][0]["lastTransitionTime"];
        let generation = vault.metadata.generation;
        let is_new = json!(generation) != live["observedGeneration"];
        let renew = known.is_null() || (is_new && has("changes the transition time with the spec"));
        let time = if renew { now().into() } else { known.clone() };
        let reason = if has("writes a reason with spaces") { "all is well" } else { "AllIsWell" };
        let mut status = json!({
            "observedGeneration": generation,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": reason, "lastTransitionTime": time, "observedGeneration": generation,
            }],
        });
        if has("observes the first generation only") && !live["observedGeneration"].is_null() {
            status["observedGeneration"] = live["observedGeneration"].clone();
        }
        let status = json!({ "apiVersion": "example.com/v1", "kind": "Vault", "metadata": {}, "status": status });
        let params = kube::api::PatchParams::apply("operator").force();
        vaults.patch_status(&name, &params, &kube::api::Patch::Apply(status)).await.map(drop)
    }
}

async fn run(client: Client, bug: &'static str) {
    let config = watcher::Config::default;
    let vaults: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Vault", "vaults"));
    let vault_context = Vaults {
        operator: Operator { client: client.clone(), bug },
        passwords: Mutex::default(),
        started: unique().to_string(),
    };
    Controller::new_with(vaults, config(), kind("Vault", "vaults"))
        .owns(Api::<Secret>::all(client.clone()), config())
        .owns(Api::<ConfigMap>::all(client), config())
        .run(
            |vault, context: Arc<Vaults>| async move { context.reconcile(&vault).await },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            Arc::new(vault_context),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

fn role(bug: &str) -> Value {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let mut maps = vec!["get", "list", "watch", "create", "patch", "delete"];
    maps.truncate(if bug == "has no rule for a rare deletion" { 5 } else { 6 });
    let mut secrets = vec!["get", "list", "watch", "patch", "create"];
    secrets.truncate(if bug == "has no rule to create what it applies" { 4 } else { 5 });
    json!({
        "kind": "ClusterRole", "metadata": { "name": "vault" },
        "rules": [
            rule("", &["secrets"], &secrets),
            rule("", &["configmaps"], &maps),
            rule("example.com", &["vaults"], &["get", "list", "watch", "update"]),
            rule("example.com", &["vaults/status"], &["patch", "update"]),
        ],
    })
}

fn explorer(bug: &'static str) -> Explorer {
    let spec = json!({
        "length": { "type": "integer", "minimum": 4, "maximum": 12, "default": 8 },
        "settings": { "type": "boolean" },
        "user": { "type": "string" },
    });
    let condition = json!({
        "type": { "type": "string" }, "status": { "type": "string" }, "reason": { "type": "string" },
        "lastTransitionTime": { "type": "string" }, "observedGeneration": { "type": "integer" },
    });
    let status = json!({
        "observedGeneration": { "type": "integer" },
        "conditions": { "type": "array", "items": { "type": "object", "properties": condition } },
    });
    let server = server(&[crd(&kind("Vault", "vaults"), "Namespaced", spec, status)]);
    Explorer::new(&server, move |client| run(client, bug))
        .role(role(bug))
        .generated("secrets", "/data/password")
        .sample(json!({
            "apiVersion": "example.com/v1", "kind": "Vault", "metadata": { "name": "corner" },
            "spec": { "length": 8, "settings": true, "user": "root" },
        }))
}

/// The rule for updates of vaults is too much.
#[test]
fn a_rule_that_no_request_needs_is_in_the_report() {
    let report = explorer("").only(Oracle::History).budget(Duration::from_secs(4)).explore();
    assert_eq!(
        report.unused_rules.into_iter().collect::<Vec<_>>(),
        ["update vaults.example.com", "update vaults/status.example.com"]
    );
}
