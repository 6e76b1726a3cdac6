// The Go operator of the benchmark.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"memcached-sdk/tests/bench/go-project/api/v1alpha1"
	"memcached-sdk/tests/bench/go-project/controller"
)

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the operator can't run")
		os.Exit(1)
	}
}

func run() error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	v1alpha1.AddToScheme(scheme)
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	reconciler := &controller.MemcachedReconciler{Client: manager.GetClient(), Image: os.Getenv("MEMCACHED_IMAGE")}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
