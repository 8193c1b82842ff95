package plan

import (
	"gatehouse/catalog"
	"gatehouse/objects"
)

// LocalPath returns the path of a local file of a scan, by taking the scheme off and decoding nothing. The planner has checked
// that it lies in a folder that tables may read.
func LocalPath(location string) (string, error) { return catalog.LocalPath(location) }

// Spellings are the ways in which writers spell a location; the first one is the same for all of them. An object has the scheme s3, s3a or s3n,
// a local file "file:", with two slashes more or without, or none. What is no location is spelt in one way.
//
// Deletes name their data files by location. By the specification they do so letter by letter; but where two writers differ in the scheme, rows
// that somebody has deleted must not come back.
func Spellings(location string) []string {
	if l, err := objects.Parse(location); err == nil {
		rest := l.Bucket + "/" + l.Key
		return []string{"s3://" + rest, "s3a://" + rest, "s3n://" + rest}
	}
	if path, err := LocalPath(location); err == nil {
		return []string{path, "file:" + path, "file://" + path, "file://localhost" + path}
	}
	return []string{location}
}

// samePlace is the same text for all spellings of a location, and for no other location.
func samePlace(location string) string { return Spellings(location)[0] }
