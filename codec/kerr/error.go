package kerr

import (
	"errors"
	"strconv"
)

// Name is the protocol's name of the code, such as NOT_LEADER_OR_FOLLOWER. A code from a newer Kafka reads UNKNOWN(n).
func (c Code) Name() string {
	if e, ok := c.lookup(); ok {
		return e.name
	}
	return "UNKNOWN(" + strconv.Itoa(int(c)) + ")"
}

// Error is a sentence for people.
func (c Code) Error() string {
	if e, ok := c.lookup(); ok {
		return e.text
	}
	return "error code " + strconv.Itoa(int(c)) + " is not known here"
}

// Retriable tells whether a client repeats the request by itself, as the Java client does.
func (c Code) Retriable() bool {
	e, ok := c.lookup()
	return ok && e.retriable
}

func (c Code) lookup() (entry, bool) {
	i := int(c) + 1
	if i < 0 || i >= len(table) {
		return entry{}, false
	}
	return table[i], true
}

// Error is a code with the particulars: which thing, which value, what was expected.
// Where the reply has a message field, Detail goes there.
type Error struct {
	Code   Code
	Detail string
}

// Error is the detail, or the code's own text when there is none.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Code.Error()
	}
	return e.Detail
}

// Unwrap makes errors.Is(err, kerr.InvalidRequest) true for an Error of that code.
func (e *Error) Unwrap() error { return e.Code }

// Of gives the wire form of any error: its code, and a message when the error carries more than the code.
// An error that has no code is UnknownServerError, with its text. nil is None.
func Of(err error) (Code, string) {
	if err == nil {
		return None, ""
	}
	var code Code
	if !errors.As(err, &code) {
		return UnknownServerError, err.Error()
	}
	if err == error(code) {
		return code, ""
	}
	return code, err.Error()
}
