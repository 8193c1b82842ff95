package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"gatehouse/auth"
)

// Further exit codes of gatehouse sql.
const (
	exitConnect     = 4   // the server cannot be reached
	exitInterrupted = 130 // Ctrl-C ended a statement
)

const sqlHelp = `Query a Flight SQL server, interactively or from a script.

Usage: gatehouse sql [options]

Without -c, -f or piped input it opens a prompt; \? lists its commands.

Where
  --url URL            grpc://HOST:PORT (plaintext) or grpc+tls://HOST:PORT; default $GATEHOUSE_URL,
                       else grpc://127.0.0.1:31337
  --host HOST[:PORT]   the same without a scheme: plaintext for a loopback address, else TLS
  --tls                use TLS, also for a loopback address
  --ca FILE            trust this certificate authority (PEM) instead of the system's
  --cert FILE, --key FILE   client certificate and key (PEM)
  --server-name NAME   the name that the server's certificate must have
  --skip-verify        accept any certificate: only for tests, anybody could read along
  --allow-plaintext    send the password unencrypted to an address that is not loopback

Who
  --user NAME          default $GATEHOUSE_USER; asked for if there is a terminal
  --password-file FILE first line of FILE; else $GATEHOUSE_PASSWORD, else it is asked for
  --token-file FILE    OIDC access token; else $GATEHOUSE_TOKEN. A token goes before a password
  Files with secrets must not be readable by other users. There is no option for the password itself, since
  everybody on the machine can see a command line.

What
  -c SQL               run SQL, which may be several statements or a \ command; may be repeated
  -f FILE              run the statements of FILE ("-": standard input); after every -c
  --keep-going         go on after a statement that failed; the exit code still says so

How
  --format FORMAT      table (default), expanded (one value a line), csv, json (one object a line)
                       or arrow (IPC stream)
  --null TEXT          how NULL is written in tables (default NULL) and csv (default nothing)
  -o, --output FILE    write results to FILE
  --timing             print how long each statement took
  --no-history         neither read nor write the file of past statements

Exit codes: 0 all went well, 1 a statement failed, 2 wrong usage, 3 the credential was refused,
4 no connection, 130 interrupted.

Examples:
  gatehouse sql --user alice
  GATEHOUSE_PASSWORD=alice gatehouse sql --user alice -c 'SELECT region, count(*) FROM customers GROUP BY region'
  gatehouse sql --user bob --password-file ~/.gatehouse-password --format csv -f report.sql > report.csv
  echo 'SELECT * FROM products' | gatehouse sql --user admin --format json
  GATEHOUSE_TOKEN="$(cat token)" gatehouse sql --url grpc+tls://lake.example.com:31337 --ca ca.pem
`

// sqlOptions is what the command line and the environment ask for.
type sqlOptions struct {
	target       target
	commands     []string
	files        []string
	format, null string
	nullSet      bool
	output       string
	timing       bool
	keepGoing    bool
	noHistory    bool
}

// errHelp: --help was asked for.
var errHelp = errors.New("help")

