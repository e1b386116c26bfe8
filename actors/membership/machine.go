package membership

import (
	"maps"
	"slices"
	"time"

	"troupe/internal/model"
)

const (
	// hintEvery parts two hints about one node. A hint has the node's links asked, which takes about as long.
	hintEvery = time.Second
	// quiet parts two lines about one node in the log. What changes meanwhile and changes back is not told.
	quiet = 10 * time.Second
	// forgetAfter is how long a node is shown as suspected that never comes back.
	forgetAfter = 15 * time.Minute
)

// machine decides what to make of what is said about nodes.
//
//	(unknown) --joined--> alive --failed--> suspected --joined--> alive
//	                        \--farewell, or failed after it--> (unknown)
//
// Invariants:
//  1. This node itself is no member.
//  2. A hint is given only about a member that is doubted or suspected, and at most one in hintEvery: a node whose packets are lost
//     again and again costs the others no more than one question a second.
//  3. A node that has said farewell is not suspected until another process of it has joined.
type machine struct {
	self    model.BrokerID
	members map[model.BrokerID]*member
	// gone are the processes that have said farewell.
	gone map[model.BrokerID]model.UUID
}

type member struct {
	Member
	hinted time.Time
	// told is what the log says of it, and when that was said.
	told   State
	toldAt time.Time
}

// line is what the log is to say.
type line struct {
	event  event
	member Member
}

// event is what has become of a member.
type event uint8

const (
	joined event = iota
	restarted
	suspected
	answering
	left
	forgotten
)

// step is what the shell does next. Its wake is that of all members, so that each event ends with speak.
type step struct {
	// hint names a node to ask at once whether it is there; back one that can be reached again. NoBroker is none.
	hint, back model.BrokerID
	// changed tells that the members, or what they tell of themselves, are others now.
	changed bool
	// wake is when to call tick; the zero time is never.
	wake  time.Time
	lines []line
}

func newMachine(self model.BrokerID) *machine {
	return &machine{self: self, members: map[model.BrokerID]*member{}, gone: map[model.BrokerID]model.UUID{}}
}

func (m *machine) join(now time.Time, r Record) step {
	s := m.none()
	if process, left := m.gone[r.NodeID]; r.NodeID == m.self || left && process == r.Incarnation {
		return m.speak(now, s)
	}
	delete(m.gone, r.NodeID)
	old := m.members[r.NodeID]
	switch {
	case old == nil:
		old = &member{Member: Member{Record: r, State: Alive, Since: now}, told: Alive, toldAt: now}
		m.members[r.NodeID] = old
		s.changed, s.back = true, r.NodeID
		s.lines = append(s.lines, line{joined, old.Member})
	case old.Incarnation != r.Incarnation:
		old.Member = Member{Record: r, State: Alive, Since: now}
		old.told, old.toldAt = Alive, now
		s.changed, s.back = true, r.NodeID
		s.lines = append(s.lines, line{restarted, old.Member})
	case old.State != Alive:
		old.Record, old.State, old.Since = r, Alive, now
		s.changed, s.back = true, r.NodeID
	case old.Record != r:
		old.Record, s.changed = r, true
	}
	return m.speak(now, s)
}

func (m *machine) fail(now time.Time, id model.BrokerID) step {
	s := m.none()
	x := m.members[id]
	if x == nil {
		return m.speak(now, s)
	}
	if x.State != Suspected {
		x.State, x.Since, s.changed = Suspected, now, true
	}
	x.ask(now, &s)
	return m.speak(now, s)
}

// doubt is the first sign, of this node's own, that another one may not be well: it is asked, and that is all.
func (m *machine) doubt(now time.Time, id model.BrokerID) step {
	s := m.none()
	if x := m.members[id]; x != nil {
		x.ask(now, &s)
	}
	return m.speak(now, s)
}

func (x *member) ask(now time.Time, s *step) {
	if x.hinted.IsZero() || now.Sub(x.hinted) >= hintEvery {
		x.hinted, s.hint = now, x.NodeID
	}
}

func (m *machine) farewell(now time.Time, id model.BrokerID, incarnation model.UUID) step {
	s := m.none()
	x := m.members[id]
	if x == nil || x.Incarnation != incarnation {
		return m.speak(now, s)
	}
	m.gone[id] = incarnation
	delete(m.members, id)
	s.changed = true
	s.lines = append(s.lines, line{left, x.Member})
	return m.speak(now, s)
}

// tick tells what had to wait, and forgets who has been away for long.
func (m *machine) tick(now time.Time) step {
	s := m.none()
	for _, id := range m.ids() {
		if x := m.members[id]; x.State == Suspected && now.Sub(x.Since) >= forgetAfter {
			delete(m.members, id)
			s.changed = true
			s.lines = append(s.lines, line{forgotten, x.Member})
		}
	}
	return m.speak(now, s)
}

// speak adds the lines that are due, and says when the next thing is.
func (m *machine) speak(now time.Time, s step) step {
	for _, id := range m.ids() {
		x := m.members[id]
		if at := x.toldAt.Add(quiet); x.told != x.State && at.After(now) {
			s.wakeAt(at)
		} else if x.told != x.State {
			x.told, x.toldAt = x.State, now
			s.lines = append(s.lines, line{map[State]event{Suspected: suspected, Alive: answering}[x.State], x.Member})
		}
		if x.State == Suspected {
			s.wakeAt(x.Since.Add(forgetAfter))
		}
	}
	return s
}

func (m *machine) none() step { return step{hint: model.NoBroker, back: model.NoBroker} }

func (s *step) wakeAt(t time.Time) {
	if s.wake.IsZero() || t.Before(s.wake) {
		s.wake = t
	}
}

func (m *machine) ids() []model.BrokerID { return slices.Sorted(maps.Keys(m.members)) }

// list gives the members in order.
func (m *machine) list() []Member {
	all := make([]Member, 0, len(m.members))
	for _, id := range m.ids() {
		all = append(all, m.members[id].Member)
	}
	return all
}
