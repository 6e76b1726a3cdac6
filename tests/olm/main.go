// Command olm prints the results of OLM's validators: one line of JSON for each bundle folder in its arguments.
package main

import (
	"encoding/json"
	"io"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	"github.com/sirupsen/logrus"
)

type verdict struct {
	Bundle   string   `json:"bundle"`
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

// optional are the validators that need only the bundle, by their names in operator-sdk.
var optional = map[string]interfaces.Validator{
	"operatorhubv2":         validation.OperatorHubV2Validator,
	"capabilities":          validation.StandardCapabilitiesValidator,
	"categories":            validation.StandardCategoriesValidator,
	"alpha-deprecated-apis": validation.AlphaDeprecatedAPIsValidator,
	"good-practices":        validation.GoodPracticesValidator,
}

func judge(folder string) verdict {
	said := verdict{Bundle: folder, Errors: []string{}, Warnings: []string{}}
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		said.Errors = append(said.Errors, err.Error())
		return said
	}
	objects := []interface{}{bundle, bundle.CSV}
	for _, crd := range bundle.V1CRDs {
		objects = append(objects, crd)
	}
	for _, crd := range bundle.V1beta1CRDs {
		objects = append(objects, crd)
	}
	results := validation.DefaultBundleValidators.Validate(objects...)
	for _, name := range []string{"operatorhubv2", "capabilities", "categories", "alpha-deprecated-apis", "good-practices"} {
		results = append(results, optional[name].Validate(bundle)...)
	}
	for _, result := range results {
		for _, err := range result.Errors {
			said.Errors = append(said.Errors, err.Error())
		}
		for _, warning := range result.Warnings {
			said.Warnings = append(said.Warnings, warning.Error())
		}
	}
	return said
}

func main() {
	logrus.SetOutput(io.Discard)
	out := json.NewEncoder(os.Stdout)
	for _, folder := range os.Args[1:] {
		if err := out.Encode(judge(folder)); err != nil {
			panic(err)
		}
	}
}
