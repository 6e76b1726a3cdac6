//! The APIs of this operator, by version.

pub mod v1alpha1;
// +kubebuilder:scaffold:modules
