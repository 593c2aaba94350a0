package main

import (
	"os"
	"path/filepath"
	"strings"

	"go.podman.io/image/v5/types"
	"go.podman.io/storage/pkg/configfile"
	"go.podman.io/storage/pkg/unshare"
)

// Which files of a node's file system are read, and what they merge to. Absolute
// paths, also those in the environment, are paths on that node.
type locationsRequest struct {
	Files map[string]string `json:"files"`
	// Explicit paths; empty when not given.
	Main    string `json:"main"`
	Dropins string `json:"dropins"`
	// HOME, XDG_CONFIG_HOME, CONTAINERS_REGISTRIES_CONF and its _OVERRIDE,
	// _CONTAINERS_ROOTLESS_UID.
	Environment map[string]string `json:"environment"`
	Queries     []string          `json:"queries"`
	ShortNames  []string          `json:"short_names"`
}

type locationsAnswer struct {
	// The files in reading order, up to the one that could not be opened.
	Read   []text `json:"read"`
	Result any    `json:"result"`
}

func answerLocations(scratch *scratch, request locationsRequest) (any, error) {
	if err := scratch.empty(); err != nil {
		return nil, err
	}
	for name, content := range request.Files {
		if _, err := scratch.write(name, content); err != nil {
			return nil, err
		}
	}
	restore, err := enter(scratch, request.Environment)
	if err != nil {
		return nil, err
	}
	defer restore()

	sys := &types.SystemContext{
		RootForImplicitAbsolutePaths: scratch.dir(),
		SystemRegistriesConfPath:     onNode(scratch, request.Main),
		SystemRegistriesConfDirPath:  onNode(scratch, request.Dropins),
		UserShortNameAliasConfPath:   filepath.Join(scratch.dir(), "no-aliases.conf"),
	}
	result, err := lookUp(scratch, sys, sys, request.Queries, request.ShortNames)
	if err != nil {
		return nil, err
	}
	return locationsAnswer{Read: filesRead(scratch, sys), Result: result}, nil
}

// onNode turns a path on the node into ours; relative paths stay relative, to
// the node's root.
func onNode(scratch *scratch, path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	return filepath.Join(scratch.dir(), path)
}

// enter sets the environment and the working directory of one question.
func enter(scratch *scratch, environment map[string]string) (func(), error) {
	before, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	home := os.Getenv("HOME")
	if err := os.Chdir(scratch.dir()); err != nil {
		return nil, err
	}
	restore := func() {
		for name := range environment {
			_ = os.Unsetenv(name)
		}
		_ = os.Setenv("HOME", home)
		_ = os.Chdir(before)
	}
	for name, value := range environment {
		if err := os.Setenv(name, onNode(scratch, value)); err != nil {
			restore()
			return nil, err
		}
	}
	return restore, nil
}

// filesRead repeats the loader's walk, because the loader does not tell.
func filesRead(scratch *scratch, sys *types.SystemContext) []text {
	read := []text{}
	for item, err := range configfile.Read(&configfile.File{
		Name:                            "registries",
		Extension:                       "conf",
		EnvironmentName:                 "CONTAINERS_REGISTRIES_CONF",
		RootForImplicitAbsolutePaths:    sys.RootForImplicitAbsolutePaths,
		CustomConfigFilePath:            sys.SystemRegistriesConfPath,
		CustomConfigFileDropInDirectory: sys.SystemRegistriesConfDirPath,
		UserId:                          unshare.GetRootlessUID(),
	}) {
		if err != nil {
			break
		}
		read = append(read, scratch.hide(item.Name))
	}
	return read
}
