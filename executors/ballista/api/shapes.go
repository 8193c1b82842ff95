package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/wire"
)

// executor is Ballista's ExecutorResponse. What our executors do not tell is empty or zero.
type executor struct {
	ID            string        `json:"id"`
	Host          string        `json:"host"`
	Port          int32         `json:"port"`
	LastSeen      *int64        `json:"last_seen"` // milliseconds since 1970
	Specification specification `json:"specification"`
	Metrics       []struct{}    `json:"metrics"`
	OS            system        `json:"os_info"`
}

type specification struct {
	Cores int32 `json:"vcores"`
}

type system struct {
	Name          string `json:"system_name"`
	Kernel        string `json:"kernel_ver"`
	Version       string `json:"os_ver"`
	LongVersion   string `json:"os_ver_long"`
	PhysicalCores int32  `json:"physical_cores"`
	Disks         int    `json:"num_disks"`
	Disk          int    `json:"total_disk_space"`
	FreeDisk      int    `json:"total_available_disk_space"`
	OpenFiles     int    `json:"open_files_limit"`
}

func newExecutor(m *wire.Member) executor {
	out := executor{
		ID: m.Id, Host: m.Host, Port: m.Port, Specification: specification{m.Cores}, Metrics: []struct{}{},
		OS: system{Name: m.System, Kernel: m.Kernel, PhysicalCores: m.PhysicalCores},
	}
	if m.Seen > 0 {
		out.LastSeen = &m.Seen
	}
	return out
}

// job is Ballista's JobResponse. It never has logical_plan and physical_plan: these hold the statement's literals.
type job struct {
	ID        string  `json:"job_id"`
	Name      string  `json:"job_name"`
	Detail    string  `json:"job_status"`
	Status    string  `json:"status"` // Queued, Running, Completed, Failed
	Stages    int     `json:"num_stages"`
	Completed int     `json:"completed_stages"`
	Percent   int     `json:"percent_complete"`
	Start     int64   `json:"start_time"` // milliseconds since 1970
	End       int64   `json:"end_time"`   // 0: it runs
	StagePlan string  `json:"stage_plan,omitempty"`
	Gateway   details `json:"gateway"`
}

// details are what the gateway knows of a job, and Ballista does not.
type details struct {
	Query   string  `json:"query_id"`
	User    string  `json:"user"`
	Issuer  string  `json:"issuer"`
	Outcome string  `json:"outcome,omitempty"` // done, failed, cancelled, lost
	Tables  []table `json:"tables"`
}

type table struct {
	Name    string   `json:"name"`
	Filters []string `json:"filters"`
	Masks   []string `json:"masks"`
}

func newJob(j *ballista.Job, plan bool) job {
	out := job{
		ID: j.ID, Name: j.Query, Start: j.Begun.UnixMilli(),
		Gateway: details{Query: j.Query, User: j.User, Issuer: j.Issuer, Outcome: string(j.Result), Tables: []table{}},
	}
	for _, t := range j.Tables {
		out.Gateway.Tables = append(out.Gateway.Tables, table{t.Name, append([]string{}, t.Filters...), append([]string{}, t.Masks...)})
	}
	if !j.Ended.IsZero() {
		out.End = j.Ended.UnixMilli()
	}
	p := j.Progress
	out.Stages = len(p.GetStages())
	for _, s := range p.GetStages() {
		if s.State == wire.StageState_STAGE_SUCCESSFUL {
			out.Completed++
		}
	}
	if out.Stages > 0 {
		out.Percent = 100 * out.Completed / out.Stages
	}
	out.Status, out.Detail = status(j)
	if plan {
		var b strings.Builder
		for _, s := range ordered(p) {
			fmt.Fprintf(&b, "Stage %d [%s]\n%s", s.Id, stageStates[s.State], outline(j, s))
		}
		out.StagePlan = b.String()
	}
	return out
}

// status is the word and the sentence. How a job ended is what the gateway says of it.
func status(j *ballista.Job) (word, sentence string) {
	p := j.Progress
	switch j.Result {
	case "":
		if p.GetState() == wire.State_STATE_QUEUED {
			return "Queued", "Queued"
		}
		return "Running", "Running"
	case ballista.Done:
		return "Completed", fmt.Sprintf("Completed. Produced %s containing %s. Elapsed time: %d ms.",
			counted(p.GetParts(), "partition"), counted(p.GetRows(), "row"), j.Ended.Sub(j.Begun).Milliseconds())
	case ballista.Failed:
		if f := p.GetFailure(); f != nil {
			return "Failed", "Failed: " + strings.ToLower(strings.TrimPrefix(f.Class.String(), "CLASS_"))
		}
	}
	return "Failed", "Failed: " + string(j.Result)
}

func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.FormatInt(n, 10) + " " + what
}

// stages is Ballista's QueryStagesResponse.
type stages struct {
	Stages []stage `json:"stages"`
}

type stage struct {
	ID        string        `json:"stage_id"`
	Status    string        `json:"stage_status"`
	Input     int64         `json:"input_rows"`
	Output    int64         `json:"output_rows"`
	Elapsed   *string       `json:"elapsed_compute"`
	Plan      string        `json:"stage_plan,omitempty"`
	Durations *percentiles  `json:"task_duration_percentiles,omitempty"`
	Inputs    *percentiles  `json:"task_input_percentiles,omitempty"`
	Tasks     []task        `json:"tasks"`
	Gateway   stageExtended `json:"gateway"`
}

type stageExtended struct {
	Attempt    int32 `json:"attempt"`
	Partitions int32 `json:"partitions"`
	Read       int64 `json:"read_bytes"`
	Shuffled   int64 `json:"shuffled_bytes"`
	Spilled    int64 `json:"spilled_bytes"`
}

