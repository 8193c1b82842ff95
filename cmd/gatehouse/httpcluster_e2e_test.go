package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"gatehouse/cmd/bench/site"
	"gatehouse/executors/ballista/clustertest"
	"gatehouse/executors/duckdb/tpc"
)

// asked is an answer over HTTP, without what differs from call to call.
type asked struct {
	code int
	kind string
	body string
}

// fetch asks the operators' port.
func fetch(t *testing.T, s *server, method, path, authorization string) asked {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.http+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultTransport.RoundTrip(req) // follows nothing
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Header.Del("Date")
	for _, h := range []string{"WWW-Authenticate", "Access-Control-Allow-Origin"} {
		if res.Header.Get(h) != "" {
			t.Errorf("%s %s has the header %s", method, path, h)
		}
	}
	if res.StatusCode == http.StatusOK && strings.HasPrefix(path, "/api/") && res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s may be kept by caches", path)
	}
	if res.StatusCode != http.StatusNotFound {
		return asked{res.StatusCode, res.Header.Get("Content-Type"), string(body)}
	}
	return asked{res.StatusCode, fmt.Sprint(res.Header), string(body)}
}

func basicHeader(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// clusterSite starts a gateway in front of a cluster of its own, with rights that the administrator may change.
func clusterSite(t *testing.T) (s *server, dir string) {
	t.Helper()
	_, cluster := clustertest.Start(t)
	dir = t.TempDir()
	file, err := site.Write(site.Config{
		Dir: dir, Sets: map[tpc.Set]string{tpc.TPCH: benchmarkSet(t, tpc.TPCH)}, Default: tpc.TPCH, Listen: "127.0.0.1:0", Cluster: cluster,
		Grants: filepath.Join(dir, "grants.db"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, "Ctrl-C stops the server.", "serve", "--config", file, "--http", "127.0.0.1:0"), dir
}

// An administrator sees executors, jobs and their stages; nobody else learns that there is something to see, and nobody sees values.
func TestClusterIsSeen(t *testing.T) {
	s, dir := clusterSite(t)
	defer s.end(t)
	const secret = "zebra4711"
	statement := "SELECT o.o_orderpriority, count(*) AS n, max(c.c_phone) AS p FROM orders o JOIN customer c ON o.o_custkey = c.c_custkey " +
		"WHERE o.o_comment <> '" + secret + "' GROUP BY o.o_orderpriority ORDER BY n"
	for _, user := range []string{site.Admin, site.Eve} {
		if got := mustAsk(t, s.flight, user, statement); strings.HasPrefix(got, "error") {
			t.Fatalf("%s: %s", user, got)
		}
	}
	if got := mustAsk(t, s.flight, site.Eve, "SELECT count(CAST(o_comment AS INTEGER)) FROM orders WHERE o_comment <> '"+secret+"'"); !strings.HasPrefix(got, "error") {
		t.Fatalf("a cast that fails says %s", got)
	}
	admin := basicHeader(site.Admin, site.Admin)

	absent := fetch(t, s, "GET", "/nothing", "")
	if absent.code != http.StatusNotFound {
		t.Fatalf("an absent path: %+v", absent)
	}
	var jobs []struct {
		ID      string `json:"job_id"`
		Status  string
		Detail  string `json:"job_status"`
		Stages  int    `json:"num_stages"`
		Percent int    `json:"percent_complete"`
		Gateway struct {
			User, Outcome string
			Tables        []struct {
				Name           string
				Filters, Masks []string
			}
		}
	}
	eventually(t, func() string {
		answer := fetch(t, s, "GET", "/api/jobs", admin)
		if err := json.Unmarshal([]byte(answer.body), &jobs); err != nil || answer.kind != "application/json" {
			t.Fatalf("%+v: %v", answer, err)
		}
		if len(jobs) != 3 {
			t.Fatalf("%d jobs: %s", len(jobs), answer.body)
		}
		for _, j := range jobs {
			if j.Stages == 0 {
				return "a job without stages: " + answer.body
			}
		}
		return ""
	})
	failed, eves, admins := jobs[0], jobs[1], jobs[2]
	if failed.Status != "Failed" || failed.Detail != "Failed: conversion" || failed.Gateway.Outcome != "failed" {
		t.Errorf("the job that failed: %+v", failed)
	}
	if eves.Status != "Completed" || eves.Percent != 100 || !strings.Contains(eves.Detail, "containing 4 rows") || eves.Gateway.User != site.Eve {
		t.Errorf("eve's job: %+v", eves)
	}
	shown := fmt.Sprint(eves.Gateway.Tables)
	for _, want := range []string{"tpch.tpch.customer", "tpch.tpch.orders", "[no_low recent]", "[c_phone=country_code]"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in %s", want, shown)
		}
	}
	if got := fmt.Sprint(admins.Gateway.Tables); strings.Contains(got, "no_low") || !strings.Contains(got, "customer") || admins.Gateway.User != site.Admin {
		t.Errorf("the administrator's job: %+v", admins)
	}

	paths := []string{"/api/executors", "/api/jobs"}
	for _, j := range jobs {
		for _, part := range []string{"", "/stages", "/dot", "/dot_svg"} {
			paths = append(paths, "/api/job/"+j.ID+part)
		}
	}
	_, session := signIn(t, s.flight, site.Admin)
	outgoing, _ := metadata.FromOutgoingContext(session)
	token := outgoing.Get("authorization")[0]
	var all strings.Builder
	for _, path := range paths {
		answer := fetch(t, s, "GET", path, admin)
		if answer.code != http.StatusOK || len(answer.body) < 50 {
			t.Errorf("%s: %+v", path, answer)
		}
		all.WriteString(answer.body)
		if again := fetch(t, s, "GET", path, token); again.code != http.StatusOK {
			t.Errorf("%s with a token of Flight SQL: %+v", path, again)
		}
	}
	text := all.String()
	for _, never := range []string{secret, "SELECT", "o_orderpriority", "c_custkey", "/tmp", ".parquet", "Cast", "'"} {
		if strings.Contains(text, never) {
			t.Errorf("the answers hold %q", never)
		}
	}
	for _, want := range []string{"GovernedExec: tpch.tpch.orders", `"stage_status":"Successful"`, `"vcores":1`, "digraph G {", "<svg ", `"Failed":{"reason":`} {
		if !strings.Contains(text, want) {
			t.Errorf("the answers lack %q", want)
		}
	}
	if executors := fetch(t, s, "GET", "/api/executors", admin).body; strings.Count(executors, `"os_info"`) != 2 {
		t.Errorf("other than two executors: %s", executors)
	}
	// Every stage but the first hangs on another one.
	graph := fetch(t, s, "GET", "/api/job/"+eves.ID+"/dot", admin).body
	if links := regexp.MustCompile(`stage_\d+_0 -> stage_`).FindAllString(graph, -1); eves.Stages < 2 || len(links) < eves.Stages-1 {
		t.Errorf("%d stages, %d links:\n%s", eves.Stages, len(links), graph)
	}
	if got := fetch(t, s, "GET", "/api/job/none", admin); got.code != http.StatusNotFound || got.body == absent.body {
		t.Errorf("an administrator who asks for a job that is not there: %+v", got)
	}

	strangers := map[string]string{
		"nobody": "", "eve": basicHeader(site.Eve, site.Eve), "a wrong password": basicHeader(site.Admin, "wrong"),
		"nobody's token": "Bearer aaaa.bbbb.cccc", "nobody's session": "Bearer ghs_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "another scheme": "Digest x",
	}
	for who, header := range strangers {
		for _, path := range append(paths[:3:3], "/api", "/api/", "/api/none", "/api/job/"+jobs[0].ID+"/dot_svg") {
			if got := fetch(t, s, "GET", path, header); got != absent {
				t.Errorf("%s asks for %s and gets %+v, not %+v", who, path, got, absent)
			}
		}
	}
	for _, method := range []string{"POST", "PATCH", "DELETE", "OPTIONS"} {
		if got, want := fetch(t, s, method, "/api/job/"+jobs[0].ID, admin), fetch(t, s, method, "/nothing", ""); got != want {
			t.Errorf("%s: %+v, not %+v", method, got, want)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"user":"admin".*"action":"metadata","kind":"cluster".*"outcome":"ok"`, `"user":"eve".*"action":"metadata","kind":"cluster".*"outcome":"denied"`} {
		if !regexp.MustCompile(want).Match(log) {
			t.Errorf("the audit log lacks %s", want)
		}
	}
	clusterMetrics(t, fetch(t, s, "GET", "/metrics", "").body)
	if out := os.Getenv("GATEHOUSE_PICTURE"); out != "" {
		if err := os.WriteFile(out, []byte(fetch(t, s, "GET", "/api/job/"+eves.ID+"/dot_svg", admin).body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// EXPLAIN shows the stages that the cluster begins with, to everybody the same, whatever is hidden from him and however large the tables are.
func TestClusterExplains(t *testing.T) {
	s, _ := clusterSite(t)
	defer s.end(t)
	stages := func(user, sql string) string {
		t.Helper()
		text := mustAsk(t, s.flight, user, "EXPLAIN "+sql)
		at := strings.Index(text, "executor")
		if at < 0 {
			t.Fatalf("%s: EXPLAIN says %s", user, text)
		}
		return strings.ReplaceAll(text[at:], "\nplan=", "\n")
	}
	const want = `executor the cluster
  stages    as planned before the first one; they are planned again after each one
stage 1
  tasks     about 2 for each core, of 32 to 256 MiB of files each
  SortShuffleWriterExec
    AggregateExec
      FilterExec
        GovernedExec of tpch.tpch.NAME
stage 2
  tasks     at most 4
  ShuffleWriterExec
    ProjectionExec
      AggregateExec
        UnresolvedShuffleExec of stage 1`
	for name, sql := range map[string]string{
		"orders": "SELECT o_orderpriority, count(*) AS n FROM orders WHERE o_comment <> 'zebra4711' GROUP BY o_orderpriority",
		"nation": "SELECT n_name, count(*) AS n FROM nation WHERE n_comment <> 'zebra4711' GROUP BY n_name",
	} {
		for _, user := range []string{site.Admin, site.Eve} {
			if got := strings.TrimSpace(stages(user, sql)); got != strings.ReplaceAll(want, "NAME", name) {
				t.Errorf("%s, of %s:\n%s", user, name, got)
			}
		}
	}
	if got := stages(site.Eve, "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 3) SELECT i FROM r"); !strings.Contains(got, "cannot run this") {
		t.Errorf("what the cluster cannot run: %s", got)
	}
	if got := stages(site.Eve, "SELECT table_name FROM information_schema.tables"); !strings.Contains(got, "no files") {
		t.Errorf("what the gateway knows: %s", got)
	}
}

// clusterMetrics checks the numbers of three jobs, of which one has failed, and that no label is a user, table or statement.
func clusterMetrics(t *testing.T, text string) {
	t.Helper()
	for _, want := range []string{
		`gatehouse_cluster_up 1`, `gatehouse_cluster_executors 2`, `gatehouse_cluster_jobs_running 0`, `gatehouse_cluster_spilled_bytes_total 0`,
		`gatehouse_cluster_jobs_total{outcome="done"} 2`, `gatehouse_cluster_jobs_total{outcome="failed"} 1`,
		`gatehouse_cluster_jobs_total{outcome="cancelled"} 0`, `gatehouse_cluster_tasks_total{outcome="done"} [1-9]`,
		`gatehouse_cluster_tasks_total{outcome="failed"} [1-9]`, `gatehouse_cluster_read_bytes_total [1-9]`, `gatehouse_cluster_shuffled_bytes_total [1-9]`,
	} {
		if !regexp.MustCompile(`(?m)^` + strings.NewReplacer("{", `\{`, "}", `\}`).Replace(want)).MatchString(text) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	names := func(re, text string) []string {
		var out []string
		for _, m := range regexp.MustCompile(re).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	have, told := names(`(?m)^# TYPE (gatehouse_cluster_\w+) `, text), names("`(gatehouse_cluster_\\w+)`", documents(t)["docs/cluster-operations.md"])
	if !slices.Equal(have, told) {
		t.Errorf("/metrics has %q, the document %q", have, told)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "gatehouse_cluster") && regexp.MustCompile(`(eve|admin|tpch|orders|[0-9a-f]{16})`).MatchString(line) {
			t.Errorf("/metrics tells %s", line)
		}
	}
}
