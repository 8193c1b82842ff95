package auth

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func TestParseBasic(t *testing.T) {
	const user, password = "alice", "p:w ü>?~\xff"
	all := map[string]string{
		"padded":       "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)),
		"unpadded":     "Basic " + base64.RawStdEncoding.EncodeToString([]byte(user+":"+password)),
		"url":          "Basic " + base64.URLEncoding.EncodeToString([]byte(user+":"+password)),
		"url unpadded": "Basic " + base64.RawURLEncoding.EncodeToString([]byte(user+":"+password)),
	}
	all["lower case"] = strings.Replace(all["padded"], "Basic", "basic", 1)
	all["spaces"] = strings.Replace(all["padded"], " ", "  ", 1) + " "
	if strings.ContainsAny(all["padded"], "+/") == strings.ContainsAny(all["url"], "+/") {
		t.Fatal("the example does not tell the alphabets apart")
	}
	for name, h := range all {
		c, err := ParseBasic(h)
		if err != nil || c.User != user || c.Password.Reveal() != password {
			t.Errorf("%s: %q %q %v", name, c.User, c.Password.Reveal(), err)
		}
	}
	for _, bad := range []string{
		"Basic", "Basic ", "Basic !", "Basic YWxpY2U=", "Basic OnB3", "Basic YWxp\nY2U6cHc=", "Basic YWxp\nY2U6cHc", "Basic YWxpY2U6cHc\r", "Basic YWxpY2U6cHc==",
		"Basic YWxpY2U6cHc===", "Basic =", "Basic a+_=", "Basic " + strings.Repeat("YWxp", 4<<10) + "OnB3",
	} {
		if _, err := ParseBasic(bad); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, other := range []string{"", "Bearer x", "Basi YWxpY2U6cHc=", "BasicYWxpY2U6cHc=", "Negotiate YWxpY2U6cHc="} {
		if _, err := ParseBasic(other); !errors.Is(err, ErrNotApplicable) {
			t.Errorf("%q: %v", other, err)
		}
	}
}

func TestParseBearer(t *testing.T) {
	for _, h := range []string{"Bearer a.b-c_d~e+f/g==", "bearer a.b-c_d~e+f/g==", "BEARER  a.b-c_d~e+f/g=="} {
		if s, err := ParseBearer(h); err != nil || s.Reveal() != "a.b-c_d~e+f/g==" {
			t.Errorf("%q: %q %v", h, s.Reveal(), err)
		}
	}
	for _, bad := range []string{"Bearer", "Bearer ", "Bearer =", "Bearer a b", "Bearer a,b", "Bearer a\nb", "Bearer a=b", "Bearer é", "Bearer " + strings.Repeat("a", 65<<10)} {
		if _, err := ParseBearer(bad); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseBearer("Basic YTpi"); !errors.Is(err, ErrNotApplicable) {
		t.Error(err)
	}
}

func TestParseAuthorization(t *testing.T) {
	for _, c := range []struct {
		headers string
		want    string
	}{
		{"", "none"},
		{"Negotiate abc", "none"},
		{"Basic YTpi", "a:b"},
		{"Bearer t", "t"},
		{"Basic YTpi|Bearer t", "t"},
		{"Bearer t|Basic YTpi", "t"},
		{"Negotiate abc|Basic YTpi", "a:b"},
		{"Bearer t|Bearer t", "t"},
		{"Bearer t|Bearer u", "refused"},
		{"Basic YTpi|Basic YTpj", "refused"},
		{"Basic !|Bearer t", "refused"},
		{"Bearer t|Bearer", "refused"},
	} {
		var headers []string
		if c.headers != "" {
			headers = strings.Split(c.headers, "|")
		}
		cred, err := ParseAuthorization(headers)
		got := cred.Bearer.Reveal()
		switch {
		case errors.Is(err, ErrNotApplicable):
			got = "none"
		case errors.Is(err, ErrUnauthenticated):
			got = "refused"
		case cred.Bearer.IsZero():
			got = cred.User + ":" + cred.Password.Reveal()
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.headers, got, c.want)
		}
	}
}

func FuzzParseAuthorization(f *testing.F) {
	f.Add("Basic YWxpY2U6cHc=")
	f.Add("basic YWxpY2U6cHc")
	f.Add("Bearer a.b.c")
	f.Fuzz(func(t *testing.T, h string) {
		c, err := ParseAuthorization([]string{h})
		if err != nil {
			if !c.Bearer.IsZero() || !c.Password.IsZero() || c.User != "" {
				t.Errorf("%q: a refusal with a credential", h)
			}
			return
		}
		if c.Bearer.IsZero() == c.Password.IsZero() {
			t.Errorf("%q: not exactly one credential", h)
		}
		if !c.Password.IsZero() {
			again, err := ParseBasic("Basic " + base64.StdEncoding.EncodeToString([]byte(c.User+":"+c.Password.Reveal())))
			if err != nil || again.User != c.User || again.Password.Reveal() != c.Password.Reveal() {
				t.Errorf("%q does not read back", h)
			}
		}
	})
}
