//! The recipes under crashes, faults, drift, deletions and changes of the spec, each in a small operator.

use std::sync::Arc;

use explorer::{ApiServer, Explorer, Oracle};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, Pod, PodSpec, PodTemplateSpec, Secret, Service,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::core::crd::merge_crds;
use kube::runtime::finalizer::Event;
use kube::runtime::watcher;
use kube::{CustomResourceExt, ResourceExt};
use manager::testing::{operator_webhooks, run_operator};
use manager::{Action, Manager, Object, Objects};
use recipes::api::{Database, Site};
use recipes::child::{Context, FIELD_MANAGER};
use recipes::controller::{Error, Result};
use recipes::versions::OldSite;
use recipes::{
    any_error, child, cloud, config_map, desired, elsewhere, handler, job, optional_child,
    predicate, schedule, secret, shared, told, two_kinds,
};
use serde_json::{Value, json};

/// Explores the operator of a recipe with these samples.
fn explorer(register: fn(&mut Manager), samples: &[Value]) -> Explorer {
    let server = ApiServer::new();
    server.add_namespace("monitoring");
    for crd in [Site::crd(), Database::crd()] {
        server.add_crd(&json!(crd)).unwrap();
    }
    let explorer = Explorer::new(&server, move |client| run_operator(client, register));
    samples.iter().cloned().fold(explorer, Explorer::sample)
}

/// Asserts that these schedules, and those that the report counts as equal to them, are the only findings.
#[track_caller]
fn assert_findings(explorer: &Explorer, expected: &[&str]) {
    let report = explorer.explore();
    let found: Vec<&str> = report
        .findings
        .iter()
        .map(|finding| &*finding.schedule)
        .collect();
    assert_eq!(found, expected, "{report}");
}

fn site(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "web.example.com/v1",
        "kind": "Site",
        "metadata": { "name": name, "namespace": "default" },
        "spec": spec,
    })
}

fn plain() -> Value {
    site("sample", &json!({ "image": "nginx" }))
}

fn everything<K: Object<DynamicType: Default>>(manager: &mut Manager) -> Objects<K> {
    manager.objects(&watcher::Config::default())
}

/// The objects of this type with the labels of the recipes.
fn ours<K: Object<DynamicType: Default>>(manager: &mut Manager) -> Objects<K> {
    manager.objects(&watcher::Config::default().labels(desired::LABEL_SELECTOR))
}

#[test]
fn a_child() {
    explorer(child::register, &[plain()])
        .explore()
        .assert_clean();
}

#[test]
fn a_cron_job_that_the_spec_turns_on_and_off() {
    struct Backups {
        sites: Objects<Site>,
        jobs: Objects<CronJob>,
    }
    async fn reconcile(site: Arc<Site>, context: Arc<Backups>) -> Result<Action> {
        optional_child::backup(&site, &context.jobs).await?;
        Ok(Action::Done)
    }
    fn register(manager: &mut Manager) {
        let context = Arc::new(Backups {
            sites: everything(manager),
            jobs: ours(manager),
        });
        manager
            .controller("site", &context.sites)
            .ignore_status()
            .owns(&context.jobs)
            .run(reconcile, context);
    }
    let site = site(
        "sample",
        &json!({ "image": "nginx", "backup": "0 3 * * *" }),
    );
    explorer(register, &[site]).explore().assert_clean();
}

#[test]
fn a_status_that_reports_errors() {
    fn register(manager: &mut Manager) {
        let context = Arc::new(Context {
            sites: everything(manager),
            services: ours::<Service>(manager),
        });
        manager
            .controller("site", &context.sites)
            .ignore_status()
            .owns(&context.services)
            .run(told::reconcile, context);
    }
    explorer(register, &[plain()]).explore().assert_clean();
}

#[test]
fn two_kinds_that_watch_each_other() {
    let site = site("sample", &json!({ "image": "nginx", "database": "main" }));
    let database = json!({
        "apiVersion": "web.example.com/v1",
        "kind": "Database",
        "metadata": { "name": "main", "namespace": "default" },
        "spec": {},
    });
    explorer(two_kinds::register, &[site, database])
        .shared("databases.web.example.com")
        .explore()
        .assert_clean();
}

