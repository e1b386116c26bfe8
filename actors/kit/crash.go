package kit

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/trace"
)

// crash ends the present incarnation after a panic and leaves the rest to supervision. The messages that wait stay for
// the next incarnation.
func (c *cell) crash(value any, stack []byte) {
	c.invoker.EscalateFailure(c.bury(value, stack), nil)
}

// bury fails what the panicking instance was to answer. The order is part of the contract of Crasher.
func (c *cell) bury(value any, stack []byte) *PanicError {
	err := &PanicError{Actor: c.name, Value: value, Stack: stack, cell: c}
	failing := c.current
	if failing != nil {
		err.Message = failing.MessageKind()
		c.current = nil
		// A message that was panicked on is handled: it is never given again (K3).
		c.handled.Store(c.handled.Load() + 1)
	}
	c.endSpan()
	c.endLinks()
	c.open, c.measured = false, false
	c.lastErr.Store(err)
	instance := c.behavior
	c.behavior = nil
	c.ctx.release()
	if f, ok := failing.(Failable); ok {
		c.guard("Fail", func() { f.Fail(err) })
	}
	if b, ok := instance.(Crasher); ok {
		c.guard("Crashed", func() { b.Crashed(err) })
	}
	return err
}

// lastCall runs a hook of an actor that protoactor is stopping. A panic there may not stop the stopping: the tree
// would wait for this actor for ever.
func (c *cell) lastCall(hook func()) {
	if c.behavior == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			c.system.logPanic(c.bury(r, debug.Stack()), "stopping")
		}
	}()
	hook()
}

// guard runs a callback that must not take the actor along: it belongs to whoever waits for an answer.
func (c *cell) guard(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			err := &PanicError{Actor: c.name, Message: what, Value: r, Stack: debug.Stack(), cell: c}
			c.system.logPanic(err, "going on")
		}
	}()
	f()
}

// strategy is the kit's supervision. It runs on the parent's goroutine, for an actor without parent on that actor's.
type strategy struct{ system *System }

// HandleFailure is part of protoactor's SupervisorStrategy. Its orders go to the cell: a PID finds, once its actor has ended,
// the next one of the name, which would lose what it has parked by a restart that it did not call for.
func (s *strategy) HandleFailure(_ *actor.ActorSystem, _ actor.Supervisor, _ *actor.PID,
	_ *actor.RestartStatistics, reason any, _ any) {
	err := reason.(*PanicError)
	c := err.cell
	wait, ok := c.nextRestart(s.system.clock.Now())
	if ok {
		s.system.logPanic(err, "restarting", slog.Duration("in", wait))
		c.restartAfter(wait, func() { c.PostSystemMessage(&actor.Restart{}) })
		return
	}
	s.system.logPanic(err, "stopping")
	if !c.askedToStop() {
		s.giveUp(c, err)
	}
	c.PostSystemMessage(&actor.Stop{})
}

// giveUp tells the parent that a child is gone for good; at the top there is nobody but the system's owner.
func (s *strategy) giveUp(c *cell, err *PanicError) {
	switch {
	case c.parent == nil:
		s.system.onGiveUp(GaveUp{Actor: Ref{c}, Err: err})
	case c.props.OnGiveUp != nil:
		c.parent.send(c.props.OnGiveUp(Ref{c}, err), trace.Context{}, c, nil)
	default:
		c.parent.send(GaveUp{Actor: Ref{c}, Err: err}, trace.Context{}, c, nil)
	}
}

// nextRestart notes a panic at now. An actor that was asked to stop is not restarted: nothing new may begin in it.
func (c *cell) nextRestart(now time.Time) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	policy := c.props.Restarts
	if policy == (Restarts{}) {
		policy = DefaultRestarts
	}
	wait, ok := c.failures.fail(now, policy)
	return wait, ok && !c.asked
}

// restartAfter keeps the timer where a stop finds it: an actor that is stopped must not come back.
func (c *cell) restartAfter(wait time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == alive {
		c.restart = c.system.clock.AfterFunc(wait, f)
	}
}

func (c *cell) askedToStop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}
