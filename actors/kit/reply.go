package kit

import "sync/atomic"

// Reply is where the answer of one request goes. A message embeds a *Reply and is Failable by that: the actor gives
// the answer or an error, a panic or a dead letter fails it, and the first of them counts. So an actor that panics
// after it has answered, or on a request that it has parked too, does no harm.
//
// The function is called once, on the goroutine of whoever answers: it hands the answer on (to a connection's writer,
// or as a message to an actor) and does not block.
type Reply[T any] struct {
	to   func(T, error)
	used atomic.Bool
}

// NewReply answers to the function.
func NewReply[T any](to func(T, error)) *Reply[T] { return &Reply[T]{to: to} }

// Give answers with v.
func (r *Reply[T]) Give(v T) {
	if r.used.CompareAndSwap(false, true) {
		r.to(v, nil)
	}
}

// Fail answers with an error.
func (r *Reply[T]) Fail(err error) {
	if r.used.CompareAndSwap(false, true) {
		var none T
		r.to(none, err)
	}
}
