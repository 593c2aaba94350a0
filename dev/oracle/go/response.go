package main

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	credentialprovider "k8s.io/kubelet/pkg/apis/credentialprovider"
	"k8s.io/kubelet/pkg/apis/credentialprovider/install"
)

// What a plugin printed, and the version of the exec API it was asked in.
type responseRequest struct {
	Text       string `json:"text"`
	APIVersion string `json:"api_version"`
}

type responseAnswer struct {
	failure
	CacheKeyType  text             `json:"cache_key_type"`
	CacheDuration *text            `json:"cache_duration"`
	Auth          map[string]entry `json:"auth"`
}

type entry struct {
	Username text `json:"username"`
	Password text `json:"password"`
}

// responseCodecs is set up as the kubelet's own, which it does not export.
var responseCodecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

// answerResponse takes the kubelet's two steps, reading the version and the
// strict decoding, with the kubelet's libraries. Only the sequence is ours: the
// kubelet's function would first have to run a plugin.
func answerResponse(_ *scratch, requests []responseRequest) (any, error) {
	answers := make([]responseAnswer, len(requests))
	for i, request := range requests {
		response, err := decodeResponse(request)
		if err != nil {
			answers[i].failure = failed(err)
			continue
		}
		answers[i].CacheKeyType = text(response.CacheKeyType)
		answers[i].Auth = map[string]entry{}
		if response.CacheDuration != nil {
			duration := text(response.CacheDuration.Duration.String())
			answers[i].CacheDuration = &duration
		}
		for key, auth := range response.Auth {
			answers[i].Auth[key] = entry{Username: text(auth.Username), Password: text(auth.Password)}
		}
	}
	return answers, nil
}

func decodeResponse(request responseRequest) (*credentialprovider.CredentialProviderResponse, error) {
	version, err := json.DefaultMetaFactory.Interpret([]byte(request.Text))
	if err != nil {
		return nil, fmt.Errorf("error reading GVK from response: %w", err)
	}
	if actual := version.GroupVersion().String(); actual != request.APIVersion {
		return nil, fmt.Errorf("apiVersion from credential plugin response did not match expected apiVersion:%s, actual apiVersion:%s", request.APIVersion, actual)
	}
	object, _, err := responseCodecs.UniversalDecoder().Decode([]byte(request.Text), nil, nil)
	if err == nil {
		if response, ok := object.(*credentialprovider.CredentialProviderResponse); ok {
			return response, nil
		}
	}
	// The kubelet hides the cause, for it may hold a password.
	return nil, errors.New("error decoding credential provider plugin response from stdout")
}
