package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// consumerLeave takes a member out (-1), or notes that a static one will be back (-2): it keeps what it has for its session.
func (m *Machine) consumerLeave(w *waiter, r *kmsg.ConsumerGroupHeartbeatRequest) *kerr.Error {
	g, is := m.consumerGroup(r.Group)
	if !is {
		if _, there := m.groups.Get(r.Group); there {
			return notConsumer(r.Group)
		}
		return &kerr.Error{Code: kerr.GroupIDNotFound, Detail: "Group " + r.Group + " not found."}
	}
	p, err := g.leaving(r)
	if err != nil {
		return err
	}
	if r.MemberEpoch == leaveStaticEpoch {
		m.leaveForAWhile(g, p)
	} else {
		m.fence(g, p)
	}
	resp := response[*kmsg.ConsumerGroupHeartbeatResponse](r)
	resp.MemberID, resp.MemberEpoch = &p.id, r.MemberEpoch
	m.reply(w, resp)
	return nil
}

// leaving finds who leaves. No epoch is asked for: a member that was fenced may leave as well.
func (g *consumer) leaving(r *kmsg.ConsumerGroupHeartbeatRequest) (*subscriber, *kerr.Error) {
	if r.InstanceID == nil {
		if p, there := g.members.Get(r.MemberID); there {
			return p, nil
		}
		return nil, unknownMember(r.MemberID, r.Group)
	}
	p := g.static(*r.InstanceID)
	return p, checkInstance(p, r.MemberID, *r.InstanceID)
}

// static finds a static member, nil for none.
func (g *consumer) static(instance string) *subscriber {
	id, there := g.holders.Get(instance)
	if !there {
		return nil
	}
	p, _ := g.members.Get(id)
	return p
}

// leaveForAWhile keeps a static member's partitions for it: a process that is restarted within its session causes no
// rebalance (KIP-345). It forgets the epochs in which they were got: who comes back has them from the start.
func (m *Machine) leaveForAWhile(g *consumer, p *subscriber) {
	s := *g.current(p.id)
	s.memberEpoch, s.revoking = leaveStaticEpoch, nil
	s.assigned = append([]assignedPartition(nil), s.assigned...)
	for i := range s.assigned {
		s.assigned[i].epoch = 0
	}
	m.recordCurrent(g.id, p.id, &s)
}

// fence takes members out. The others get what these had by the next target. When none is left but members of the classic
// protocol the group goes back to that. Their timers run out and find nobody.
func (m *Machine) fence(g *consumer, gone ...*subscriber) {
	if len(gone) == 0 {
		return
	}
	if m.mayDowngrade(g, gone) {
		m.downgrade(g, gone)
		return
	}
	for _, p := range gone {
		m.removeMember(g.id, p.id)
	}
	for _, p := range gone {
		if p.pattern != "" {
			m.dropPattern(g, p.pattern)
		}
	}
	g.looked = m.topics.stamp
	m.recordEpoch(g.id, g.epochs.Get().groupEpoch+1, m.topicsHash(g))
	m.options.Count(ConsumerRebalanced, 1)
}

// revokeOver looks again, since the timer is not cancelled when a member lets go: a later time to
// let go sets it anew. Whoever has not let go in its rebalance timeout is out: others wait for it.
func (m *Machine) revokeOver(g *consumer, id string) {
	if g.current(id).state == unrevoked {
		m.timedOut(g, id)
	}
}

// timedOut ends a member that was silent, or did not do in time what others wait for.
func (m *Machine) timedOut(g *consumer, id string) {
	if p, there := g.members.Get(id); there {
		m.fence(g, p)
	}
}

// extendConsumer begins a member's session anew.
func (m *Machine) extendConsumer(g *consumer, p *subscriber) {
	m.timers.Set(timer{sessionTimer, g.id, p.id}, m.now.Add(m.sessionOf(g, p)))
}

// resumeConsumer begins all sessions anew: after loading, and when the log refused something. That may have been the end of
// a member, whose timer has run out, or a look at topics or patterns: they are looked at again.
func (m *Machine) resumeConsumer(g *consumer) {
	g.looked = 0
	for _, id := range g.memberIDs() {
		p, _ := g.members.Get(id)
		m.extendConsumer(g, p)
		m.cancelClassic(g, id) // what asked it to join again may have been refused: its next heartbeat asks anew
		if p.classic == nil && g.current(id).state == unrevoked {
			m.timers.Set(timer{revokeTimer, g.id, id}, m.now.Add(p.rebalance))
		}
		if _, known := g.patterns.Get(p.pattern); p.pattern != "" && !known {
			g.unresolved = true
		}
	}
}
