// Package controller reconciles shelves.
package controller

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	libraryv1 "memcached-sdk/tests/explore-go/api/v1"
)

// ShelfReconciler keeps a catalog, which the shelf owns, and an entry, which its finalizer removes.
type ShelfReconciler struct {
	client.Client
	Scheme *runtime.Scheme
	// Bug is the name of a planted bug.
	Bug string
	// Release is the name of an earlier release; none for this one.
	Release string
}

// +kubebuilder:rbac:groups=library.example.com,resources=shelves,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=library.example.com,resources=shelves/status,verbs=get;update;patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;patch;delete

// Reconcile moves the cluster to the desired state of a shelf.
func (r *ShelfReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	shelf := &libraryv1.Shelf{}
	if err := r.Get(ctx, req.NamespacedName, shelf); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	err := r.reconcile(ctx, shelf)
	if r.Bug == "conflict" && apierrors.IsConflict(err) {
		// BUG: nothing starts another reconcile.
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}

func (r *ShelfReconciler) reconcile(ctx context.Context, shelf *libraryv1.Shelf) error {
	if !shelf.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, shelf)
	}
	// BUG: a shelf that is deleted after its entry is written leaves the entry.
	if r.Bug == "finalizer" {
		if err := r.entry(ctx, shelf); err != nil {
			return err
		}
	}
	if r.setFinalizers(shelf) {
		if err := r.Update(ctx, shelf); err != nil {
			return err
		}
	}
	if err := r.migrate(ctx, shelf); err != nil {
		return err
	}
	if err := r.entry(ctx, shelf); err != nil {
		return err
	}
	if r.Bug == "crash" {
		// BUG: the mark is set before the work is done, so a new process does not do it.
		if shelf.Status.Phase == "Ready" {
			return nil
		}
		if err := r.ready(ctx, shelf); err != nil {
			return err
		}
	}
	if err := r.catalog(ctx, shelf); err != nil {
		return err
	}
	return r.ready(ctx, shelf)
}

func (r *ShelfReconciler) finalize(ctx context.Context, shelf *libraryv1.Shelf) error {
	if !r.removeFinalizers(shelf) {
		return nil
	}
	entry := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shelf.Namespace, Name: shelf.Name + "-entry"}}
	if err := client.IgnoreNotFound(r.Delete(ctx, entry)); err != nil {
		return err
	}
	return r.Update(ctx, shelf)
}

// entry writes a ConfigMap without an owner.
func (r *ShelfReconciler) entry(ctx context.Context, shelf *libraryv1.Shelf) error {
	entry := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shelf.Namespace, Name: shelf.Name + "-entry"}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, entry, func() error {
		entry.Labels = map[string]string{"shelf": shelf.Name}
		entry.Data = map[string]string{"shelf": shelf.Name}
		return nil
	})
	return err
}

// catalog writes a ConfigMap that the shelf owns.
func (r *ShelfReconciler) catalog(ctx context.Context, shelf *libraryv1.Shelf) error {
	catalog := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shelf.Namespace, Name: r.catalogName(shelf)}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, catalog, func() error {
		// BUG: a change of another client stays.
		if r.Bug == "drift" && catalog.Data != nil {
			return nil
		}
		if catalog.Data == nil || r.Bug != "history" {
			catalog.Data = map[string]string{}
		}
		catalog.Data[r.booksKey()] = strconv.Itoa(int(shelf.Spec.Books))
		// BUG: with `history`, a topic that is removed from the spec stays.
		if shelf.Spec.Topic != "" {
			catalog.Data["topic"] = shelf.Spec.Topic
		}
		return controllerutil.SetControllerReference(shelf, catalog, r.Scheme)
	})
	return err
}

func (r *ShelfReconciler) ready(ctx context.Context, shelf *libraryv1.Shelf) error {
	status := libraryv1.ShelfStatus{Phase: "Ready"}
	if r.Bug == "loop" {
		// BUG: each write starts the next reconcile.
		status.Seen = time.Now().Format(time.RFC3339Nano)
	}
	if shelf.Status == status {
		return nil
	}
	shelf.Status = status
	return r.Status().Update(ctx, shelf)
}

// SetupWithManager registers the controller.
func (r *ShelfReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&libraryv1.Shelf{}).
		Owns(&corev1.ConfigMap{}).
		Watches(&corev1.ConfigMap{}, entryHandler()).
		Complete(r)
}
