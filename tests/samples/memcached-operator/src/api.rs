//! The APIs of this operator.

pub mod v1alpha1;
// +kubebuilder:scaffold:modules
