package group

import (
	"slices"
	"time"

	"troupe/actors/coordinator/timeline"
	"troupe/actors/group/assign"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// retarget makes the members' targets for the group's epoch, unless the last ones are too young: then a later heartbeat
// does (group.consumer.assignment.interval.ms). Many members that come at once are so one assignment or two.
func (m *Machine) retarget(g *consumer) {
	h := g.epochs.Get()
	if h.assignmentEpoch >= h.groupEpoch {
		return
	}
	wait := m.intervalOf(g)
	if h.assignmentMs != 0 && wait != 0 && m.now.Before(time.UnixMilli(h.assignmentMs).Add(wait)) {
		return
	}
	a, known := assign.ByName(m.assignorOf(g))
	invariant.Check(known, "group: no assignor %q", m.assignorOf(g))
	next := a.Assign(m.assignInput(g))
	for _, id := range g.memberIDs() {
		was, there := g.targets.Get(id)
		if t := trimmed(next[id]); !there || !sameAssignments(was, t) {
			m.recordTarget(g.id, id, t)
		}
	}
	m.recordTargetEpoch(g.id, h.groupEpoch, m.now.UnixMilli())
}

// trimmed leaves out topics without partitions, as the record does.
func trimmed(t assignment) assignment {
	out := make(assignment, len(t))
	// any order: it goes from one map into another.
	for id, numbers := range t {
		if len(numbers) > 0 {
			out[id] = numbers
		}
	}
	return out
}

// assignInput puts all in order, so that the same group gives the same
// assignment on every coordinator. Topics that are not there are left out.
func (m *Machine) assignInput(g *consumer) assign.Input {
	in := assign.Input{Topics: map[model.TopicID]assign.Topic{}}
	for _, name := range timeline.SortedKeys(g.readers) {
		t, there := m.topics.image.Topic(name)
		if !there {
			continue
		}
		out := assign.Topic{ID: t.ID, Partitions: len(t.Partitions), Racks: make([][]string, len(t.Partitions))}
		for n := range t.Partitions {
			out.Racks[n] = m.topics.racks(t, n)
		}
		in.Topics[t.ID] = out
	}
	for _, id := range g.memberIDs() {
		p, _ := g.members.Get(id)
		current, _ := g.targets.Get(id)
		one := assign.Member{ID: id, Instance: p.instance, Rack: p.rack, Current: current}
		// any order: the topics are sorted below.
		for topic := range m.idsOf(g.topicsOf(p)) {
			one.Topics = append(one.Topics, topic)
		}
		slices.SortFunc(one.Topics, model.TopicID.Compare)
		in.Members = append(in.Members, one)
	}
	return in
}

// assignorOf is the one that most of the members who vote want, and else the first that is configured.
func (m *Machine) assignorOf(g *consumer) string {
	votes := map[string]int{}
	for _, id := range g.memberIDs() {
		if p, _ := g.members.Get(id); p.assignor != "" {
			votes[p.assignor]++
		}
	}
	return m.elected(votes)
}

// elected goes by the order of the configuration, so that equal votes have one outcome.
func (m *Machine) elected(votes map[string]int) string {
	best := m.options.Consumer.Assignors[0]
	for _, name := range m.options.Consumer.Assignors {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}
