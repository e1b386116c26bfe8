package option

import (
	"fmt"
	"io"
)

// Streams are what a command reads and writes, and its arguments as they were written.
type Streams struct {
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	Args []string
}

// Failure ends a command with an exit code. Line goes to standard error when it is not empty; a command whose script
// reports on standard output has written its line there already.
type Failure struct {
	Code int
	Line string
}

func (f *Failure) Error() string { return f.Line }

// Fail is a Failure of exit code 1.
func Fail(format string, args ...any) error {
	return &Failure{Code: 1, Line: fmt.Sprintf(format, args...)}
}

// Silent is a Failure whose text is already written.
func Silent() error { return &Failure{Code: 1} }

// Misuse is the line of the scripts that are built on argparse.
func Misuse(script, format string, args ...any) error {
	return Fail("%s: error: %s", script, fmt.Sprintf(format, args...))
}
