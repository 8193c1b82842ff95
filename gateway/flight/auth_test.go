package flight

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// handshake signs in with the given headers, and returns the token by each of the three ways that it comes back.
func (c *client) handshake(payloads int, headers ...string) (header, trailer, payload string, err error) {
	ctx := metadata.AppendToOutgoingContext(c.ctx, headers...)
	s, err := c.raw.Handshake(ctx)
	if err != nil {
		return "", "", "", err
	}
	for range payloads {
		_ = s.Send(&flight.HandshakeRequest{})
	}
	_ = s.CloseSend()
	for err == nil {
		var r *flight.HandshakeResponse
		if r, err = s.Recv(); err == nil {
			payload = string(r.Payload)
		}
	}
	if err == io.EOF {
		err = nil
	}
	h, _ := s.Header()
	return strings.Join(h.Get("authorization"), ","), strings.Join(s.Trailer().Get("authorization"), ","), payload, err
}

func basicHeader(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestHandshake(t *testing.T) {
	r := newRig(t)
	for name, tt := range map[string]struct {
		payloads int
		headers  []string
		want     codes.Code
	}{
		"padded":                  {0, []string{"authorization", basicHeader("alice", "alice")}, codes.OK},
		"unpadded":                {0, []string{"authorization", strings.TrimRight(basicHeader("alice", "alice"), "=")}, codes.OK},
		"lower-case scheme":       {0, []string{"authorization", strings.Replace(basicHeader("alice", "alice"), "Basic", "basic", 1)}, codes.OK},
		"colons in the password":  {0, []string{"authorization", "Basic " + base64.RawURLEncoding.EncodeToString([]byte("k:e:y"))}, codes.OK},
		"an empty payload":        {1, []string{"authorization", basicHeader("alice", "alice")}, codes.OK},
		"bearer":                  {1, []string{"authorization", "Bearer jwt.alice"}, codes.OK},
		"bearer beside a proxy's": {0, []string{"authorization", basicHeader("proxy", "x"), "authorization", "Bearer jwt.alice"}, codes.OK},
		"too many payloads":       {maxHandshake + 1, []string{"authorization", basicHeader("alice", "alice")}, codes.InvalidArgument},
		"wrong password":          {0, []string{"authorization", basicHeader("alice", "bob")}, codes.Unauthenticated},
		"unknown user":            {0, []string{"authorization", basicHeader("mallory", "mallory")}, codes.Unauthenticated},
		"unknown token":           {0, []string{"authorization", "Bearer jwt.mallory"}, codes.Unauthenticated},
		"forged session token":    {0, []string{"authorization", "Bearer ghs_AAAA"}, codes.Unauthenticated},
		"no header":               {1, nil, codes.Unauthenticated},
		"another scheme":          {0, []string{"authorization", "Negotiate abc"}, codes.Unauthenticated},
		"too often":               {0, []string{"authorization", basicHeader("busy", "busy")}, codes.ResourceExhausted},
		"a broken directory":      {0, []string{"authorization", basicHeader("broken", "broken")}, codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			header, trailer, payload, err := r.dial().handshake(tt.payloads, tt.headers...)
			wantCode(t, err, tt.want)
			if strings.Contains(status.Convert(err).Message(), "ldap") {
				t.Errorf("text from below: %v", err)
			}
			if tt.want != codes.OK {
				if header+trailer+payload != "" {
					if name != "too many payloads" {
						t.Error("a token came with a refusal")
					}
				}
				return
			}
			if header != trailer || header != "Bearer "+payload || payload == "" {
				t.Errorf("header %q, trailer %q, payload %q", header, trailer, payload)
			}
			got, err := r.dial().with("authorization", header).query("SELECT 'one'")
			if err != nil || len(got) != 2 {
				t.Errorf("the token is no good: %v, %v", got, err)
			}
		})
	}
}

// One wrong password and one unknown user must not be told apart.
func TestRefusalsAreTheSame(t *testing.T) {
	r := newRig(t)
	_, _, _, a := r.dial().handshake(0, "authorization", basicHeader("alice", "bob"))
	_, _, _, b := r.dial().handshake(0, "authorization", basicHeader("mallory", "mallory"))
	if a == nil || a.Error() != b.Error() {
		t.Errorf("%v and %v", a, b)
	}
}

