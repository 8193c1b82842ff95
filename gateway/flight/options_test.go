package flight

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
)

func options(t *testing.T, pairs ...any) *flight.SetSessionOptionsRequest {
	t.Helper()
	out := &flight.SetSessionOptionsRequest{SessionOptions: map[string]*flight.SessionOptionValue{}}
	for i := 0; i < len(pairs); i += 2 {
		v, err := flight.NewSessionOptionValue(pairs[i+1])
		if err != nil {
			t.Fatal(err)
		}
		out.SessionOptions[pairs[i].(string)] = &v
	}
	return out
}

func (c *client) option(name string) string {
	c.t.Helper()
	got, err := c.GetSessionOptions(c.ctx, &flight.GetSessionOptionsRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	return got.SessionOptions[name].GetStringValue()
}

func TestSessionOptions(t *testing.T) {
	r := newRig(t)
	for name, tt := range map[string]struct {
		option string
		value  any
		want   pb.SetSessionOptionsResult_ErrorValue
		then   string
	}{
		"catalog":         {"catalog", "lake", 0, "lake"},
		"schema":          {"schema", "shop", 0, "shop"},
		"setting":         {"purpose", "audit", 0, "audit"},
		"number":          {"statement_timeout", int64(5000), 0, "5000"},
		"no such setting": {"memory_limit", "1TB", flight.SetSessionOptionsResultErrorInvalidName, ""},
		"wrong value":     {"statement_timeout", "soon", flight.SetSessionOptionsResultErrorInvalidValue, "0"},
		"a list":          {"purpose", []string{"a"}, flight.SetSessionOptionsResultErrorInvalidValue, ""},
		"no such catalog": {"catalog", "attic", flight.SetSessionOptionsResultErrorInvalidValue, "lake"},
		"reset":           {"purpose", nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.login("alice")
			got, err := c.SetSessionOptions(c.ctx, options(t, tt.option, tt.value))
			if err != nil {
				t.Fatal(err)
			}
			if got := got.Errors[tt.option].GetValue(); got != tt.want {
				t.Errorf("error %s, want %s", got, tt.want)
			}
			if got := c.option(tt.option); got != tt.then {
				t.Errorf("then it is %q, want %q", got, tt.then)
			}
		})
	}
}

// One option that cannot be set does not keep the others from being set.
func TestSessionOptionsEachForItself(t *testing.T) {
	c := newRig(t).login("alice")
	got, err := c.SetSessionOptions(c.ctx, options(t, "purpose", "audit", "nonsense", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Errors) != 1 || got.Errors["nonsense"] == nil || c.option("purpose") != "audit" {
		t.Errorf("errors %v, purpose %q", got.Errors, c.option("purpose"))
	}
}
