//! Cleanup before an object is deleted.

use std::sync::Arc;

use kube::runtime::finalizer::Event;

use super::Action;
use crate::client::objects::Objects;
use crate::object::Object;
use kube::ResourceExt;

impl<K: Object> Objects<K> {
    /// Runs a reconcile with a finalizer, like [`kube::runtime::finalizer()`].
    ///
    /// An object gets the finalizer before `reconcile` is called with [`Event::Apply`]. Once the object is being
    /// deleted, `reconcile` is called with [`Event::Cleanup`]. The finalizer is removed when the cleanup returns
    /// [`Action::Done`]; any other action repeats the cleanup. Nothing is called for an object that is being deleted
    /// without the finalizer.
    ///
    /// `reconcile` must be idempotent, because it may be called again at any point.
    ///
    /// # Errors
    ///
    /// The outer error comes from writing the finalizer, the inner result from `reconcile`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::runtime::finalizer::Event;
    /// use manager::{Action, Objects};
    ///
    /// async fn book(_: &ConfigMap) -> kube::Result<Action> {
    ///     Ok(Action::Done)
    /// }
    ///
    /// async fn cancel(_: &ConfigMap) -> kube::Result<Action> {
    ///     Ok(Action::Done)
    /// }
    ///
    /// async fn reconcile(map: Arc<ConfigMap>, maps: &Objects<ConfigMap>) -> kube::Result<Action> {
    ///     let reconciled = maps.finalizer(map, "example.com/booking", async |event| match event {
    ///         Event::Apply(map) => book(&map).await,
    ///         Event::Cleanup(map) => cancel(&map).await,
    ///     });
    ///     reconciled.await?
    /// }
    /// ```
    // +requests: of=K, verbs=patch
    pub async fn finalizer<Reconcile, Running, Error>(
        &self,
        object: Arc<K>,
        finalizer: &str,
        reconcile: Reconcile,
    ) -> kube::Result<Result<Action, Error>>
    where
        Reconcile: FnOnce(Event<K>) -> Running,
        Running: Future<Output = Result<Action, Error>>,
    {
        if object.meta().deletion_timestamp.is_none() {
            let object = self.add_finalizer(object, finalizer).await?;
            return Ok(reconcile(Event::Apply(object)).await);
        }
        let mut finalizers = object.finalizers().iter();
        if !finalizers.any(|present| present == finalizer) {
            return Ok(Ok(Action::Done));
        }
        let cleaned = reconcile(Event::Cleanup(object.clone())).await;
        if matches!(cleaned, Ok(Action::Done)) {
            self.remove_finalizer(&object, finalizer).await?;
        }
        Ok(cleaned)
    }
}
