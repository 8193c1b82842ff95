package objects_test

import (
	"errors"
	"strings"
	"testing"

	"gatehouse/objects"
)

func TestParse(t *testing.T) {
	for location, want := range map[string]objects.Location{
		"s3://lake/a/b":                {Bucket: "lake", Key: "a/b"},
		"s3a://lake/a":                 {Bucket: "lake", Key: "a"},
		"s3n://lake/a":                 {Bucket: "lake", Key: "a"},
		"s3://lake":                    {Bucket: "lake"},
		"s3://lake/":                   {Bucket: "lake"},
		"s3://lake//a//b/":             {Bucket: "lake", Key: "/a//b/"},
		"s3://lake/a%2Fb?c#d":          {Bucket: "lake", Key: "a%2Fb?c#d"},
		"s3://lake/a%2e%2e/b":          {Bucket: "lake", Key: "a%2e%2e/b"},
		"s3://lake/..a/b../...":        {Bucket: "lake", Key: "..a/b../..."},
		"s3://my.bucket_1-x/s3://x":    {Bucket: "my.bucket_1-x", Key: "s3://x"},
		"s3://lake/region=a b+ü\u00a0": {Bucket: "lake", Key: "region=a b+ü\u00a0"},
	} {
		if got, err := objects.Parse(location); err != nil || got != want {
			t.Errorf("%q: %+v, %v", location, got, err)
		}
	}
	for _, location := range []string{
		"", "lake/a", "/lake/a", "s3:/lake/a", "s3:lake", "S3://lake/a", "s3://", "s3:///a", "s3://ab/c", "s3://la ke/a", "s3://lake:80/a", "s3://u@lake/a", "s3://.lake/a",
		"s3://lake./a", "s3://la..ke/a", "s3://-lake/a", "s3://lake/a\x00", "s3://lake/a\n", "s3://lake/\xff", "s3://lake/" + strings.Repeat("a", 1025),
		"s3://lake/..", "s3://lake/../b", "s3://lake/a/../b", "s3://lake/a/..", "s3://lake/./a", "s3://lake/a/.", "s3://lake?x=/a", "s3://lake%2Fx/a",
		"s3://arn:aws:s3:eu-central-1:1:accesspoint/x", "s3://a--x-s3/b", "s3://a-s3alias/b", "s3://a.mrap/b", "s3://" + strings.Repeat("a", 256) + "/b",
		"gs://lake/a", "abfss://lake@x.dfs.core.windows.net/a", "http://lake/a", "file:///a", "ftp://lake/a",
	} {
		if got, err := objects.Parse(location); !errors.Is(err, objects.ErrLocation) || got != (objects.Location{}) {
			t.Errorf("%q: %+v, %v", location, got, err)
		}
	}
	for location, store := range map[string]string{"gs://b/a": "Google Cloud Storage", "wasbs://b@x/a": "Azure storage"} {
		_, err := objects.Parse(location)
		if s, ok := errors.AsType[*objects.SchemeError](err); !ok || s.Store != store {
			t.Errorf("%s: %v", location, err)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		location, prefix string
		want             bool
	}{
		{"s3://lake/a/b", "s3://lake/a", true},
		{"s3://lake/a/b", "s3://lake/a/", true},
		{"s3a://lake/a/b", "s3://lake/a", true},
		{"s3://lake/a/b", "s3://lake", true},
		{"s3://lake/a//b", "s3://lake/a", true},
		{"s3://lake/ab", "s3://lake/a", false},
		{"s3://lake/a", "s3://lake/a", false},
		{"s3://lake/a/", "s3://lake/a", false},
		{"s3://lake/a/", "s3://lake/a/", false},
		{"s3://lake//a/b", "s3://lake/a", false},
		{"s3://lake/A/b", "s3://lake/a", false},
		{"s3://sea/a/b", "s3://lake/a", false},
		{"s3://lake2/a/b", "s3://lake", false},
		{"s3://lake/a%2Fb", "s3://lake/a", false},
	} {
		l, err := objects.Parse(c.location)
		p, err2 := objects.Parse(c.prefix)
		if err != nil || err2 != nil || l.Below(p) != c.want {
			t.Errorf("%s below %s: %v, %v, %v", c.location, c.prefix, l.Below(p), err, err2)
		}
	}
}

func TestIsObject(t *testing.T) {
	for location, want := range map[string]bool{"s3://a/b": true, "gs://a": true, "x://": true, "/a": false, "file:/a": false, "file:///a": false, "a/b://c": false, "": false, "://a": false, "s3:/a": false} {
		if got := objects.IsObject(location); got != want {
			t.Errorf("%q: %v", location, got)
		}
	}
}

// What Parse takes is written in one way, has no step up or down, and lies below its own parent.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"s3://lake/a/b", "s3a://lake//a", "s3://lake/a%2F..%2f", "s3://la..ke/a", "s3://lake/../a", "gs://lake/a", "s3://lake/ü?#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, location string) {
		l, err := objects.Parse(location)
		if err != nil {
			if !errors.Is(err, objects.ErrLocation) || l != (objects.Location{}) {
				t.Errorf("%q: %+v, %v", location, l, err)
			}
			return
		}
		again, err := objects.Parse(l.String())
		_, rest, _ := strings.Cut(location, "://")
		if err != nil || again != l || rest != l.Bucket && rest != l.Bucket+"/"+l.Key || strings.ContainsAny(l.Bucket, "/:@?#% ") {
			t.Errorf("%q: %+v, then %+v, %v", location, l, again, err)
		}
		if strings.Contains("/"+l.Key+"/", "/../") || strings.Contains("/"+l.Key+"/", "/./") {
			t.Errorf("%q goes elsewhere: %+v", location, l)
		}
		if i := strings.LastIndexByte(l.Key, '/'); i > 0 && i+1 < len(l.Key) && !l.Below(objects.Location{Bucket: l.Bucket, Key: l.Key[:i]}) {
			t.Errorf("%q is not below its parent", location)
		}
	})
}
