//! Handles AdmissionReviews:
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/>.

use std::sync::Arc;

use kube::core::admission::{
    AdmissionRequest, AdmissionResponse, AdmissionReview, META_API_VERSION_V1, META_KIND,
};
use kube::core::{DynamicObject, TypeMeta};
use serde::Serialize;
use serde_json::Value;

use super::admission::{Defaulting, Operation, Request, Validating};
use super::denied::{Denied, Warnings};
use super::typed::{self, Undecodable};
use crate::object::Object;

/// The body of the answer. An error is the text for status 400, if the request was not a review.
pub(super) type Answered = Result<String, String>;

/// Returns the patch that sets the defaults of the object.
pub(super) fn default<C, K: Defaulting<C>>(context: Arc<C>, body: &[u8]) -> Answered {
    let review = read(body)?;
    let desired = match (&review.operation, &review.object) {
        (Operation::Create | Operation::Update, Some(object)) if !is_deleted(&review) => {
            changed::<C, K>(object, &Request::of(context, &review))
        }
        _ => Ok(None),
    };
    let mut response = AdmissionResponse::from(&review);
    match desired {
        Ok(Some((object, desired))) => {
            let patch = json_patch::diff(&object, &desired);
            if !patch.0.is_empty() {
                let patched = response.with_patch(patch);
                response = patched.map_err(|error| error.to_string())?;
            }
        }
        Ok(None) => {}
        Err(denied) => refuse(&mut response, &denied, &review),
    }
    write(response)
}

/// Returns the object without and with its defaults. Returns `None` for an object that does not decode, so that the API
/// server reports all of its errors.
fn changed<C, K: Defaulting<C>>(
    object: &DynamicObject,
    request: &Request<C>,
) -> Result<Option<(Value, Value)>, Denied> {
    let object = json(object)?;
    let Ok(mut typed) = typed::decode::<K>(&object) else {
        return Ok(None);
    };
    let before = json(&typed)?;
    typed.default(request)?;
    let mut desired = object.clone();
    typed::carry(&mut desired, &before, &json(&typed)?);
    Ok(Some((object, desired)))
}

pub(super) async fn validate<C, K>(context: Arc<C>, body: &[u8]) -> Answered
where
    C: Send + Sync,
    K: Validating<C>,
{
    let review = read(body)?;
    let validated = validated::<C, K>(&review, &Request::of(context, &review)).await;
    let mut response = AdmissionResponse::from(&review);
    match validated {
        Ok(warnings) => response.warnings = Some(warnings).filter(|warnings| !warnings.is_empty()),
        Err(denied) => refuse(&mut response, &denied, &review),
    }
    write(response)
}

async fn validated<C, K>(
    review: &AdmissionRequest<DynamicObject>,
    request: &Request<C>,
) -> Result<Warnings, Denied>
where
    C: Send + Sync,
    K: Validating<C>,
{
    match review.operation {
        Operation::Create => new::<K>(review)?.validate_create(request).await,
        Operation::Update => {
            let mut before = old(review)?;
            if !K::EVERY_UPDATE && passes(review, &before)? {
                return Ok(Warnings::new());
            }
            let new = match new::<K>(review) {
                // Only the status can change here, and the schema limits it.
                Err(_) if review.sub_resource.as_deref() == Some("status") => {
                    let mut object = some(review.object.as_ref())?;
                    match typed::decode_filled::<K>(&mut object) {
                        Ok(new) => new,
                        Err(error) => return Ok(vec![unchecked(review, "status", &error)]),
                    }
                }
                new => new?,
            };
            match typed::decode_filled(&mut before) {
                Ok(old) => new.validate_update(&old, request).await,
                // The old object cannot be compared.
                Err(_) => new.validate_create(request).await,
            }
        }
        Operation::Delete => match typed::decode_filled::<K>(&mut old(review)?) {
            Ok(old) => old.validate_delete(request).await,
            Err(error) => Ok(vec![unchecked(review, "deletion", &error)]),
        },
        Operation::Connect => Ok(Warnings::new()),
    }
}

fn new<K: Object>(review: &AdmissionRequest<DynamicObject>) -> Result<K, Denied> {
    let object = some(review.object.as_ref())?;
    typed::decode(&object).map_err(|error| error.denied(&object))
}

fn old(review: &AdmissionRequest<DynamicObject>) -> Result<Value, Denied> {
    some(review.old_object.as_ref())
}

fn some(object: Option<&DynamicObject>) -> Result<Value, Denied> {
    json(object.ok_or_else(|| bad_request("the request has no object"))?)
}

/// Returns true for updates that must always be possible: of an object that is being deleted, whose finalizers have to
/// go, and of the metadata or the status alone.
fn passes(review: &AdmissionRequest<DynamicObject>, old: &Value) -> Result<bool, Denied> {
    if is_deleted(review) {
        return Ok(true);
    }
    let is_object = review.sub_resource.as_deref().is_none_or(str::is_empty);
    let validated = |mut object: Value| {
        if let Value::Object(fields) = &mut object {
            fields.remove("metadata");
            if is_object {
                fields.remove("status");
            }
        }
        object
    };
    let new = some(review.object.as_ref())?;
    Ok(validated(new) == validated(old.clone()))
}

fn is_deleted(review: &AdmissionRequest<DynamicObject>) -> bool {
    let old = review.old_object.as_ref();
    old.is_some_and(|old| old.metadata.deletion_timestamp.is_some())
}

fn unchecked(review: &AdmissionRequest<DynamicObject>, what: &str, error: &Undecodable) -> String {
    let kind = &review.kind.kind;
    format!(
        "the stored {kind} is not of the webhook's type, so its {what} was not validated: {error}"
    )
}

fn json(object: &impl Serialize) -> Result<Value, Denied> {
    serde_json::to_value(object).map_err(|error| bad_request(&error.to_string()))
}

fn bad_request(message: &str) -> Denied {
    Denied::text(400, "BadRequest", message)
}

fn refuse(
    response: &mut AdmissionResponse,
    denied: &Denied,
    review: &AdmissionRequest<DynamicObject>,
) {
    response.allowed = false;
    response.result = denied.status(review);
}

fn read(body: &[u8]) -> Result<AdmissionRequest<DynamicObject>, String> {
    let expected = TypeMeta {
        api_version: META_API_VERSION_V1.to_owned(),
        kind: META_KIND.to_owned(),
    };
    of_type(body, &expected)?;
    let review = serde_json::from_slice::<AdmissionReview<DynamicObject>>(body);
    let review = review.map_err(|error| format!("the body is no {META_KIND}: {error}"))?;
    let request = review.request.ok_or("the review has no request")?;
    Ok(AdmissionRequest {
        types: expected,
        ..request
    })
}

/// Checks that the body is JSON of this type.
pub(super) fn of_type(body: &[u8], expected: &TypeMeta) -> Result<(), String> {
    let types = serde_json::from_slice::<TypeMeta>(body)
        .map_err(|error| format!("the body is no {}: {error}", expected.kind))?;
    if types != *expected {
        return Err(format!(
            "the body is a {:?} of {:?}, this is for a {:?} of {:?}",
            types.kind, types.api_version, expected.kind, expected.api_version
        ));
    }
    Ok(())
}

fn write(response: AdmissionResponse) -> Answered {
    serde_json::to_string(&response.into_review()).map_err(|error| error.to_string())
}
