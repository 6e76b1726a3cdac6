//! HTTP servers of the process: probes for the kubelet, and metrics for authorized clients.

pub(crate) mod address;
mod authorization;
pub(crate) mod certificate;
pub(crate) mod endpoint;
pub(crate) mod probes;
pub(crate) mod server;
#[cfg(feature = "webhook")]
pub(crate) mod validity;
