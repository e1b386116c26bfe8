package group

import "slices"

// replayed gives the group that a record of the consumer protocol belongs to, and makes it where there is none. Of a
// compacted log any of its records may come first; a group that only has offsets, or that was of the classic protocol,
// has become one of the consumer protocol by it.
func (m *Machine) replayed(id string) *consumer {
	if g, there := m.consumerGroup(id); there {
		return g
	}
	g := m.newConsumer(m.coreOf(id))
	m.groups.Set(id, g)
	return g
}

// replayMember puts a member in, or takes it out with nil, with all that follows from what it says of itself.
func (m *Machine) replayMember(group, id string, p *subscriber) {
	if _, there := m.consumerGroup(group); !there && p == nil {
		return
	}
	g := m.replayed(group)
	if old, there := g.members.Get(id); there {
		// Another member may have the instance by now: its record stands before the tombstone of the one it replaced.
		g.countReaders(old.topics, -1)
		if old.instance != nil {
			if holder, _ := g.holders.Get(*old.instance); holder == id {
				g.holders.Delete(*old.instance)
			}
		}
	}
	if p == nil {
		g.members.Delete(id)
		return
	}
	g.members.Set(id, p)
	g.countReaders(p.topics, 1)
	if p.instance != nil {
		g.holders.Set(*p.instance, id)
	}
}

// countReaders keeps readers right. It is what a heartbeat looks at when topics changed, instead of at all members.
func (g *consumer) countReaders(topics []string, by int) {
	for _, t := range topics {
		n, _ := g.readers.Get(t)
		if n += by; n > 0 {
			g.readers.Set(t, n)
		} else {
			g.readers.Delete(t)
		}
	}
}

// replayEpoch sets the group's epoch. This record makes the group; its tombstone is the only one that ends it.
func (m *Machine) replayEpoch(group string, epoch int32, hash int64) {
	g := m.replayed(group)
	h := g.epochs.Get()
	h.groupEpoch, h.metadataHash = epoch, hash
	g.epochs.Set(h)
}

// replayTargetEpoch sets the epoch of the targets; 0 takes it away.
func (m *Machine) replayTargetEpoch(group string, epoch int32, atMs int64) {
	if _, there := m.consumerGroup(group); !there && epoch == 0 {
		return
	}
	g := m.replayed(group)
	h := g.epochs.Get()
	h.assignmentEpoch, h.assignmentMs = epoch, atMs
	g.epochs.Set(h)
}

// replayTarget sets a member's target; there says that it has one.
func (m *Machine) replayTarget(group, id string, t assignment, there bool) {
	switch g, known := m.consumerGroup(group); {
	case there:
		m.replayed(group).targets.Set(id, t)
	case known:
		g.targets.Delete(id)
	}
}

// replayCurrent sets a member's current assignment, nil for none, and with it who holds what. A partition that somebody else
// has got meanwhile is left to them: compaction may have taken the record that let it go.
func (m *Machine) replayCurrent(group, id string, s *currentAssignment) {
	if _, there := m.consumerGroup(group); !there && s == nil {
		return
	}
	g := m.replayed(group)
	if old, there := g.currents.Get(id); there {
		for _, list := range [][]assignedPartition{old.assigned, old.revoking} {
			for _, h := range list {
				if owner, _ := g.owners.Get(h.topicPartition); owner == id && !s.has(h.topicPartition) {
					g.owners.Delete(h.topicPartition)
				}
			}
		}
	}
	if s == nil {
		g.currents.Delete(id)
		return
	}
	g.currents.Set(id, s)
	for _, list := range [][]assignedPartition{s.assigned, s.revoking} {
		for _, h := range list {
			if owner, there := g.owners.Get(h.topicPartition); !there || owner != id {
				g.owners.Set(h.topicPartition, id)
			}
		}
	}
}

// has is holds for a current assignment that may be nil.
func (s *currentAssignment) has(p topicPartition) bool {
	if s == nil {
		return false
	}
	_, there := s.holds(p)
	return there
}

// replayPattern sets the topics of a pattern, nil for none. They count as read once, however many members have it.
func (m *Machine) replayPattern(group, pattern string, r *resolved) {
	if _, there := m.consumerGroup(group); !there && r == nil {
		return
	}
	g := m.replayed(group)
	if old, there := g.patterns.Get(pattern); there {
		g.countReaders(old.topics, -1)
	}
	if r == nil {
		g.patterns.Delete(pattern)
		return
	}
	r.topics = slices.Compact(r.topics)
	g.patterns.Set(pattern, r)
	g.countReaders(r.topics, 1)
}
