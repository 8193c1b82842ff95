package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/user"

	"gatehouse/policy"
	"gatehouse/policy/grants"
)

const grantsHelp = `Usage:
  gatehouse grants export [options]         print all rights as YAML
  gatehouse grants plan [options] FILE      print what would change if the rights were those of FILE
  gatehouse grants apply [options] FILE     make the rights those of FILE, all at once

Running gateways that use the same store follow within a second.

Exit codes: 0 all is well, 1 a fault, 2 wrong usage.

Examples:
  gatehouse grants export --config gatehouse.yaml > grants.yaml
  gatehouse grants plan --store .gatehouse/grants.db grants.yaml
  gatehouse grants apply --config gatehouse.yaml grants.yaml

Options:
`

// runGrants is "gatehouse grants".
func runGrants(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("grants", flag.ContinueOnError)
	config := fs.String("config", "", "configuration `file` that names the store")
	store := fs.String("store", "", "the store's SQLite `file`, instead of --config")
	admin := fs.String("admin-role", "admin", "with --store: the administrators' `role`")
	verb, rest, code, done := parseVerb(fs, grantsHelp, args, env)
	if done {
		return code
	}
	files := map[string]int{"export": 0, "plan": 1, "apply": 1}
	switch n, ok := files[verb]; {
	case !ok:
		return wrongUsage("grants", fmt.Sprintf("there is no command %q", verb), env)
	case len(rest) != n:
		return wrongUsage("grants", verb+map[int]string{0: " takes no file", 1: " takes one file"}[n], env)
	case (*config == "") == (*store == ""):
		return wrongUsage("grants", "say where the rights are: --config FILE or --store FILE", env)
	}
	rest = append(rest, "") // export has no file
	c := GrantsConfig{File: *store, AdminRole: *admin}
	if *config != "" {
		cfg, err := LoadConfig(*config)
		if err != nil {
			fmt.Fprintln(env.stderr, "gatehouse grants:", err)
			return exitUsage
		}
		if c = cfg.Grants; c == (GrantsConfig{}) {
			fmt.Fprintf(env.stderr, "gatehouse grants: %s has no section grants\n", *config)
			return exitUsage
		}
	}
	if err := manageGrants(ctx, verb, rest[0], c, env); err != nil {
		fmt.Fprintln(env.stderr, "gatehouse grants:", err)
		return exitFailure
	}
	return exitOK
}

func manageGrants(ctx context.Context, verb, file string, c GrantsConfig, env environment) error {
	if c.File != "" {
		if _, err := os.Stat(c.File); err != nil { // a wrong path must not look like an empty store
			return fmt.Errorf("%s: %w", c.File, plain(err))
		}
	}
	s, err := openGrants(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	now, err := s.Current()
	if err != nil {
		return err
	}
	if verb == "export" {
		f, err := grants.Export(now)
		if err != nil {
			return err
		}
		return f.Write(env.stdout)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := grants.ReadFile(b)
	if err != nil {
		return err
	}
	changes, err := grants.Plan(now, f)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Fprintln(env.stdout, changeLine(c))
	}
	if verb == "apply" {
		now, err = s.Apply(ctx, now, operator(), changes)
		if errors.Is(err, policy.ErrRightsChanged) {
			return errors.New("somebody changed the rights in this moment; nothing was applied, try again")
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(env.stdout, "%d changes; the store is at version %d\n", len(changes), now.Version())
	return nil
}

// operator is who runs this program, for the history.
func operator() policy.Author {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return policy.Author{User: name, Issuer: "gatehouse:grants", Subject: name}
}

// changeLine is one line of a plan: + gives, - takes away.
func changeLine(c policy.Change) string {
	sign := "+"
	switch c.Op {
	case policy.OpDropRole, policy.OpRemoveMember, policy.OpRevoke, policy.OpUndeny, policy.OpDropFilter, policy.OpDropMask, policy.OpUnsetTag:
		sign = "-"
	}
	switch c.Op {
	case policy.OpCreateRole, policy.OpDropRole:
		return fmt.Sprintf("%s %s %q", sign, c.Op, c.Role)
	case policy.OpAddMember, policy.OpRemoveMember:
		return fmt.Sprintf("%s %s %q of role %q%s", sign, c.Op, c.Principal, c.Role, optionText(c))
	}
	if c.Tag != nil {
		return fmt.Sprintf("%s %s %s on %q%s", sign, c.Op, c.Tag, c.Object.String(), columnsText(c))
	}
	if r := c.Rule; r != nil {
		line := fmt.Sprintf("%s %s %q on", sign, c.Op, r.Name)
		if r.Tag != nil {
			line += " tag " + r.Tag.String()
		} else {
			line += fmt.Sprintf(" %q", c.Object.String())
		}
		if r.Expression != "" && sign == "+" {
			line += fmt.Sprintf(" using (%s) to %q except %q", r.Expression, r.To, r.Except)
		}
		return line
	}
	line := fmt.Sprintf("%s %s %s on %s %q to %q", sign, c.Op, c.Privilege, c.Object.Level, c.Object.String(), c.Principal)
	return line + columnsText(c) + optionText(c)
}

func columnsText(c policy.Change) string {
	if len(c.Columns) == 0 {
		return ""
	}
	return fmt.Sprintf(" columns %q", c.Columns)
}

func optionText(c policy.Change) string {
	if c.Option {
		return " with the option to pass it on"
	}
	return ""
}
