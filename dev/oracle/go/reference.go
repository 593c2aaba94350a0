package main

import (
	distribution "github.com/distribution/reference"
	containers "go.podman.io/image/v5/docker/reference"
	"k8s.io/kubernetes/pkg/util/parsers"
)

// One string, as each program on the node reads it.
type referenceAnswer struct {
	// The kubelet and containerd.
	Distribution named `json:"distribution"`
	// CRI-O: an older copy of the same grammar.
	Containers named `json:"containers"`
	// Empty when the string is already canonical, which a rewritten mirror
	// reference must be.
	CanonicalError *text `json:"canonical_error"`
	// What the kubelet sends to plugins and looks up credentials by.
	Kubelet kubeletName `json:"kubelet"`
}

type named struct {
	failure
	Domain text `json:"domain,omitempty"`
	Path   text `json:"path,omitempty"`
	Tag    text `json:"tag,omitempty"`
	Digest text `json:"digest,omitempty"`
	String text `json:"string,omitempty"`
}

type kubeletName struct {
	failure
	Name   text `json:"name,omitempty"`
	Tag    text `json:"tag,omitempty"`
	Digest text `json:"digest,omitempty"`
}

func answerReference(_ *scratch, references []string) (any, error) {
	answers := make([]referenceAnswer, len(references))
	for i, reference := range references {
		_, canonical := containers.ParseNamed(reference)
		answers[i] = referenceAnswer{
			Distribution:   distributionNamed(reference),
			Containers:     containersNamed(reference),
			CanonicalError: failed(canonical).Error,
			Kubelet:        kubeletNamed(reference),
		}
	}
	return answers, nil
}

func distributionNamed(reference string) named {
	ref, err := distribution.ParseNormalizedNamed(reference)
	if err != nil {
		return named{failure: failed(err)}
	}
	answer := named{
		Domain: text(distribution.Domain(ref)),
		Path:   text(distribution.Path(ref)),
		String: text(ref.String()),
	}
	if tagged, ok := ref.(distribution.Tagged); ok {
		answer.Tag = text(tagged.Tag())
	}
	if digested, ok := ref.(distribution.Digested); ok {
		answer.Digest = text(digested.Digest())
	}
	return answer
}

func containersNamed(reference string) named {
	ref, err := containers.ParseNormalizedNamed(reference)
	if err != nil {
		return named{failure: failed(err)}
	}
	answer := named{
		Domain: text(containers.Domain(ref)),
		Path:   text(containers.Path(ref)),
		String: text(ref.String()),
	}
	if tagged, ok := ref.(containers.Tagged); ok {
		answer.Tag = text(tagged.Tag())
	}
	if digested, ok := ref.(containers.Digested); ok {
		answer.Digest = text(digested.Digest())
	}
	return answer
}

func kubeletNamed(image string) kubeletName {
	name, tag, digest, err := parsers.ParseImageName(image)
	if err != nil {
		return kubeletName{failure: failed(err)}
	}
	return kubeletName{Name: text(name), Tag: text(tag), Digest: text(digest)}
}
