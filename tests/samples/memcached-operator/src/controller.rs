//! The controllers, and the error that their reconcile functions share.

use kube::core::Status;
use manager::Failure;

pub mod memcached;
// +kubebuilder:scaffold:modules

/// The result of a step of a reconcile.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a reconcile failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused a request, or did not answer.
    #[error("can't {action}: {}", said(source))]
    Api {
        /// What the request was for.
        action: &'static str,
        /// What the server said.
        source: Box<kube::Error>,
    },
}

impl Error {
    /// For `map_err`: says what the request was for.
    pub fn during(action: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Api {
            action,
            source: Box::new(source),
        }
    }

    fn status(&self) -> Option<&Status> {
        let Self::Api { source, .. } = self;
        match source.as_ref() {
            kube::Error::Api(status) => Some(status),
            _ => None,
        }
    }

    fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// In a namespace that is being deleted nothing can be created, and nothing needs to be.
    fn in_terminating_namespace(&self) -> bool {
        let details = self.status().and_then(|status| status.details.as_ref());
        let mut causes = details.into_iter().flat_map(|details| &details.causes);
        causes.any(|cause| cause.reason == "NamespaceTerminating")
    }
}

impl Failure for Error {
    fn reason(&self) -> &'static str {
        match self.code() {
            _ if self.in_terminating_namespace() => "NamespaceTerminating",
            Some(403) => "Forbidden",
            Some(404) => "NotFound",
            // An object of this name is there already, and is somebody else's.
            Some(409) if self.status().is_some_and(Status::is_already_exists) => "AlreadyExists",
            Some(409) => "Conflict",
            Some(400 | 422) => "Invalid",
            Some(_) => "ServerError",
            None => "ServerUnreachable",
        }
    }

    fn is_permanent(&self) -> bool {
        self.in_terminating_namespace()
    }
}

fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
