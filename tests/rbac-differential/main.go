// Command rbac-differential runs controller-gen's library.
//
// `parse` reads one JSON string per line, a marker as in a comment. It prints the marker's arguments, its first error,
// or null if it is not an rbac marker. `roles DIR` prints the roles of the Go package in DIR. `webhooks DIR` handles
// each folder of DIR, a module with Go packages: it prints a JSON object with the webhook manifests or the error.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

func main() {
	if os.Args[1] == "webhooks" {
		webhooks(os.Args[2])
		return
	}
	registry := &markers.Registry{}
	check((rbac.Generator{}).RegisterMarkers(registry))
	if os.Args[1] == "parse" {
		parse(registry)
		return
	}
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Dir: os.Args[2]}, "./...")
	check(err)
	context := &genall.GenerationContext{Roots: roots, Collector: &markers.Collector{Registry: registry}}
	roles, err := rbac.GenerateRoles(context, "manager-role")
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(roles))
}

func webhooks(dir string) {
	registry := &markers.Registry{}
	check((webhook.Generator{}).RegisterMarkers(registry))
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Dir: dir}, "./...")
	check(err)
	cases := map[string][]*loader.Package{}
	for _, root := range roots {
		name := strings.Split(strings.TrimPrefix(root.PkgPath, "op/"), "/")[0]
		cases[name] = append(cases[name], root)
	}
	answers := map[string]map[string]string{}
	for name, roots := range cases {
		out, err := os.MkdirTemp("", "webhooks")
		check(err)
		context := &genall.GenerationContext{
			Roots:      roots,
			Collector:  &markers.Collector{Registry: registry},
			OutputRule: genall.OutputToDirectory(out),
		}
		answer := map[string]string{}
		if err := (webhook.Generator{}).Generate(context); err != nil {
			answer["error"] = err.Error()
		}
		for _, root := range roots {
			if len(root.Errors) > 0 {
				answer["error"] = root.Errors[0].Msg
			}
		}
		text, err := os.ReadFile(filepath.Join(out, "manifests.yaml"))
		if err == nil {
			answer["manifests"] = string(text)
		}
		check(os.RemoveAll(out))
		answers[name] = answer
	}
	check(json.NewEncoder(os.Stdout).Encode(answers))
}

func parse(registry *markers.Registry) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var text string
		check(json.Unmarshal(lines.Bytes(), &text))
		definition := registry.Lookup(text, markers.DescribesPackage)
		if definition == nil {
			check(out.Encode(nil))
			continue
		}
		rule, err := definition.Parse(text)
		if err != nil {
			check(out.Encode(map[string]any{"error": message(err)}))
			continue
		}
		check(out.Encode(map[string]any{"rule": rule}))
	}
	check(lines.Err())
}

func message(err error) string {
	if list, ok := err.(loader.ErrList); ok {
		err = list[0]
	}
	var scan *markers.ScannerError
	if errors.As(err, &scan) {
		return scan.Msg
	}
	return err.Error()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