// Clients that send their credential with each call, without a handshake, have one session for all of them.
func TestCredentialPerCall(t *testing.T) {
	r := newRig(t)
	for _, header := range []string{basicHeader("alice", "alice"), "Bearer jwt.alice"} {
		c := r.dial().with("authorization", header)
		info, err := c.Execute(c.ctx, "SELECT 'one'")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.read(info.Endpoint[0].Ticket); err != nil || len(got) != 2 {
			t.Errorf("%s: %v, %v", header[:6], got, err)
		}
		other := r.dial().with("authorization", basicHeader("admin", "admin"))
		info, err = c.Execute(c.ctx, "SELECT 'one'")
		if err != nil {
			t.Fatal(err)
		}
		_, err = other.read(info.Endpoint[0].Ticket)
		wantCode(t, err, codes.NotFound)
	}
	_, err := r.dial().with("authorization", basicHeader("alice", "wrong")).query("SELECT 'one'")
	wantCode(t, err, codes.Unauthenticated)
	_, err = r.dial().query("SELECT 'one'")
	wantCode(t, err, codes.Unauthenticated)
}

// A verified token of an issuer is not verified anew for each call, but only as long as it lasts.
func TestBearerIsRemembered(t *testing.T) {
	r := newRig(t)
	c := r.dial().with("authorization", "Bearer jwt.alice")
	for range 5 {
		if _, err := c.query("SELECT 'one'"); err != nil {
			t.Fatal(err)
		}
	}
	if r.users.asked != 1 {
		t.Errorf("the issuer was asked %d times", r.users.asked)
	}
}

func TestSessionCookie(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	ctx := metadata.AppendToOutgoingContext(c.ctx, "authorization", basicHeader("alice", "alice"))
	s, err := c.raw.Handshake(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.CloseSend()
	for err == nil {
		_, err = s.Recv()
	}
	h, _ := s.Header()
	cookie, _, _ := strings.Cut(h.Get("set-cookie")[0], ";")
	token := h.Get("authorization")[0]
	try := func(authorization string, cookies ...string) error {
		c := r.dial().with("authorization", authorization)
		for _, k := range cookies {
			c = c.with("cookie", k)
		}
		_, err := c.query("SELECT 'one'")
		return err
	}
	wantCode(t, try(token, cookie), codes.OK)
	wantCode(t, try(token), codes.OK)
	wantCode(t, try(token, "other=1; "+cookie), codes.OK)
	wantCode(t, try(basicHeader("alice", "alice"), cookie), codes.OK)
	wantCode(t, try("Bearer jwt.alice", cookie), codes.OK)
	wantCode(t, try(token, cookieName+"=unknown"), codes.Unauthenticated)
	wantCode(t, try(token, cookie, cookieName+"=unknown"), codes.Unauthenticated)
	wantCode(t, try(basicHeader("alice", "alice"), cookieName+"=unknown"), codes.Unauthenticated)
	wantCode(t, try(basicHeader("admin", "admin"), cookie), codes.Unauthenticated)
	wantCode(t, try("Bearer jwt.admin", cookie), codes.Unauthenticated)
}

// A client that brings both its issuer's token and the cookie of its handshake is in the handshake's session.
func TestCookieSelectsSession(t *testing.T) {
	r := newRig(t)
	c := r.login("alice")
	if _, err := c.SetSessionOptions(c.ctx, options(t, "purpose", "audit")); err != nil {
		t.Fatal(err)
	}
	var id string
	r.server.logins.mu.Lock()
	for k := range r.server.logins.ids {
		id = k
	}
	r.server.logins.mu.Unlock()
	got := r.dial().with("authorization", "Bearer jwt.alice").with("cookie", cookieName+"="+id).option("purpose")
	if got != "audit" {
		t.Errorf("purpose is %q in the cookie's session", got)
	}
	if got := r.dial().with("authorization", "Bearer jwt.alice").option("purpose"); got != "" {
		t.Errorf("purpose is %q in another session", got)
	}
}

func TestSessionsEnd(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Sessions.Idle = time.Hour; c.Sessions.Absolute = 3 * time.Hour })
	ok := func(c *client) error { _, err := c.query("SELECT 'one'"); return err }

	idle := r.login("alice")
	r.clock.advance(59 * time.Minute)
	wantCode(t, ok(idle), codes.OK)
	r.clock.advance(61 * time.Minute)
	wantCode(t, ok(idle), codes.Unauthenticated)

	busy := r.login("alice")
	for range 4 {
		r.clock.advance(40 * time.Minute)
		wantCode(t, ok(busy), codes.OK)
	}
	r.clock.advance(30 * time.Minute)
	wantCode(t, ok(busy), codes.Unauthenticated)

	// A call that is refused for its cookie does not keep the session busy for ever.
	stray := r.login("alice")
	wantCode(t, ok(stray.with("cookie", cookieName+"=another")), codes.Unauthenticated)
	r.clock.advance(61 * time.Minute)
	wantCode(t, ok(stray), codes.Unauthenticated)

	gone := r.login("alice")
	wantCode(t, ok(gone), codes.OK)
	r.users.mu.Lock()
	r.users.gone["alice"] = true
	r.users.mu.Unlock()
	r.clock.advance(2 * time.Minute)
	wantCode(t, ok(gone), codes.Unauthenticated)
}

