//! The kinds of cache.example.com/v1alpha1.

pub mod memcached;
// +kubebuilder:scaffold:modules