#[test]
fn a_secret_that_is_generated_once() {
    struct Passwords {
        sites: Objects<Site>,
        secrets: Objects<Secret>,
    }
    async fn reconcile(site: Arc<Site>, context: Arc<Passwords>) -> Result<Action> {
        secret::ensure(&site, &context.secrets, &context.sites).await?;
        Ok(Action::Done)
    }
    fn register(manager: &mut Manager) {
        let context = Arc::new(Passwords {
            sites: everything(manager),
            secrets: ours(manager),
        });
        manager
            .controller("site", &context.sites)
            .ignore_status()
            .owns(&context.secrets)
            .run(reconcile, context);
    }
    let explorer = explorer(register, &[plain()]).generated("secrets", "/data/password");
    let lost = "keep: delete secrets default/sample";
    let label = "keep: change secrets default/sample /metadata/labels/app.kubernetes.io~1instance";
    // A lost password stays lost, and `create` changes nothing that exists.
    assert_findings(
        &explorer,
        &[lost, label, "keep: delete-unseen secrets default/sample"],
    );
}

/// The webhooks of a handler with a validation, and of a conversion.
fn reviewed(image: &str) -> Explorer {
    fn webhooks(manager: &mut Manager) {
        handler::register(manager);
        manager.webhooks(()).conversion::<Site>().spoke::<OldSite>();
    }
    let crd = merge_crds(vec![OldSite::crd(), Site::crd()], "v1").unwrap();
    let mut crd = json!(crd);
    crd["spec"]["conversion"] = json!({ "strategy": "Webhook" });
    let server = ApiServer::new();
    server.add_crd(&crd).unwrap();
    let rule = json!({
        "apiGroups": ["web.example.com"], "apiVersions": ["v1"], "resources": ["sites"],
        "operations": ["CREATE", "UPDATE"],
    });
    let path = "/validate-web-example-com-v1-site";
    let webhook = json!({ "name": "vsite", "clientConfig": { "service": { "path": path } }, "rules": [rule] });
    let configuration = json!({ "kind": "ValidatingWebhookConfiguration", "webhooks": [webhook] });
    let (_, answer) = operator_webhooks(webhooks);
    Explorer::new(&server, move |client| run_operator(client, child::register))
        .webhooks((vec![configuration], answer))
        .sample(site("sample", &json!({ "image": image })))
}

#[test]
fn a_validation_and_a_conversion() {
    let report = reviewed("nginx").explore();
    report.assert_clean();
    assert_eq!(report.trials[&Oracle::Webhooks], 1);
    let refused = reviewed("").explore();
    assert!(
        refused.to_string().contains("spec.image: Required value"),
        "{refused}"
    );
}

#[test]
fn an_object_in_another_namespace() {
    struct Elsewhere {
        sites: Objects<Site>,
        maps: Objects<ConfigMap>,
    }
    async fn reconcile(site: Arc<Site>, context: Arc<Elsewhere>) -> Result<Action> {
        let (sites, maps) = (&context.sites, &context.maps);
        sites
            .finalizer(site, "web.example.com/monitoring", async |event| {
                match event {
                    Event::Apply(site) => elsewhere::ensure(&site, maps).await.map(drop)?,
                    Event::Cleanup(site) => elsewhere::remove(&site, maps).await?,
                }
                Ok(Action::Done)
            })
            .await
            .map_err(Error::during("keep the finalizer"))?
    }
    fn register(manager: &mut Manager) {
        let context = Arc::new(Elsewhere {
            sites: everything(manager),
            maps: ours(manager),
        });
        manager
            .controller("site", &context.sites)
            .ignore_status()
            .watches(&context.maps, elsewhere::site_of)
            .run(reconcile, context);
    }
    // `create` changes nothing that exists.
    let annotation = "keep: change configmaps monitoring/default-sample-e97603fa /metadata/annotations/web.example.com~1site";
    assert_findings(&explorer(register, &[plain()]), &[annotation]);
}

#[test]
fn a_job_to_completion_with_its_pods() {
    struct Jobs {
        sites: Objects<Site>,
        jobs: Objects<Job>,
        pods: Objects<PartialObjectMeta<Pod>>,
    }
    async fn reconcile(site: Arc<Site>, context: Arc<Jobs>) -> Result<Action> {
        job::migrate(&site, &context.jobs, &context.pods).await?;
        Ok(Action::Done)
    }
    fn register(manager: &mut Manager) {
        let context = Arc::new(Jobs {
            sites: everything(manager),
            jobs: ours(manager),
            pods: ours(manager),
        });
        manager
            .controller("site", &context.sites)
            .ignore_status()
            .owns(&context.jobs)
            .watches(&context.pods, job::site_of)
            .run(reconcile, context);
    }
    // `create` changes nothing that exists.
    let field = "keep: change jobs.batch default/sample-nginx /spec/backoffLimit";
    assert_findings(&explorer(register, &[plain()]), &[field]);
}

