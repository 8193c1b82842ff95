package oidc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxDepth bounds how deep objects and arrays nest.
const maxDepth = 16

var errJSON = errors.New("not one JSON object")

// parseObject reads exactly one JSON object with numbers as json.Number. Unlike encoding/json alone it
// refuses a key that stands twice, at any depth: two readers could each believe another one. It also
// refuses text that is not UTF-8, which encoding/json would repair silently.
func parseObject(text []byte) (map[string]any, error) {
	if !utf8.Valid(text) {
		return nil, errJSON
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := parseValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errJSON
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errJSON
	}
	return object, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errJSON
	}
	token, err := dec.Token()
	if err != nil {
		return nil, errJSON
	}
	switch token {
	case json.Delim('{'):
		return parseMembers(dec, depth)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := parseValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return token, nil
}

func parseMembers(dec *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, errJSON
		}
		key, ok := token.(string)
		if !ok {
			return nil, errJSON
		}
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("a key stands twice: %w", errJSON)
		}
		if object[key], err = parseValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}
