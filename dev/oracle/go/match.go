package main

import (
	"k8s.io/kubernetes/pkg/credentialprovider"
)

// A matchImages pattern and the image it is held against.
type matchRequest struct {
	Pattern string `json:"pattern"`
	Image   string `json:"image"`
}

type matchAnswer struct {
	failure
	Matches bool `json:"matches"`
	// Why the pattern alone is refused; this is what validation asks.
	PatternError *text `json:"pattern_error"`
}

func answerMatch(_ *scratch, requests []matchRequest) (any, error) {
	answers := make([]matchAnswer, len(requests))
	for i, request := range requests {
		matches, err := credentialprovider.URLsMatchStr(request.Pattern, request.Image)
		_, patternErr := credentialprovider.ParseSchemelessURL(request.Pattern)
		answers[i] = matchAnswer{
			failure:      failed(err),
			Matches:      matches,
			PatternError: failed(patternErr).Error,
		}
	}
	return answers, nil
}
