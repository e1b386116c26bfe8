package controller

import "troupe/actors/kit"

// HandOver asks a leader to let another voter lead, before this node stops. Done is called once, at once where there is
// nothing to hand over, and at the latest when raft gives up on it.
type HandOver struct{ Done func() }

// MessageKind is part of kit.Message.
func (*HandOver) MessageKind() string { return "controller.hand-over" }

// Fail lets the stop go on without it.
func (m *HandOver) Fail(error) { m.Done() }

func (a *Actor) handOver(ctx *kit.Context, m *HandOver) {
	if a.raft == nil || !a.raft.Leadership().Self || !a.raft.HandOver() {
		m.Done()
		return
	}
	a.leaving = append(a.leaving, m)
	ctx.After(electionTicks*a.pace(), &handOverDue{m})
}

// handOverDue bounds the wait: raft gives up after an election timeout.
type handOverDue struct{ of *HandOver }

func (*handOverDue) MessageKind() string { return "controller.hand-over-due" }

// handedOver ends the waits: all of them when this node leads no more, else the one.
func (a *Actor) handedOver(only *HandOver) {
	rest := a.leaving[:0]
	for _, m := range a.leaving {
		if only == nil || m == only {
			m.Done()
		} else {
			rest = append(rest, m)
		}
	}
	a.leaving = rest
}
