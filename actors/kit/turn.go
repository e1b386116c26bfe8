package kit

import (
	"slices"

	"troupe/actors/trace"
)

// Turn lends a goroutine to the actors that it wakes. What is sent through a Turn to a sleeping actor is handled by that
// goroutine when it calls Run, and so is what these actors send to others that sleep: a wake-up of another thread costs more
// than most messages. An actor that is awake already stays where it is. Under a Deterministic dispatcher a Turn lends
// nothing.
//
// A Turn belongs to one goroutine. Whoever sends through it comes to Run or Leave soon, and does not wait for an answer
// before. The nil Turn is good to send through and lends nothing.
type Turn struct {
	// Lender is told before and after an actor that may block is run, see Props.Brief; without one none is.
	Lender Lender

	ready   []*cell // woken and scheduled here: nobody else runs them
	errands []Errand
}

// Errand is what somebody does who is no actor when an actor has told him something: on the goroutine of a turn (Here) or on
// his own (Elsewhere), which only wakes that. Neither panics.
type Errand interface {
	Here(t *Turn)
	Elsewhere()
}

// Lender is the goroutine of a Turn, which is about to block for as long as a disk takes, or is free again.
type Lender interface {
	Block()
	Resume()
}

const (
	// lentMax bounds the actors that wait for one goroutine; those beyond get goroutines of their own.
	lentMax = 64
	// errandsMax bounds the errands of one Finish, for the same reason.
	errandsMax = 8
	// visitsMax bounds the batches that one Run handles: two actors that wake each other for ever must not keep the
	// goroutine from its own work.
	visitsMax = 256
)

// Send is Ref.SendCaused, but for where a sleeping actor handles the message.
func (t *Turn) Send(to Ref, cause trace.Context, m Message) { to.cell.send(m, cause, nil, t) }

// Then has an errand run by Finish; on a nil turn it runs elsewhere.
func (t *Turn) Then(e Errand) {
	switch {
	case t == nil || len(t.errands) == errandsMax:
		e.Elsewhere()
	case !slices.Contains(t.errands, e):
		t.errands = append(t.errands, e)
	}
}

// Finish runs what Run runs, and the errands.
func (t *Turn) Finish() {
	t.Run()
	for left := errandsMax; len(t.errands) > 0; left-- {
		if left == 0 {
			t.Leave()
			return
		}
		e := t.errands[0]
		t.errands = slices.Delete(t.errands, 0, 1)
		e.Here(t)
		t.Run()
	}
}

// Run handles what the goroutine has woken, until nothing is left. Each actor gets one look into its mailbox at a time, those
// that may block come last and find nobody waiting behind them.
func (t *Turn) Run() {
	for left := visitsMax; len(t.ready) > 0; left-- {
		if left == 0 {
			t.Leave()
			return
		}
		c := t.next()
		lane := c.props.Dedicated
		if lane {
			t.leaveErrands()
			t.Lender.Block()
		}
		if more := c.visit(t); more {
			t.add(c)
		}
		if lane {
			t.Lender.Resume()
		}
	}
}

// Leave gives what is not run to goroutines of the actors' own. It is for the end of the goroutine, or of its patience.
func (t *Turn) Leave() {
	for _, c := range t.ready {
		c.dispatcher.Schedule(c.process)
	}
	t.drop()
	t.leaveErrands()
}

func (t *Turn) leaveErrands() {
	for _, e := range t.errands {
		e.Elsewhere()
	}
	clear(t.errands)
	t.errands = t.errands[:0]
}

// takes tells whether an actor that m wakes may be run here.
func (t *Turn) takes(c *cell, m Message) bool {
	switch {
	case t == nil || len(t.ready) >= lentMax || c.system.stepwise != nil:
		return false
	case c.props.Dedicated:
		return t.Lender != nil && c.props.Brief != nil && c.props.Brief(m)
	}
	return true
}

// add takes over an actor whose scheduled is set: to run it, or to give it to its dispatcher, is this turn's from here on.
func (t *Turn) add(c *cell) { t.ready = append(t.ready, c) }

// next takes the actor that comes first. When only such are left that may block, one is run here and the others at the
// same time elsewhere.
func (t *Turn) next() *cell {
	at := slices.IndexFunc(t.ready, func(c *cell) bool { return !c.props.Dedicated })
	if at >= 0 {
		c := t.ready[at]
		t.ready = slices.Delete(t.ready, at, at+1)
		return c
	}
	c := t.ready[0]
	for _, other := range t.ready[1:] {
		other.dispatcher.Schedule(other.process)
	}
	t.drop()
	return c
}

// drop forgets all: what is left in the room would keep actors from being collected.
func (t *Turn) drop() {
	clear(t.ready)
	t.ready = t.ready[:0]
}
