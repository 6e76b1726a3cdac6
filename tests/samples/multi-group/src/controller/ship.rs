//! The controllers of ship.example.org.

pub mod frigate;
pub mod frigate_backup;
// +kubebuilder:scaffold:modules
