package api

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/wire"
)

// fixed is a cluster that says what a test wants.
type fixed struct {
	members []*wire.Member
	jobs    []ballista.Job
	down    bool
}

func (f *fixed) Members(context.Context) ([]*wire.Member, error) {
	if f.down {
		return nil, errors.New("canary")
	}
	return f.members, nil
}

func (f *fixed) Jobs(context.Context) []ballista.Job { return f.jobs }

func (f *fixed) Job(_ context.Context, id string) (ballista.Job, error) {
	for _, j := range f.jobs {
		if j.ID == id {
			return j, nil
		}
	}
	return ballista.Job{}, ballista.ErrNoJob
}

// sample is a job of two stages, of which the second runs, with a task that is run again.
func sample() ballista.Job {
	return ballista.Job{
		ID: "q1", Query: "q1", User: "eve", Issuer: "gatehouse:users", Begun: time.UnixMilli(1000),
		Tables: []ballista.Table{{Relation: "__gw_1", Name: `lake.shop."odd <b>"`, Filters: []string{"eu_only"}, Masks: []string{"tax_id=last_four"}}},
		Progress: &wire.Progress{State: wire.State_STATE_RUNNING, Stages: []*wire.Stage{
			{
				Id: 1, State: wire.StageState_STAGE_RUNNING, Partitions: 2,
				Operators: []*wire.Operator{{Name: "ShuffleWriterExec"}, {Name: "HashJoinExec", Depth: 1}, {Name: "ShuffleReaderExec", Depth: 2, Stages: []int32{0}}, {Name: "EmptyExec", Depth: 2}},
				Tasks:     []*wire.Task{{Id: 0, Partitions: []int32{0}, Executor: "x1", Started: 2000}},
			},
			{
				Id: 0, State: wire.StageState_STAGE_SUCCESSFUL, Partitions: 2, InputRows: 9, OutputRows: 3, ReadBytes: 20 << 20, ShuffledBytes: 77, SpilledBytes: 30 << 10,
				Operators: []*wire.Operator{{Name: "ShuffleWriterExec"}, {Name: "GovernedExec", Depth: 1, Relation: "__gw_1"}},
				Tasks: []*wire.Task{
					{Id: 0, Partitions: []int32{0}, State: wire.TaskState_TASK_RETRIED, Started: 1000, Ended: 1100},
					{Id: 1, Partitions: []int32{1}, State: wire.TaskState_TASK_SUCCESSFUL, Executor: "x2", Started: 1000, Ended: 1300, InputRows: 4, OutputRows: 1},
					{Id: 2, Partitions: []int32{0}, State: wire.TaskState_TASK_SUCCESSFUL, Executor: "x2", Started: 1400, Ended: 7000, InputRows: 5, OutputRows: 2},
				},
			},
		}},
	}
}