// parseSQL reads the command line. Secrets are read later, by credentials.
func parseSQL(args []string, getenv func(string) string) (o sqlOptions, passwordFile, tokenFile string, err error) {
	f := flag.NewFlagSet("sql", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	var at, host string
	var forceTLS, plaintext bool
	f.StringVar(&at, "url", "", "")
	f.StringVar(&host, "host", "", "")
	f.BoolVar(&forceTLS, "tls", false, "")
	f.BoolVar(&plaintext, "allow-plaintext", false, "")
	f.StringVar(&o.target.ca, "ca", "", "")
	f.StringVar(&o.target.cert, "cert", "", "")
	f.StringVar(&o.target.key, "key", "", "")
	f.StringVar(&o.target.serverName, "server-name", "", "")
	f.BoolVar(&o.target.skipVerify, "skip-verify", false, "")
	f.StringVar(&o.target.user, "user", getenv("GATEHOUSE_USER"), "")
	f.StringVar(&passwordFile, "password-file", "", "")
	f.StringVar(&tokenFile, "token-file", "", "")
	f.Func("c", "", func(s string) error { o.commands = append(o.commands, s); return nil })
	f.Func("f", "", func(s string) error { o.files = append(o.files, s); return nil })
	f.StringVar(&o.format, "format", "table", "")
	f.Func("null", "", func(s string) error { o.null, o.nullSet = s, true; return nil })
	f.StringVar(&o.output, "o", "", "")
	f.StringVar(&o.output, "output", "", "")
	f.BoolVar(&o.timing, "timing", false, "")
	f.BoolVar(&o.keepGoing, "keep-going", false, "")
	f.BoolVar(&o.noHistory, "no-history", false, "")
	refuse := func(string) error {
		return errors.New("a secret in the command line is visible to everybody on the machine; use --password-file, --token-file or the environment")
	}
	f.Func("password", "", refuse)
	f.Func("token", "", refuse)
	switch err = f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return o, "", "", errHelp
	case err != nil:
		return o, "", "", err
	case f.NArg() > 0:
		return o, "", "", fmt.Errorf("unexpected argument %q; statements go after -c", f.Arg(0))
	case formats[o.format] == nil:
		return o, "", "", fmt.Errorf("--format %s: there are table, expanded, csv, json and arrow", o.format)
	case (o.target.cert == "") != (o.target.key == ""):
		return o, "", "", errors.New("--cert and --key belong together")
	case at != "" && host != "":
		return o, "", "", errors.New("--url and --host are two ways to say the same: give one")
	}
	if at == "" && host == "" {
		at = getenv("GATEHOUSE_URL")
	}
	if err := o.target.locate(at, host, forceTLS); err != nil {
		return o, "", "", err
	}
	if !o.target.tls && !plaintext && !isLoopback(o.target.host) {
		return o, "", "", fmt.Errorf("%s is not a loopback address and the connection would be unencrypted: use --tls or grpc+tls://, or --allow-plaintext if you trust the network", o.target.host)
	}
	return o, passwordFile, tokenFile, nil
}

const defaultPort = "31337"

// locate fills in host, port and TLS from a URL or else a host.
func (t *target) locate(at, host string, forceTLS bool) error {
	switch {
	case at == "" && host == "":
		t.host, t.port = "127.0.0.1", defaultPort
	case at != "":
		u, err := url.Parse(at)
		if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
			return fmt.Errorf("%q is no URL of a server; one looks like grpc+tls://lake.example.com:31337", at)
		}
		if u.User != nil {
			return errors.New("user and password don't belong in the URL: use --user and --password-file")
		}
		switch u.Scheme {
		case "grpc", "grpc+tcp", "http":
		case "grpc+tls", "https":
			t.tls = true
		default:
			return fmt.Errorf("scheme %q: there are grpc:// and grpc+tls://", u.Scheme)
		}
		t.host, t.port = u.Hostname(), u.Port()
	default:
		h, p, err := net.SplitHostPort(host)
		if err != nil {
			h, p = strings.Trim(host, "[]"), ""
		}
		t.host, t.port = h, p
		t.tls = !isLoopback(h)
	}
	if t.port == "" {
		t.port = defaultPort
	}
	t.tls = t.tls || forceTLS
	return nil
}

