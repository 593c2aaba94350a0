package main

import (
	"encoding/json"

	"sigs.k8s.io/yaml"
)

type yamlAnswer struct {
	failure
	// What every Kubernetes program makes of the text before it decodes it.
	JSON json.RawMessage `json:"json,omitempty"`
}

func answerYAML(_ *scratch, texts []string) (any, error) {
	answers := make([]yamlAnswer, len(texts))
	for i, content := range texts {
		converted, err := yaml.YAMLToJSON([]byte(content))
		answers[i] = yamlAnswer{failure: failed(err), JSON: converted}
	}
	return answers, nil
}
