package ballista

import (
	"bufio"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/clustertest"
	"gatehouse/executors/executortest"
)

// unit returns the settings of a unit file's service, by name.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy/systemd", name+".service"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	_, service, _ := strings.Cut(string(text), "[Service]\n")
	for line := range strings.Lines(service) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && key[0] != '#' {
			out[key] = append(out[key], value)
		}
	}
	return out
}

// TestMachines runs a cluster as one of several machines does: with the folders of gatehouse cluster material, the commands of the unit files,
// the scheduler found by its name, the executor by an address that is not loopback if there is one.
func TestMachines(t *testing.T) {
	binaries, dir := clustertest.Programs(t), t.TempDir()
	port, address := ports(t), outside(t)
	m := cluster.Machines{Dir: dir, Scheduler: "localhost", Executors: []string{address}, Port: port, Cores: 1, Work: filepath.Join(dir, "work")}
	if err := m.Write(); err != nil {
		t.Fatal(err)
	}
	// Again, for one more machine: what the others have still fits.
	m.Executors = append(m.Executors, "exec-2.example.com")
	if err := m.Write(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scheduler", "executor"} {
		folder := name
		if name == "executor" {
			folder += "-" + address
		}
		command := unit(t, "gatehouse-"+name)["ExecStart"][0]
		command = strings.Replace(command, "/usr/local/bin", binaries, 1)
		command = strings.Replace(command, "/etc/gatehouse/"+name, filepath.Join(dir, folder), 1)
		runs(t, strings.Fields(command))
	}
	at, err := cluster.Address(filepath.Join(dir, "gateway"))
	if err != nil || at != net.JoinHostPort("localhost", fmt.Sprint(port)) {
		t.Fatal(at, err)
	}
	c := &testCluster{&cluster.Cluster{Scheduler: at}, filepath.Join(dir, "gateway")}
	p := executortest.Zoo(t, c.opener(t, nil))
	rows, err := p.Rows(t.Context(), "SELECT id, count(*) AS n FROM orders GROUP BY id", nil)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v (%v)", len(rows), err, errors.Unwrap(err))
	}
	if info, err := os.Stat(m.Work); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the work folder: %v, %v", info, err)
	}
}

// runs runs a command until the test ends, and waits for its first line.
func runs(t *testing.T, command []string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%v: %q, %v", command, line, err)
	}
}

// ports returns the first of four ports that were free.
func ports(t *testing.T) int {
	t.Helper()
search:
	for first := 23000 + os.Getpid()%4000; first < 32000; first += 4 {
		for i := range 4 {
			l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", first+i))
			if err != nil {
				continue search
			}
			_ = l.Close()
		}
		return first
	}
	t.Fatal("no ports are free")
	return 0
}

// outside is an address of this machine that is not loopback, else loopback.
func outside(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	t.Log("this machine has no address but loopback")
	return "127.0.0.1"
}

// TestMaterial looks at what each machine gets: a certificate of its own with its name, no key of an authority, none for task credentials but the gateway.
func TestMaterial(t *testing.T) {
	dir := t.TempDir()
	m := cluster.Machines{Dir: dir, Scheduler: "sched.example.com", Executors: []string{"exec-1.example.com", "10.1.2.3"}, Stores: []string{"https://*.s3.example.com"}}
	if err := m.Write(); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]struct {
		files []string
		names []string
	}{
		"gateway":                     {[]string{"address", "cluster-authority.pem", "gateway.key", "gateway.pem", "seal.json", "task.key"}, []string{"gateway.gatehouse"}},
		"scheduler":                   {[]string{"cluster-authority.pem", "gateway-authority.pem", "scheduler.json", "scheduler.key", "scheduler.pem"}, []string{"scheduler.gatehouse", "sched.example.com"}},
		"executor-exec-1.example.com": {[]string{"cluster-authority.pem", "executor.json", "executor.key", "executor.pem", "gateway-authority.pem", "keys.json", "seal.key"}, []string{"executor.gatehouse", "exec-1.example.com"}},
		"executor-10.1.2.3":           {[]string{"cluster-authority.pem", "executor.json", "executor.key", "executor.pem", "gateway-authority.pem", "keys.json", "seal.key"}, []string{"executor.gatehouse", "10.1.2.3"}},
	} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, e := range entries {
			have = append(have, e.Name())
			if info, err := e.Info(); err != nil || filepath.Ext(e.Name()) == ".key" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %s has mode %v, %v", folder, e.Name(), info.Mode(), err)
			}
		}
		if !slices.Equal(have, want.files) {
			t.Errorf("%s has %v", folder, have)
		}
		role, _, _ := strings.Cut(folder, "-")
		text, err := os.ReadFile(filepath.Join(dir, folder, role+".pem"))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range want.names {
			if err := cert.VerifyHostname(name); err != nil {
				t.Errorf("%s: %v", folder, err)
			}
		}
		if cert.IsCA || time.Until(cert.NotAfter) > 366*24*time.Hour {
			t.Errorf("%s: an authority (%t), or valid until %v", folder, cert.IsCA, cert.NotAfter)
		}
	}
	var executor struct {
		Seal   string
		Stores []string
	}
	text, err := os.ReadFile(filepath.Join(dir, "executor-10.1.2.3/executor.json"))
	if err != nil || json.Unmarshal(text, &executor) != nil || executor.Seal != "seal.key" || !slices.Equal(executor.Stores, m.Stores) {
		t.Errorf("an executor reads stores by %+v, %v", executor, err)
	}
	sealRotates(t, m)
	one, _ := os.ReadFile(filepath.Join(dir, "executor-10.1.2.3/executor.key"))
	two, _ := os.ReadFile(filepath.Join(dir, "executor-exec-1.example.com/executor.key"))
	if string(one) == string(two) {
		t.Error("two executors have one key")
	}
	for _, bad := range []string{"", "a b", "::1", "x:1", "../x", "-x"} {
		if err := (cluster.Machines{Dir: t.TempDir(), Scheduler: "s", Executors: []string{bad}}).Write(); err == nil {
			t.Errorf("%q is taken for a host", bad)
		}
	}
}

