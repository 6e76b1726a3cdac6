use kube::ResourceExt;
use kube::runtime::watcher;
use manager::webhook::{Denied, Request, Validating, Warnings};
use manager::{Manager, Objects};

use crate::api::{Database, Site};
use crate::versions;

/// Caches and settings of the handlers.
pub struct Context {
    pub databases: Objects<Database>,
    pub registry: Option<String>,
}

pub fn register(manager: &mut Manager) {
    let context = Context {
        // The watch is shared with the controllers.
        databases: manager.objects(&watcher::Config::default()),
        registry: std::env::var("REGISTRY").ok(),
    };
    manager
        .webhooks(context)
        .validating::<Site>("/validate-web-example-com-v1-site");
}

impl Validating<Context> for Site {
    async fn validate_create(&self, request: &Request<Context>) -> Result<Warnings, Denied> {
        let Context {
            databases,
            registry,
        } = &*request.context;
        let mut errors = versions::errors(self);
        if let Some(registry) = registry
            && !self.spec.image.starts_with(registry)
        {
            let detail = format!("must be an image of {registry}");
            errors.invalid("spec.image", &self.spec.image, &detail);
        }
        let mut warnings = Warnings::new();
        if let Some(name) = &self.spec.database
            && databases.get(self.namespace().as_deref(), name).is_none()
        {
            // A user who applies both may apply the site first.
            warnings.push(format!("there is no Database {name:?} yet"));
        }
        errors.into_result(warnings)
    }

    async fn validate_update(
        &self,
        _old: &Self,
        request: &Request<Context>,
    ) -> Result<Warnings, Denied> {
        self.validate_create(request).await
    }
}
