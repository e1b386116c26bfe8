// Package trace records what messages between actors caused what: a span for every traced message, from the moment it
// was put into a mailbox to the end of its handling, with the one message that caused it and links to all the others
// it serves. Which requests are traced is decided where they enter the broker (Tracer.Start); everything they cause,
// on other brokers too, follows by passing a Context on.
package trace

import (
	"encoding/binary"
	"strconv"
	"time"

	"troupe/internal/model"
)

// TraceID names everything that one request caused. It is unique across brokers as far as 64 random-looking bits are.
type TraceID uint64

// SpanID names one handled message or one piece of work within a trace.
type SpanID uint64

// Context is what travels with a message: the trace it belongs to and the span that caused it. The zero Context means
// "not traced" and costs nothing. Between brokers it is sent as two 64-bit integers.
type Context struct {
	Trace TraceID `json:"trace"`
	Span  SpanID  `json:"span"`
}

// Traced tells whether the message belongs to a trace.
func (c Context) Traced() bool { return c.Trace != 0 }

// contextLen is the length of an encoded Context.
const contextLen = 16

// Append writes the context as nodes send it to each other: two big-endian integers of 64 bits.
func (c Context) Append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(c.Trace)), uint64(c.Span))
}

// ReadContext reads what Append wrote. Other bytes are no trace.
func ReadContext(b []byte) Context {
	if len(b) != contextLen {
		return Context{}
	}
	return Context{Trace: TraceID(binary.BigEndian.Uint64(b)), Span: SpanID(binary.BigEndian.Uint64(b[8:]))}
}

// Span is one message handled by one actor, or one piece of work that an actor did for several messages.
type Span struct {
	TraceID TraceID `json:"trace"`
	SpanID  SpanID  `json:"span"`
	// Cause is the span that sent the message; 0 at the start of a trace.
	Cause SpanID `json:"cause,omitempty"`
	// Links lists every request that the work served when it served more than one: a coalesced disk write links all
	// of its appends, the one in Cause included.
	Links    []Context      `json:"links,omitempty"`
	Sender   string         `json:"sender,omitempty"`
	Receiver string         `json:"receiver"`
	Kind     string         `json:"kind"`
	Enqueued time.Time      `json:"enqueued"`
	Started  time.Time      `json:"started"`
	Ended    time.Time      `json:"ended"`
	Broker   model.BrokerID `json:"broker"`
}

// Queued is the time that the message waited in the mailbox.
func (s *Span) Queued() time.Duration { return s.Started.Sub(s.Enqueued) }

// Handled is the time that the handling took.
func (s *Span) Handled() time.Duration { return s.Ended.Sub(s.Started) }

// MarshalText writes an id as 16 hex digits: JavaScript, which reads the stream in the console, rounds integers over 2^53.
func (id TraceID) MarshalText() ([]byte, error) { return appendHex(uint64(id)), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *TraceID) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 16, 64)
	*id = TraceID(v)
	return err
}

// MarshalText writes an id as 16 hex digits.
func (id SpanID) MarshalText() ([]byte, error) { return appendHex(uint64(id)), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *SpanID) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 16, 64)
	*id = SpanID(v)
	return err
}

func appendHex(v uint64) []byte {
	const digits = "0123456789abcdef"
	b := make([]byte, 16)
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = digits[v&0xf]
		v >>= 4
	}
	return b
}
