// Package v1alpha1 is the Memcached kind of the sample, as a Go operator would declare it.
// +kubebuilder:object:generate=true
// +groupName=cache.example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the user wants.
type MemcachedSpec struct {
	// The number of pods.
	// +kubebuilder:validation:Minimum=0
	Size int32 `json:"size"`

	// The port that the container listens on.
	// +kubebuilder:default=11211
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	ContainerPort int32 `json:"containerPort,omitempty"`

	// The image of the container; by default the one that the operator was given.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Image *string `json:"image,omitempty"`

	// The memory that each container may use, in mebibytes.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MemoryLimitMegabytes *int32 `json:"memoryLimitMegabytes,omitempty"`

	// Arguments for the container.
	// +optional
	ExtraArgs []string `json:"extraArgs,omitempty"`
}

// What the operator sees.
type MemcachedStatus struct {
	// Whether it is Available, Progressing or Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The names of the pods, sorted.
	// +optional
	Nodes []string `json:"nodes,omitempty"`

	// A summary of the conditions for people; programs read the conditions.
	// +optional
	Phase *Phase `json:"phase,omitempty"`

	// The number of pods that exist.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// The label selector of the pods, for autoscalers.
	// +optional
	Selector *string `json:"selector,omitempty"`
}

// The conditions in one word.
// +kubebuilder:validation:Enum=Pending;Progressing;Running;Degraded
type Phase string

// Memcached runs pods of one image, behind a headless Service
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=mc
// +kubebuilder:printcolumn:name="Size",type="integer",JSONPath=".spec.size"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MemcachedSpec   `json:"spec"`
	Status MemcachedStatus `json:"status,omitempty"`
}
