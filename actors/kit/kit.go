// Package kit is what every actor of the broker is built from: a mailbox, supervision by an injected clock, timers,
// drain-then-stop, dead letters, credits, tracing and a dispatcher that can replay one order of events from a seed.
// It stands on protoactor's package actor, which keeps the tree of parents and children and their life cycle; nothing
// outside this package sees protoactor.
//
// Rules for a Behavior: no lock, no goroutine without recovery, nothing that blocks (unless Props.Dedicated), no slice
// shared through a message and changed afterwards. What must survive a restart lives outside the instance.
package kit

import (
	"errors"
	"fmt"
)

// Message is what actors send each other. Each actor's package defines the closed set that it receives.
type Message interface {
	// MessageKind names the type in traces and errors, such as "Append". It is constant for a type.
	MessageKind() string
}

// Failable is a Message that somebody waits for an answer to. Fail is called when there will be none: once, by the
// actor's goroutine when it panicked on the message (a *PanicError), or by the sender's or the actor's goroutine when
// the message is a dead letter (ErrStopped). It must not block.
type Failable interface {
	Fail(err error)
}

// Sized is a Message that holds memory worth counting; see ActorInfo.Bytes.
type Sized interface {
	MessageBytes() int
}

// Behavior handles an actor's messages, one at a time. Props.New makes one for each incarnation; a panic ends it.
//
// A Behavior may also be a Starter, BatchEnder, Crasher, Drainer or Stopper.
type Behavior interface {
	Receive(ctx *Context, m Message)
}

// Starter is told before its first message, in every incarnation.
type Starter interface{ Start(ctx *Context) }

// BatchEnder is told after the last message of those that were waiting when the mailbox was last looked into, and
// before the actor stops: the place to do once what many messages asked for.
type BatchEnder interface{ EndBatch(ctx *Context) }

// Crasher is told, on the instance that panicked, to fail the requests that it had parked. The message it panicked on
// has been failed by then. The instance gets no message any more.
type Crasher interface{ Crashed(err error) }

// Drainer is asked to finish what it began when the actor shall stop; it goes on receiving messages until it calls
// Context.Drained. Every message sent before the stop was asked for has been received by then. An actor that panics
// while it drains is not restarted.
type Drainer interface{ Drain(ctx *Context) }

// Stopper is told last, when all of its children have stopped; not after a panic.
type Stopper interface{ Stopped(ctx *Context) }

// ErrStopped fails a message that was sent to an actor that has stopped, or that it left unread.
var ErrStopped = errors.New("actor has stopped")

// PanicError tells that an actor panicked. The message it panicked on and those that it had parked fail with it.
type PanicError struct {
	Actor   string
	Message string // kind of the message it was handling; empty in Start and EndBatch
	Value   any    // what it panicked with
	Stack   []byte

	cell *cell
}

// Error leaves the stack out: it reaches clients' logs through error replies.
func (e *PanicError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("actor %s panicked: %v", e.Actor, e.Value)
	}
	return fmt.Sprintf("actor %s panicked on %s: %v", e.Actor, e.Message, e.Value)
}

// Unwrap gives the error that it panicked with, if it was one.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Terminated tells an actor that one that it watched, or asked to stop, has stopped for good and left its name free.
type Terminated struct{ Actor Ref }

// MessageKind is part of Message.
func (Terminated) MessageKind() string { return "Terminated" }

// GaveUp tells a parent that a child panicked more often than its Restarts allow and is stopped.
type GaveUp struct {
	Actor Ref
	Err   *PanicError // the last panic
}

// MessageKind is part of Message.
func (GaveUp) MessageKind() string { return "GaveUp" }
