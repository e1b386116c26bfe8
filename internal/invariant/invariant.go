// Package invariant states what must hold. A broken invariant is a bug: it panics, and the supervisor of the actor
// that found it rebuilds the actor from what is durable.
package invariant

import "fmt"

// Check panics with the message when ok is false. The message names the invariant as docs/invariants.md does.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic(Violation(fmt.Sprintf(format, args...)))
	}
}

// Violation is the value of such a panic.
type Violation string

// Error makes a Violation readable where a recovered panic is reported.
func (v Violation) Error() string { return "invariant violated: " + string(v) }
