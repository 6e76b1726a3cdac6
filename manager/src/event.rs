//! Events for users: an operator that stays silent looks broken.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder};

use crate::controller::Failure;

/// The longest note that an event may have, in bytes.
const LONGEST_NOTE: usize = 1024;

/// Publishes an event. That it can't be published is no reason to stop.
pub(crate) async fn publish(
    recorder: &Recorder,
    about: &ObjectReference,
    type_: EventType,
    (action, reason): (&str, &str),
    note: &str,
) {
    let note = &note[..note.floor_char_boundary(LONGEST_NOTE)];
    let event = Event {
        type_,
        reason: reason.to_owned(),
        note: Some(note.to_owned()),
        action: action.to_owned(),
        secondary: None,
    };
    if let Err(error) = recorder.publish(&event, about).await {
        if error.is_permanent() {
            // The namespace is being deleted, and the object with it.
            tracing::debug!(reason, %error, "can't publish an event");
            return;
        }
        tracing::warn!(reason, %error, "can't publish an event");
    }
}
