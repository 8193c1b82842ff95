package s3_test

import (
	"testing"
	"time"

	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/objects/s3"
)

func open(t testing.TB, c s3.Config) *s3.Store {
	t.Helper()
	s, err := s3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	server := objectstest.Start(t)
	wrong := server.Reader
	wrong.Secret += "x"
	objectstest.Run(t, objectstest.Subject{
		Open: func(t *testing.T, off time.Duration) objects.Store {
			c := server.Config(server.Reader, "reader")
			c.Now = func() time.Time { return time.Now().Add(off) }
			return open(t, c)
		},
		Refused: server.Store(t, server.Stranger), Wrong: server.Store(t, wrong),
		Put: server.Put, Remove: server.Remove,
	})
}
