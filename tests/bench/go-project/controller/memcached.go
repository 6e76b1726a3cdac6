// Package controller holds the markers of the sample's controller.
package controller

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;patch;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=create;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile stands for the function above which the markers are.
func Reconcile() {}
