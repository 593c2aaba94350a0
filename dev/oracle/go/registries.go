package main

import (
	"path/filepath"

	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/shortnames"
	registriesconf "go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"
)

// A whole configuration, and what to look up in it.
type registriesRequest struct {
	Main    string `json:"main"`
	Dropins []file `json:"dropins"`
	// The aliases that were recorded on the node, if any were.
	Recorded *string `json:"recorded"`
	// The mode for short names that the caller demands, as CRI-O does; empty to
	// have registries.conf decide.
	Mode string `json:"mode"`
	// Strings looked up as they are and, where they parse, as an image to pull.
	Queries []string `json:"queries"`
	// Strings resolved as a short name.
	ShortNames []string `json:"short_names"`
}

type registriesAnswer struct {
	failure
	Config     *config           `json:"config,omitempty"`
	Queries    []queryAnswer     `json:"queries,omitempty"`
	ShortNames []shortNameAnswer `json:"short_names,omitempty"`
}

// config is the merged result as far as the library shows it.
type config struct {
	Registries                  []registry `json:"registries"`
	UnqualifiedSearchRegistries []text     `json:"unqualified_search_registries"`
	CredentialHelpers           []text     `json:"credential_helpers"`
	ShortNameMode               string     `json:"short_name_mode"`
	LayerStoreAuthHelper        text       `json:"additional_layer_store_auth_helper"`
}

type registry struct {
	Prefix text `json:"prefix"`
	endpoint
	Blocked            bool       `json:"blocked"`
	MirrorByDigestOnly bool       `json:"mirror_by_digest_only"`
	Mirrors            []endpoint `json:"mirrors"`
}

type endpoint struct {
	Location       text `json:"location"`
	Insecure       bool `json:"insecure"`
	PullFromMirror text `json:"pull_from_mirror"`
	NamespaceProxy text `json:"namespace_proxy"`
}

type queryAnswer struct {
	// The prefix found for the string as it is.
	Found *text `json:"found"`
	// The pull of the string as an image; absent when it is no image.
	Pull *pullAnswer `json:"pull,omitempty"`
}

type pullAnswer struct {
	failure
	// The prefix found for the image's name, which is what a pull looks up.
	Found   *text        `json:"found"`
	Sources []pullSource `json:"sources,omitempty"`
}

type pullSource struct {
	Reference text `json:"reference"`
	Insecure  bool `json:"insecure"`
}

type shortNameAnswer struct {
	failure
	Candidates []text `json:"candidates,omitempty"`
}

func answerRegistries(scratch *scratch, request registriesRequest) (any, error) {
	sys, err := writeRegistries(scratch, request.Main, request.Dropins)
	if err != nil {
		return nil, err
	}
	if request.Recorded != nil {
		if sys.UserShortNameAliasConfPath, err = scratch.write("short-name-aliases.conf", *request.Recorded); err != nil {
			return nil, err
		}
	}
	asked := *sys
	for mode, name := range modeNames {
		if name == request.Mode {
			asked.ShortNameMode = &mode
		}
	}
	return lookUp(scratch, sys, &asked, request.Queries, request.ShortNames)
}

// writeRegistries puts the files in place and names them explicitly, so that
// nothing of this machine is read.
func writeRegistries(scratch *scratch, main string, dropins []file) (*types.SystemContext, error) {
	if err := scratch.empty(); err != nil {
		return nil, err
	}
	path, err := scratch.write("registries.conf", main)
	if err != nil {
		return nil, err
	}
	for _, dropin := range dropins {
		if _, err := scratch.write(filepath.Join("registries.conf.d", dropin.Name), dropin.Text); err != nil {
			return nil, err
		}
	}
	return &types.SystemContext{
		SystemRegistriesConfPath:    path,
		SystemRegistriesConfDirPath: filepath.Join(scratch.dir(), "registries.conf.d"),
		UserShortNameAliasConfPath:  filepath.Join(scratch.dir(), "no-aliases.conf"),
	}, nil
}

