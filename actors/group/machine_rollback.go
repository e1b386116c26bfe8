package group

import (
	"maps"
	"slices"

	"troupe/actors/coordinator"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Committed makes what was written final.
func (m *Machine) Committed(at coordinator.At, next model.Offset) coordinator.Effects {
	m.begin(at)
	m.line.Commit(next)
	m.settle(next)
	return m.end()
}

// Rollback takes back what the log refused. Soft state needs repair where it had counted on a record. Members whose
// assignment was not recorded join again; who waits in a group that is not there any more is refused, and a group that is
// there again goes on.
func (m *Machine) Rollback(at coordinator.At, from model.Offset, code kerr.Code) coordinator.Effects {
	m.begin(at)
	m.line.Rollback(from)
	if cut := slices.IndexFunc(m.unsettled, func(u unsettled) bool { return u.offset >= from }); cut >= 0 {
		undone := m.unsettled[cut:]
		m.unsettled = m.unsettled[:cut]
		for _, u := range undone {
			m.repair(u, code)
		}
	}
	m.resumeConsumers()
	return m.end()
}

func (m *Machine) repair(u unsettled, code kerr.Code) {
	g := u.group
	there, _ := m.classicGroup(g.id)
	switch {
	case u.created:
		m.dissolve(g, code)
	case u.left && there == g:
		m.comeBack(g)
	case u.generation > 0 && g.state == completing && g.generation == u.generation:
		m.resetAssignment(g, code)
		m.prepare(g)
	}
}

func (m *Machine) resumeConsumers() {
	for _, id := range m.groupIDs() {
		if g, is := m.consumerGroup(id); is {
			m.resumeConsumer(g)
		}
	}
}

// comeBack takes up a group that had gone over to the other protocol. Nobody waits in it: all were told to join again.
func (m *Machine) comeBack(g *classic) {
	for _, id := range slices.Sorted(maps.Keys(g.given)) {
		m.timers.Set(timer{knownTimer, g.id, id}, m.now.Add(newMemberTimeout))
	}
	m.resume(g.id)
	switch g.state {
	case completing:
		m.prepare(g)
	case preparing:
		m.timers.Set(timer{kind: joinTimer, group: g.id}, m.now.Add(g.rebalanceTimeout()))
	}
}

// dissolve refuses everybody who waits in a group, and ends its timers.
func (m *Machine) dissolve(g *classic, code kerr.Code) {
	for _, p := range append([]*member(nil), g.members...) {
		m.release(p, code)
		m.drop(g, p)
	}
	m.cancelPhases(g)
}

// cancelPhases ends the timers of a group beside its sessions.
func (m *Machine) cancelPhases(g *classic) {
	for _, id := range slices.Sorted(maps.Keys(g.given)) {
		m.timers.Cancel(timer{knownTimer, g.id, id})
	}
	for _, kind := range []timerKind{joinTimer, initialTimer, syncTimer} {
		m.timers.Cancel(timer{kind: kind, group: g.id})
	}
}
