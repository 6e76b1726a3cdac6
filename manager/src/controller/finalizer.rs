//! Cleaning up before an object goes.

use std::sync::Arc;

use kube::runtime::finalizer::Event;

use super::Action;
use crate::client::objects::Objects;
use crate::object::Object;
use kube::ResourceExt;

impl<K: Object> Objects<K> {
    /// Keeps `object` from disappearing before it is cleaned up; what a reconcile does is done in here, as with
    /// [`kube::runtime::finalizer()`].
    ///
    /// An object gets the finalizer, and `reconcile` is called with [`Event::Apply`]. One that is being deleted is cleaned up
    /// by `reconcile` with [`Event::Cleanup`]; once that returns [`Action::Done`] the finalizer is removed, and with another
    /// action it comes back. Nothing is called for an object that is being deleted and does not have the finalizer.
    ///
    /// The inner result is that of `reconcile`, which has to be fine with being called again at any point. The outer error is
    /// that of writing the finalizer.
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
