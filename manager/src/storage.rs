//! Rewrites objects that are stored in an older version of their kind, so that the version can be removed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::controller::Failure;
use crate::election::leadership::Runs;
use crate::manager::Manager;
use crate::object::Object;

const PAGE: u32 = 500;
/// Maximum attempts for an object that others change at the same time.
const TRIES: usize = 5;

impl Manager {
    /// Rewrites all objects of a custom resource in the storage version of its CRD, once, on the leader.
    ///
    /// Afterwards the CRD lists only that version in `status.storedVersions`, and the others can be removed from the
    /// CRD. A failed migration is retried like a [task](Manager::task).
    ///
    /// Required permissions: `list`, `get` and `update` on the objects in all namespaces, `get` on their CRD, and
    /// `patch` on the `status` of the CRD.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::{Manager, Object};
    ///
    /// fn register<Memcached: Object<DynamicType = ()>>(manager: &mut Manager) {
    ///     manager.migrate_storage::<Memcached>();
    /// }
    /// ```
    // +requests: of=K, verbs=get;list;update
    // +requests: of=customresourcedefinitions.apiextensions.k8s.io, verbs=get
    // +requests: of=customresourcedefinitions.apiextensions.k8s.io, subresource=status, verbs=patch
    pub fn migrate_storage<K: Object<DynamicType: Default>>(&mut self) {
        let client = self.client();
        let resource = ApiResource::erase::<K>(&K::DynamicType::default());
        let name = format!("migrate-storage-{}.{}", resource.plural, resource.group);
        self.task(&name, Runs::Leader, move || {
            migrate(client.clone(), resource.clone())
        });
    }
}

#[derive(Debug, thiserror::Error)]
enum RewriteError {
    #[error(transparent)]
    Request(#[from] kube::Error),
    #[error("{left} objects can't be rewritten, the first because of: {first}")]
    Objects { left: usize, first: kube::Error },
    #[error("the CRD `{0}` was changed meanwhile")]
    Changed(String),
}

impl Failure for RewriteError {
    fn reason(&self) -> &'static str {
        match self {
            Self::Request(error) | Self::Objects { first: error, .. } => error.reason(),
            Self::Changed(_) => "Conflict",
        }
    }
}

async fn migrate(client: Client, resource: ApiResource) -> Result<(), RewriteError> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let name = format!("{}.{}", resource.plural, resource.group);
    let before = definitions.get(&name).await?;
    let mut versions = before.spec.versions.iter();
    let stored = versions.find(|version| version.storage);
    let Some(stored) = stored.map(|version| version.name.clone()) else {
        return Ok(());
    };
    if versions_in_use(&before) == [&*stored] {
        return Ok(());
    }
    tracing::info!(crd = name, stored, "objects are rewritten");
    let rewritten = rewrite_all(&client, &resource).await?;
    let now = definitions.get(&name).await?;
    let same = now.uid() == before.uid()
        && now.metadata.generation == before.metadata.generation
        && versions_in_use(&now) == versions_in_use(&before);
    if !same {
        return Err(RewriteError::Changed(name));
    }
    let patch = json!({
        "metadata": { "resourceVersion": now.metadata.resource_version },
        "status": { "storedVersions": [stored] },
    });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
    definitions.patch_status(&name, &parameters, &patch).await?;
    tracing::info!(crd = name, stored, rewritten, "all objects are rewritten");
    Ok(())
}

fn versions_in_use(definition: &CustomResourceDefinition) -> &[String] {
    let status = definition.status.as_ref();
    let versions = status.and_then(|status| status.stored_versions.as_deref());
    versions.unwrap_or_default()
}

/// Returns the number of rewritten objects. An expired list is an error; the next attempt starts over.
async fn rewrite_all(client: &Client, resource: &ApiResource) -> Result<usize, RewriteError> {
    let everywhere = Api::<DynamicObject>::all_with(client.clone(), resource);
    let mut parameters = ListParams::default().limit(PAGE);
    let (mut rewritten, mut failed) = (0, Vec::new());
    loop {
        let page = everywhere.list(&parameters).await?;
        for object in page.items {
            let api = match object.namespace() {
                Some(namespace) => Api::namespaced_with(client.clone(), &namespace, resource),
                None => everywhere.clone(),
            };
            match rewrite(&api, object).await {
                Ok(()) => rewritten += 1,
                Err(error) => failed.push(error),
            }
        }
        match page.metadata.continue_ {
            Some(token) if !token.is_empty() => parameters = parameters.continue_token(&token),
            _ => break,
        }
    }
    let left = failed.len();
    match failed.into_iter().next() {
        Some(first) => Err(RewriteError::Objects { left, first }),
        None => Ok(rewritten),
    }
}

/// Rewrites an object in the storage version by an update without a change. A deleted object is skipped.
async fn rewrite(api: &Api<DynamicObject>, mut object: DynamicObject) -> kube::Result<()> {
    let name = object.name_any();
    let parameters = PostParams::default();
    for _ in 1..TRIES {
        match api.replace(&name, &parameters, &object).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            done => return done.map(drop),
        }
        match api.get_opt(&name).await? {
            Some(current) => object = current,
            None => return Ok(()),
        }
    }
    api.replace(&name, &parameters, &object).await.map(drop)
}
