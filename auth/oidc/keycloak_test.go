package oidc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/auth"
)

// keycloak starts testdata/keycloak/start.sh and returns the server's address and the realm's issuer.
func keycloak(t *testing.T) (base, issuer string) {
	t.Helper()
	if os.Getenv("GATEHOUSE_KEYCLOAK") != "1" {
		t.Skip("set GATEHOUSE_KEYCLOAK=1 to run against a real Keycloak; needs Maven and Java 17, the first run takes minutes")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	cmd := exec.CommandContext(ctx, "../../testdata/keycloak/start.sh", port)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if issuer, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			return strings.TrimSuffix(issuer, "/realms/gatehouse"), issuer
		}
	}
	cancel()
	_ = cmd.Wait()
	t.Fatalf("Keycloak did not start:\n%s", log.String())
	return "", ""
}

// kcToken asks a realm's token endpoint.
func kcToken(t *testing.T, issuer string, form url.Values) (access, id string) {
	t.Helper()
	r, err := http.PostForm(issuer+"/protocol/openid-connect/token", form)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
		IDToken     string `json:"id_token"`
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.AccessToken == "" {
		t.Fatalf("%s: no token, %v", r.Status, err)
	}
	return answer.AccessToken, answer.IDToken
}

func TestKeycloak(t *testing.T) {
	base, issuer := keycloak(t)
	cfg := Config{
		Issuer: issuer, Audiences: []string{"gatehouse"}, InsecureLoopback: true, KeysCooldown: time.Millisecond,
		Mapping:       Mapping{Groups: "groups", Roles: "realm_access.roles", Principal: "name", Claims: map[string]string{"department": "department"}},
		PasswordGrant: &PasswordGrant{ClientID: "gatehouse-ropc"},
	}
	i := open(t, cfg)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	if err := i.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown := func(id auth.Identity) string {
		slices.Sort(id.Groups)
		slices.Sort(id.Roles)
		return fmt.Sprintf("%s|%s|%v|%v|%v", id.User, id.Principal, id.Groups, id.Roles, id.Claims)
	}
	const alice = "alice|Alice Example|[emea payroll]|[analyst]|map[department:finance]"
	ropc := func(user string) url.Values {
		return url.Values{"grant_type": {"password"}, "client_id": {"gatehouse-ropc"}, "username": {user}, "password": {user + "-pw"}, "scope": {"openid"}}
	}

	t.Run("login by password", func(t *testing.T) {
		id, err := login(t, i, "alice", "alice-pw")
		if err != nil || shown(id) != alice {
			t.Fatalf("got %s, %v", shown(id), err)
		}
		if left := time.Until(id.ExpiresAt); left < 20*time.Minute {
			t.Errorf("the login can be renewed for %v only", left)
		}
		for _, c := range [][2]string{{"alice", "bob-pw"}, {"alice", ""}, {"nobody", "alice-pw"}} {
			if _, err := login(t, i, c[0], c[1]); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("%s with %q: %v", c[0], c[1], err)
			}
		}
		i.cfg.Now = func() time.Time { return time.Now().Add(4 * time.Minute) }
		i.grants.now = i.cfg.Now
		defer func() { i.cfg.Now, i.grants.now = time.Now, time.Now }()
		next, err := i.Renew(t.Context(), id)
		if err != nil || next.Token.Reveal() == id.Token.Reveal() || shown(next) != alice {
			t.Errorf("renewed: %s, %v", shown(next), err)
		}
	})
	t.Run("a client's token", func(t *testing.T) {
		access, idToken := kcToken(t, issuer, ropc("bob"))
		if got := shown(good(t, i, access)); got != "bob|Bob Example|[emea]|[analyst engineer]|map[department:sales]" {
			t.Errorf("got %s", got)
		}
		refused(t, i, "ID token", idToken)
		narrow := cfg
		narrow.Audiences = []string{"warehouse"}
		refused(t, open(t, narrow), "another audience", access)
		narrow = cfg
		narrow.AuthorizedParties = []string{"gatehouse-cli"}
		refused(t, open(t, narrow), "another client", access)
		refused(t, i, "cut", access[:len(access)-5])
	})
	t.Run("client credentials", func(t *testing.T) {
		access, _ := kcToken(t, issuer, url.Values{"grant_type": {"client_credentials"}, "client_id": {"gatehouse-etl"}, "client_secret": {"etl-secret"}})
		if got := shown(good(t, i, access)); got != "service-account-gatehouse-etl|service-account-gatehouse-etl|[]|[engineer]|map[]" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("another realm of the same server", func(t *testing.T) {
		refused(t, i, "master", kcAdmin(t, base))
	})
	t.Run("rotation", func(t *testing.T) {
		old, _ := kcToken(t, issuer, ropc("alice"))
		good(t, i, old)
		admin := kcAdmin(t, base)
		retired := kcRotate(t, base, admin)
		young, _ := kcToken(t, issuer, ropc("alice"))
		if strings.Split(old, ".")[0] == strings.Split(young, ".")[0] {
			t.Fatal("the key was not rotated")
		}
		good(t, i, young)
		good(t, i, old)
		kcCall(t, http.MethodDelete, base+"/admin/realms/gatehouse/components/"+retired, admin, nil)
		if err := i.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused(t, i, "a token by a retired key", old)
		good(t, i, young)
	})
}

func kcAdmin(t *testing.T, base string) string {
	t.Helper()
	access, _ := kcToken(t, base+"/realms/master", url.Values{"grant_type": {"password"}, "client_id": {"admin-cli"}, "username": {"admin"}, "password": {"admin"}})
	return access
}

// kcRotate adds a signing key with a higher priority and returns the id of the provider of the old one.
func kcRotate(t *testing.T, base, admin string) (retired string) {
	t.Helper()
	components := base + "/admin/realms/gatehouse/components"
	var list []struct{ ID, ProviderID string }
	if err := json.Unmarshal(kcCall(t, http.MethodGet, components+"?type=org.keycloak.keys.KeyProvider", admin, nil), &list); err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.ProviderID == "rsa-generated" {
			retired = c.ID
		}
	}
	var realm struct{ ID string }
	if err := json.Unmarshal(kcCall(t, http.MethodGet, base+"/admin/realms/gatehouse", admin, nil), &realm); err != nil || retired == "" {
		t.Fatalf("no RSA key in the realm, %v", err)
	}
	kcCall(t, http.MethodPost, components, admin, map[string]any{
		"name": "young", "providerId": "rsa-generated", "providerType": "org.keycloak.keys.KeyProvider",
		"parentId": realm.ID, "config": map[string]any{"priority": []string{"200"}},
	})
	return retired
}

func kcCall(t *testing.T, method, address, token string, body any) []byte {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	out, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, address, answer.Status, out, err)
	}
	return out
}
