package ballista

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/objects/objectstest"
	"gatehouse/objects/s3"
)

// storeAuthority writes the certificate of a new authority to a file, and returns one that it has signed for 127.0.0.1.
func storeAuthority(t *testing.T) (file string, server tls.Certificate) {
	t.Helper()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	made := func(c, parent *x509.Certificate, public, signer *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, parent, public.Public(), signer)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stores"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: root.NotBefore, NotAfter: root.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	authority, own := key(), key()
	der := made(root, root, authority, authority)
	file = filepath.Join(t.TempDir(), "stores.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, tls.Certificate{Certificate: [][]byte{made(leaf, root, own, authority)}, PrivateKey: own}
}

// TestStoreCertificates: a store's certificate comes from an authority of the configuration, or it is not called.
func TestStoreCertificates(t *testing.T) {
	server := objectstest.Start(t)
	g := newGate(t, server)
	file, certificate := storeAuthority(t)
	stranger, _ := storeAuthority(t)
	secure := httptest.NewUnstartedServer(g)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	l := newLake(t, server, g.store(t, server, func(c *s3.Config) {
		c.Endpoint, c.Transport = secure.URL, s3.NewTransport(&tls.Config{RootCAs: roots})
	}))
	for _, c := range []struct {
		authorities string
		runs        bool
	}{{file, true}, {stranger, false}} {
		running := startWith(t, cluster.Config{Stores: []string{secure.URL}, StoreAuthorities: c.authorities, Executors: 1})
		p := executortest.Zoo(t, running.inStore(t, l, nil))
		g.set(nil)
		rows, err := p.Rows(t.Context(), "SELECT id FROM orders", nil)
		if c.runs {
			if err != nil || len(rows) == 0 || len(g.requests()) == 0 {
				t.Errorf("%d rows, %v (%v)", len(rows), err, errors.Unwrap(err))
			}
			continue
		}
		kind(t, err, executors.KindUnavailable)
		if n := len(g.requests()); n > 0 {
			t.Errorf("%d requests", n)
		}
	}
}

// BenchmarkStore reads a table of some megabytes from local files, from a server, and from one that takes 20 ms more to answer.
func BenchmarkStore(b *testing.B) {
	server := objectstest.Start(b)
	g := newGate(b, server)
	c := startWith(b, cluster.Config{Stores: []string{server.Endpoint, g.URL}})
	dir := folderOf(b, tpc.TPCH)
	near, far := newLake(b, server, server.Store(b, server.Reader)), newLake(b, server, g.store(b, server, nil))
	g.set(nil)
	g.delay = 20 * time.Millisecond
	small := func(c *Config) { c.GroupBytes = 4 << 20 }
	for _, place := range []struct {
		name string
		p    *executortest.Pipeline
	}{
		{"local", executortest.Over(b, c.opener(b, small), dir, "tpch")},
		{"store", executortest.Over(b, c.inStore(b, near, small), dir, "tpch")},
		{"store-20ms", executortest.Over(b, c.inStore(b, far, small), dir, "tpch")},
	} {
		for _, q := range []struct{ name, text string }{
			{"sum", "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"},
			{"point", "SELECT o_totalprice FROM orders WHERE o_orderkey = 5"},
		} {
			b.Run(q.name+"/"+place.name, func(b *testing.B) {
				for b.Loop() {
					if _, err := place.p.Rows(b.Context(), q.text, nil); err != nil {
						b.Fatalf("%v (%v)", err, errors.Unwrap(err))
					}
				}
			})
		}
	}
}
