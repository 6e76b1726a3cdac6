//! The controllers of apps.

pub mod replica_set;
// +kubebuilder:scaffold:modules
