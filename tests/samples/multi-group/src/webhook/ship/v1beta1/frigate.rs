// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Webhooks of the Frigate.

use manager::Manager;
use manager::webhook::{Defaulting, Denied, FieldErrors, Request, Validating, Warnings};

use crate::api::ship::v1beta1::frigate::Frigate;

/// The caches and clients of the handlers, taken from the manager in `register`.
pub struct Context {}

/// Serves the webhooks.
pub fn register(manager: &mut Manager) {
    manager
        .webhooks(Context {})
        .conversion::<Frigate>()
        .spoke::<crate::api::ship::v1::frigate::Frigate>()
        .defaulting::<Frigate>("/mutate-ship-example-org-v1beta1-frigate")
        .validating::<Frigate>("/validate-ship-example-org-v1beta1-frigate");
}

// +kubebuilder:webhook:path=/mutate-ship-example-org-v1beta1-frigate,mutating=true,failurePolicy=fail,sideEffects=None,groups=ship.example.org,resources=frigates,verbs=create;update,versions=v1beta1,name=mfrigate-v1beta1.ship.example.org,admissionReviewVersions=v1

/// A default that needs no code is better in the type: with `#[serde(default)]` it is in the CRD, and the API server sets it.
impl Defaulting<Context> for Frigate {
    /// Called before an object is created or updated, perhaps more than once.
    fn default(&mut self, _request: &Request<Context>) -> Result<(), Denied> {
        // For example: self.spec.foo.get_or_insert_with(|| "bar".to_owned());
        Ok(())
    }
}

// +kubebuilder:webhook:path=/validate-ship-example-org-v1beta1-frigate,mutating=false,failurePolicy=fail,sideEffects=None,groups=ship.example.org,resources=frigates,verbs=create;update,versions=v1beta1,name=vfrigate-v1beta1.ship.example.org,admissionReviewVersions=v1

/// A rule about the fields of one object needs no webhook: `#[derive(KubeSchema)]` in place of `JsonSchema`, and
/// `#[x_kube(validation = "self.foo != 'bar'")]`, make it one of the CRD, which holds while the operator is down, too.
impl Validating<Context> for Frigate {
    /// Called before an object is created.
    async fn validate_create(&self, _request: &Request<Context>) -> Result<Warnings, Denied> {
        let errors = FieldErrors::new();
        // For example: errors.invalid("spec.foo", &self.spec.foo, "must not be \"bar\"");
        errors.into_result(Warnings::new())
    }

    /// Called before an object is updated.
    async fn validate_update(
        &self,
        _old: &Self,
        request: &Request<Context>,
    ) -> Result<Warnings, Denied> {
        self.validate_create(request).await
    }

    /// Called before an object is deleted, once the marker has the verb `delete`.
    async fn validate_delete(&self, _request: &Request<Context>) -> Result<Warnings, Denied> {
        Ok(Warnings::new())
    }
}

// +kubebuilder:scaffold:handlers

#[cfg(test)]
mod tests {
    use super::*;

    /// The object of `config/samples`.
    fn sample() -> Frigate {
        let sample = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/config/samples/ship_v1beta1_frigate.yaml"
        ));
        manager::testing::object_from_yaml(sample)
    }

    #[test]
    fn twice_is_the_same_as_once() {
        let request = Request::new(Context {});
        let mut object = sample();
        object.default(&request).expect("it is allowed");
        let once = serde_json::json!(object);
        object.default(&request).expect("it is allowed");
        assert_eq!(serde_json::json!(object), once);
    }

    #[tokio::test]
    async fn objects_are_allowed() {
        let request = Request::new(Context {});
        let object = sample();
        let created = object.validate_create(&request).await;
        assert_eq!(created.expect("it is allowed"), Warnings::new());
        let updated = object.validate_update(&sample(), &request).await;
        assert_eq!(updated.expect("it is allowed"), Warnings::new());
        let deleted = object.validate_delete(&request).await;
        assert_eq!(deleted.expect("it is allowed"), Warnings::new());
    }

    // +kubebuilder:scaffold:tests
}
