package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// rebalance begins the next generation, or takes up one that is being begun. A generation has two phases:
//
//	join  (PreparingRebalance)   members say what they want; ends when all have, or after the rebalance timeout
//	sync  (CompletingRebalance)  the leader assigns; ends when its assignment is recorded
func (m *Machine) rebalance(g *classic) {
	if g.state == preparing {
		m.maybeCompleteJoin(g)
		return
	}
	m.prepare(g)
}

// maybeCompleteJoin ends the join phase when everybody is there. An empty group's first join phase ends by time alone, so
// that members which start together get one assignment.
func (m *Machine) maybeCompleteJoin(g *classic) {
	if g.state == preparing && g.previous != empty && g.joined() {
		m.completeJoin(g)
	}
}

// prepare opens the join phase. Whoever waits for an assignment is sent to join again. Members hear of it by their
// heartbeats; until they come, they may commit under the generation that ends.
func (m *Machine) prepare(g *classic) {
	if g.state == completing {
		m.resetAssignment(g, kerr.RebalanceInProgress)
	}
	m.timers.Cancel(timer{kind: syncTimer, group: g.id})
	first := g.state == empty
	m.move(g, preparing)
	if first && m.options.InitialDelay > 0 {
		g.newcomer, g.initialLeft = false, max(g.rebalanceTimeout()-m.options.InitialDelay, 0)
		m.timers.Set(timer{kind: initialTimer, group: g.id}, m.now.Add(m.options.InitialDelay))
		return
	}
	if first || g.joined() {
		m.completeJoin(g)
		return
	}
	m.timers.Set(timer{kind: joinTimer, group: g.id}, m.now.Add(g.rebalanceTimeout()))
}

// resetAssignment gives up the assignment that was being made.
func (m *Machine) resetAssignment(g *classic, code kerr.Code) {
	for _, p := range g.members {
		p.assigned = nil
		if p.syncing != nil {
			m.refuse(p.syncing, code)
			p.syncing = nil
			m.extend(g, p)
		}
	}
}

// initialOver extends the first join phase for newcomers, at most to the rebalance timeout. Kafka counts newcomers in
// a group's first generation only.
func (m *Machine) initialOver(g *classic) {
	if g.newcomer && g.initialLeft > 0 {
		delay := min(m.options.InitialDelay, g.initialLeft)
		g.newcomer, g.initialLeft = false, g.initialLeft-delay
		m.timers.Set(timer{kind: initialTimer, group: g.id}, m.now.Add(delay))
		return
	}
	m.completeJoin(g)
}

// completeJoin closes the join phase: who did not come is left out, but for static members, who stay for their session.
func (m *Machine) completeJoin(g *classic) {
	m.timers.Cancel(timer{kind: joinTimer, group: g.id})
	m.timers.Cancel(timer{kind: initialTimer, group: g.id})
	for _, p := range append([]*member(nil), g.members...) {
		if p.joining == nil && p.instance == nil {
			m.drop(g, p)
		}
	}
	if len(g.members) > 0 && !g.electLeader() {
		// None but static members, none of whom has joined: their sessions end, or they come.
		m.timers.Set(timer{kind: joinTimer, group: g.id}, m.now.Add(g.rebalanceTimeout()))
		return
	}
	g.generation++
	g.due = false
	if len(g.members) == 0 {
		g.chosen, g.topics = "", map[string]bool{}
		m.move(g, empty)
		m.recordState(g)
		return
	}
	m.beginGeneration(g)
}

// electLeader keeps the leader if it has joined, and else takes the first member that has. False means that nobody has:
// without a leader there would be nobody to assign.
func (g *classic) electLeader() bool {
	if p := g.byID[g.leader]; p != nil && p.joining != nil {
		return true
	}
	for _, p := range g.members {
		if p.joining != nil {
			g.leader = p.id
			return true
		}
	}
	return false
}

// beginGeneration tells the members that they are in, and waits for the leader's assignment. Nothing is recorded yet: a
// coordinator that fails now is loaded with the generation before, and the members join again.
func (m *Machine) beginGeneration(g *classic) {
	g.chosen = g.elect()
	g.topics = g.subscriptions()
	m.move(g, completing)
	for _, p := range g.members {
		if w := p.joining; w != nil {
			p.joining = nil
			m.reply(w, g.joinReply(w.request, p, g.leader == p.id))
		}
		p.fresh = false
		g.unsynced[p.id] = true
		m.extend(g, p)
	}
	m.timers.Set(timer{kind: syncTimer, group: g.id}, m.now.Add(g.rebalanceTimeout()))
}

// syncOver leaves out the members that never asked for their assignment (KAFKA-13435).
func (m *Machine) syncOver(g *classic) {
	if g.state != completing && g.state != stable || len(g.unsynced) == 0 {
		return
	}
	for _, p := range append([]*member(nil), g.members...) {
		if g.unsynced[p.id] {
			m.drop(g, p)
		}
	}
	m.prepare(g)
}

// sessionOver ends a member that was silent. No heartbeat comes on a connection that waits for a join or a sync: those that
// wait for an answer live, but for one that waits for its first.
func (m *Machine) sessionOver(g *classic, id string) {
	p := g.byID[id]
	if p == nil || !p.fresh && (p.joining != nil || p.syncing != nil) {
		return
	}
	m.drop(g, p)
	m.shrunk(g)
}

// unusedOver forgets a member id that was given out and never used.
func (m *Machine) unusedOver(g *classic, id string) {
	delete(g.given, id)
	m.maybeCompleteJoin(g)
}

// shrunk follows the loss of members.
func (m *Machine) shrunk(g *classic) {
	switch g.state {
	case stable, completing:
		m.prepare(g)
	case preparing:
		m.maybeCompleteJoin(g)
	}
}

// drop takes a member out. What it waited for is answered, so that a live client joins again; who drops it decides what
// the loss means to the group (shrunk), once for all that it drops.
func (m *Machine) drop(g *classic, p *member) {
	m.release(p, kerr.UnknownMemberID)
	m.timers.Cancel(timer{sessionTimer, g.id, p.id})
	g.remove(p)
}

// release answers what a member waits for with an error: whoever changes the group under it must not leave it waiting.
func (m *Machine) release(p *member, code kerr.Code) {
	for _, w := range []*waiter{p.joining, p.syncing} {
		if w != nil {
			m.refuse(w, code)
		}
	}
	p.joining, p.syncing = nil, nil
}

// extend begins a member's session anew, which is most of what a coordinator does.
func (m *Machine) extend(g *classic, p *member) {
	if end := m.now.Add(p.session); !p.ends.Postpone(end) {
		p.ends = m.timers.Set(timer{sessionTimer, g.id, p.id}, end)
	}
}

// subscriptions reads what the members of a consumer group subscribe to; nil when that cannot be told.
func (g *classic) subscriptions() map[string]bool {
	if g.protocolType != consumerType || g.chosen == "" {
		return nil
	}
	topics := map[string]bool{}
	for _, p := range g.members {
		var s kmsg.ConsumerMemberMetadata
		if err := s.ReadFrom(p.metadata(g.chosen)); err != nil {
			return nil
		}
		for _, t := range s.Topics {
			topics[t] = true
		}
	}
	return topics
}
