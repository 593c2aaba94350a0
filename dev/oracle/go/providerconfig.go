package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/credentialprovider/plugin"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletconfigv1 "k8s.io/kubernetes/pkg/kubelet/apis/config/v1"
	kubeletconfigv1alpha1 "k8s.io/kubernetes/pkg/kubelet/apis/config/v1alpha1"
	kubeletconfigv1beta1 "k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1"
)

// The kubelet's --image-credential-provider-config: a file, or a directory.
type providerConfigRequest struct {
	// Exactly one of the two.
	File      *string `json:"file"`
	Directory []file  `json:"directory"`
}

// Error is empty when the kubelet accepts the configuration.
type providerConfigAnswer struct {
	failure
	// What an accepted file holds; for a directory see the file answers.
	Providers []provider `json:"providers,omitempty"`
}

type provider struct {
	Name                 text             `json:"name"`
	MatchImages          []text           `json:"match_images"`
	DefaultCacheDuration text             `json:"default_cache_duration"`
	APIVersion           text             `json:"api_version"`
	Args                 []text           `json:"args"`
	Env                  [][2]text        `json:"env"`
	TokenAttributes      *tokenAttributes `json:"token_attributes"`
}

type tokenAttributes struct {
	Audience              text   `json:"audience"`
	CacheType             text   `json:"cache_type"`
	RequireServiceAccount bool   `json:"require_service_account"`
	RequiredKeys          []text `json:"required_keys"`
	OptionalKeys          []text `json:"optional_keys"`
}

func answerProviderConfig(scratch *scratch, requests []providerConfigRequest) (any, error) {
	answers := make([]providerConfigAnswer, len(requests))
	for i, request := range requests {
		path, err := writeProviderConfig(scratch, request)
		if err != nil {
			return nil, err
		}
		answers[i].failure = scratch.failed(register(scratch, path))
		if answers[i].Error == nil && request.File != nil {
			if answers[i].Providers, err = decodeProviders(*request.File); err != nil {
				return nil, err
			}
		}
	}
	return answers, nil
}

func writeProviderConfig(scratch *scratch, request providerConfigRequest) (string, error) {
	if err := scratch.empty(); err != nil {
		return "", err
	}
	if request.File != nil {
		return scratch.write("config.yaml", *request.File)
	}
	directory := filepath.Join(scratch.dir(), "config.d")
	if err := os.Mkdir(directory, 0o700); err != nil {
		return "", err
	}
	for _, file := range request.Directory {
		if _, err := scratch.write(filepath.Join("config.d", file.Name), file.Text); err != nil {
			return "", err
		}
	}
	return directory, nil
}

// register asks the kubelet's own start-up code. The directory of plugins is
// empty, so that the best a configuration can reach is a plugin not found, which
// comes after every check: nothing is ever registered, and the next question
// meets the same process.
func register(scratch *scratch, path string) error {
	plugins := filepath.Join(scratch.dir(), "plugins")
	if err := os.Mkdir(plugins, 0o700); err != nil {
		return err
	}
	err := plugin.RegisterCredentialProviderPlugins(path, plugins, nil, nil)
	switch {
	case err == nil:
		return errors.New("oracle: a plugin was registered")
	case strings.HasPrefix(err.Error(), "plugin binary executable "),
		strings.HasPrefix(err.Error(), "error inspecting binary executable "):
		return nil
	default:
		return err
	}
}

// configCodecs is set up as the kubelet's own, which it does not export.
var configCodecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kubeletconfig.AddToScheme,
		kubeletconfigv1alpha1.AddToScheme,
		kubeletconfigv1beta1.AddToScheme,
		kubeletconfigv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

// decodeProviders shows what an already accepted file holds.
func decodeProviders(content string) ([]provider, error) {
	object, _, err := configCodecs.UniversalDecoder().Decode([]byte(content), nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*kubeletconfig.CredentialProviderConfig)
	if !ok {
		return nil, errors.New("accepted, but not a CredentialProviderConfig")
	}
	providers := make([]provider, len(config.Providers))
	for i, p := range config.Providers {
		providers[i] = provider{
			Name:        text(p.Name),
			MatchImages: texts(p.MatchImages),
			APIVersion:  text(p.APIVersion),
			Args:        texts(p.Args),
			Env:         [][2]text{},
		}
		if p.DefaultCacheDuration != nil {
			providers[i].DefaultCacheDuration = text(p.DefaultCacheDuration.Duration.String())
		}
		for _, env := range p.Env {
			providers[i].Env = append(providers[i].Env, [2]text{text(env.Name), text(env.Value)})
		}
		if token := p.TokenAttributes; token != nil {
			providers[i].TokenAttributes = &tokenAttributes{
				Audience:              text(token.ServiceAccountTokenAudience),
				CacheType:             text(token.CacheType),
				RequireServiceAccount: token.RequireServiceAccount != nil && *token.RequireServiceAccount,
				RequiredKeys:          texts(token.RequiredServiceAccountAnnotationKeys),
				OptionalKeys:          texts(token.OptionalServiceAccountAnnotationKeys),
			}
		}
	}
	return providers, nil
}
