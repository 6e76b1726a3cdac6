//! The kinds of sea-creatures.example.org/v1alpha1.

pub mod humpback_whale_migration_observation;
// +kubebuilder:scaffold:modules
