use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::runtime::watcher;
use manager::{Action, Manager, ObjectKey, Objects};

use crate::api::{Database, DatabaseStatus, Site};
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};

pub struct Context {
    pub sites: Objects<Site>,
    pub databases: Objects<Database>,
}

/// Both controllers share the watch of each kind.
pub fn register(manager: &mut Manager) {
    let context = Arc::new(Context {
        sites: manager.objects(&watcher::Config::default()),
        databases: manager
            .objects::<Database>(&watcher::Config::default())
            .status_at_most_every(Duration::from_secs(1)),
    });
    let sites = context.sites.clone();
    manager
        .controller("site", &context.sites)
        .ignore_status()
        .watches(&context.databases, move |database| {
            users(database, &sites)
                .map(|site| ObjectKey::of(&*site))
                .collect::<Vec<_>>()
        })
        .run(reconcile_site, context.clone());
    manager
        .controller("database", &context.databases)
        .ignore_status()
        .watches(&context.sites, database_of)
        .run(reconcile_database, context);
}

pub async fn reconcile_site(site: Arc<Site>, context: Arc<Context>) -> Result<Action> {
    let database = database_of(&site);
    let database =
        database.and_then(|key| context.databases.get(key.namespace.as_deref(), &key.name));
    let ready = database
        .is_some_and(|database| database.status.as_ref().is_some_and(|status| status.ready));
    if !ready {
        // A change of the Database triggers the next reconcile.
        return Ok(Action::Done);
    }
    Ok(Action::Done)
}

pub async fn reconcile_database(database: Arc<Database>, context: Arc<Context>) -> Result<Action> {
    let sites = users(&database, &context.sites).count();
    let status = DatabaseStatus { ready: true, sites };
    context
        .databases
        .apply_status(&database, &status, FIELD_MANAGER)
        .await
        .map_err(Error::during("write the status"))?;
    Ok(Action::Done)
}

/// The Database that a site names.
fn database_of(site: &Site) -> Option<ObjectKey> {
    let name = site.spec.database.clone()?;
    Some(ObjectKey {
        namespace: site.namespace(),
        name,
    })
}

/// The sites that name a Database.
fn users(database: &Database, sites: &Objects<Site>) -> impl Iterator<Item = Arc<Site>> {
    let key = ObjectKey::of(database);
    let sites = sites.list(key.namespace.as_deref()).into_iter();
    sites.filter(move |site| database_of(site).as_ref() == Some(&key))
}
