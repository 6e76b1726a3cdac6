package controller

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	libraryv1 "memcached-sdk/tests/explore-go/api/v1"
)

// Releases of the operator before this one.
const (
	// The first release has another finalizer, and another name of the catalog.
	first = "1.0"
	// The second one has another key in the catalog.
	second = "1.1"
)

const (
	finalizer      = "library.example.com/entry"
	firstFinalizer = "library.example.com/shelf"
	// The first release reads a number from this annotation of a shelf.
	format = "library.example.com/format"
)

func (r *ShelfReconciler) setFinalizers(shelf *libraryv1.Shelf) bool {
	if r.Release == first {
		return controllerutil.AddFinalizer(shelf, firstFinalizer)
	}
	changed := controllerutil.AddFinalizer(shelf, finalizer)
	// BUG: a shelf of the first release can never be deleted.
	if r.Bug != "old-finalizer" {
		changed = controllerutil.RemoveFinalizer(shelf, firstFinalizer) || changed
	}
	return changed
}

// removeFinalizers returns false if there are none.
func (r *ShelfReconciler) removeFinalizers(shelf *libraryv1.Shelf) bool {
	if r.Release == first {
		return controllerutil.RemoveFinalizer(shelf, firstFinalizer)
	}
	changed := controllerutil.RemoveFinalizer(shelf, finalizer)
	if r.Bug != "old-finalizer" {
		changed = controllerutil.RemoveFinalizer(shelf, firstFinalizer) || changed
	}
	return changed
}

func (r *ShelfReconciler) catalogName(shelf *libraryv1.Shelf) string {
	if r.Release == first {
		return shelf.Name + "-list"
	}
	return shelf.Name + "-catalog"
}

func (r *ShelfReconciler) booksKey() string {
	if r.Release == second {
		return "count"
	}
	return "books"
}

// migrate deletes the catalog of the first release.
func (r *ShelfReconciler) migrate(ctx context.Context, shelf *libraryv1.Shelf) error {
	known := shelf.Annotations[format]
	if r.Release == first {
		if known == "" {
			return nil
		}
		_, err := strconv.Atoi(known)
		return err
	}
	switch r.Bug {
	case "old-child":
		// BUG: the old catalog stays.
		return nil
	case "old-reader":
		// BUG: the first release cannot read the new format.
		if err := r.mark(ctx, shelf, "two"); err != nil {
			return err
		}
	case "mark-first", "migrate-once":
		// BUG: the mark is set before the work is done, or a late write of the first release comes after it.
		if known == "2" {
			return nil
		}
		if r.Bug == "mark-first" {
			if err := r.mark(ctx, shelf, "2"); err != nil {
				return err
			}
		}
	}
	list := &corev1.ConfigMap{}
	err := r.Get(ctx, types.NamespacedName{Namespace: shelf.Namespace, Name: shelf.Name + "-list"}, list)
	if err == nil {
		err = r.Delete(ctx, list)
	}
	if err = client.IgnoreNotFound(err); err != nil || r.Bug != "migrate-once" {
		return err
	}
	return r.mark(ctx, shelf, "2")
}

func (r *ShelfReconciler) mark(ctx context.Context, shelf *libraryv1.Shelf, value string) error {
	if shelf.Annotations[format] == value {
		return nil
	}
	if shelf.Annotations == nil {
		shelf.Annotations = map[string]string{}
	}
	shelf.Annotations[format] = value
	return r.Update(ctx, shelf)
}
