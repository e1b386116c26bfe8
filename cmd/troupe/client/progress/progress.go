// Package progress shows how far a command is that runs long: one line of a terminal, written over again and again.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// interval is between two versions of the line: more often nobody can read it.
const interval = 200 * time.Millisecond

// erase goes to the begin of the line and clears it to its end (ECMA-48: CR, then EL).
const erase = "\r\x1b[K"

// Line is the line of progress. The zero value shows nothing. It is used by one goroutine.
type Line struct {
	out   io.Writer // nil: nobody looks
	next  time.Time
	shown bool
}

// On gives a line on standard error, if that is a terminal and standard output does not show how far the command is. A
// command that prints its records says so itself, unless they go to a file.
func On(errs, out io.Writer, printsRecords bool) *Line {
	if !Terminal(errs) || printsRecords && Terminal(out) {
		return &Line{}
	}
	return &Line{out: errs}
}

// Terminal tells whether a person is at the other end.
func Terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Show writes the line anew, unless it was written a moment ago.
func (l *Line) Show(format string, args ...any) {
	now := time.Now()
	if l.out == nil || now.Before(l.next) {
		return
	}
	l.next, l.shown = now.Add(interval), true
	fmt.Fprintf(l.out, erase+format, args...)
}

// Clear takes the line away, before anything else is written to the terminal.
func (l *Line) Clear() {
	if l.shown {
		l.shown = false
		io.WriteString(l.out, erase)
	}
}