// sealRotates: material that is written again has the same key for executors; rotated, each process gets a new one, beside those before.
func sealRotates(t *testing.T, m cluster.Machines) {
	t.Helper()
	keys := func() (gateway, executor string) {
		t.Helper()
		key, err := cluster.SealKey(filepath.Join(m.Dir, "gateway"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, "executor-10.1.2.3", "seal.key"))
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(key().Bytes()), string(text)
	}
	public, private := keys()
	again := func() {
		t.Helper()
		if err := m.Write(); err != nil {
			t.Fatal(err)
		}
	}
	if again(); true {
		if p, x := keys(); p != public || x != private {
			t.Error("the executors' key is another one")
		}
	}
	for i := range 3 {
		if err := cluster.RotateSealKey(m.Dir); err != nil {
			t.Fatal(err)
		}
		p, x := keys()
		if p == public || !strings.Contains(x, p) || !strings.Contains(x, public) || strings.Count(x, `"d"`) != i+2 || strings.Count(x, `"exp"`) != i+1 {
			t.Errorf("the gateway seals for %s, before it did for %s; executors have\n%s", p, public, x)
		}
		if again(); true {
			if q, y := keys(); q != p || y != x {
				t.Error("material that is written again has another key")
			}
		}
		public = p
	}
}

// TestUnits checks what the unit files promise of the processes, and that systemd reads them.
func TestUnits(t *testing.T) {
	for _, name := range []string{"gatehouse-scheduler", "gatehouse-executor"} {
		u := unit(t, name)
		for key, want := range map[string]string{
			"User": "gatehouse-cluster", "ProtectSystem": "strict", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "UMask": "0077", "Restart": "on-failure",
		} {
			if got := u[key]; len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q", name, key, got)
			}
		}
		if len(u["MemoryMax"]) != 1 {
			t.Errorf("%s has no limit of memory", name)
		}
	}
	x := unit(t, "gatehouse-executor")
	if x["StateDirectory"][0] != "gatehouse-executor" || x["StateDirectoryMode"][0] != "0700" {
		t.Errorf("the executor's folder: %v, %v", x["StateDirectory"], x["StateDirectoryMode"])
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd is not here")
	}
	// It asks for the programs, which are elsewhere here.
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"gatehouse-scheduler", "gatehouse-executor"} {
		text, err := os.ReadFile(filepath.Join("../../deploy/systemd", name+".service"))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".service")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/"+name, "/bin/true")), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no", "--recursive-errors=no"}, files...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "gatehouse-") {
			t.Errorf("systemd: %s", line)
		}
	}
	t.Logf("%v\n%s", err, out)
}

// TestContainerfile checks that the container file builds what there is, and runs it as nobody in particular.
func TestContainerfile(t *testing.T) {
	text, err := os.ReadFile("../../deploy/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(text), " ")
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-\s]\S*) `).FindAllStringSubmatch(file, -1) {
		if _, err := os.Stat(filepath.Join("../..", m[1], "Cargo.lock")); err != nil {
			t.Error(err)
		}
	}
	for _, program := range []string{"gatehouse-scheduler", "gatehouse-executor"} {
		if !strings.Contains(file, "/target/release/"+program+" ") {
			t.Errorf("it lacks %s", program)
		}
		manifest, err := os.ReadFile(filepath.Join("engine", strings.TrimPrefix(program, "gatehouse-"), "Cargo.toml"))
		if err != nil || !strings.Contains(string(manifest), `name = "`+program+`"`) {
			t.Errorf("nothing builds %s: %v", program, err)
		}
	}
	if users := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindAllStringSubmatch(file, -1); len(users) != 1 || users[0][1] == "0" {
		t.Errorf("it runs as %v", users)
	}
	m := regexp.MustCompile(`(?m)^CMD (\[.*\])$`).FindStringSubmatch(file)
	var command []string
	if m == nil || json.Unmarshal([]byte(m[1]), &command) != nil || strings.Join(command, " ") != unit(t, "gatehouse-executor")["ExecStart"][0] {
		t.Errorf("it runs %v", m)
	}
}
