//! The kinds of ship.example.org/v1.

pub mod frigate;
// +kubebuilder:scaffold:modules
