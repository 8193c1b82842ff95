package main

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"gatehouse/objects/s3"
)

// settled is how long the files of a store's keys have to be as they are before they count: of keys that are renewed, several files change.
const settled = time.Second

// storeKeys are the keys of an object store as their files have them when a request is signed. While these cannot be used, the last good
// ones count.
type storeKeys struct {
	config S3Config
	log    *slog.Logger
	now    func() time.Time

	mu      sync.Mutex
	keys    s3.Keys
	read    string    // the files that keys are from
	changed string    // the files as they were last, if they are others
	since   time.Time // when they were first seen so
	tried   bool      // they cannot be used, and the log has it
}

// openKeys reads the keys of a store.
func openKeys(c S3Config, log *slog.Logger, now func() time.Time) (*storeKeys, error) {
	k := &storeKeys{config: c, log: log, now: now}
	k.read, _ = k.look()
	var err error
	k.keys, err = k.load()
	return k, err
}

func (k *storeKeys) load() (keys s3.Keys, err error) {
	keys.ID = k.config.KeyID
	if file := k.config.KeyIDFile; file != "" {
		id, err := readSecret(file)
		if err != nil {
			return keys, fmt.Errorf("s3.access_key_id_file: %w", err)
		}
		keys.ID = id.Reveal()
	}
	if keys.Secret, err = readSecret(k.config.SecretFile); err != nil {
		return keys, fmt.Errorf("s3.secret_access_key_file: %w", err)
	}
	if keys.Session, err = optionalSecret(k.config.SessionToken); err != nil {
		return keys, fmt.Errorf("s3.session_token_file: %w", err)
	}
	return keys, keys.Check()
}

// look returns what tells these files from others, and when the last of them changed.
func (k *storeKeys) look() (files string, at time.Time) {
	for _, file := range []string{k.config.KeyIDFile, k.config.SecretFile, k.config.SessionToken} {
		if file == "" {
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			files += "-;"
			continue
		}
		files += fmt.Sprintf("%d %d;", info.Size(), info.ModTime().UnixNano())
		if info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return files, at
}

// current returns the keys of now.
func (k *storeKeys) current() s3.Keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	files, at := k.look()
	if files == k.read {
		return k.keys
	}
	now := k.now()
	if files != k.changed {
		k.changed, k.since, k.tried = files, now, false
	}
	if now.Sub(at) < settled && now.Sub(k.since) < settled || k.tried {
		return k.keys
	}
	keys, err := k.load()
	if after, _ := k.look(); err == nil && after != files {
		return k.keys // they change right now
	}
	if err != nil {
		k.tried = true
		k.log.Error("keys of an object store not reloaded, the last good ones stay in use", "error", err)
		return k.keys
	}
	k.keys, k.read = keys, files
	return keys
}

// keyID checks that the id of the access key is given once.
func (k *checker) keyID(key string, c S3Config) {
	switch {
	case c.KeyID == "" && c.KeyIDFile == "":
		k.add(key+".access_key_id", "is missing", "write the id of a key that may read the roots, and nothing else")
	case c.KeyID != "" && c.KeyIDFile != "":
		k.add(key+".access_key_id_file", "stands beside access_key_id", "remove one of both")
	}
	k.secret(key+".access_key_id_file", c.KeyIDFile)
}
