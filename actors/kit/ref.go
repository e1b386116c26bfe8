package kit

import "troupe/actors/trace"

// Ref names an actor through all of its incarnations. It is one pointer, comparable, usable as a map key and from any
// goroutine. The zero Ref names nobody.
type Ref struct{ cell *cell }

// Send puts m into the actor's mailbox and returns. If the actor has stopped, m is a dead letter: a Failable one is
// failed before Send returns. Actors use Context.Send, which tells traces who caused the message.
func (r Ref) Send(m Message) { r.cell.send(m, trace.Context{}, nil, nil) }

// SendCaused is Send within a trace, for those who are no actors: a connection passes on its request's activity.
func (r Ref) SendCaused(cause trace.Context, m Message) { r.cell.send(m, cause, nil, nil) }

// Name is the path of names from the top of the tree, such as "replicas/3/orders-7".
func (r Ref) Name() string {
	if r.cell == nil {
		return ""
	}
	return r.cell.name
}

// Kind is the kind of actor that Props named.
func (r Ref) Kind() string { return r.cell.kind.name }

// String makes a Ref readable in logs and assertions.
func (r Ref) String() string { return r.Name() }

// IsZero tells whether r names nobody.
func (r Ref) IsZero() bool { return r.cell == nil }

// Depth is how many messages wait in the mailbox, that being handled included.
func (r Ref) Depth() int { return r.cell.depth() }
