//! Properties of the answer to any body, and mutations of bodies; also used by a fuzzer.

use kube::core::DynamicObject;
use kube::core::admission::AdmissionReview;
use kube::core::conversion::ConversionReview;
use kube::core::response::StatusSummary;
use serde_json::{Value, json};

type Checked = Result<(), String>;

/// Checks that a review is answered with a valid patch, and that any other body is reported as such.
pub(crate) fn admission(body: &[u8], is_review: bool, text: &str) -> Checked {
    if !is_review {
        return said(text);
    }
    let read = |text: &[u8]| serde_json::from_slice::<AdmissionReview<DynamicObject>>(text);
    let (asked, answered) = (
        read(body).map_err(shown)?,
        read(text.as_bytes()).map_err(shown)?,
    );
    let (Some(request), Some(response)) = (asked.request, answered.response) else {
        return Err(format!("no response: {text}"));
    };
    same(&asked.types, &answered.types)?;
    same(&request.uid, &response.uid)?;
    match (response.allowed, response.patch) {
        (true, None) => Ok(()),
        (true, Some(patch)) => {
            let patch = serde_json::from_slice::<json_patch::Patch>(&patch).map_err(shown)?;
            json_patch::patch(&mut json!(request.object), &patch).map_err(shown)
        }
        (false, None) => said(&response.result.message),
        (false, Some(_)) => Err(format!("a patch of what is refused: {text}")),
    }
}

/// Checks that a review gets all objects in the desired version or the reason, and that other bodies are reported.
pub(crate) fn conversion(body: &[u8], is_review: bool, text: &str) -> Checked {
    if !is_review {
        return said(text);
    }
    let read = |text: &[u8]| serde_json::from_slice::<ConversionReview>(text).map_err(shown);
    let (asked, answered) = (read(body)?, read(text.as_bytes())?);
    let (Some(request), Some(response)) = (asked.request, answered.response) else {
        return Err(format!("no response: {text}"));
    };
    same(&asked.types, &answered.types)?;
    same(&request.uid, &response.uid)?;
    if response.result.status != Some(StatusSummary::Success) {
        same(&response.converted_objects, &vec![])?;
        return said(&response.result.message);
    }
    same(&request.objects.len(), &response.converted_objects.len())?;
    for (object, converted) in request.objects.iter().zip(&response.converted_objects) {
        same(&fixed(object), &fixed(converted))?;
        same(
            &json!(request.desired_api_version),
            &converted["apiVersion"],
        )?;
    }
    Ok(())
}

fn fixed(object: &Value) -> (&Value, Value) {
    let mut metadata = object["metadata"].clone();
    if let Value::Object(metadata) = &mut metadata {
        metadata.remove("annotations");
    }
    (&object["kind"], metadata)
}

fn same<T: PartialEq + std::fmt::Debug>(asked: &T, answered: &T) -> Checked {
    if asked == answered {
        return Ok(());
    }
    Err(format!(
        "{asked:?} was asked for, {answered:?} is the answer"
    ))
}

fn said(text: &str) -> Checked {
    if text.is_empty() {
        return Err("it is not said what is wrong".to_owned());
    }
    Ok(())
}

fn shown(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a random number by Xorshift: <https://en.wikipedia.org/wiki/Xorshift>
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }

    pub(crate) fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }
}

pub(crate) fn mutate(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(map) if !map.is_empty() && random.below(6) > 0 => {
            let key = map.keys().nth(random.below(map.len())).unwrap().clone();
            if random.below(10) == 0 {
                map.remove(&key);
            } else {
                mutate(&mut map[&key], random);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let index = random.below(items.len());
            mutate(&mut items[index], random);
        }
        value => {
            let others = [
                json!(null),
                json!(-1),
                json!(1e300),
                json!(""),
                json!([{}]),
                json!({ "a": 1 }),
                json!(true),
            ];
            *value = others[random.below(others.len())].clone();
        }
    }
}
