package main

import (
	"path/filepath"

	dockerconfig "go.podman.io/image/v5/pkg/docker/config"
	"go.podman.io/image/v5/types"
)

// One auth file and the repositories whose credential CRI-O would look up in it.
type authRequest struct {
	File string `json:"file"`
	// The file is a .dockercfg: the map of credentials without "auths" around it.
	Legacy bool     `json:"legacy"`
	Keys   []string `json:"keys"`
}

type authAnswer struct {
	failure
	// All three are empty when there is no credential.
	Username      text `json:"username"`
	Password      text `json:"password"`
	IdentityToken text `json:"identitytoken"`
}

func answerAuth(scratch *scratch, request authRequest) (any, error) {
	sys, err := writeAuth(scratch, request)
	if err != nil {
		return nil, err
	}
	answers := make([]authAnswer, len(request.Keys))
	for i, key := range request.Keys {
		found, err := dockerconfig.GetCredentials(sys, key)
		answers[i] = authAnswer{
			failure:       scratch.failed(err),
			Username:      text(found.Username),
			Password:      text(found.Password),
			IdentityToken: text(found.IdentityToken),
		}
	}
	return answers, nil
}

// writeAuth also names an empty registries.conf: the list of credential helpers
// comes from there.
func writeAuth(scratch *scratch, request authRequest) (*types.SystemContext, error) {
	sys, err := writeRegistries(scratch, "", nil)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(scratch.dir(), "auth.json")
	if request.Legacy {
		sys.LegacyFormatAuthFilePath = path
	} else {
		sys.AuthFilePath = path
	}
	_, err = scratch.write("auth.json", request.File)
	return sys, err
}
