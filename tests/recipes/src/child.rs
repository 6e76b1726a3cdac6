use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use kube::runtime::watcher;
use manager::{Action, Manager, Objects};

use crate::api::Site;
use crate::controller::{Error, Result};
use crate::desired;

/// The field manager of this controller.
pub const FIELD_MANAGER: &str = "site-operator";

pub struct Context {
    pub sites: Objects<Site>,
    pub services: Objects<Service>,
}

pub fn register(manager: &mut Manager) {
    let ours = watcher::Config::default().labels(desired::LABEL_SELECTOR);
    let context = Arc::new(Context {
        sites: manager.objects(&watcher::Config::default()),
        services: manager.objects(&ours),
    });
    manager
        .controller("site", &context.sites)
        .ignore_status()
        .owns(&context.services)
        .run(reconcile, context);
}

// +kubebuilder:rbac:groups=web.example.com,resources=sites,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

pub async fn reconcile(site: Arc<Site>, context: Arc<Context>) -> Result<Action> {
    context
        .services
        .apply(&service(&site), FIELD_MANAGER)
        .await
        .map_err(Error::during("apply the Service"))?;
    Ok(Action::Done)
}

fn service(site: &Site) -> Service {
    Service {
        metadata: desired::metadata(site),
        spec: Some(ServiceSpec {
            ports: Some(vec![ServicePort {
                port: 80,
                ..ServicePort::default()
            }]),
            selector: Some(desired::labels(site)),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}
