//! Version v1alpha1 of the group `cache.example.com`.

pub mod memcached;
// +kubebuilder:scaffold:modules
