package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"gatehouse/auth"
	"gatehouse/auth/basic"
)

const userHelp = `Usage:
  gatehouse user add [--file FILE] [--role ROLE]… [--group GROUP]… [--attribute NAME=VALUE]… NAME
  gatehouse user password [--file FILE] NAME
  gatehouse user remove [--file FILE] NAME
  gatehouse user list [--file FILE]

"add" and "password" ask for the password twice, or read it from the environment variable GATEHOUSE_NEW_PASSWORD or, without a
terminal, as one line of standard input; the users file has its argon2id hash. A running server sees the change at once: a user
who was removed is out with his next call.

Examples:
  gatehouse user add --file warehouse/gatehouse/users.yaml --role analyst --attribute region=EU carol
  GATEHOUSE_NEW_PASSWORD="$(pass show carol)" gatehouse user password carol

Options:
`

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set implements flag.Value.
func (l *list) Set(v string) error {
	*l = append(*l, v)
	return nil
}

// runUser is "gatehouse user".
func runUser(_ context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("user", flag.ContinueOnError)
	file := fs.String("file", "users.yaml", "the users `file`")
	var u newUser
	fs.Var(&u.roles, "role", "`role` of the new user, more than once for several")
	fs.Var(&u.groups, "group", "`group` of the new user, more than once for several")
	fs.Var(&u.attributes, "attribute", "what policies see as a claim, as `name=value`, where the value is JSON or else text; more than once for several")
	verb, rest, code, done := parseVerb(fs, userHelp, args, env)
	if done {
		return code
	}
	names := map[string]int{"add": 1, "password": 1, "remove": 1, "list": 0}
	switch n, ok := names[verb]; {
	case !ok:
		return wrongUsage("user", fmt.Sprintf("there is no command %q", verb), env)
	case len(rest) != n:
		return wrongUsage("user", verb+map[int]string{0: " takes no name", 1: " takes one name"}[n], env)
	}
	var err error
	switch verb {
	case "add":
		u.name = rest[0]
		err = addUser(*file, u, env)
	case "password":
		err = changePassword(*file, rest[0], env)
	case "remove":
		err = removeUser(*file, rest[0], env)
	case "list":
		err = listUsers(*file, env.stdout)
	}
	var usage *usageError
	switch {
	case errors.As(err, &usage):
		return wrongUsage("user", err.Error(), env)
	case err != nil:
		fmt.Fprintln(env.stderr, "gatehouse user:", err)
		return exitFailure
	}
	return exitOK
}

// newUser is who is to be added.
type newUser struct {
	name                      string
	roles, groups, attributes list
}

// entry is the user as the file has it.
func (u newUser) entry(name string, password string) (userEntry, error) {
	e := userEntry{Name: name, Password: password, Roles: u.roles, Groups: u.groups}
	for _, a := range u.attributes {
		key, text, ok := strings.Cut(a, "=")
		if !ok || key == "" {
			return e, &usageError{fmt.Sprintf("--attribute %q is not name=value", a)}
		}
		if e.Attributes == nil {
			e.Attributes = map[string]any{}
		}
		e.Attributes[key] = text
		if json.Valid([]byte(text)) {
			var value yaml.Node // JSON is YAML, and a node keeps all digits of a number
			if err := yaml.Unmarshal([]byte(text), &value); err != nil {
				return e, err
			}
			e.Attributes[key] = value.Content[0]
		}
	}
	return e, nil
}

// userEntry is one user as the file has it; the server checks the file by rules of its own.
type userEntry struct {
	Name       string         `yaml:"name"`
	Password   string         `yaml:"password"`
	Roles      []string       `yaml:"roles,omitempty,flow"`
	Groups     []string       `yaml:"groups,omitempty,flow"`
	Attributes map[string]any `yaml:"attributes,omitempty"`
}

type usersFile struct {
	Users []userEntry `yaml:"users"`
}

func readUsers(file string) (usersFile, []byte, error) {
	var doc usersFile
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return doc, nil, nil
	}
	if err != nil {
		return doc, nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return doc, nil, fmt.Errorf("%s is not a users file; nothing was changed", file)
	}
	return doc, b, nil
}

func addUser(file string, u newUser, env environment) error {
	name := u.name
	normal, ok := auth.NormalizeUser(name)
	if !ok {
		return fmt.Errorf("%q cannot be a user name: it is empty, too long or holds a control character", name)
	}
	if _, err := u.entry(normal, ""); err != nil { // before somebody types a password
		return err
	}
	doc, old, err := readUsers(file)
	if err != nil {
		return err
	}
	for _, other := range doc.Users {
		if n, ok := auth.NormalizeUser(other.Name); ok && n == normal {
			return fmt.Errorf("%s has a user %q already", file, name)
		}
	}
	hash, err := newHash(env)
	if err != nil {
		return err
	}
	entry, err := u.entry(normal, hash)
	if err != nil {
		return err
	}
	b, err := withUser(old, entry)
	if err != nil {
		return err
	}
	if err := replaceFile(file, b, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "Added %s to %s.\n", normal, file)
	return nil
}

