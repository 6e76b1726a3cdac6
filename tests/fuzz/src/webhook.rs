//! The manager's review handlers without its server. The folder `webhook` links to their files.

mod admission;
mod conversion;
mod denied;
mod field;
mod lenient;
mod lens;
mod merge;
mod review;
mod schema;
mod tests {
    pub(crate) mod annotations;
    pub(super) mod kinds;
    pub(crate) mod reviews;
}
mod version;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use self::admission::{Defaulting, Request, Validating};
use self::conversion::Conversions;
use self::denied::{Denied, Warnings};
use self::field::FieldErrors;
use self::review::Answered;
pub(crate) use self::tests::reviews;
use self::tests::annotations::Kind;
use self::tests::kinds::{Thing, v1alpha1, v1beta1, v2alpha1};
pub use self::version::{Hub, Spoke};
use crate::properties::Outcome;

impl Defaulting<()> for Thing {
    fn default(&mut self, _: &Request<()>) -> Result<(), Denied> {
        self.spec.mode.get_or_insert_with(|| "fast".to_owned());
        self.spec.ports.retain(|port| port.number > 0);
        self.metadata.labels.get_or_insert_default().remove("old");
        Ok(())
    }
}

impl Validating<()> for Thing {
    async fn validate_create(&self, _: &Request<()>) -> Result<Warnings, Denied> {
        let mut errors = FieldErrors::new();
        if self.spec.replicas < 0 {
            errors.invalid("spec.replicas", self.spec.replicas, "must not be negative");
        }
        errors.into_result(Warnings::new())
    }

    async fn validate_update(&self, old: &Self, request: &Request<()>) -> Result<Warnings, Denied> {
        if self.spec.mode != old.spec.mode {
            return Err(Denied::new(format!("{} keeps its mode", request.name)));
        }
        self.validate_create(request).await
    }
}

/// Any body gets a valid response from the defaulting webhook, the validating one and the conversion.
pub fn bodies(text: &str) -> Outcome {
    let body = text.as_bytes();
    let context = Arc::new(());
    let validated = pin!(review::validate::<(), Thing>(context.clone(), body));
    let Poll::Ready(validated) = validated.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("a handler that waits for nothing waits");
    };
    let mut conversions = Conversions::default();
    assert!(conversions.hub::<Thing>());
    assert!(conversions.spoke::<v1alpha1::Thing>() && conversions.spoke::<v1beta1::Thing>());
    assert!(conversions.spoke::<v2alpha1::Thing>());
    let answers: [(Check, Answered); 3] = [
        (reviews::admission, review::default::<(), Thing>(context, body)),
        (reviews::admission, validated),
        (reviews::conversion, conversions.answer(body)),
    ];
    let mut outcome = Outcome::default();
    for (check, answer) in answers {
        let answered = answer.is_ok();
        let text = answer.unwrap_or_else(|error| error);
        check(body, answered, &text).unwrap_or_else(|error| panic!("{error}"));
        outcome.parsed |= answered;
        outcome.generated |= answered && (text.contains("\"patch\":") || text.contains("\"Success\""));
        outcome.refused |= answered && text.contains("\"Failure\"");
    }
    outcome
}

thread_local! {
    static KIND: Kind = Kind::new();
}

/// Saved conversion data neither changes its object nor violates the schema.
pub fn saved(text: &str) -> Outcome {
    let restored = KIND.with(|kind| kind.check(text)).unwrap_or_else(|error| panic!("{error}"));
    let parsed = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok();
    Outcome { parsed, generated: restored > 0, refused: parsed && restored == 0 }
}

type Check = fn(&[u8], bool, &str) -> Result<(), String>;
