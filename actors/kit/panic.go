package kit

import "errors"

// panicOrder stands in a mailbox where the actor is to fail.
type panicOrder struct{}

func (*panicOrder) MessageKind() string { return "Panic" }
func (*panicOrder) kitSignal()          {}

var errPanicOrdered = errors.New("told to panic by a fault test")

// Panic makes an actor of any kind fail, for fault tests. The order waits its turn in the mailbox, so that it strikes
// between two messages of a batch: what the incarnation has parked or not yet put together fails with it. Nothing
// happens if the actor has stopped.
func (r Ref) Panic() { r.cell.post(entry{msg: &panicOrder{}}, nil) }