// lookUp asks about files with sys, and about short names with asked.
func lookUp(scratch *scratch, sys, asked *types.SystemContext, queries, shortNames []string) (any, error) {
	// The library keeps what it loaded, by path; our paths are always the same.
	registriesconf.InvalidateCache()
	loaded, err := registriesconf.TryUpdatingCache(sys)
	if err != nil {
		return registriesAnswer{failure: scratch.failed(err)}, nil
	}
	mode, err := registriesconf.GetShortNameMode(sys)
	if err != nil {
		return nil, err
	}
	answer := registriesAnswer{
		Config: &config{
			Registries:                  make([]registry, len(loaded.Registries)),
			UnqualifiedSearchRegistries: texts(loaded.UnqualifiedSearchRegistries),
			CredentialHelpers:           texts(loaded.CredentialHelpers),
			ShortNameMode:               modeNames[mode],
			LayerStoreAuthHelper:        text(loaded.AdditionalLayerStoreAuthHelper),
		},
		Queries:    make([]queryAnswer, len(queries)),
		ShortNames: make([]shortNameAnswer, len(shortNames)),
	}
	for i, entry := range loaded.Registries {
		answer.Config.Registries[i] = describe(entry)
	}
	for i, query := range queries {
		if answer.Queries[i], err = find(scratch, sys, query); err != nil {
			return nil, err
		}
	}
	for i, name := range shortNames {
		answer.ShortNames[i] = resolve(scratch, asked, name)
	}
	return answer, nil
}

var modeNames = map[types.ShortNameMode]string{
	types.ShortNameModeDisabled:   "disabled",
	types.ShortNameModePermissive: "permissive",
	types.ShortNameModeEnforcing:  "enforcing",
}

func describe(entry registriesconf.Registry) registry {
	mirrors := make([]endpoint, len(entry.Mirrors))
	for i, mirror := range entry.Mirrors {
		mirrors[i] = describeEndpoint(mirror)
	}
	return registry{
		Prefix:             text(entry.Prefix),
		endpoint:           describeEndpoint(entry.Endpoint),
		Blocked:            entry.Blocked,
		MirrorByDigestOnly: entry.MirrorByDigestOnly,
		Mirrors:            mirrors,
	}
}

func describeEndpoint(e registriesconf.Endpoint) endpoint {
	return endpoint{
		Location:       text(e.Location),
		Insecure:       e.Insecure,
		PullFromMirror: text(e.PullFromMirror),
		NamespaceProxy: text(e.NamespaceProxy),
	}
}

func find(scratch *scratch, sys *types.SystemContext, query string) (queryAnswer, error) {
	found, err := registriesconf.FindRegistry(sys, query)
	if err != nil {
		return queryAnswer{}, err
	}
	answer := queryAnswer{Found: prefix(found)}
	image, err := reference.ParseNormalizedNamed(query)
	if err != nil {
		return answer, nil
	}
	found, err = registriesconf.FindRegistry(sys, image.Name())
	if err != nil {
		return queryAnswer{}, err
	}
	answer.Pull = &pullAnswer{Found: prefix(found)}
	if found == nil {
		return answer, nil
	}
	sources, err := found.PullSourcesFromReference(image)
	answer.Pull.failure = scratch.failed(err)
	for _, source := range sources {
		answer.Pull.Sources = append(answer.Pull.Sources, pullSource{
			Reference: text(source.Reference.String()),
			Insecure:  source.Endpoint.Insecure,
		})
	}
	return answer, nil
}

func prefix(found *registriesconf.Registry) *text {
	if found == nil {
		return nil
	}
	prefix := text(found.Prefix)
	return &prefix
}

// asked is what CRI-O makes of a candidate: the library asks for no reference
// with a tag and a digest, so the tag goes.
func asked(candidate reference.Named) reference.Named {
	digested, ok := candidate.(reference.Canonical)
	if !ok {
		return candidate
	}
	trimmed, err := reference.WithDigest(reference.TrimNamed(candidate), digested.Digest())
	if err != nil {
		return candidate
	}
	return trimmed
}

// resolve asks as a program without a terminal does, CRI-O among them: our
// standard streams are pipes.
func resolve(scratch *scratch, sys *types.SystemContext, name string) shortNameAnswer {
	resolved, err := shortnames.Resolve(sys, name)
	if err != nil {
		return shortNameAnswer{failure: scratch.failed(err)}
	}
	var answer shortNameAnswer
	for _, candidate := range resolved.PullCandidates {
		answer.Candidates = append(answer.Candidates, text(asked(candidate.Value).String()))
	}
	return answer
}
