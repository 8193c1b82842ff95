package objects

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrLocation says that a location is none of an object that we read. Its text is our own.
var ErrLocation = errors.New("not the location of an object that is read here")

// SchemeError is an ErrLocation of a kind of store that is not read here.
type SchemeError struct{ Store string }

func (e *SchemeError) Error() string { return e.Store + " is not read here" }

// Unwrap returns ErrLocation.
func (e *SchemeError) Unwrap() error { return ErrLocation }

// others are the stores that writers of Iceberg tables know and we do not read, by their schemes.
var others = map[string]string{
	"gs": "Google Cloud Storage", "abfs": "Azure storage", "abfss": "Azure storage", "wasb": "Azure storage", "wasbs": "Azure storage",
	"hdfs": "HDFS", "viewfs": "HDFS", "oss": "Alibaba Cloud OSS", "obs": "Huawei Cloud OBS", "cos": "Tencent Cloud COS", "cosn": "Tencent Cloud COS",
	"http": "a web server", "https": "a web server",
}

// Location is the place of one object, or of all objects below it if its key is a prefix.
type Location struct{ Bucket, Key string }

// schemes are those under which Iceberg's writers mean S3. The last two are names of Hadoop's clients.
var schemes = map[string]bool{"s3": true, "s3a": true, "s3n": true}

// IsObject reports whether a location has the form "scheme://…" of a store other than the local files.
func IsObject(location string) bool {
	scheme, _, ok := strings.Cut(location, "://")
	return ok && scheme != "file" && scheme != "" && !strings.Contains(scheme, "/")
}

// Parse takes "s3://bucket/key" apart; s3a and s3n are other names for s3. Nothing in the key is decoded or put in another form: what
// looks like an escape, an empty segment or a query is part of the key, as writers mean it. Keys with segments "." and ".." are refused, since
// servers and proxies that take them for steps would answer with another object. The error wraps ErrLocation.
func Parse(location string) (Location, error) {
	scheme, rest, ok := strings.Cut(location, "://")
	if name, known := others[scheme]; ok && known {
		return Location{}, &SchemeError{name}
	}
	if !ok || !schemes[scheme] {
		return Location{}, fmt.Errorf("%w: it must begin with s3://", ErrLocation)
	}
	bucket, key, _ := strings.Cut(rest, "/")
	if !isBucket(bucket) {
		return Location{}, fmt.Errorf("%w: no bucket has such a name", ErrLocation)
	}
	if len(key) > 1024 || !utf8.ValidString(key) || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return Location{}, fmt.Errorf("%w: its key is too long, or has control characters", ErrLocation)
	}
	for s := range strings.SplitSeq(key, "/") {
		if s == "." || s == ".." {
			return Location{}, fmt.Errorf("%w: its key has a segment of dots", ErrLocation)
		}
	}
	return Location{bucket, key}, nil
}

// isBucket reports whether s may be the name of a bucket. Names of access points and of other kinds of buckets are sent elsewhere, so
// they are none.
func isBucket(s string) bool {
	if len(s) < 3 || len(s) > 255 || strings.Contains(s, "..") {
		return false
	}
	for i, c := range []byte(s) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || i == len(s)-1 || c != '-' && c != '.' && c != '_') {
			return false
		}
	}
	for _, reserved := range []string{"--x-s3", "--op-s3", "--ol-s3", "-s3alias", "--table-s3", ".mrap"} {
		if strings.HasSuffix(s, reserved) {
			return false
		}
	}
	return true
}

// Below reports whether l lies below a prefix, which ends at a slash: "a/b" is below "a" and "a/", and "ab" is not.
func (l Location) Below(prefix Location) bool {
	if l.Bucket != prefix.Bucket {
		return false
	}
	rest, ok := strings.CutPrefix(l.Key, prefix.Key)
	return ok && rest != "" && (prefix.Key == "" || strings.HasSuffix(prefix.Key, "/") || rest[0] == '/' && rest != "/")
}

// String returns the location in its usual form.
func (l Location) String() string { return "s3://" + l.Bucket + "/" + l.Key }