#[test]
fn a_secret_that_several_objects_share() {
    struct Shared {
        sites: Objects<Site>,
        secrets: Objects<Secret>,
    }
    async fn reconcile(site: Arc<Site>, context: Arc<Shared>) -> Result<Action> {
        shared::share(&site, &context.secrets).await?;
        Ok(Action::Done)
    }
    fn register(manager: &mut Manager) {
        let context = Arc::new(Shared {
            sites: everything(manager),
            secrets: everything(manager),
        });
        let controller = manager.controller("site", &context.sites).ignore_status();
        shared::watch(controller, &context.secrets).run(reconcile, context);
    }
    explorer(register, &[plain()])
        .shared("secrets")
        .explore()
        .assert_clean();
}

#[test]
fn a_config_map_that_restarts_pods() {
    struct Configured {
        sites: Objects<Site>,
        maps: Objects<ConfigMap>,
        deployments: Objects<Deployment>,
    }
    async fn reconcile(site: Arc<Site>, context: Arc<Configured>) -> Result<Action> {
        let config = site.spec.config.as_ref();
        let map = config.and_then(|name| context.maps.get(site.namespace().as_deref(), name));
        let annotations = map.map(|map| config_map::annotations(&map));
        let labels = desired::labels(&site);
        let deployment = Deployment {
            metadata: desired::metadata(&site),
            spec: Some(DeploymentSpec {
                selector: LabelSelector {
                    match_labels: Some(labels.clone()),
                    ..LabelSelector::default()
                },
                template: PodTemplateSpec {
                    metadata: Some(ObjectMeta {
                        annotations,
                        labels: Some(labels),
                        ..ObjectMeta::default()
                    }),
                    spec: Some(PodSpec {
                        containers: vec![Container {
                            name: "site".to_owned(),
                            image: Some(site.spec.image.clone()),
                            ..Container::default()
                        }],
                        ..PodSpec::default()
                    }),
                },
                ..DeploymentSpec::default()
            }),
            status: None,
        };
        context
            .deployments
            .apply(&deployment, FIELD_MANAGER)
            .await
            .map_err(Error::during("apply the Deployment"))?;
        Ok(Action::Done)
    }
    fn register(manager: &mut Manager) {
        let context = Arc::new(Configured {
            sites: everything(manager),
            maps: everything(manager),
            deployments: ours(manager),
        });
        let controller = manager.controller("site", &context.sites).ignore_status();
        let controller = predicate::owning(controller, &context.deployments);
        config_map::watch(controller, &context.sites, &context.maps).run(reconcile, context);
    }
    let settings = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "settings", "namespace": "default" },
        "data": { "port": "80" },
    });
    let site = site("sample", &json!({ "image": "nginx", "config": "settings" }));
    explorer(register, &[site, settings])
        .explore()
        .assert_clean();
}

#[test]
fn a_record_in_a_cloud() {
    struct Cloud;
    impl cloud::Dns for Cloud {
        async fn ensure(&self, _token: &str) -> Result<String> {
            Ok("record".to_owned())
        }

        async fn remove(&self, _token: &str) -> Result<()> {
            Ok(())
        }
    }
    fn register(manager: &mut Manager) {
        let sites = everything::<Site>(manager);
        manager.controller("site", &sites).ignore_status().run(
            async |site, sites: Arc<Objects<Site>>| cloud::reconcile(site, &sites, &Cloud).await,
            Arc::new(sites.clone()),
        );
    }
    explorer(register, &[plain()]).explore().assert_clean();
}

#[test]
fn a_check_every_ten_minutes() {
    fn register(manager: &mut Manager) {
        let sites = everything::<Site>(manager);
        manager.controller("site", &sites).ignore_status().run(
            async |site, sites: Arc<Objects<Site>>| schedule::reconcile(site, &sites).await,
            Arc::new(sites.clone()),
        );
    }
    explorer(register, &[plain()]).explore().assert_clean();
}

#[test]
fn any_error_that_is_returned() {
    // Each reconcile fails.
    let report = explorer(any_error::register, &[plain()]).explore();
    assert!(report.idle && report.findings.is_empty(), "{report}");
}
