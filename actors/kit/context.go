package kit

import (
	"log/slog"
	"time"

	"troupe/actors/trace"
	"troupe/internal/invariant"
)

// Context is an actor's view of the system during one incarnation. It is used on the actor's goroutine only, and not
// after the incarnation has ended.
type Context struct {
	cell   *cell
	cause  trace.Context
	links  links
	timers *Timer
	age    uint32
}

// Self is the actor.
func (x *Context) Self() Ref { return Ref{x.cell} }

// Parent is who spawned the actor; zero at the top of the tree.
func (x *Context) Parent() Ref { return Ref{x.cell.parent} }

// Incarnation counts from 1 and grows with each restart. Requests that go out with it tell late replies to an earlier
// incarnation apart.
func (x *Context) Incarnation() uint32 { return x.age }

// Now is the time by the injected clock.
func (x *Context) Now() time.Time { return x.cell.system.clock.Now() }

// Log logs under the actor's name.
func (x *Context) Log() *slog.Logger { return x.cell.system.log.With("actor", x.cell.name) }

// System is where the actor lives.
func (x *Context) System() *System { return x.cell.system }

// Send puts m into another actor's mailbox, or the own one, with the message being handled as its cause.
func (x *Context) Send(to Ref, m Message) { to.cell.send(m, x.cause, x.cell, x.cell.turn) }

// SendCaused is Send with another cause: that of a request parked earlier.
func (x *Context) SendCaused(cause trace.Context, to Ref, m Message) {
	to.cell.send(m, cause, x.cell, x.cell.turn)
}

// Turn is what runs whom the actor wakes while it handles its messages: for what it tells that are no actors. Often it is nil.
func (x *Context) Turn() *Turn { return x.cell.turn }

// Cause is the trace of the message being handled, to be kept with what is parked of it; zero if it is not traced.
func (x *Context) Cause() trace.Context { return x.cause }

// Spawn starts a child under the actor's name, a slash and name. The name must be free: that of a child that was
// stopped is free when its Terminated has come.
func (x *Context) Spawn(name string, p Props) Ref {
	invariant.Check(x.cell.ctx == x && !x.cell.gone, "actor %s spawns %s after its end", x.cell.name, name)
	return x.cell.system.spawn(x.cell, x.cell.name+"/"+name, name, p)
}

// Children counts the children that have not stopped.
func (x *Context) Children() int { return len(x.cell.children) }

// Watch asks for a Terminated when the actor has stopped for good, at once if it has. Watching twice tells once. A
// restart of the watcher ends the watch.
func (x *Context) Watch(other Ref) { other.cell.watch(watcher{x.cell, x.age}) }

// Stop asks another actor, or the own one, to drain and stop: it receives what was sent before, finishes what it began
// (Drainer), its children stop the same way, then it ends and its Terminated comes.
func (x *Context) Stop(other Ref) {
	if other.cell != x.cell {
		x.Watch(other)
	}
	other.cell.askToStop()
}

// Drained ends the draining that Drainer.Drain began; it may be called within Drain. An actor that nobody asked to
// stop ends itself with it.
func (x *Context) Drained() { x.cell.drained = true }
