//! The versions of sea-creatures.example.org.

pub mod v1alpha1;
// +kubebuilder:scaffold:modules