// task is Ballista's TaskSummary. Times are milliseconds since 1970, durations milliseconds.
type task struct {
	ID         int32        `json:"id"`
	Status     any          `json:"status"`
	Partitions []int32      `json:"partition_id"`
	Scheduled  int64        `json:"scheduled_time"`
	Launched   int64        `json:"launch_time"`
	Start      int64        `json:"start_exec_time"`
	End        int64        `json:"end_exec_time"`
	Duration   int64        `json:"exec_duration"`
	Finished   int64        `json:"finish_time"`
	Input      int64        `json:"input_rows"`
	Output     int64        `json:"output_rows"`
	Gateway    taskExtended `json:"gateway"`
}

// failedStatus is the status of a task that failed; the others are words.
type failedStatus struct {
	Failed failedReason `json:"Failed"`
}

type failedReason struct {
	Reason string `json:"reason"`
	Error  string `json:"error"` // always empty: it would have values
}

type taskExtended struct {
	Executor string `json:"executor,omitempty"`
}

type percentiles struct {
	Min    int64 `json:"min"`
	P25    int64 `json:"p25"`
	Median int64 `json:"median"`
	P75    int64 `json:"p75"`
	Max    int64 `json:"max"`
}

var stageStates = map[wire.StageState]string{
	wire.StageState_STAGE_UNRESOLVED: "Unresolved", wire.StageState_STAGE_RESOLVED: "Resolved", wire.StageState_STAGE_RUNNING: "Running",
	wire.StageState_STAGE_SUCCESSFUL: "Successful", wire.StageState_STAGE_FAILED: "Failed",
}

// failures are the reasons that we tell of a task's failure, whose text stays in the operator's log.
var failures = map[wire.TaskState]string{
	wire.TaskState_TASK_FAILED: "ExecutionError", wire.TaskState_TASK_RETRIED: "Retried", wire.TaskState_TASK_KILLED: "TaskKilled",
}

func newStages(j *ballista.Job) stages {
	out := stages{Stages: []stage{}}
	for _, s := range ordered(j.Progress) {
		v := stage{
			ID: strconv.Itoa(int(s.Id)), Status: stageStates[s.State], Input: s.InputRows, Output: s.OutputRows, Tasks: []task{},
			Elapsed: elapsed(s.Tasks),
			Gateway: stageExtended{s.Attempt, s.Partitions, s.ReadBytes, s.ShuffledBytes, s.SpilledBytes},
		}
		if s.State >= wire.StageState_STAGE_RUNNING {
			v.Plan = outline(j, s)
		}
		var durations, inputs []int64
		for _, t := range s.Tasks {
			w := newTask(t)
			v.Tasks, durations, inputs = append(v.Tasks, w), append(durations, w.Duration), append(inputs, w.Input)
		}
		v.Durations, v.Inputs = newPercentiles(durations), newPercentiles(inputs)
		out.Stages = append(out.Stages, v)
	}
	return out
}

func newTask(t *wire.Task) task {
	out := task{
		ID: t.Id, Partitions: append([]int32{}, t.Partitions...), Scheduled: t.Scheduled, Launched: t.Launched, Start: t.Started, End: t.Ended,
		Duration: max(t.Ended-t.Started, 0), Finished: t.Finished, Input: t.InputRows, Output: t.OutputRows,
		Gateway: taskExtended{t.Executor},
	}
	switch reason := failures[t.State]; {
	case reason != "":
		out.Status = failedStatus{failedReason{Reason: reason}}
	case t.State == wire.TaskState_TASK_SUCCESSFUL:
		out.Status = "Successful"
	default:
		out.Status = "Running"
	}
	return out
}

// elapsed is the time from a stage's first task to its last, as Ballista words it; nil before the first has ended.
func elapsed(tasks []*wire.Task) *string {
	var first, last int64
	for _, t := range tasks {
		if t.Started > 0 && (first == 0 || t.Started < first) {
			first = t.Started
		}
		last = max(last, t.Ended)
	}
	if first == 0 || last < first {
		return nil
	}
	d := time.Duration(last-first) * time.Millisecond
	text := fmt.Sprintf("%.2fms", float64(d)/float64(time.Millisecond))
	if d >= 4*time.Second {
		text = fmt.Sprintf("%.2fs", d.Seconds())
	}
	return &text
}

func newPercentiles(all []int64) *percentiles {
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	at := func(percent int) int64 { return all[(percent*(len(all)-1)+50)/100] }
	return &percentiles{all[0], at(25), at(50), at(75), all[len(all)-1]}
}

// ordered are the stages in the order of their numbers.
func ordered(p *wire.Progress) []*wire.Stage {
	all := slices.Clone(p.GetStages())
	slices.SortFunc(all, func(a, b *wire.Stage) int { return int(a.Id - b.Id) })
	return all
}

// outline is a stage's plan, an operator a line.
func outline(j *ballista.Job, s *wire.Stage) string {
	var b strings.Builder
	for _, o := range s.Operators {
		b.WriteString(strings.Repeat("  ", int(o.Depth)) + label(j, o) + "\n")
	}
	return b.String()
}

// label is an operator's name, with the table that it reads, or the stages.
func label(j *ballista.Job, o *wire.Operator) string {
	out := o.Name
	if o.Relation != "" {
		if i := slices.IndexFunc(j.Tables, func(t ballista.Table) bool { return t.Relation == o.Relation }); i >= 0 {
			out += ": " + j.Tables[i].Name
		}
	}
	for i, s := range o.Stages {
		if i == 0 {
			out += ": stage "
		} else {
			out += ", "
		}
		out += strconv.Itoa(int(s))
	}
	return out
}
