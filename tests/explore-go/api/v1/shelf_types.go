// Package v1 has the kind Shelf of the group library.example.com.
// +kubebuilder:object:generate=true
// +groupName=library.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and the version of Shelf.
var GroupVersion = schema.GroupVersion{Group: "library.example.com", Version: "v1"}

// ShelfSpec is the desired state of a Shelf.
type ShelfSpec struct {
	// Books is the number of books.
	// +kubebuilder:validation:Minimum=0
	Books int32 `json:"books"`
	// Topic is the label on the shelf.
	// +optional
	Topic string `json:"topic,omitempty"`
}

// ShelfStatus is the observed state of a Shelf.
type ShelfStatus struct {
	// Phase is Ready when the catalog is written.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Seen is the time of the last reconcile.
	// +optional
	Seen string `json:"seen,omitempty"`
}

// Shelf is a shelf with a catalog.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Shelf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShelfSpec   `json:"spec,omitempty"`
	Status ShelfStatus `json:"status,omitempty"`
}

// ShelfList is a list of shelves.
// +kubebuilder:object:root=true
type ShelfList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Shelf `json:"items"`
}

// AddToScheme registers the kind.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Shelf{}, &ShelfList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