func get(t *testing.T, c Cluster, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	New(c).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestShapes(t *testing.T) {
	ended := sample()
	ended.ID, ended.Query, ended.Result, ended.Ended = "q2.2", "q2", ballista.Failed, time.UnixMilli(9000)
	ended.Progress = &wire.Progress{State: wire.State_STATE_FAILED, Failure: &wire.Failure{Class: wire.Class_CLASS_DIVISION, Cause: "canary"}}
	c := &fixed{
		members: []*wire.Member{{Id: "x1", Host: "10.0.0.1", Port: 50051, Seen: 123, Cores: 4, System: "linux", Kernel: "6.1", PhysicalCores: 8}},
		jobs:    []ballista.Job{sample(), ended},
	}
	const gateway = `"gateway":{"query_id":"q1","user":"eve","issuer":"gatehouse:users","tables":[{"name":"lake.shop.\"odd \u003cb\u003e\"","filters":["eu_only"],"masks":["tax_id=last_four"]}]}`
	for _, tt := range []struct{ path, want string }{
		{"/api/executors", `[{"id":"x1","host":"10.0.0.1","port":50051,"last_seen":123,"specification":{"vcores":4},"metrics":[],"os_info":{"system_name":"linux","kernel_ver":"6.1",` +
			`"os_ver":"","os_ver_long":"","physical_cores":8,"num_disks":0,"total_disk_space":0,"total_available_disk_space":0,"open_files_limit":0}}]`},
		{"/api/jobs", `[{"job_id":"q1","job_name":"q1","job_status":"Running","status":"Running","num_stages":2,"completed_stages":1,"percent_complete":50,"start_time":1000,"end_time":0,` + gateway + `},` +
			`{"job_id":"q2.2","job_name":"q2","job_status":"Failed: division","status":"Failed","num_stages":0,"completed_stages":0,"percent_complete":0,"start_time":1000,"end_time":9000,` +
			strings.Replace(strings.Replace(gateway, "q1", "q2", 1), `"tables"`, `"outcome":"failed","tables"`, 1) + `}]`},
		{"/api/job/q1", `{"job_id":"q1","job_name":"q1","job_status":"Running","status":"Running","num_stages":2,"completed_stages":1,"percent_complete":50,"start_time":1000,"end_time":0,` +
			`"stage_plan":"Stage 0 [Successful]\nShuffleWriterExec\n  GovernedExec: lake.shop.\"odd \u003cb\u003e\"\nStage 1 [Running]\nShuffleWriterExec\n  HashJoinExec\n    ShuffleReaderExec: stage 0\n    EmptyExec\n",` + gateway + `}`},
		{"/api/job/q1/stages", `{"stages":[{"stage_id":"0","stage_status":"Successful","input_rows":9,"output_rows":3,"elapsed_compute":"6.00s",` +
			`"stage_plan":"ShuffleWriterExec\n  GovernedExec: lake.shop.\"odd \u003cb\u003e\"\n",` +
			`"task_duration_percentiles":{"min":100,"p25":300,"median":300,"p75":5600,"max":5600},"task_input_percentiles":{"min":0,"p25":4,"median":4,"p75":5,"max":5},"tasks":[` +
			`{"id":0,"status":{"Failed":{"reason":"Retried","error":""}},"partition_id":[0],"scheduled_time":0,"launch_time":0,"start_exec_time":1000,"end_exec_time":1100,"exec_duration":100,"finish_time":0,"input_rows":0,"output_rows":0,"gateway":{}},` +
			`{"id":1,"status":"Successful","partition_id":[1],"scheduled_time":0,"launch_time":0,"start_exec_time":1000,"end_exec_time":1300,"exec_duration":300,"finish_time":0,"input_rows":4,"output_rows":1,"gateway":{"executor":"x2"}},` +
			`{"id":2,"status":"Successful","partition_id":[0],"scheduled_time":0,"launch_time":0,"start_exec_time":1400,"end_exec_time":7000,"exec_duration":5600,"finish_time":0,"input_rows":5,"output_rows":2,"gateway":{"executor":"x2"}}],` +
			`"gateway":{"attempt":0,"partitions":2,"read_bytes":20971520,"shuffled_bytes":77,"spilled_bytes":30720}},` +
			`{"stage_id":"1","stage_status":"Running","input_rows":0,"output_rows":0,"elapsed_compute":null,` +
			`"stage_plan":"ShuffleWriterExec\n  HashJoinExec\n    ShuffleReaderExec: stage 0\n    EmptyExec\n",` +
			`"task_duration_percentiles":{"min":0,"p25":0,"median":0,"p75":0,"max":0},"task_input_percentiles":{"min":0,"p25":0,"median":0,"p75":0,"max":0},"tasks":[` +
			`{"id":0,"status":"Running","partition_id":[0],"scheduled_time":0,"launch_time":0,"start_exec_time":2000,"end_exec_time":0,"exec_duration":0,"finish_time":0,"input_rows":0,"output_rows":0,"gateway":{"executor":"x1"}}],` +
			`"gateway":{"attempt":0,"partitions":2,"read_bytes":0,"shuffled_bytes":0,"spilled_bytes":0}}]}`},
		{"/api/job/q2.2/stages", `{"stages":[]}`},
		{"/api/job/q1/dot", `digraph G {
	subgraph cluster0 {
		label = "Stage 0 [Successful]";
		stage_0_0 [shape=box, label="ShuffleWriterExec"]
		stage_0_0_0 [shape=box, label="GovernedExec: lake.shop.\"odd <b>\""]
		stage_0_0_0 -> stage_0_0
	}
	subgraph cluster1 {
		label = "Stage 1 [Running]";
		stage_1_0 [shape=box, label="ShuffleWriterExec"]
		stage_1_0_0 [shape=box, label="HashJoinExec"]
		stage_1_0_0 -> stage_1_0
		stage_1_0_0_0 [shape=box, label="ShuffleReaderExec: stage 0"]
		stage_1_0_0_0 -> stage_1_0_0
		stage_1_0_0_1 [shape=box, label="EmptyExec"]
		stage_1_0_0_1 -> stage_1_0_0
	}
	stage_0_0 -> stage_1_0_0_0
}
`},
	} {
		if code, got := get(t, c, tt.path); code != http.StatusOK || got != tt.want {
			t.Errorf("%s: %d\n%s\nwant\n%s", tt.path, code, got, tt.want)
		}
	}
}

// Whatever is missing has Ballista's form of an error, and no text of anybody's.
func TestFaults(t *testing.T) {
	c := &fixed{down: true}
	for path, want := range map[string]int{"/api/executors": 503, "/api/job/none": 404, "/api/job/none/stages": 404, "/api/job/none/dot_svg": 404} {
		code, body := get(t, c, path)
		var f fault
		if err := json.Unmarshal([]byte(body), &f); err != nil || code != want || f.Code != want || f.Reason != http.StatusText(want) || strings.Contains(body, "canary") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, body := get(t, c, "/api/jobs"); code != http.StatusOK || body != "[]" {
		t.Errorf("no jobs: %d %s", code, body)
	}
}

// The words of a job that has ended are the gateway's.
func TestStatus(t *testing.T) {
	done := &wire.Progress{State: wire.State_STATE_SUCCESSFUL, Parts: 2, Rows: 1}
	for _, tt := range []struct {
		result         ballista.Result
		progress       *wire.Progress
		word, sentence string
	}{
		{"", nil, "Running", "Running"},
		{"", &wire.Progress{State: wire.State_STATE_QUEUED}, "Queued", "Queued"},
		{"", done, "Running", "Running"}, // its rows are on their way
		{ballista.Done, done, "Completed", "Completed. Produced 2 partitions containing 1 row. Elapsed time: 500 ms."},
		{ballista.Failed, nil, "Failed", "Failed: failed"},
		{ballista.Failed, &wire.Progress{Failure: &wire.Failure{Class: wire.Class_CLASS_MEMORY}}, "Failed", "Failed: memory"},
		{ballista.Cancelled, &wire.Progress{Failure: &wire.Failure{}}, "Failed", "Failed: cancelled"},
		{ballista.Lost, nil, "Failed", "Failed: lost"},
	} {
		word, sentence := status(&ballista.Job{Begun: time.UnixMilli(0), Ended: time.UnixMilli(500), Result: tt.result, Progress: tt.progress})
		if word != tt.word || sentence != tt.sentence {
			t.Errorf("%q with %v: %q, %q", tt.result, tt.progress, word, sentence)
		}
	}
}

// The picture is well formed whatever the names are, runs nothing, has every stage once, and each below those that it reads.
func TestPicture(t *testing.T) {
	j := sample()
	j.User = `</text><script>alert("x")</script>`
	j.Progress.Stages[1].Operators[1].Stages = []int32{1} // and so in a circle
	code, text := get(t, &fixed{jobs: []ballista.Job{j, sample()}}, "/api/job/q1/dot_svg")
	if code != http.StatusOK {
		t.Fatal(code)
	}
	elements := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	if elements["script"] > 0 || elements["rect"] != 3 || elements["text"] != 13 {
		t.Errorf("%v in\n%s", elements, text)
	}
	for _, want := range []string{"Stage 0 [Successful]", "3 tasks, 9 rows in, 3 rows out", "20 MiB read, 77 B shuffled, 30 KiB spilled", "HashJoinExec"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	boxes, _, _ := layout(newGraph(&[]ballista.Job{sample()}[0]))
	if len(boxes) != 2 || boxes[0].id != 0 || boxes[1].y < boxes[0].y+boxes[0].h {
		t.Errorf("the stages are at %+v", boxes)
	}
}
