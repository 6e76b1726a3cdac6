//! What the process serves by HTTP: probes for the kubelet, and metrics for those who may have them.

pub(crate) mod address;
mod authorization;
pub(crate) mod certificate;
pub(crate) mod endpoint;
pub(crate) mod probes;
pub(crate) mod server;
#[cfg(feature = "webhook")]
pub(crate) mod validity;
