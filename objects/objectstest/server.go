// Package objectstest is the contract suite of objects.Store, and a real S3 server for tests: versitygw, over a folder.
package objectstest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"gatehouse/auth"
	"gatehouse/objects"
	"gatehouse/objects/s3"
)

// Version is the server's. testdata/clients/install.sh installs the same.
const Version = "v1.8.0"

// Bucket is the bucket that every Server has.
const Bucket = "lake"

// Keys open the server.
type Keys struct{ ID, Secret string }

// Server is a running S3 server, which ends with its test.
type Server struct {
	Endpoint string // http://127.0.0.1:PORT; of localhost:PORT, with buckets in the name of the host, too
	Owner    Keys   // may do everything
	Reader   Keys   // may GET every object of the bucket, and nothing else
	Stranger Keys   // is known to the server, and may do nothing

	program, dir string
}

// Start starts a server with an empty bucket. The test is skipped, with the reason, where the server's program is not there and cannot
// be installed.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{program: install(t), dir: t.TempDir(), Owner: Keys{"OWNERKEY", "owner-secret-61c0"}, Reader: Keys{"READERKEY", "reader-secret-8d2f"}, Stranger: Keys{"STRANGERKEY", "stranger-secret-17ab"}}
	s.users(t, filepath.Join(s.dir, "users"))
	if err := os.Mkdir(filepath.Join(s.dir, "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Endpoint = s.start(t, "--keep-alive")
	s.prepare(t)
	return s
}

// ForWriters starts a second process over the same objects, which ends each connection after one answer, and returns its endpoint. The
// first one, which does not, takes bodies of uploads in parts for requests (versitygw v1.8.0).
func (s *Server) ForWriters(t testing.TB) string {
	t.Helper()
	return s.start(t)
}

// start starts a process and returns its endpoint.
func (s *Server) start(t testing.TB, options ...string) string {
	t.Helper()
	for range 5 { // another process may take the port in between
		if endpoint, ok := s.run(t, options); ok {
			return endpoint
		}
	}
	t.Fatal("the S3 server does not start")
	return ""
}

func (s *Server) users(t testing.TB, dir string) {
	account := func(k Keys) map[string]any { return map[string]any{"access": k.ID, "secret": k.Secret, "role": "user"} }
	data, err := json.Marshal(map[string]any{"accessAccounts": map[string]any{s.Reader.ID: account(s.Reader), s.Stranger.ID: account(s.Stranger)}})
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "users.json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run starts the program on a free port and waits until it answers.
func (s *Server) run(t testing.TB, options []string) (endpoint string, ok bool) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(address)
	options = append(options, "--port", address, "--quiet", "--health", "/health", "--iam-dir", filepath.Join(s.dir, "users"),
		"--virtual-domain", "localhost:"+port, "posix", filepath.Join(s.dir, "root"))
	cmd := exec.Command(s.program, options...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "ROOT_ACCESS_KEY_ID=" + s.Owner.ID, "ROOT_SECRET_ACCESS_KEY=" + s.Owner.Secret}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	endpoint = "http://" + address
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		select {
		case <-ended:
			t.Logf("the S3 server ended: %s", out.String())
			return "", false
		case <-time.After(20 * time.Millisecond):
		}
		if resp, err := http.Get(endpoint + "/health"); err == nil {
			_ = resp.Body.Close()
			t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
			return endpoint, true
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	return "", false
}

// prepare makes the bucket and lets Reader read it.
func (s *Server) prepare(t testing.TB) {
	t.Helper()
	s.call(t, http.MethodPut, "/"+Bucket, nil)
	s.call(t, http.MethodPut, "/"+Bucket+"?policy=", fmt.Appendf(nil,
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":[%q]},"Action":["s3:GetObject"],"Resource":["arn:aws:s3:::%s/*"]}]}`, s.Reader.ID, Bucket))
}

// Config returns the configuration of a store with these keys.
func (s *Server) Config(k Keys, scope string) s3.Config {
	return s3.Config{Endpoint: s.Endpoint, PathStyle: true, KeyID: k.ID, Secret: auth.NewSecret(k.Secret), Scope: scope}
}

// Store opens the server with these keys.
func (s *Server) Store(t testing.TB, k Keys) objects.Store {
	t.Helper()
	store, err := s3.New(s.Config(k, k.ID))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Location returns the location of a key.
func (s *Server) Location(key string) string { return "s3://" + Bucket + "/" + key }

// Put stores an object.
func (s *Server) Put(t testing.TB, key string, data []byte) objects.Object {
	t.Helper()
	header := s.call(t, http.MethodPut, "/"+Bucket+"/"+escape(key), data)
	return objects.Object{Location: s.Location(key), Size: int64(len(data)), Tag: header.Get("ETag")}
}

// Remove removes an object.
func (s *Server) Remove(t testing.TB, key string) {
	t.Helper()
	s.call(t, http.MethodDelete, "/"+Bucket+"/"+escape(key), nil)
}

// PutFolder stores all files below a folder under a prefix, "" or one that ends in a slash.
func (s *Server) PutFolder(t testing.TB, dir, prefix string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			s.Put(t, prefix+filepath.ToSlash(rel), data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// call sends a request with the owner's keys, and returns the answer's header.
func (s *Server) call(t testing.TB, method, path string, body []byte) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.Endpoint+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	keys := aws.Credentials{AccessKeyID: s.Owner.ID, SecretAccessKey: s.Owner.Secret}
	if err := signer.SignHTTP(req.Context(), keys, req, hash, "s3", "us-east-1", time.Now()); err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
	return resp.Header
}

// escape writes a key into a URL, all but letters, digits and a few others in hexadecimal.
func escape(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
