// Prints JSON values as YAML, like controller-gen.
//
// Reads one JSON value per line. Answers one JSON value per line: the YAML text as a string, or null if the library
// rejects the value or reads its own output back as another value.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	answers := json.NewEncoder(out)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := answers.Encode(answer(line)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		if err != nil {
			return
		}
	}
}

func answer(line []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var parsed any
	if err := decoder.Decode(&parsed); err != nil {
		fmt.Fprintf(os.Stderr, "not JSON: %s: %s\n", err, line)
		os.Exit(1)
	}
	object := typed(parsed)
	text, err := yaml.Marshal(object)
	if err != nil {
		return nil
	}
	var back any
	if err := yaml.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(floats(parsed), back) {
		return nil
	}
	return string(text)
}

// typed converts each number to its Go type in a Kubernetes object: a fraction or an exponent makes a float.
func typed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, item := range value {
			result[key] = typed(item)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = typed(item)
		}
		return result
	case json.Number:
		if !strings.ContainsAny(value.String(), ".eE") {
			return value
		}
		float, err := value.Float64()
		if err != nil {
			return value
		}
		return float
	default:
		return value
	}
}

// floats converts each number to the type of the YAML reader.
func floats(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, item := range value {
			result[key] = floats(item)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = floats(item)
		}
		return result
	case json.Number:
		float, _ := value.Float64()
		return float
	default:
		return value
	}
}
