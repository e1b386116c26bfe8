package trace

import (
	"sync"
	"sync/atomic"

	"troupe/internal/clock"
	"troupe/internal/model"
)

// Options of a Tracer. Clock is required.
type Options struct {
	Clock  clock.Clock
	Broker model.BrokerID
	// Seed makes the ids of this broker differ from those of others and of its earlier lives; one seed gives one
	// sequence of ids.
	Seed uint64
	// Ring is how many finished spans are kept for those who ask later; 4096 when 0.
	Ring int
}

// Tracer decides what is traced and collects finished spans. It is safe for concurrent use.
type Tracer struct {
	opts  Options
	rules rules
	// What the rules ask for: oneIn is asked at each request, filtering at each message that no traced one caused.
	oneIn     atomic.Uint64
	filtering atomic.Bool
	filters   atomic.Pointer[[]Filter]

	ids      atomic.Uint64
	requests atomic.Uint64

	mu   sync.Mutex
	ring ring
	subs []*Subscription
}

// New makes a tracer that traces nothing until SetRule.
func New(opts Options) *Tracer {
	if opts.Ring == 0 {
		opts.Ring = 4096
	}
	t := &Tracer{opts: opts, ring: ring{limit: opts.Ring}}
	t.SetRule(Rule{})
	return t
}

// Filtering tells whether a message that no traced one caused may have to be traced; see Admit.
func (t *Tracer) Filtering() bool { return t.filtering.Load() }

// ConnectionKind is the kind of the receivers of requests, for filters.
const ConnectionKind = "connection"

// Start begins a trace for a request that enters the broker, if it is sampled or a filter asks for it; otherwise the
// Activity is empty and all of its methods do nothing. The receiver is the connection, the kind is the request's.
func (t *Tracer) Start(receiver, kind string) Activity {
	oneIn := t.oneIn.Load()
	sampled := oneIn != 0 && t.requests.Add(1)%oneIn == 0
	if !sampled && !(t.Filtering() && t.wanted(receiver, ConnectionKind, kind)) {
		return Activity{}
	}
	now := t.opts.Clock.Now()
	return Activity{tracer: t, span: &Span{
		TraceID: TraceID(t.nextID()), SpanID: SpanID(t.nextID()),
		Receiver: receiver, Kind: kind, Enqueued: now, Started: now, Broker: t.opts.Broker,
	}}
}

// Continue is Start for a request that belongs to a trace of another node; an untraced cause gives what Start gives.
func (t *Tracer) Continue(cause Context, receiver, kind string) Activity {
	if !cause.Traced() {
		return t.Start(receiver, kind)
	}
	return t.Begin(receiver, kind, []Context{cause})
}

// Admit begins a trace for a message that none caused, if a filter asks for it.
func (t *Tracer) Admit(actor, actorKind, message string) Context {
	if t.wanted(actor, actorKind, message) {
		return Context{Trace: TraceID(t.nextID())}
	}
	return Context{}
}

// wanted tells whether a filter names the message: filters trace what sampling would pass over.
func (t *Tracer) wanted(actor, actorKind, message string) bool {
	for _, f := range *t.filters.Load() {
		if f.Matches(actor, actorKind, message) {
			return true
		}
	}
	return false
}

// NewSpan gives an id to a span that the caller builds and hands to Record.
func (t *Tracer) NewSpan() SpanID { return SpanID(t.nextID()) }

// Record keeps a finished span and offers it to the subscribers. It never waits for one of them.
func (t *Tracer) Record(s Span) {
	s.Broker = t.opts.Broker
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring.push(s)
	for _, sub := range t.subs {
		sub.offer(s)
	}
}

// Recent gives the last spans kept, at most n, oldest first.
func (t *Tracer) Recent(n int) []Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ring.last(n)
}

// nextID is the splitmix64 sequence of the seed (Steele, Lea, Flood 2014): a bijection of the counter, so that no id
// comes twice in a life. Zero, which would mean "not traced", is skipped.
func (t *Tracer) nextID() uint64 {
	for {
		z := t.opts.Seed + t.ids.Add(1)*0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		if z ^= z >> 31; z != 0 {
			return z
		}
	}
}
