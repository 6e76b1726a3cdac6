// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles the sample against an API server that is a map of JSON objects.

mod mock;

use std::sync::Arc;

use manager::{Action, Failure, Objects};
use multi_group::controller::Result;
use multi_group::controller::ship::frigate::{Context, reconcile};
use serde_json::Value;

const SAMPLE: &str = include_str!("../config/samples/ship_v1beta1_frigate.yaml");
const OBJECT: &str = "/apis/ship.example.org/v1beta1/namespaces/default/frigates/frigate-sample";

#[tokio::test]
async fn a_new_object_is_told_that_its_controller_is_not_written() {
    let world = World::with_sample();
    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    assert_eq!(world.server.requests(), [format!("PATCH {OBJECT}/status")]);
    let ready = &world.server.get(OBJECT)["status"]["conditions"][0];
    assert_eq!(ready["status"], "Unknown");
    assert_eq!(ready["reason"], "NotImplemented");

    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    assert_eq!(world.server.requests(), [""; 0], "nothing has changed");
}

#[tokio::test]
async fn what_the_server_refuses_is_an_error() {
    let world = World::with_sample();
    world.server.refuse(&format!("{OBJECT}/status"), 403);
    let Err(error) = world.reconcile().await else {
        panic!("403 is an error")
    };
    assert_eq!(error.reason(), "Forbidden");
    assert_eq!(error.to_string(), "can't write the status: not today");
}

/// One object and the caches of its controller.
struct World {
    server: mock::Server,
    context: Arc<Context>,
}

impl World {
    fn with_sample() -> Self {
        let server = mock::Server::default();
        let context = Arc::new(Context {
            objects: Objects::new(server.client()),
        });
        let world = Self { server, context };
        let sample: Value = serde_saphyr::from_str(SAMPLE).expect("the sample is YAML");
        world.change(&sample);
        world.server.requests();
        world
    }

    /// Changes the object as another client would. The watch delivers the change.
    fn change(&self, change: &Value) {
        let changed = self.server.put(OBJECT, change);
        let changed = serde_json::from_value(changed).expect("an object of the kind");
        self.context.objects.put(changed);
    }

    async fn reconcile(&self) -> Result<Action> {
        let object = self.context.objects.get("default", "frigate-sample");
        let object = object.expect("it was put there");
        reconcile(object, self.context.clone()).await
    }
}
