//! Admission of new objects: the parts of Pods and Services that the server sets.

use serde_json::{Value, json};

use super::Call;
use crate::exploration::CLAIM_FINALIZER;
use crate::response::Refusal;

impl Call<'_> {
    /// The admission of Pods: the account, its token, tolerations and the priority. Refusals call the object `shown`.
    pub(super) fn admit(&mut self, object: &mut Value, shown: &str) -> Result<(), Refusal> {
        if !self.resource.custom && self.resource.plural == "persistentvolumeclaims" {
            let mut finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            if !finalizers.iter().any(|finalizer| finalizer == CLAIM_FINALIZER) {
                finalizers.push(CLAIM_FINALIZER.into());
                object["metadata"]["finalizers"] = finalizers.into();
            }
        }
        if self.resource.custom || self.resource.plural != "pods" {
            return Ok(());
        }
        let namespace = self.target.namespace.clone();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let spec = &mut object["spec"];
        if spec["serviceAccountName"].is_null() {
            spec["serviceAccountName"] = "default".into();
            spec["serviceAccount"] = "default".into();
        }
        let account = spec["serviceAccountName"].as_str().unwrap_or_default().to_owned();
        let key = ("serviceaccounts".to_owned(), namespace.clone(), account.clone());
        let Some(found) = self.store.get(&key).cloned() else {
            let detail =
                format!("error looking up service account {namespace}/{account}: serviceaccount {account:?} not found");
            return Err(Refusal::forbidden("", "pods", shown, &detail));
        };
        let automount = match &spec["automountServiceAccountToken"] {
            Value::Null => found["automountServiceAccountToken"] != false,
            own => *own == true,
        };
        if automount {
            add_token(spec, &format!("kube-api-access-{}", suffix(hash(format!("{namespace}/{name}").as_bytes()))));
        }
        let tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
        let mut all = tolerations.clone();
        for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
            if !tolerations.iter().any(|toleration| toleration["key"] == key || toleration["key"].is_null()) {
                let toleration =
                    json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
                all.push(toleration);
            }
        }
        spec["tolerations"] = all.into();
        if !spec["priority"].is_null() && spec["priority"] != 0 {
            return Err(Refusal::unsupported("priorities of Pods"));
        }
        spec["priority"] = 0.into();
        if spec["preemptionPolicy"].is_null() {
            spec["preemptionPolicy"] = "PreemptLowerPriority".into();
        }
        Ok(())
    }

    /// Allocates the address of a Service.
    pub(super) fn allocate(&mut self, object: &mut Value) {
        if self.resource.custom || self.resource.plural != "services" {
            return;
        }
        let spec = &mut object["spec"];
        if spec["clusterIP"].is_null() {
            self.store.addresses += 1;
            spec["clusterIP"] = format!("10.96.{}.{}", self.store.addresses / 256, self.store.addresses % 256).into();
        }
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
        spec["ipFamilies"] = json!(["IPv4"]);
        spec["ipFamilyPolicy"] = "SingleStack".into();
    }
}

/// The name of a new object in refusals of admission, before a name is generated.
pub(super) fn shown_name(object: &Value) -> &str {
    let names = ["name", "generateName"].map(|field| object["metadata"][field].as_str().unwrap_or_default());
    names.into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown")
}

/// FNV-1a, in 32 bits.
pub(crate) fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// A hash in the form of the end of a generated name. Equal runs of an operator get equal names.
pub(crate) fn suffix(mut hash: u32) -> String {
    let letters = &crate::store::LETTERS;
    (0..5)
        .map(|_| {
            let letter = letters[hash as usize % letters.len()];
            hash /= 27;
            char::from(letter)
        })
        .collect()
}

/// Mounts the token of the account into the containers of a Pod.
fn add_token(spec: &mut Value, volume: &str) {
    const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let mut used = false;
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        let mut mounts = container["volumeMounts"].as_array().cloned().unwrap_or_default();
        if !mounts.iter().any(|mount| mount["mountPath"] == PATH) {
            mounts.push(json!({ "name": volume, "readOnly": true, "mountPath": PATH }));
            container["volumeMounts"] = mounts.into();
            used = true;
        }
    }
    if used {
        let mut volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
        volumes.push(json!({
            "name": volume,
            "projected": {
                "sources": [
                    { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                    { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
                    { "downwardAPI": { "items": [
                        { "path": "namespace", "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } },
                    ] } },
                ],
                "defaultMode": 420,
            },
        }));
        spec["volumes"] = volumes.into();
    }
}
