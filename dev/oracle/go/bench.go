package main

import (
	"errors"
	"time"

	dockerconfig "go.podman.io/image/v5/pkg/docker/config"
	registriesconf "go.podman.io/image/v5/pkg/sysregistriesv2"
)

// Times are taken here, inside the process, so that the protocol costs neither
// side anything.
type benchRegistriesRequest struct {
	Main    string   `json:"main"`
	Queries []string `json:"queries"`
	// How often the file is loaded, and how often all queries are asked.
	Loads  int `json:"loads"`
	Rounds int `json:"rounds"`
}

type benchRegistriesAnswer struct {
	LoadNanoseconds   float64 `json:"load_ns"`
	LookupNanoseconds float64 `json:"lookup_ns"`
	// How many lookups found something: proof that both sides did the same work.
	Found int `json:"found"`
}

func benchRegistries(scratch *scratch, request benchRegistriesRequest) (any, error) {
	if request.Loads < 1 || request.Rounds < 1 || len(request.Queries) == 0 {
		return nil, errors.New("loads, rounds and queries must not be zero")
	}
	sys, err := writeRegistries(scratch, request.Main, nil)
	if err != nil {
		return nil, err
	}
	registriesconf.InvalidateCache()
	start := time.Now()
	for range request.Loads {
		if _, err := registriesconf.TryUpdatingCache(sys); err != nil {
			return nil, err
		}
	}
	answer := benchRegistriesAnswer{LoadNanoseconds: each(start, request.Loads)}

	start = time.Now()
	for range request.Rounds {
		for _, query := range request.Queries {
			found, err := registriesconf.FindRegistry(sys, query)
			if err != nil {
				return nil, err
			}
			if found != nil {
				answer.Found++
			}
		}
	}
	answer.LookupNanoseconds = each(start, request.Rounds*len(request.Queries))
	return answer, nil
}

type benchAuthRequest struct {
	File   string   `json:"file"`
	Keys   []string `json:"keys"`
	Rounds int      `json:"rounds"`
}

type benchAuthAnswer struct {
	LookupNanoseconds float64 `json:"lookup_ns"`
	Found             int     `json:"found"`
}

// benchAuth includes reading the file: the library has no other way, and does so
// at every lookup.
func benchAuth(scratch *scratch, request benchAuthRequest) (any, error) {
	if request.Rounds < 1 || len(request.Keys) == 0 {
		return nil, errors.New("rounds and keys must not be zero")
	}
	sys, err := writeAuth(scratch, authRequest{File: request.File})
	if err != nil {
		return nil, err
	}
	var answer benchAuthAnswer
	start := time.Now()
	for range request.Rounds {
		for _, key := range request.Keys {
			found, err := dockerconfig.GetCredentials(sys, key)
			if err != nil {
				return nil, err
			}
			if found.Username != "" {
				answer.Found++
			}
		}
	}
	answer.LookupNanoseconds = each(start, request.Rounds*len(request.Keys))
	return answer, nil
}

func each(start time.Time, count int) float64 {
	return float64(time.Since(start).Nanoseconds()) / float64(count)
}
