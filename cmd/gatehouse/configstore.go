package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatehouse/catalog"
	"gatehouse/objects"
	"gatehouse/objects/s3"
)

// roots checks where a catalog's files may lie.
func (k *checker) roots(key string, cat CatalogConfig) {
	stored := false
	for i, root := range cat.Roots {
		key := fmt.Sprintf("%s.roots[%d]", key, i)
		if objects.IsObject(root) {
			stored = true
			k.place(key, root)
			continue
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			k.add(key, root+" is no folder", "name the folder that holds the tables' files")
		} else if filepath.Dir(root) == root {
			k.add(key, "is the whole file system", "name the folder that holds the tables' files")
		}
	}
	switch {
	case stored && cat.S3 == (S3Config{}):
		k.add(key+".s3", "is missing, and a root lies in an object store", "write its endpoint or its region, see docs/stores.md")
	case !stored && cat.S3 != (S3Config{}):
		k.add(key+".roots", "has no place in the object store", "add s3://BUCKET/PREFIX, below which the tables' files lie")
	}
}

// place checks a root in an object store.
func (k *checker) place(key, root string) {
	_, err := objects.Parse(root)
	var other *objects.SchemeError
	switch {
	case errors.As(err, &other):
		k.add(key, "lies in "+other.Store+", which is not read", "only Amazon S3 and stores with its interface are, as s3://BUCKET/PREFIX")
	case err != nil:
		k.add(key, "is no place in an object store", "write s3://BUCKET/PREFIX")
	}
}

// s3 checks how a catalog's object store is reached.
func (k *checker) s3(key string, cat CatalogConfig) {
	c := cat.S3
	if c == (S3Config{}) {
		return
	}
	if c.Endpoint == "" && c.Region == "" {
		k.add(key+".region", "is missing", "write the region of the buckets on Amazon, or the endpoint of another store")
	} else if _, _, err := s3.Endpoint("", c.Region); c.Region != "" && err != nil {
		k.add(key+".region", "is no region", "write one such as eu-central-1")
	} else if _, _, err := s3.Endpoint(c.Endpoint, c.Region); err != nil {
		k.add(key+".endpoint", endpointFault(c.Endpoint), "write https://HOST or https://HOST:PORT; http is for loopback addresses only")
	}
	if k.file(key+".ca", c.CA) {
		if _, err := authorities(c.CA); err != nil {
			k.add(key+".ca", "holds no certificate", "name a PEM file")
		}
	}
	switch c.Credentials {
	case "", "keys", "vended":
	default:
		k.add(key+".credentials", "is not known", "there are vended and keys")
		return
	}
	if cat.Type == "sql" && c.Credentials == "vended" {
		k.add(key+".credentials", "is for catalogs of type rest: a database gives none", "write keys")
		return
	}
	if cat.vends() {
		for name, value := range map[string]string{"access_key_id": c.KeyID, "access_key_id_file": c.KeyIDFile, "secret_access_key_file": c.SecretFile, "session_token_file": c.SessionToken} {
			if value != "" {
				k.add(key+"."+name, "is not used, because the catalog gives the credentials", "remove it, or write credentials: keys")
			}
		}
		return
	}
	k.keyID(key, c)
	if c.SecretFile == "" {
		k.add(key+".secret_access_key_file", "is missing", "write the secret access key into a file, chmod 600, and name it")
	}
	k.secret(key+".secret_access_key_file", c.SecretFile)
	k.secret(key+".session_token_file", c.SessionToken)
}

// endpointFault says what is wrong with an endpoint that is not called.
func endpointFault(endpoint string) string {
	u, err := url.Parse(endpoint)
	switch {
	case !strings.Contains(endpoint, "://"):
		return "has no https:// in front"
	case err == nil && u.Scheme == "http":
		return "is http to a host that is not a loopback address: rows would be readable on the network"
	case err == nil && strings.Trim(u.Path, "/") != "":
		return "has a path: buckets and prefixes belong to roots"
	default:
		return "is no address of a store"
	}
}

// vends reports whether the catalog gives the credentials of its object store.
func (c CatalogConfig) vends() bool {
	return c.S3 != (S3Config{}) && c.Type == "rest" && c.S3.Credentials != "keys"
}

// authorities reads a PEM file of certificates.
func authorities(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return pool, nil
}

// place returns where the store is and how it is called, without keys.
func (c S3Config) place(stores *s3.Metrics) (s3.Config, error) {
	out := s3.Config{Metrics: stores, Endpoint: c.Endpoint, Region: c.Region, PathStyle: c.PathStyle}
	var config *tls.Config
	if c.CA != "" {
		pool, err := authorities(c.CA)
		if err != nil {
			return out, fmt.Errorf("s3.ca: %w", err)
		}
		config = &tls.Config{RootCAs: pool}
	}
	out.Transport = s3.NewTransport(config)
	return out, nil
}

// open opens the store with the keys of the configuration, for the catalog of that name.
func (c S3Config) open(name string, stores *s3.Metrics, log *slog.Logger) (objects.Store, error) {
	cfg, err := c.place(stores)
	if err != nil {
		return nil, err
	}
	keys, err := openKeys(c, log, time.Now)
	if err != nil {
		return nil, err
	}
	cfg.Renew, cfg.Scope = keys.current, catalog.ScopeOf("keys", name)
	return s3.New(cfg)
}
