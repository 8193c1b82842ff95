package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"gatehouse/auth"
	"gatehouse/auth/basic"
)

const userHelp = `Usage:
  gatehouse user add [--file FILE] [--role ROLE]… [--group GROUP]… NAME
  gatehouse user list [--file FILE]

"add" asks for the password twice, or reads it from the environment variable GATEHOUSE_NEW_PASSWORD or, without a terminal, as one
line of standard input, and appends the user with an argon2id hash to the users file. A running server sees the change at once.

Examples:
  gatehouse user add --file warehouse/gatehouse/users.yaml --role analyst carol
  GATEHOUSE_NEW_PASSWORD="$(pass show carol)" gatehouse user add carol

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
	fs.SetOutput(env.stderr)
	file := fs.String("file", "users.yaml", "the users `file`")
	var roles, groups list
	fs.Var(&roles, "role", "`role` of the new user, more than once for several")
	fs.Var(&groups, "group", "`group` of the new user, more than once for several")
	fs.Usage = func() {
		fmt.Fprint(env.stderr, userHelp)
		fs.PrintDefaults()
	}
	if len(args) == 0 {
		fs.Usage()
		return exitUsage
	}
	verb := args[0]
	if verb == "-h" || verb == "--help" || verb == "help" {
		fs.Usage()
		return exitOK
	}
	if err := fs.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	var err error
	switch {
	case verb == "add" && fs.NArg() == 1:
		err = addUser(*file, fs.Arg(0), roles, groups, env)
	case verb == "list" && fs.NArg() == 0:
		err = listUsers(*file, env.stdout)
	default:
		fs.Usage()
		return exitUsage
	}
	if err != nil {
		fmt.Fprintln(env.stderr, "gatehouse user:", err)
		return exitFailure
	}
	return exitOK
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

func addUser(file, name string, roles, groups []string, env environment) error {
	normal, ok := auth.NormalizeUser(name)
	if !ok {
		return fmt.Errorf("%q cannot be a user name: it is empty, too long or holds a control character", name)
	}
	doc, old, err := readUsers(file)
	if err != nil {
		return err
	}
	for _, u := range doc.Users {
		if n, ok := auth.NormalizeUser(u.Name); ok && n == normal {
			return fmt.Errorf("%s has a user %q already", file, name)
		}
	}
	password, err := newPassword(env)
	if err != nil {
		return err
	}
	hash, err := basic.Hash(password)
	if err != nil {
		return err
	}
	b, err := withUser(old, userEntry{Name: normal, Password: hash, Roles: roles, Groups: groups})
	if err != nil {
		return err
	}
	if err := replaceFile(file, b, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "Added %s to %s.\n", normal, file)
	return nil
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

func listUsers(file string, w io.Writer) error {
	doc, b, err := readUsers(file)
	if err != nil {
		return err
	}
	if b == nil {
		return fmt.Errorf("there is no file %s", file)
	}
	for _, u := range doc.Users {
		fmt.Fprintf(w, "%s\troles: %s\tgroups: %s\n", u.Name, strings.Join(u.Roles, ", "), strings.Join(u.Groups, ", "))
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
