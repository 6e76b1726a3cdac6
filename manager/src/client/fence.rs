//! Keeps the writes of a replica within its leadership.

use hyper::header::{HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use kube::client::Body;

use crate::election::clock;
use crate::election::gate::Gate;

#[derive(Debug, thiserror::Error)]
#[error("this replica does not lead, its write was not sent")]
struct Refused;

/// Refuses writes without leadership. The user agent of a write holds the time of its check, for the audit log.
pub(crate) fn pass(
    request: Request<Body>,
    agent: &str,
    gate: &Gate,
) -> Result<Request<Body>, tower::BoxError> {
    if !writes(request.method(), request.uri().path()) {
        return named(request, agent);
    }
    let now = clock::now();
    if !gate.lets_pass(now.boot) {
        return Err(Refused.into());
    }
    let (seconds, microseconds) = (now.wall.as_secs(), now.wall.subsec_micros());
    named(
        request,
        &format!("{agent} gate/{seconds}.{microseconds:06}"),
    )
}

pub(crate) fn named(
    mut request: Request<Body>,
    agent: &str,
) -> Result<Request<Body>, tower::BoxError> {
    request
        .headers_mut()
        .insert(USER_AGENT, HeaderValue::from_str(agent)?);
    Ok(request)
}

/// Returns true for writes. Reviews are reads, although they use POST.
pub(super) fn writes(method: &Method, path: &str) -> bool {
    let question = path.starts_with("/apis/authentication.k8s.io/")
        || path.starts_with("/apis/authorization.k8s.io/");
    !(question || [Method::GET, Method::HEAD, Method::OPTIONS].contains(method))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn agent(method: &str, path: &str, gate: &Gate) -> Option<String> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .body(Body::empty());
        let request = pass(request.expect("a request"), "operator/me", gate).ok()?;
        Some(
            request.headers()[USER_AGENT]
                .to_str()
                .expect("text")
                .to_owned(),
        )
    }

    #[test]
    fn only_writes_need_the_gate_and_carry_its_time() {
        let review = "/apis/authentication.k8s.io/v1/tokenreviews";
        let gate = Gate::shut();
        assert_eq!(
            agent("GET", "/api/v1/pods", &gate).as_deref(),
            Some("operator/me")
        );
        assert_eq!(agent("POST", review, &gate).as_deref(), Some("operator/me"));
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            assert_eq!(agent(method, "/api/v1/pods", &gate), None);
        }
        gate.renew(clock::boot() + Duration::from_secs(60));
        let agent = agent("PATCH", "/api/v1/pods", &gate).expect("it passes");
        let time = agent.strip_prefix("operator/me gate/").expect("the time");
        assert!(time.parse::<f64>().is_ok_and(|time| time > 1e9), "{time}");
    }
}
