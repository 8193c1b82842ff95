package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// ConfigError is everything that is wrong with a configuration.
type ConfigError struct {
	File     string // "" if it came from no file
	Problems []Problem
}

// Problem is one thing that is wrong: where, what, and what to do.
type Problem struct {
	Key    string // such as auth.oidc[0].issuer
	Line   int    // in the file; 0: none
	Text   string
	Remedy string
}

func (e *ConfigError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("\n")
		}
		if e.File != "" {
			b.WriteString(e.File + ":")
			if p.Line > 0 {
				b.WriteString(strconv.Itoa(p.Line) + ":")
			}
			b.WriteString(" ")
		}
		if p.Key != "" {
			b.WriteString(p.Key + ": ")
		}
		b.WriteString(p.Text)
		if p.Remedy != "" {
			b.WriteString("; " + p.Remedy)
		}
	}
	return b.String()
}

// maxConfigBytes bounds a configuration file.
const maxConfigBytes = 1 << 20

// LoadConfig reads and checks a configuration file. Relative paths in it are relative to its folder, and absolute in
// what is returned; defaults are filled in. What is wrong comes back as *ConfigError: all wrong keys and types together,
// or, if there are none, all unsafe or impossible values together.
func LoadConfig(path string) (Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Config{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Config{}, err
	}
	if info.Size() > maxConfigBytes {
		return Config{}, fmt.Errorf("%s has more than %d bytes, which is no configuration", path, maxConfigBytes)
	}
	b, err := os.ReadFile(abs)
	if err != nil {
		return Config{}, err
	}
	cfg, lines, err := parseConfig(b)
	if err == nil && info.Mode().Perm()&0o002 != 0 {
		err = &ConfigError{Problems: []Problem{{Text: "everybody may change this file", Remedy: "chmod o-w " + path}}}
	}
	if err == nil {
		cfg.resolve(filepath.Dir(abs))
		cfg.setDefaults(filepath.Dir(abs))
		err = cfg.check()
	}
	var wrong *ConfigError
	if errors.As(err, &wrong) {
		wrong.File = path
		for i, p := range wrong.Problems {
			if p.Line == 0 {
				wrong.Problems[i].Line = lineOf(lines, p.Key)
			}
		}
	}
	return cfg, err
}