// newHash asks for a password and returns what the file has of it.
func newHash(env environment) (string, error) {
	password, err := newPassword(env)
	if err != nil {
		return "", err
	}
	return basic.Hash(password)
}

// withUser adds u to the text of a users file and leaves everything else, comments too, as it is.
func withUser(old []byte, u userEntry) ([]byte, error) {
	var entry, doc yaml.Node
	if err := entry.Encode(u); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(old, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		for i := 1; i < len(doc.Content[0].Content); i += 2 {
			if users := doc.Content[0].Content[i]; doc.Content[0].Content[i-1].Value == "users" {
				if users.Kind != yaml.SequenceNode { // null
					*users = yaml.Node{Kind: yaml.SequenceNode}
				}
				users.Content, users.Style = append(users.Content, &entry), 0
				return yaml.Marshal(&doc)
			}
		}
	}
	added, err := yaml.Marshal(usersFile{Users: []userEntry{u}}) // no user so far
	return append(slices.Clip(old), added...), err
}

// changePassword gives a user of the file another password.
func changePassword(file, name string, env environment) error {
	if _, err := editUser(file, name, func(*yaml.Node, int) error { return nil }); err != nil { // before somebody types a password
		return err
	}
	hash, err := newHash(env)
	if err != nil {
		return err
	}
	b, err := editUser(file, name, func(users *yaml.Node, i int) error { return setKey(users.Content[i], "password", hash) })
	if err != nil {
		return err
	}
	if err := replaceFile(file, b, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "Changed the password of %s in %s.\n", name, file)
	return nil
}

// removeUser takes a user out of the file.
func removeUser(file, name string, env environment) error {
	b, err := editUser(file, name, func(users *yaml.Node, i int) error {
		users.Content = slices.Delete(users.Content, i, i+1)
		return nil
	})
	if err != nil {
		return err
	}
	if err := replaceFile(file, b, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "Removed %s from %s.\n", name, file)
	return nil
}

// editUser returns the text of a users file after edit, which gets the list of users and the place of the named one. Everything else,
// comments too, stays as it is.
func editUser(file, name string, edit func(users *yaml.Node, i int) error) ([]byte, error) {
	normal, _ := auth.NormalizeUser(name)
	parsed, old, err := readUsers(file)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, fmt.Errorf("there is no file %s", file)
	}
	i := slices.IndexFunc(parsed.Users, func(u userEntry) bool { n, ok := auth.NormalizeUser(u.Name); return ok && n == normal })
	if i < 0 {
		return nil, fmt.Errorf("%s has no user %q", file, name)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(old, &doc); err != nil {
		return nil, err
	}
	for k := 1; k < len(doc.Content[0].Content); k += 2 {
		users := doc.Content[0].Content[k]
		if doc.Content[0].Content[k-1].Value == "users" && users.Kind == yaml.SequenceNode && i < len(users.Content) {
			if err := edit(users, i); err != nil {
				return nil, err
			}
			return yaml.Marshal(&doc)
		}
	}
	return nil, fmt.Errorf("%s has no plain list of users; nothing was changed", file)
}

// setKey sets a key of a mapping to a text.
func setKey(m *yaml.Node, key, value string) error {
	if m.Kind != yaml.MappingNode {
		return errors.New("the user's entry is an alias; nothing was changed")
	}
	for k := 1; k < len(m.Content); k += 2 {
		if m.Content[k-1].Value == key {
			return m.Content[k].Encode(value)
		}
	}
	return errors.New("the user's entry has no " + key + "; nothing was changed")
}

func listUsers(file string, w io.Writer) error {
	doc, b, err := readUsers(file)
	if err != nil {
		return err
	}
	if b == nil {
		return fmt.Errorf("there is no file %s", file)
	}
	for _, u := range doc.Users {
		fmt.Fprintf(w, "%s\troles: %s\tgroups: %s", u.Name, strings.Join(u.Roles, ", "), strings.Join(u.Groups, ", "))
		for i, name := range slices.Sorted(maps.Keys(u.Attributes)) {
			fmt.Fprintf(w, "%s%s=%v", map[bool]string{true: "\tattributes: ", false: ", "}[i == 0], name, u.Attributes[name])
		}
		fmt.Fprintln(w)
	}
	return nil
}

// newPassword reads the new password: never from the command line, where other users of the machine could see it.
func newPassword(env environment) (auth.Secret, error) {
	if v := env.getenv("GATEHOUSE_NEW_PASSWORD"); v != "" {
		return auth.NewSecret(v), nil
	}
	first, err := promptPassword(env, "New password: ")
	if err != nil {
		return auth.Secret{}, err
	}
	if !isTerminal(env.stdin) {
		return first, nil
	}
	second, err := promptPassword(env, "Again: ")
	if err != nil {
		return auth.Secret{}, err
	}
	if first.Reveal() != second.Reveal() {
		return auth.Secret{}, errors.New("the two passwords differ")
	}
	return first, nil
}
