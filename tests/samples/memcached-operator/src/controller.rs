//! The controllers, and the error that their reconcile functions share.

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
        /// The purpose of the request.
        action: &'static str,
        /// The error of the client.
        source: Box<kube::Error>,
    },
}

impl Error {
    /// For `map_err`: adds the purpose of the request.
    pub fn during(action: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Api {
            action,
            source: Box::new(source),
        }
    }
}

impl Failure for Error {
    fn reason(&self) -> &'static str {
        match self {
            Self::Api { source, .. } => source.reason(),
        }
    }

    fn is_permanent(&self) -> bool {
        match self {
            Self::Api { source, .. } => source.is_permanent(),
        }
    }
}

fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
