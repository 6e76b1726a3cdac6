//! A kind for the manager's webhooks.

use std::fmt::Debug;

use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub trait Object: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<K> Object for K where K: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {}
