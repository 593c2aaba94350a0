// The oracle answers, with the libraries that run on a node, the questions that
// the Rust engine answers by itself, so that a test can compare the two.
//
// It reads one JSON object per line from standard input and writes one JSON
// object per line to standard output, in the same order. The field "op" names
// the question; see the file of the same name for its fields.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	"k8s.io/klog/v2"
)

// An operation answers the rest of a request line.
type operation func(scratch *scratch, request []byte) (any, error)

var operations = map[string]operation{
	"reference":        on(answerReference),
	"registries":       on(answerRegistries),
	"locations":        on(answerLocations),
	"auth":             on(answerAuth),
	"match":            on(answerMatch),
	"keyring":          on(answerKeyring),
	"dockerconfig":     on(answerDockerConfig),
	"providerconfig":   on(answerProviderConfig),
	"response":         on(answerResponse),
	"yaml":             on(answerYAML),
	"bench-registries": on(benchRegistries),
	"bench-auth":       on(benchAuth),
}

func main() {
	// What the libraries log would only mix with test output.
	logrus.SetOutput(io.Discard)
	klog.SetLogger(logr.Discard())

	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// run answers every line of in, and flushes when no further line is waiting, so
// that a peer may write ahead or wait for each answer as it likes.
func run(in io.Reader, out io.Writer) error {
	scratch, err := newScratch()
	if err != nil {
		return err
	}
	defer scratch.remove()

	reader := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for {
		// ReadBytes and not a Scanner: a line may hold 100 000 registries.
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := encoder.Encode(answer(scratch, line)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
}

// answer never fails: a request we cannot read is answered with "invalid", a
// library that panics (which is a finding in itself) with "panic".
func answer(scratch *scratch, line []byte) (result any) {
	defer func() {
		if cause := recover(); cause != nil {
			result = map[string]text{"panic": text(fmt.Sprint(cause))}
		}
	}()

	var head struct {
		Op string `json:"op"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return invalid(err)
	}
	operation, known := operations[head.Op]
	if !known {
		return invalid(fmt.Errorf("unknown op %q", head.Op))
	}
	result, err := operation(scratch, line)
	if err != nil {
		return invalid(err)
	}
	return result
}

// on gives an operation its typed request. A field that no request has is a
// mistake in the driver and must not silently change the question.
func on[Request any](answer func(*scratch, Request) (any, error)) operation {
	return func(scratch *scratch, line []byte) (any, error) {
		var request struct {
			Op string `json:"op"`
			envelope[Request]
		}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&request); err != nil {
			return nil, err
		}
		return answer(scratch, request.Body)
	}
}

type envelope[Request any] struct {
	Body Request `json:"request"`
}

func invalid(err error) any {
	return map[string]text{"invalid": text(err.Error())}
}
