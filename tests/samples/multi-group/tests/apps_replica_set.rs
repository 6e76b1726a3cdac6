// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles against an API server that is a map of JSON objects.

mod mock;

use std::sync::Arc;

use manager::{Action, Objects};
use multi_group::controller::Result;
use multi_group::controller::apps::replica_set::{Context, reconcile};
use serde_json::{Value, json};

const OBJECT: &str = "/apis/apps/v1/namespaces/default/replicasets/sample";

#[tokio::test]
async fn an_object_that_needs_nothing_is_left_alone() {
    let world = World::with(&json!({}));
    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    assert_eq!(world.server.requests(), [""; 0]);
}

/// One object and the caches of its controller.
struct World {
    server: mock::Server,
    context: Arc<Context>,
}

impl World {
    fn with(object: &Value) -> Self {
        let server = mock::Server::default();
        let context = Arc::new(Context {
            objects: Objects::new(server.client()),
        });
        let world = Self { server, context };
        world.change(object);
        world
    }

    /// Changes the object as another client would. The watch delivers the change.
    fn change(&self, change: &Value) {
        let changed = self.server.put(OBJECT, change);
        let changed = serde_json::from_value(changed).expect("an object of the kind");
        self.context.objects.put(changed);
    }

    async fn reconcile(&self) -> Result<Action> {
        let object = self.context.objects.get("default", "sample");
        let object = object.expect("it was put there");
        reconcile(object, self.context.clone()).await
    }
}
