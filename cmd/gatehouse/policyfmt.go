package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gatehouse/policy/opa"
)

// fmtPolicy is "gatehouse policy fmt".
func fmtPolicy(_ context.Context, o policyOptions, env environment) error {
	changed := []string{}
	visit := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".rego") {
			return err
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := opa.Format(path, old, o.bench.rego)
		if err != nil || string(text) == string(old) {
			return err
		}
		changed = append(changed, path)
		if o.dry {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return replaceFile(path, text, info.Mode().Perm())
	}
	for _, dir := range o.args {
		if err := filepath.WalkDir(dir, visit); err != nil {
			return err
		}
	}
	var err error
	if o.json {
		err = printJSON(env.stdout, map[string]any{"changed": changed})
	} else {
		for _, path := range changed {
			fmt.Fprintln(env.stdout, path)
		}
	}
	if err == nil && o.dry && len(changed) > 0 {
		return errors.New(plural(len(changed), "file") + " would change")
	}
	return err
}
