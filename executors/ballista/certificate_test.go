package ballista

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/wire"
)

// TestCertificates knocks at each port with each certificate. Who has none, or the other authority's, does not get in.
func TestCertificates(t *testing.T) {
	c := startCluster(t)
	gateway, err := cluster.GatewayTLS(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	executor := c.executorTLS(t)
	nobody := gateway.Clone()
	nobody.Certificates = nil
	for _, port := range []struct {
		name, address string
		may           map[string]bool
	}{
		{"the service for gateways", c.Scheduler, map[string]bool{"gateway": true}},
		{"the service for executors", c.forExecutors(t), map[string]bool{"executor": true}},
	} {
		for who, config := range map[string]*tls.Config{"gateway": gateway, "executor": executor, "nobody": nobody} {
			if in := knocks(t, port.address, config, schedulerName); in != port.may[who] {
				t.Errorf("%s with the certificate of %s: let in: %t", port.name, who, in)
			}
		}
	}
	// A gateway that asks for another process's name does not talk to the scheduler.
	if knocks(t, c.Scheduler, gateway, executorName) {
		t.Error("the scheduler passes as an executor")
	}
}

// TestExecutorsAskForWork: an executor's certificate gets work from the scheduler, and nothing else: it cannot submit, look at or end a job, nor speak
// for another executor.
func TestExecutorsAskForWork(t *testing.T) {
	c := sharedCluster(t)
	config := c.executorTLS(t)
	config.ServerName = schedulerName
	conn, err := grpc.NewClient(c.forExecutors(t), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for method, want := range map[string]codes.Code{
		"PollWork":         codes.InvalidArgument, // the control: it is taken, and has nothing in it
		"RegisterExecutor": codes.PermissionDenied, "HeartBeatFromExecutor": codes.PermissionDenied, "UpdateTaskStatus": codes.PermissionDenied,
		"CreateUpdateSession": codes.PermissionDenied, "RemoveSession": codes.PermissionDenied, "ExecuteQueryPush": codes.PermissionDenied,
		"ExecuteQuery": codes.PermissionDenied, "GetJobStatus": codes.PermissionDenied, "GetJobMetrics": codes.PermissionDenied,
		"ExecutorStopped": codes.PermissionDenied, "CancelJob": codes.PermissionDenied, "CleanJobData": codes.PermissionDenied,
	} {
		err := conn.Invoke(t.Context(), "/ballista.protobuf.SchedulerGrpc/"+method, &wire.Done{}, new(wire.Done))
		if got := status.Code(err); got != want {
			t.Errorf("%s: %v, want %v", method, err, want)
		}
	}
}

func (c *testCluster) executorTLS(t *testing.T) *tls.Config {
	t.Helper()
	config, err := cluster.GatewayTLS(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.dir, "executor.pem"), filepath.Join(c.dir, "executor.key"))
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}

// forExecutors is the address of the scheduler's service for executors.
func (c *testCluster) forExecutors(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "executor-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Scheduler string `json:"scheduler"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.Scheduler
}

// knocks reports whether a server takes a call, whatever it says to it.
func knocks(t *testing.T, address string, config *tls.Config, name string) bool {
	t.Helper()
	config = config.Clone()
	config.ServerName = name
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err = conn.Invoke(ctx, service+"Describe", &wire.Statement{}, new(wire.Description))
	code := status.Code(err)
	return code == codes.OK || code == codes.Unimplemented
}
