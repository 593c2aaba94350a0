package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// scratch is a directory in which each question finds the files it is about,
// because the libraries read files only.
type scratch struct {
	base string
	// used says that the previous question left files behind.
	used bool
}

// A file of a question.
type file struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// newScratch prefers memory to disk: the files live for microseconds, and there
// are hundreds of thousands of them. It also makes the process harmless: with no
// PATH and an empty working directory, no credential helper that a generated
// file names can be found and run.
func newScratch() (*scratch, error) {
	parent := ""
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		parent = "/dev/shm"
	}
	base, err := os.MkdirTemp(parent, "pullwright-oracle-")
	if err != nil {
		return nil, err
	}
	os.Clearenv()
	if err := os.Setenv("HOME", filepath.Join(base, "no-home")); err != nil {
		return nil, err
	}
	return &scratch{base: base}, nil
}

func (s *scratch) remove() { _ = os.RemoveAll(s.base) }

// dir is where the files of the current question are.
func (s *scratch) dir() string { return filepath.Join(s.base, "case") }

// empty clears away the previous question's files.
func (s *scratch) empty() error {
	if s.used {
		if err := os.RemoveAll(s.dir()); err != nil {
			return err
		}
	}
	s.used = true
	return os.Mkdir(s.dir(), 0o700)
}

// path names a file of the current question; a generated name must not lead out
// of the directory.
func (s *scratch) path(name string) (string, error) {
	if !filepath.IsLocal(strings.TrimPrefix(name, "/")) {
		return "", fmt.Errorf("file name %q leads out of the case", name)
	}
	return filepath.Join(s.dir(), name), nil
}

// write puts one file of the current question in its place.
func (s *scratch) write(name, content string) (string, error) {
	path, err := s.path(name)
	if err != nil {
		return "", err
	}
	err = os.WriteFile(path, []byte(content), 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	return path, err
}

// hide replaces the directory's random name in an error text, so that answers
// are the same in every run.
func (s *scratch) hide(message string) text {
	return text(strings.ReplaceAll(message, s.dir(), "$DIR"))
}

func (s *scratch) failed(err error) failure {
	if err == nil {
		return failure{}
	}
	message := s.hide(err.Error())
	return failure{Error: &message}
}