// A session whose principal has other roles by now is over; one whose principal is the same goes on.
func TestRolesChange(t *testing.T) {
	r := newRig(t)
	c := r.login("alice")
	r.clock.advance(2 * time.Minute)
	_, err := c.query("SELECT 'one'")
	wantCode(t, err, codes.OK)
	r.users.mu.Lock()
	r.users.roles["alice"] = []string{"analyst"}
	r.users.mu.Unlock()
	r.clock.advance(2 * time.Minute)
	_, err = c.query("SELECT 'one'")
	wantCode(t, err, codes.Unauthenticated)
	_, err = r.login("alice").query("SELECT 'one'")
	wantCode(t, err, codes.OK)
}

func TestCloseSession(t *testing.T) {
	r := newRig(t)
	c, other := r.login("alice"), r.login("alice")
	info, err := c.Execute(c.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseSession(c.ctx, &flight.CloseSessionRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err = c.read(info.Endpoint[0].Ticket)
	wantCode(t, err, codes.Unauthenticated)
	_, err = other.query("SELECT 'one'")
	wantCode(t, err, codes.OK)
}

func TestRefuseToStart(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a server without gateway and authenticator")
	}
	r := newRig(t)
	for name, c := range map[string]TLS{
		"client certificates without a certificate": {ClientCAFile: "ca.pem"},
		"no authority":   {CertFile: "a.pem", KeyFile: "a.key", RequireClientCert: true},
		"missing file":   {CertFile: "no/such/file", KeyFile: "no/such/file"},
		"key is missing": {CertFile: "no/such/file"},
	} {
		if _, err := New(Config{Gateway: r.gateway, Auth: r.users, TLS: c}); err == nil {
			t.Errorf("started with %s", name)
		}
	}
}

// Drivers send long statements and long headers; what is too long is refused before it is read.
func TestSizes(t *testing.T) {
	r := newRig(t)
	c := r.login("alice")
	wide := c.with("x-property", strings.Repeat("x", 100<<10))
	if got, err := wide.query("SELECT 'one'"); err != nil || len(got) != 2 {
		t.Errorf("a header of 100 KiB: %v, %v", got, err)
	}
	// The transport takes it; it is the gateway that says how long a statement may be.
	_, err := c.Execute(c.ctx, "SELECT 'one' -- "+strings.Repeat("x", 5<<20))
	if !strings.Contains(status.Convert(err).Message(), "a statement longer than 1 MiB") {
		t.Errorf("a statement of 5 MiB does not get through: %v", err)
	}
	_, err = c.Execute(c.ctx, strings.Repeat("x", 65<<20))
	wantCode(t, err, codes.ResourceExhausted)
}

// More sessions than there may be is a limit, too, of one user and of all.
func TestSessionLimitCode(t *testing.T) {
	for name, c := range map[string]struct {
		limits SessionLimits
		users  []string
	}{
		"of one user": {SessionLimits{PerUser: 2}, []string{"alice", "alice", "alice"}},
		"of all":      {SessionLimits{Total: 2}, []string{"alice", "admin", "eve"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(cfg *Config) { cfg.Sessions = c.limits })
			for i, user := range c.users {
				d := r.dial()
				_, err := d.Client.Client.AuthenticateBasicToken(d.ctx, user, user)
				if i < 2 && err != nil {
					t.Fatalf("session %d: %v", i, err)
				}
				if i == 2 {
					wantCode(t, err, codes.ResourceExhausted)
				}
			}
		})
	}
}
