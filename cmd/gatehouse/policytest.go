package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gatehouse/policy/opa"
)

// testPolicy is "gatehouse policy test".
func testPolicy(ctx context.Context, o policyOptions, env environment) error {
	cfg := o.opaConfig(o.args[0])
	if _, err := os.Stat(cfg.Folder); err != nil {
		return fmt.Errorf("there is no folder %s", cfg.Folder)
	}
	report, err := opa.Test(ctx, cfg)
	if err != nil {
		return err
	}
	report.Print(env.stdout)
	if !report.Ok() {
		return errors.New("the policy's tests did not pass")
	}
	if report.Coverage < o.coverage {
		return fmt.Errorf("coverage %.1f %% is below %.1f %%", report.Coverage, o.coverage)
	}
	return nil
}
