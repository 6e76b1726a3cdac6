//! Events for users.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder};

use crate::controller::Failure;

/// The maximum length of an event's note, in bytes.
const LONGEST_NOTE: usize = 1024;

/// Publishes an event. A failure is logged and otherwise ignored.
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
            // The namespace is being deleted together with the object.
            tracing::debug!(reason, %error, "can't publish an event");
            return;
        }
        tracing::warn!(reason, %error, "can't publish an event");
    }
}
