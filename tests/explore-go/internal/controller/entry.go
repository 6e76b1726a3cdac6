package controller

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// entryHandler enqueues the shelf of an entry, which has no owner.
func entryHandler() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, entry client.Object) []reconcile.Request {
		name, isEntry := strings.CutSuffix(entry.GetName(), "-entry")
		if !isEntry {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: entry.GetNamespace(), Name: name}}}
	})
}
