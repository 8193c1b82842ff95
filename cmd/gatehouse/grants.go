package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"gatehouse/auth/basic"
	"gatehouse/policy/grants"
)

// openGrants opens the store of rights; nil if the configuration has none.
func openGrants(ctx context.Context, c GrantsConfig, log *slog.Logger) (*grants.Store, error) {
	if c == (GrantsConfig{}) {
		return nil, nil
	}
	g := grants.Config{File: c.File, Admin: c.AdminRole, Log: log}
	if c.Postgres != "" {
		secret, err := readSecret(c.Postgres)
		if err != nil {
			return nil, fmt.Errorf("grants.postgres: %w", err)
		}
		g.Postgres = secret
	}
	return grants.New(ctx, g)
}

func (c Config) checkGrants(k *checker) {
	g := c.Grants
	switch {
	case g == (GrantsConfig{}):
		return
	case g.File == "" && g.Postgres == "":
		k.add("grants", "says nowhere where the rights are kept", "set grants.file or grants.postgres")
	case g.File != "" && g.Postgres != "":
		k.add("grants", "file and postgres are two stores", "keep one")
	}
	if g.AdminRole == "" {
		k.add("grants.admin_role", "is missing, so that nobody could ever grant anything", "name a role that the sign-in gives to administrators")
	}
	if strings.ContainsFunc(g.AdminRole, isControl) || len(g.AdminRole) > 63 {
		k.add("grants.admin_role", "is no name for a role", "1 to 63 bytes without control characters")
	}
	switch all := c.issuers(); {
	case g.Issuer == "" && len(all) > 1:
		k.add("grants.issuer", "is missing: two issuers may have users of the same name", "say whose users are named by their name alone: "+strings.Join(all, " or "))
	case g.Issuer != "" && !slices.Contains(all, g.Issuer):
		k.add("grants.issuer", "is nobody who signs users in here", "there are "+strings.Join(all, ", "))
	}
	k.secret("grants.postgres", g.Postgres)
}

// issuers are those who sign users in. The first one is the home issuer, whose users are named by their name alone in rights.
func (c Config) issuers() []string {
	var out []string
	if c.Auth.UsersFile != "" {
		out = append(out, basic.Issuer)
	}
	for _, o := range c.Auth.OIDC {
		out = append(out, o.Issuer)
	}
	if i := slices.Index(out, c.Grants.Issuer); i > 0 {
		out[0], out[i] = out[i], out[0]
	}
	return out
}
