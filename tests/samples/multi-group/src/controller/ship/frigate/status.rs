// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Derives the status from objects in the cluster. Nothing here calls the API server.

use manager::condition::{self, Observed};

use crate::api::ship::v1beta1::frigate::{Frigate, FrigateStatus};

/// The type of the condition that this controller sets.
pub const READY: &str = "Ready";

/// The status of an object.
pub fn observed(object: &Frigate) -> FrigateStatus {
    // TODO: take the applied objects as parameters, and derive the condition from them.
    let ready = Observed {
        type_: READY,
        status: None,
        reason: "NotImplemented".to_owned(),
        message: "the controller is not written yet".to_owned(),
    };
    let mut status = object.status.clone().unwrap_or_default();
    condition::set(&mut status.conditions, ready, object.metadata.generation);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/config/samples/ship_v1beta1_frigate.yaml"
    ));

    #[test]
    fn the_condition_stands_beside_those_of_others() {
        let mut object: Frigate = manager::testing::object_from_yaml(SAMPLE);
        object.metadata.generation = Some(3);
        let other = Observed {
            type_: "Other",
            status: Some(true),
            reason: "Test".to_owned(),
            message: String::new(),
        };
        condition::set(
            &mut object.status.get_or_insert_default().conditions,
            other,
            None,
        );
        let conditions = observed(&object).conditions;
        assert!(condition::is_true(&conditions, "Other"));
        let ready = conditions
            .iter()
            .find(|condition| condition.type_ == READY)
            .unwrap();
        assert_eq!(
            (&*ready.status, &*ready.reason),
            ("Unknown", "NotImplemented")
        );
        assert_eq!(ready.observed_generation, Some(3));
    }
}
