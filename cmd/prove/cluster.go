package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gatehouse/auth"
	"gatehouse/auth/task"
	"gatehouse/executors"
	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/cluster"
)

// clusterConfig says on which cluster statements run. The zero value is none.
type clusterConfig struct {
	programs string // the folder of a cluster's programs: a scheduler and two executors of them are started
	place    string // ballista.Alone or ballista.Auto
}

// distributed is a running cluster that all twins use, with what a gateway needs for that.
type distributed struct {
	*cluster.Cluster
	dir   string
	place string
}

// groupBytes is how much one task reads: little, so that tables of few rows have several tasks, and not as many on each side.
const groupBytes = 64 << 10

// start runs a scheduler and two executors, with certificates and files in dir.
func (c clusterConfig) start(ctx context.Context, dir string) (*distributed, error) {
	running, err := cluster.Start(ctx, cluster.Config{Dir: dir, Binaries: c.programs})
	if err != nil {
		return nil, err
	}
	return &distributed{Cluster: running, dir: dir, place: c.place}, nil
}

// executor puts the cluster before local, which is closed with what is returned.
func (d *distributed) executor(local executors.Executor, verifier auth.Verifier) (executors.Executor, error) {
	key, err := task.LoadKey(cluster.TaskKey(d.dir))
	if err != nil {
		return nil, err
	}
	minter, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "gatehouse", MaxLife: time.Hour + time.Second})
	if err != nil {
		return nil, err
	}
	tls, err := cluster.GatewayTLS(d.dir)
	if err != nil {
		return nil, err
	}
	seal, err := cluster.SealKey(d.dir)
	if err != nil {
		return nil, err
	}
	return ballista.New(ballista.Config{
		Local: local, Choices: []string{d.place}, LocalBytes: 1, Verifier: verifier, Issuer: "gatehouse", Minter: minter, Scheduler: d.Scheduler, TLS: tls,
		GroupBytes: groupBytes, Executors: seal, HashKey: hashKey(),
	})
}

// parseExecutor reads what -executor and -programs say.
func parseExecutor(name, programs string) (clusterConfig, error) {
	c := clusterConfig{programs: programs, place: name}
	switch name {
	case ballista.Local:
		return clusterConfig{}, nil
	case ballista.Alone, ballista.Auto:
	default:
		return c, fmt.Errorf("there is no executor %q: duckdb, ballista, auto", name)
	}
	if programs == "" {
		return c, errors.New(`-programs is missing: "make engine" says where it builds them`)
	}
	if _, err := os.Stat(filepath.Join(programs, "gatehouse-scheduler")); err != nil {
		return c, fmt.Errorf("%w: %w", cluster.ErrNoPrograms, err)
	}
	return c, nil
}

// clusterTries is how many statements are made for one that a cluster may run, and the last of them is taken if none of them is.
const clusterTries = 40

// notThere matches what no cluster runs: most statements of the generator have some of it.
var notThere = regexp.MustCompile(`TRY_CAST|RECURSIVE|LATERAL|COLLATE|SIMILAR|ILIKE|DISTINCT ON|lambda|INTERVAL|interval|[\[\]{}~&]|<<|>>|->|MAP|WITHIN|` +
	`(AS |::)(HUGEINT|FLOAT|TINYINT|UBIGINT|UINTEGER|UTINYINT|TIMESTAMPTZ|TIMESTAMP_NS|TIME\b|UUID|BLOB|JSON|STRUCT)|information_schema`)

// callName matches the names of functions, and words before parentheses.
var callName = regexp.MustCompile(`(\w+)"?\(`)

// onCluster are words that may stand before a parenthesis in what a cluster runs.
var onCluster = words(`abs ascii avg bool_and bool_or ceil ceiling char_length character_length coalesce ifnull concat concat_ws contains count date_diff
	date_part date_trunc day dayname dayofmonth dayofweek dayofyear dense_rank ends_with exp first_value floor greatest hour instr isodow lag last_day
	last_value lcase least left len length ln log log10 log2 lower ltrim max mean min minute month monthname ntile nullif pow prefix quarter rank
	replace right round row_number rtrim second sign split_part sqrt starts_with strlen strpos substr substring suffix sum trim ucase upper week weekday
	weekofyear year AS DECIMAL ON OVER IN EXISTS AND OR NOT WHERE ANY ALL SETS ROLLUP CUBE FROM BY UNION EXCEPT INTERSECT SELECT VALUES WHEN THEN ELSE CASE x t a b`)

func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

// mayRun reports whether a cluster might run a statement, as far as its words tell.
func mayRun(sql string) bool {
	if notThere.MatchString(sql) {
		return false
	}
	for _, m := range callName.FindAllStringSubmatch(sql, -1) {
		if !onCluster[m[1]] {
			return false
		}
	}
	return true
}
