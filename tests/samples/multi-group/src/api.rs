//! The APIs of this operator.

pub mod sea_creatures;
pub mod ship;
// +kubebuilder:scaffold:modules
