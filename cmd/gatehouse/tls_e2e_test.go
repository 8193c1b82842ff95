package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"gatehouse/auth/authtest"
)

// loginTLS signs in as ann with arrow-go's client, which trusts ca and shows the certificate of cert, if any.
func loginTLS(t testing.TB, addr, ca string, cert *tls.Certificate) error {
	t.Helper()
	b, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !c.RootCAs.AppendCertsFromPEM(b) {
		t.Fatalf("no certificate in %s", ca)
	}
	if cert != nil {
		c.Certificates = []tls.Certificate{*cert}
	}
	client, err := flightsql.NewClient(addr, nil, nil, grpc.WithTransportCredentials(credentials.NewTLS(c)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if ctx, err = client.Client.AuthenticateBasicToken(ctx, "ann", "ann"); err != nil {
		return err
	}
	_, err = client.Execute(ctx, "SELECT 1")
	return err
}

// --tls makes a certificate at first use; plaintext is refused then; a new certificate is used without a restart.
func TestServeTLS(t *testing.T) {
	home := t.TempDir()
	s := serveFolder(t, home, "--tls")
	defer s.end(t)
	addTestUser(t, home, "ann", "analyst")
	if !strings.Contains(s.out.String(), "grpc+tls://") {
		t.Errorf("it does not say that it speaks TLS: %s", s.out.String())
	}
	ca := filepath.Join(home, "tls.crt")
	if err := loginTLS(t, s.flight, ca, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := ask(t.Context(), s.flight, "ann", "ann", "SELECT 1"); err == nil {
		t.Errorf("a plaintext client got %q", text)
	}
	password := filepath.Join(home, "password")
	if err := os.WriteFile(password, []byte("ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sql := []string{"sql", "--url", "grpc+tls://" + s.flight, "--user", "ann", "--password-file", password, "--format", "csv", "-c", "SELECT 1 AS one"}
	if code, out, errs := invoke(t, nil, append(sql, "--ca", ca)...); code != exitOK || out != "one\n1\n" {
		t.Errorf("gatehouse sql --ca: %d %q %q", code, out, errs)
	}
	if code, out, _ := invoke(t, nil, sql...); code != exitConnect || out != "" {
		t.Errorf("gatehouse sql without the authority: %d %q, want %d", code, out, exitConnect)
	}

	fresh := t.TempDir()
	cert, key := filepath.Join(fresh, "tls.crt"), filepath.Join(fresh, "tls.key")
	if err := selfSigned(cert, key, s.flight); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(fresh, "old.crt")
	copyFile(t, ca, old)
	copyFile(t, key, filepath.Join(home, "tls.key"))
	copyFile(t, cert, ca)
	eventually(t, func() string {
		if err := loginTLS(t, s.flight, cert, nil); err != nil {
			return fmt.Sprintf("the new certificate is not in use: %v", err)
		}
		return ""
	})
	if err := loginTLS(t, s.flight, old, nil); err == nil {
		t.Error("the old certificate is still in use")
	}
}

// --tls means TLS also where the configuration was written without it.
func TestServeTLSLater(t *testing.T) {
	home := t.TempDir()
	if code := serveFolder(t, home).end(t); code != exitOK {
		t.Fatal(code)
	}
	addTestUser(t, home, "ann", "analyst")
	s := serveFolder(t, home, "--tls")
	defer s.end(t)
	if err := loginTLS(t, s.flight, filepath.Join(home, "tls.crt"), nil); err != nil {
		t.Error(err)
	}
	if text, err := ask(t.Context(), s.flight, "ann", "ann", "SELECT 1"); err == nil {
		t.Errorf("a plaintext client got %q", text)
	}
}

// With tls.client_ca a client without a certificate of that authority does not get as far as a login.
func TestServeClientCertificates(t *testing.T) {
	home := t.TempDir()
	if code := serveFolder(t, home, "--tls").end(t); code != exitOK {
		t.Fatal(code)
	}
	addTestUser(t, home, "ann", "analyst")
	ours, cert := clientCertificate(t)
	_, foreign := clientCertificate(t)
	if err := os.WriteFile(filepath.Join(home, "clients.pem"), ours, 0o600); err != nil {
		t.Fatal(err)
	}
	editConfig(t, home, "  key: tls.key\n", "  key: tls.key\n  client_ca: clients.pem\n")
	s := serveFolder(t, home)
	defer s.end(t)
	ca := filepath.Join(home, "tls.crt")
	if err := loginTLS(t, s.flight, ca, cert); err != nil {
		t.Error("the control: ", err)
	}
	for name, c := range map[string]*tls.Certificate{"no certificate": nil, "another authority's": foreign} {
		if err := loginTLS(t, s.flight, ca, c); err == nil {
			t.Errorf("%s: signed in", name)
		}
	}
}

// clientCertificate makes an authority, as PEM, and a certificate that it gave to a client.
func clientCertificate(t testing.TB) ([]byte, *tls.Certificate) {
	t.Helper()
	make := func(serial int64, isCA bool, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprint("client test ", serial)},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: isCA, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		if parent == nil {
			parent, signer = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return made, key
	}
	ca, caKey := make(1, true, nil, nil)
	leaf, key := make(2, false, ca, caKey)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}), &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
}

// A token of an issuer signs in, with the roles that it says; one for another service does not.
func TestServeOIDC(t *testing.T) {
	key := authtest.NewKey(t, "k1", "ES256")
	issuer := authtest.NewIssuer(t, key)
	home := t.TempDir()
	if code := serveFolder(t, home).end(t); code != exitOK {
		t.Fatal(code)
	}
	editConfig(t, home, "  users_file: users.yaml\n", "  users_file: users.yaml\n  oidc:\n    - issuer: "+issuer.URL+"\n      audience: [gatehouse]\n      roles: realm_access.roles\n")
	allowCustomers(t, home, "analyst")
	s := serveFolder(t, home)
	defer s.end(t)
	query := func(change func(map[string]any)) (int, string, string) {
		claims := issuer.Standard("ann")
		claims["realm_access"] = map[string]any{"roles": []string{"analyst"}}
		change(claims)
		return invoke(t, map[string]string{"GATEHOUSE_TOKEN": authtest.Sign(t, key, claims)},
			"sql", "--url", "grpc://"+s.flight, "--format", "csv", "-c", "SELECT count(*) > 0 AS some FROM shop.customers")
	}
	if code, out, errs := query(func(map[string]any) {}); code != exitOK || out != "some\ntrue\n" {
		t.Errorf("a good token: %d %q %q", code, out, errs)
	}
	if code, out, errs := query(func(c map[string]any) { delete(c, "realm_access") }); code != exitFailure || out != "" || !strings.Contains(errs, "does not exist") {
		t.Errorf("a token without the role: %d %q %q", code, out, errs)
	}
	if code, out, _ := query(func(c map[string]any) { c["aud"] = "other" }); code != exitAuth || out != "" {
		t.Errorf("a token for another service: %d %q, want %d", code, out, exitAuth)
	}
}

func editConfig(t testing.TB, home, old, text string) {
	t.Helper()
	path := filepath.Join(home, "gatehouse.yaml")
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), old) {
		t.Fatalf("%s has no %q (%v)", path, old, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, text, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
