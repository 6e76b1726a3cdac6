//! The kinds of ship.example.org/v1beta1.

pub mod frigate;
// +kubebuilder:scaffold:modules
