package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// parseOptions reads the options of a command, wherever they stand among its arguments, which it returns. If done, the command ends
// with code: its help was asked for and is on stdout, or the command line is wrong, which a line on stderr says.
func parseOptions(fs *flag.FlagSet, help string, args []string, env environment) (rest []string, code int, done bool) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	rest, err := interleaved(fs, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		showHelp(fs, help, env.stdout)
		return nil, exitOK, true
	case err != nil:
		return nil, wrongUsage(fs.Name(), err.Error(), env), true
	}
	return rest, exitOK, false
}

// parseVerb is parseOptions for a command whose first argument says what to do, which it returns first.
func parseVerb(fs *flag.FlagSet, help string, args []string, env environment) (verb string, rest []string, code int, done bool) {
	rest, code, done = parseOptions(fs, help, args, env)
	switch {
	case done:
		return "", nil, code, true
	case len(rest) == 0:
		showHelp(fs, help, env.stderr)
		return "", nil, exitUsage, true
	case rest[0] == "help":
		showHelp(fs, help, env.stdout)
		return "", nil, exitOK, true
	}
	return rest[0], rest[1:], exitOK, false
}

// interleaved parses options wherever they stand among the arguments, which it returns.
func interleaved(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		taken := args[:len(args)-fs.NArg()]
		if len(taken) > 0 && taken[len(taken)-1] == "--" {
			return append(rest, fs.Args()...), nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

func showHelp(fs *flag.FlagSet, help string, w io.Writer) {
	fmt.Fprint(w, help)
	fs.SetOutput(w)
	fs.PrintDefaults()
}

// wrongUsage says what is wrong with a command line, and returns the exit code.
func wrongUsage(command, text string, env environment) int {
	fmt.Fprintf(env.stderr, "gatehouse %s: %s\n\"gatehouse %s --help\" shows how it is used.\n", command, text, command)
	return exitUsage
}
