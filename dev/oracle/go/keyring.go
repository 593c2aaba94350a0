package main

import (
	"encoding/json"
	"os"

	"k8s.io/kubernetes/pkg/credentialprovider"
)

// A keyring filled in order, and the images looked up in it. The keys of one
// config that mean the same registry come out in the random order of a Go map.
type keyringRequest struct {
	Configs []map[string]login `json:"configs"`
	Images  []string           `json:"images"`
}

type login struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

type keyringAnswer struct {
	Usernames []text `json:"usernames"`
	Found     bool   `json:"found"`
}

func answerKeyring(_ *scratch, request keyringRequest) (any, error) {
	keyring := &credentialprovider.BasicDockerKeyring{}
	for _, entries := range request.Configs {
		config := credentialprovider.DockerConfig{}
		for key, login := range entries {
			config[key] = credentialprovider.DockerConfigEntry{
				Username: login.Username,
				Password: login.Password,
			}
		}
		keyring.Add(nil, config)
	}
	answers := make([]keyringAnswer, len(request.Images))
	for i, image := range request.Images {
		found, ok := keyring.Lookup(image)
		answers[i] = keyringAnswer{Usernames: []text{}, Found: ok}
		for _, credential := range found {
			answers[i].Usernames = append(answers[i].Usernames, text(credential.Username))
		}
	}
	return answers, nil
}

// A credentials document as the kubelet reads it, from a Secret and from a file.
type dockerConfigRequest struct {
	Text string `json:"text"`
	// The map of credentials without "auths" around it.
	Legacy bool `json:"legacy"`
}

type dockerConfigAnswer struct {
	failure
	// The text a file with this content gives, which hides the cause.
	FileError *text                      `json:"file_error"`
	Entries   map[string]dockerConfigRow `json:"entries"`
}

type dockerConfigRow struct {
	Username text `json:"username"`
	Password text `json:"password"`
	Email    text `json:"email"`
}

func answerDockerConfig(scratch *scratch, requests []dockerConfigRequest) (any, error) {
	answers := make([]dockerConfigAnswer, len(requests))
	for i, request := range requests {
		entries, err := parseSecret(request)
		fileErr, writeErr := parseFile(scratch, request)
		if writeErr != nil {
			return nil, writeErr
		}
		answers[i] = dockerConfigAnswer{failure: failed(err), FileError: failed(fileErr).Error}
		if err == nil {
			answers[i].Entries = map[string]dockerConfigRow{}
			for key, entry := range entries {
				answers[i].Entries[key] = dockerConfigRow{
					Username: text(entry.Username),
					Password: text(entry.Password),
					Email:    text(entry.Email),
				}
			}
		}
	}
	return answers, nil
}

// parseSecret decodes into the kubelet's types as its package "secrets" does.
func parseSecret(request dockerConfigRequest) (credentialprovider.DockerConfig, error) {
	if request.Legacy {
		var config credentialprovider.DockerConfig
		err := json.Unmarshal([]byte(request.Text), &config)
		return config, err
	}
	var document credentialprovider.DockerConfigJSON
	err := json.Unmarshal([]byte(request.Text), &document)
	return document.Auths, err
}

func parseFile(scratch *scratch, request dockerConfigRequest) (parsing, writing error) {
	if request.Legacy {
		_, parsing = credentialprovider.ReadDockerConfigFileFromBytes([]byte(request.Text))
		return parsing, nil
	}
	if err := scratch.empty(); err != nil {
		return nil, err
	}
	path, err := scratch.write("config.json", request.Text)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(path) }()
	_, parsing = credentialprovider.ReadSpecificDockerConfigJSONFile(path)
	return parsing, nil
}
