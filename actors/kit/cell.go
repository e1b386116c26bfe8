package kit

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/trace"
	"troupe/internal/clock"
)

// phase is how far an actor's life has come. It only ever grows, by the owner's hand.
type phase uint8

const (
	alive    phase = iota
	stopping       // protoactor has the Stop: children are being stopped, no message is delivered any more
	stopped        // whatever is sent is a dead letter
	ended          // so is whatever was left; the name is free
)

// cell is one actor for its whole life, through all incarnations: the mailbox that protoactor drives, and what the
// behavior's instance must not hold itself.
//
// Invariants, numbered as in docs/invariants.md, which says what tests them:
//
//	K1. scheduled is true exactly while one run of process is queued or under way, so that one goroutine at a time owns
//	    the fields under "owner". Whoever sets it schedules; swap and nobody else clears it.
//	K3. A message is received at most once; one that is not is failed once, by bury or by deadLetter.
//	K5. No message is delivered while suspended, nor from stopping on. Orders (protoactor's system messages) come first.
//	K9. phase only grows; an order to restart is dropped from stopping on.
type cell struct {
	system     *System
	tracer     *trace.Tracer // the system's, at hand for every send
	parent     *cell
	name       string
	props      *Props
	kind       *kindStats
	order      uint64 // of spawning; children are stopped in the reverse order
	dispatcher actor.Dispatcher
	invoker    actor.MessageInvoker
	process    func() // the method value run, kept because making it allocates

	mu        sync.Mutex
	queue     []entry
	orders    []any
	posted    uint64
	waited    time.Time // when the first message of queue came, if it is sampled
	phase     phase
	scheduled bool
	suspended bool // written by the owner alone
	asked     bool // to drain and stop
	sampled   bool // the next swap is measured; written by the owner alone
	watchers  []watcher
	done      []chan struct{}
	failures  restartRecord
	restart   clock.Timer

	pending  atomic.Int32 // orders waiting: the one question asked between messages
	handled  atomic.Uint64
	bytes    atomic.Int64
	restarts atomic.Uint32
	lastErr  atomic.Pointer[PanicError]

	// owner: the goroutine inside process, or that of the turn that visits.
	turn     *Turn // runs whom the actor wakes; nil leaves that to dispatchers
	batch    []entry
	next     int // first of batch that is not delivered
	swaps    uint32
	measured bool // the handling of the next message is timed
	open     bool // the instance has messages of this batch that EndBatch was not called for
	drained  bool // nothing keeps the behavior from stopping
	leaving  bool // the children have been asked to stop, the actor follows the last of them
	gone     bool // protoactor has said Stopped
	age      uint32
	current  Message
	behavior Behavior // nil between a panic and the restart
	ctx      *Context
	shell    actor.Context
	children map[string]*cell
	span     activeSpan
}

// entry is a message in a mailbox.
type entry struct {
	mark mark // first: it has no size without tracing, and would be padded at the end
	msg  Message
}

// idleCapacity is the largest queue kept by an idle actor; 10,000 actors that were busy once must not hold more.
const idleCapacity = 64

func (c *cell) depth() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase >= stopped {
		return 0
	}
	return int(c.posted - c.handled.Load())
}
