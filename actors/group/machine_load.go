package group

import (
	"errors"

	"troupe/actors/coordinator"
	"troupe/actors/group/record"
	"troupe/internal/model"
)

// Replay takes a record at loading. Kinds that are not known are passed over.
func (m *Machine) Replay(o coordinator.Origin, r coordinator.Record) error {
	e, err := record.Decode(r)
	switch {
	case errors.Is(err, record.ErrUnknownType):
		return nil
	case err != nil:
		return err
	}
	m.line.At(o.Offset)
	var c *committed
	if e.Committed != nil {
		c = committedOf(e.Committed)
	}
	switch {
	case e.Offset != nil && o.ProducerID != model.NoProducerID:
		m.pending.add(o.ProducerID, *e.Offset, c)
	case e.Offset != nil:
		m.replayOffset(*e.Offset, c)
	case e.Consumer != nil:
		m.replayConsumer(*e.Consumer, e.Value)
	case e.State != nil:
		m.loadGroup(e.Group, e.State)
	default:
		m.replayDeletion(e.Group, classicKind)
	}
	return nil
}

// ReplayMarker makes the offsets of a transaction count, or drops them.
func (m *Machine) ReplayMarker(o coordinator.Origin, commit bool) {
	m.line.At(o.Offset)
	for _, p := range m.pending[o.ProducerID] {
		if commit {
			m.replayOffset(p.key, p.value)
		}
	}
	delete(m.pending, o.ProducerID)
}

// replayOffset puts an offset in, or takes it out with nil. Whoever commits without having joined makes a group without
// a protocol type by it.
func (m *Machine) replayOffset(key record.Offset, c *committed) {
	g, there := m.groups.Get(key.Group)
	at := partition{m.name(key.Topic), key.Partition}
	switch {
	case c == nil && there:
		g.base().offsets.Delete(at)
	case c == nil:
	case !there:
		g = m.newClassic(m.newCore(key.Group))
		m.groups.Set(key.Group, g)
		g.base().offsets.Set(at, c)
	default:
		g.base().offsets.Set(at, c)
	}
}

// name gives the one copy of a topic's name. Names that are gone stay, which is little: they are those of topics.
func (m *Machine) name(topic string) string {
	if known, there := m.names[topic]; there {
		return known
	}
	m.names[topic] = topic
	return topic
}

// replayDeletion takes a group out. Offsets that it leaves behind, or that were committed after that, are a group's
// without members.
func (m *Machine) replayDeletion(id, kind string) {
	old, there := m.groups.Get(id)
	if !there || old.kind() != kind {
		return // the id has gone over to the other protocol
	}
	m.groups.Delete(id)
	if c := old.base(); c.offsets.Len() > 0 {
		m.groups.Set(id, m.newClassic(c))
	}
}

// Loaded begins every session anew: nobody could send a heartbeat meanwhile. Member ids that were given out and not used
// are forgotten; their holders are told so, and ask for others.
func (m *Machine) Loaded(at coordinator.At) coordinator.Effects {
	m.begin(at)
	m.timers.Set(timer{kind: retentionTimer}, m.now.Add(m.options.RetentionCheck))
	for _, id := range m.groupIDs() {
		m.resume(id)
		if g, is := m.classicGroup(id); is && (g.due || len(g.members) > m.options.MembersMax) {
			m.prepare(g) // as many as may stay join again
		}
	}
	return m.end()
}

// resume begins all sessions of a group anew.
func (m *Machine) resume(id string) {
	switch g, _ := m.groups.Get(id); g := g.(type) {
	case *consumer:
		m.resumeConsumer(g)
	case *classic:
		for _, p := range g.members {
			m.extend(g, p)
		}
	}
}

var _ coordinator.Machine = (*Machine)(nil)