// isLoopback reports whether host can only be this machine. A name other than localhost is not resolved: what it
// stands for may change.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// credentials reads the secrets: from files, the environment, or the terminal.
func (t *target) credentials(passwordFile, tokenFile string, getenv func(string) string, stdin *os.File, stderr io.Writer) error {
	if tokenFile != "" {
		s, err := readSecretFile(tokenFile)
		t.token = s
		return err
	}
	if s := getenv("GATEHOUSE_TOKEN"); s != "" && passwordFile == "" {
		t.token = auth.NewSecret(s)
		return nil
	}
	interactive := stdin != nil && term.IsTerminal(int(stdin.Fd()))
	if t.user == "" {
		if !interactive {
			return errors.New("--user is missing")
		}
		fmt.Fprint(stderr, "User: ")
		line, err := bufio.NewReader(stdin).ReadString('\n')
		if err != nil {
			return errors.New("--user is missing")
		}
		t.user = strings.TrimSpace(line)
	}
	switch s := getenv("GATEHOUSE_PASSWORD"); {
	case passwordFile != "":
		secret, err := readSecretFile(passwordFile)
		t.password = secret
		return err
	case s != "":
		t.password = auth.NewSecret(s)
		return nil
	case !interactive:
		return errors.New("there is no password: use --password-file or GATEHOUSE_PASSWORD")
	}
	fmt.Fprintf(stderr, "Password for %s at %s: ", t.user, t.address())
	b, err := term.ReadPassword(int(stdin.Fd()))
	fmt.Fprintln(stderr)
	t.password = auth.NewSecret(string(b))
	return err
}

// readSecretFile reads the first line of a file that only its owner may read.
func readSecretFile(name string) (auth.Secret, error) {
	if err := checkSecretFile(name); err != nil {
		return auth.Secret{}, err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return auth.Secret{}, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return auth.Secret{}, fmt.Errorf("the first line of %s is empty", name)
	}
	return auth.NewSecret(line), nil
}

// checkSecretFile refuses a regular file that other users may read or write. A pipe or a process substitution is fine.
func checkSecretFile(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s may be read by others (mode %04o): chmod 600 %s", name, info.Mode().Perm(), name)
	}
	return nil
}

// runSQL is the command gatehouse sql; it returns the exit code.
func runSQL(ctx context.Context, args []string, getenv func(string) string, stdin *os.File, stdout, stderr io.Writer) int {
	o, passwordFile, tokenFile, err := parseSQL(args, getenv)
	if errors.Is(err, errHelp) {
		fmt.Fprint(stdout, sqlHelp)
		return exitOK
	}
	if err == nil {
		err = o.target.credentials(passwordFile, tokenFile, getenv, stdin, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "gatehouse sql: %v\n\"gatehouse sql --help\" shows the options.\n", err)
		return exitUsage
	}
	c, err := connect(ctx, o.target)
	if err != nil {
		fmt.Fprintf(stderr, "gatehouse sql: %v\n", err)
		switch {
		case errors.Is(err, errLogin):
			return exitAuth
		case errors.Is(err, errTransport):
			return exitConnect
		}
		return exitUsage
	}
	defer c.close()
	sh, err := newShell(c, o, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "gatehouse sql: %v\n", err)
		return exitUsage
	}
	code := sh.main(ctx, o, getenv, stdin)
	if err := sh.closeOutput(); err != nil {
		fmt.Fprintf(stderr, "gatehouse sql: %v\n", err)
		return exitFailure
	}
	return code
}

// main runs what the options ask for.
func (sh *shell) main(ctx context.Context, o sqlOptions, getenv func(string) string, stdin *os.File) int {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	sh.interrupts = interrupts

	if len(o.commands) == 0 && len(o.files) == 0 {
		if stdin == nil {
			return exitOK
		}
		if term.IsTerminal(int(stdin.Fd())) {
			// Ctrl-C ends a statement there, not the program.
			return sh.interactive(context.WithoutCancel(ctx), historyFile(o, getenv))
		}
		return sh.script(ctx, stdin)
	}
	worst := exitOK
	for _, text := range o.commands {
		if code := sh.script(ctx, strings.NewReader(text)); code != exitOK {
			if worst = code; !o.keepGoing || code == exitInterrupted {
				return worst
			}
		}
	}
	for _, name := range o.files {
		if code := sh.scriptFile(ctx, name, stdin); code != exitOK {
			if worst = code; !o.keepGoing || code == exitInterrupted {
				return worst
			}
		}
	}
	return worst
}
