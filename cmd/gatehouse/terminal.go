package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"gatehouse/auth"
)

func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// promptPassword reads one password from the terminal without an echo, or one line of standard input if that is no terminal.
func promptPassword(env environment, prompt string) (auth.Secret, error) {
	if env.stdin == nil {
		return auth.Secret{}, errors.New("there is no terminal to ask for a password")
	}
	if isTerminal(env.stdin) {
		fmt.Fprint(env.stderr, prompt)
		b, err := term.ReadPassword(int(env.stdin.Fd()))
		fmt.Fprintln(env.stderr)
		if err != nil {
			return auth.Secret{}, err
		}
		return checkPassword(string(b))
	}
	line, err := bufio.NewReader(env.stdin).ReadString('\n')
	if err != nil && line == "" {
		return auth.Secret{}, errors.New("no password on standard input")
	}
	return checkPassword(strings.TrimRight(line, "\r\n"))
}

func checkPassword(s string) (auth.Secret, error) {
	if s == "" {
		return auth.Secret{}, errors.New("the password is empty")
	}
	return auth.NewSecret(s), nil
}
