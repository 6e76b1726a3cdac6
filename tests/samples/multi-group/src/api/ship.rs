//! The versions of ship.example.org.

pub mod v1;
pub mod v1beta1;
// +kubebuilder:scaffold:modules
