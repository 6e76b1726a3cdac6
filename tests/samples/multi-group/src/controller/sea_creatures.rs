//! The controllers of sea-creatures.example.org.

pub mod humpback_whale_migration_observation;
// +kubebuilder:scaffold:modules
