package main

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// text is a Go string on its way out. encoding/json would replace bytes that are
// not UTF-8 and so hide a difference; they travel as {"base64": "…"} instead.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(t))})
}

// texts keeps the difference between a nil and an empty list, which decides how
// registries.conf files merge.
func texts(list []string) []text {
	if list == nil {
		return nil
	}
	out := make([]text, len(list))
	for i, item := range list {
		out[i] = text(item)
	}
	return out
}

// failure is the answer to a question whose answer is an error.
type failure struct {
	Error *text `json:"error,omitempty"`
}

func failed(err error) failure {
	if err == nil {
		return failure{}
	}
	message := text(err.Error())
	return failure{Error: &message}
}
