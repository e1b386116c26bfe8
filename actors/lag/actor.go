package lag

import (
	"sync/atomic"
	"time"

	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/internal/model"
)

// Board holds the last report, and passes on what somebody else wants to know. It is safe for concurrent use.
type Board struct {
	last atomic.Pointer[Report]
	ask  func(model.BrokerID, *Question) // set before the actor runs; nil where nothing is measured
}

// Ask asks a broker about partitions now, beside the rounds.
func (b *Board) Ask(id model.BrokerID, q *Question) {
	if b.ask == nil {
		q.Fail(kit.ErrStopped)
		return
	}
	b.ask(id, q)
}

// Last is the report of the last round, nil before the first has ended.
func (b *Board) Last() *Report { return b.last.Load() }

// Deps is what the actor works with.
type Deps struct {
	Coordinators *coordinator.Directory
	// Leader is who leads a partition, negative for nobody.
	Leader func(model.TopicPartition) model.BrokerID
	// Ask passes a question on to a broker's Leader; what cannot be passed on is failed.
	Ask     func(model.BrokerID, *Question)
	Every   time.Duration // group.lag.interval.ms
	Options Options
	Board   *Board
}

// actor runs the machine, a round at a time. Nothing in it outlives a panic but the report.
type actor struct {
	deps    *Deps
	machine *Machine
	round   uint64
	// waiting counts the coordinators, then the brokers, that have not told yet.
	waiting int
	asking  bool // brokers are being asked
	late    int  // intervals that the round has taken
	groups  []group.Overview
	found   Coordinators
}

// New makes the actor that measures the groups which are coordinated here.
func New(d *Deps) kit.Props {
	d.Board.ask = d.Ask
	return kit.Props{Kind: "lag", New: func() kit.Behavior { return &actor{deps: d, machine: NewMachine(d.Options)} }}
}

// Start waits for the first round. Numbers of rounds do not come again after a panic: answers to former ones may still come.
func (a *actor) Start(ctx *kit.Context) {
	a.round = uint64(ctx.Incarnation()) << 32
	ctx.After(a.deps.Every, &roundDue{})
}

// Receive goes through the steps of a round. What comes for a former one is too late.
func (a *actor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *roundDue:
		ctx.After(a.deps.Every, m)
		a.due(ctx)
	case *surveyed:
		if m.round == a.round && !a.asking {
			a.groups = append(a.groups, m.groups...)
			a.found.count(m)
			a.arrived(ctx)
		}
	case *answered:
		if m.round == a.round && a.asking {
			a.machine.Answered(m.answers)
			a.arrived(ctx)
		}
	}
}

// lateMax is how many intervals a round may take. To ask anew before that would only add to what somebody is behind with.
const lateMax = 6

// due begins a round unless one is under way. What is known of that one is told meanwhile.
func (a *actor) due(ctx *kit.Context) {
	if a.late++; a.waiting > 0 && a.asking {
		a.publish(ctx)
	}
	if a.waiting == 0 || a.late >= lateMax {
		a.begin(ctx)
	}
}

// begin looks into the coordinators. One that is loading has no groups to tell of.
func (a *actor) begin(ctx *kit.Context) {
	partitions := a.deps.Coordinators.Partitions()
	a.round++
	// One more than there are answers to wait for, so that none of them ends the step before all are asked for.
	a.groups, a.found, a.asking, a.waiting, a.late = nil, Coordinators{}, false, len(partitions)+1, 0
	for _, n := range partitions {
		self, told := ctx.Self(), &surveyed{round: a.round}
		a.deps.Coordinators.Look(n, &coordinator.Look{
			Read: func(m coordinator.Machine) { told.groups = m.(*group.Machine).Survey() },
			Reply: kit.NewReply(func(loaded bool, err error) {
				told.loaded, told.err = loaded, err
				self.Send(told)
			}),
		})
	}
	a.arrived(ctx)
}

// arrived goes on when everybody has told.
func (a *actor) arrived(ctx *kit.Context) {
	if a.waiting--; a.waiting > 0 {
		return
	}
	if a.asking {
		a.publish(ctx)
		return
	}
	// The machine keeps the groups from here on.
	asks := a.machine.Begin(a.groups, a.deps.Leader)
	a.groups, a.asking, a.waiting = nil, true, len(asks)+1
	for _, ask := range asks {
		self, round := ctx.Self(), a.round
		a.deps.Ask(ask.Broker, &Question{Partitions: ask.Partitions, Reply: kit.NewReply(func(answers []Answer, _ error) {
			self.Send(&answered{round, answers})
		})})
	}
	a.arrived(ctx)
}

func (a *actor) publish(ctx *kit.Context) {
	r := a.machine.Report(ctx.Now())
	r.Coordinators = a.found
	a.deps.Board.last.Store(r)
}

func (c *Coordinators) count(m *surveyed) {
	switch {
	case m.err != nil:
		c.Failed++
	case m.loaded:
		c.Active++
	default:
		c.Loading++
	}
}