// lineOf finds the line of a key, or of the nearest section around it.
func lineOf(lines map[string]int, key string) int {
	for key != "" {
		if n := lines[key]; n > 0 {
			return n
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

// parseConfig decodes YAML strictly and says on which line each key is.
func parseConfig(b []byte) (Config, map[string]int, error) {
	var cfg Config
	d := &configDecoder{lines: map[string]int{}}
	in := yaml.NewDecoder(bytes.NewReader(b))
	var doc, more yaml.Node
	if err := in.Decode(&doc); err == io.EOF {
		return cfg, nil, &ConfigError{Problems: []Problem{{Text: "the file is empty", Remedy: "docs/configuration.md shows what it needs"}}}
	} else if err != nil {
		return cfg, nil, &ConfigError{Problems: []Problem{{Text: "not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}}}
	}
	if err := in.Decode(&more); err != io.EOF {
		d.problem("", more.Line, "there is more than one document", "remove the lines after ---")
	}
	if len(doc.Content) == 0 {
		return cfg, nil, &ConfigError{Problems: []Problem{{Text: "the file is empty", Remedy: "docs/configuration.md shows what it needs"}}}
	}
	d.decode(doc.Content[0], reflect.ValueOf(&cfg).Elem(), "")
	if len(d.problems) > 0 {
		return cfg, d.lines, &ConfigError{Problems: d.problems}
	}
	return cfg, d.lines, nil
}

// configDecoder fills a Config from a tree of YAML nodes and collects what does not fit.
type configDecoder struct {
	lines    map[string]int
	problems []Problem
}

func (d *configDecoder) problem(key string, line int, text, remedy string) {
	d.problems = append(d.problems, Problem{key, line, text, remedy})
}

var durationType = reflect.TypeFor[time.Duration]()

// decode sets v, which has one of the types that Config is made of, from n.
func (d *configDecoder) decode(n *yaml.Node, v reflect.Value, key string) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		d.problem(key, n.Line, "anchors and aliases are not supported", "write the value out")
		return
	}
	if key != "" {
		if d.lines[key] == 0 {
			d.lines[key] = n.Line
		}
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
			if k := v.Kind(); k != reflect.Struct && k != reflect.Map && k != reflect.Slice {
				d.problem(key, n.Line, "has no value", "give it one, or remove the line for the default")
			}
			return // an empty section
		}
	}
	switch {
	case v.Type() == durationType:
		d.duration(n, v, key)
	case v.Kind() == reflect.Struct:
		d.section(n, v, key)
	case v.Kind() == reflect.Map:
		d.named(n, v, key)
	case v.Kind() == reflect.Slice:
		d.list(n, v, key)
	default:
		d.scalar(n, v, key)
	}
}

// section decodes a mapping with fixed keys.
func (d *configDecoder) section(n *yaml.Node, v reflect.Value, key string) {
	if n.Kind != yaml.MappingNode {
		d.problem(key, n.Line, "must be a section with keys, and is "+kindName(n), "write KEY: VALUE lines, indented below it")
		return
	}
	fields := map[string]int{}
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag != "" {
			fields[tag] = i
		}
	}
	d.pairs(n, key, func(name string, line int, value *yaml.Node) {
		i, ok := fields[name]
		if !ok {
			known := make([]string, 0, len(fields))
			for f := range fields {
				known = append(known, f)
			}
			d.problem(join(key, name), line, "there is no such key", suggestion(name, known))
			return
		}
		d.decode(value, v.Field(i), join(key, name))
	})
}

// named decodes a mapping whose keys are names that the operator chooses.
func (d *configDecoder) named(n *yaml.Node, v reflect.Value, key string) {
	if n.Kind != yaml.MappingNode {
		d.problem(key, n.Line, "must be a section with names, and is "+kindName(n), "write NAME: and its keys, indented below it")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	d.pairs(n, key, func(name string, _ int, value *yaml.Node) {
		one := reflect.New(v.Type().Elem()).Elem()
		d.decode(value, one, join(key, name))
		v.SetMapIndex(reflect.ValueOf(name), one)
	})
}

func (d *configDecoder) list(n *yaml.Node, v reflect.Value, key string) {
	if n.Kind != yaml.SequenceNode {
		d.problem(key, n.Line, "must be a list, and is "+kindName(n), "write [ONE, TWO], or a line with - for each")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.decode(item, v.Index(i), fmt.Sprintf("%s[%d]", key, i))
	}
}

// pairs visits each key of a mapping once.
func (d *configDecoder) pairs(n *yaml.Node, key string, visit func(name string, line int, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" {
			d.problem(join(key, k.Value), k.Line, "a key must be text", "put it in quotes")
			continue
		}
		if first := seen[k.Value]; first > 0 {
			d.problem(join(key, k.Value), k.Line, fmt.Sprintf("is there twice (first on line %d)", first), "remove one")
			continue
		}
		seen[k.Value] = k.Line
		d.lines[join(key, k.Value)] = k.Line
		visit(k.Value, k.Line, n.Content[i+1])
	}
}

func (d *configDecoder) duration(n *yaml.Node, v reflect.Value, key string) {
	t, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || err != nil {
		d.problem(key, n.Line, fmt.Sprintf("must be a time, and is %s", kindName(n)), "write a number with a unit, such as 250ms, 10s, 30m or 12h")
		return
	}
	v.SetInt(int64(t))
}

func (d *configDecoder) scalar(n *yaml.Node, v reflect.Value, key string) {
	wrong := func(want, remedy string) { d.problem(key, n.Line, "must be "+want+", and is "+kindName(n), remedy) }
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode {
		tag = ""
	}
	switch v.Kind() {
	case reflect.String:
		if tag != "!!str" {
			wrong("text", "put it in quotes if it is meant so")
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if tag != "!!bool" || err != nil {
			wrong("true or false", "without quotes")
			return
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64)
		if tag != "!!int" || err != nil {
			wrong("a whole number", "without quotes or unit")
			return
		}
		v.SetInt(i)
	default:
		panic("configuration type " + v.Type().String())
	}
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// kindName says what a node is, for messages. Values are not repeated: one may be a secret in the wrong place.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a section"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "empty"
	case "!!timestamp":
		return "a date"
	}
	return "text"
}

// suggestion names the known key that is nearest to name, or all of them.
func suggestion(name string, known []string) string {
	slices.Sort(known)
	best, least := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(name), k); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "there are " + strings.Join(known, ", ")
}

// distance is the Levenshtein distance of two short words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := last
			if a[i] != b[j] {
				next++
			}
			last, row[j+1] = row[j+1], min(next, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
