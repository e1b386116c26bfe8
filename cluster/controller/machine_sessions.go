package controller

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// session is what heartbeats tell of a broker; it is not in the log and starts anew with each controller.
type session struct {
	// contact is when the last heartbeat came, by this controller's clock; zero where the process is known to have ended.
	contact time.Time
	// serving is when it was last unfenced, or when this controller began.
	serving time.Time
	// metadata is the last offset that the broker has replayed.
	metadata model.Offset
	// shutdown is the offset that every active broker must have replayed before the broker may stop; NoOffset until
	// it asks to.
	shutdown model.Offset
	// returning is the offset that the broker must have replayed to be unfenced: its registration, and after it was fenced where the
	// metadata was when it first asked; NoOffset until it asks.
	returning model.Offset
}

func newSession() *session {
	return &session{metadata: model.NoOffset, shutdown: model.NoOffset, returning: model.NoOffset}
}

// caughtUp tells whether a broker knows enough to serve: its registration (KIP-631), and if its process was fenced whatever was
// recorded up to its return. One that was silent would else lead on, by its metadata, what others were elected for meanwhile, and
// believe that it holds it, since it is unfenced.
func (m *Machine) caughtUp(b *image.Broker, s *session) bool {
	if !b.Fenced {
		return s.metadata >= model.Offset(b.Epoch)
	}
	if s.returning == model.NoOffset {
		s.returning = m.current.Offset
	}
	return s.metadata >= s.returning
}

// trackSessions follows registrations that were just replayed. A broker that is new has no contact yet, and is fenced until
// its first heartbeat anyway.
func (m *Machine) trackSessions() {
	for b := range m.current.Brokers() {
		if _, ok := m.sessions[b.ID]; !ok {
			m.sessions[b.ID] = newSession()
			m.sessions[b.ID].returning = model.Offset(b.Epoch)
		}
	}
}

// alive tells whether another process with the id may still run, by who asks to take its place with directories of his
// own. A directory is locked by one process at a time: who has one of the broker's has outlived it. So has the controller's
// own broker. One that is fenced lives as long as it sends heartbeats: it may be starting.
func (m *Machine) alive(at At, b *image.Broker, directories [][16]byte) bool {
	if b.ID == m.options.NodeID {
		return false
	}
	for _, dir := range directories {
		if slices.Contains(b.LogDirs, model.DirectoryID(dir)) {
			return false
		}
	}
	s, ok := m.sessions[b.ID]
	return ok && at.Time.Before(s.contact.Add(m.options.SessionTimeout))
}

// heartbeat moves a broker between fenced, serving and stopping (facts/replication.md 8).
//
// Versions 0 to 2, between brokers and controllers only: 1 brings failed directories (KIP-858), 2 cordoned ones (KIP-1066).
//
// Errors: 77 the epoch is that of an older registration, 102 there is none.
func (m *Machine) heartbeat(at At, r *kmsg.BrokerHeartbeatRequest) outcome {
	resp := reply[*kmsg.BrokerHeartbeatResponse](r)
	b, err := m.registered(model.BrokerID(r.BrokerID), model.BrokerEpoch(r.BrokerEpoch))
	if err != nil {
		resp.ErrorCode, resp.IsFenced = codeOf(err), true
		return outcome{response: resp}
	}
	s := m.sessions[b.ID]
	s.contact, s.metadata = at.Time, model.Offset(r.CurrentMetadataOffset)
	resp.IsCaughtUp = m.caughtUp(b, s)
	var records []record.Record
	switch {
	case r.WantShutdown:
		records, resp.ShouldShutdown = m.stopping(at, b, s)
		resp.IsFenced = b.Fenced || resp.ShouldShutdown
	case r.WantFence && m.anyActiveBut(b.ID): // else nobody could take over, and what is there stays readable
		records, resp.IsFenced = m.fence(b), true
	case b.Fenced && resp.IsCaughtUp && len(working(b, r)) == len(b.LogDirs):
		// Else the failure of a directory is recorded first: who is unfenced leads what has no leader, wherever it lies.
		records, resp.IsFenced = m.unfence(b), false
		s.serving = at.Time
	default:
		resp.IsFenced = b.Fenced
	}
	return outcome{append(records, m.directoryChanges(b, r)...), resp}
}

// stopping moves leaderships away before a broker stops, and says when it may. A broker that nobody can stand in for
// may stop at once: its partitions keep their leader, so that a restart has nothing to elect.
func (m *Machine) stopping(at At, b *image.Broker, s *session) (records []record.Record, now bool) {
	switch {
	case b.Fenced:
		return nil, true
	case !m.anyActiveBut(b.ID):
		return nil, true
	case !b.InControlledShutdown:
		change := &record.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, InControlledShutdown: 1}
		records = append([]record.Record{change}, m.leave(b.ID)...)
		s.shutdown = at.Next + model.Offset(len(atomic(records, m.level()))) - 1
		return records, false
	case m.leads(b.ID):
		return m.leave(b.ID), false
	case s.shutdown == model.NoOffset:
		// The broker asked a controller before this one: all must have seen what that one wrote.
		s.shutdown = m.current.Offset
	}
	if m.slowestActive(b.ID) < s.shutdown {
		return nil, false
	}
	s.contact = time.Time{} // it is told to stop
	return m.fence(b), true
}

// anyActiveBut tells whether somebody could take over.
func (m *Machine) anyActiveBut(id model.BrokerID) bool {
	for b := range m.current.Brokers() {
		if b.ID != id && b.Active() {
			return true
		}
	}
	return false
}

// leads walks all partitions, which only a broker that is stopping costs.
func (m *Machine) leads(id model.BrokerID) bool {
	for t := range m.current.Topics("") {
		for _, p := range t.Partitions {
			if p.Leader == id {
				return true
			}
		}
	}
	return false
}

// slowestActive is the lowest metadata offset among the active brokers other than id.
func (m *Machine) slowestActive(id model.BrokerID) model.Offset {
	slowest := m.current.Offset
	for b := range m.current.Brokers() {
		if b.ID != id && b.Active() {
			slowest = min(slowest, m.sessions[b.ID].metadata)
		}
	}
	return slowest
}

// Tick fences one broker whose session has run out, or holds the elections of a round that is due, and tells when to be
// called next; the zero time is never.
func (m *Machine) Tick(at At) (Effects, time.Time) {
	m.idle()
	var next time.Time
	if !m.leading {
		return Effects{}, next
	}
	for b := range m.current.Brokers() {
		if b.Fenced || b.ID == m.options.NodeID {
			continue
		}
		end := m.sessions[b.ID].contact.Add(m.options.SessionTimeout)
		if !at.Time.Before(end) {
			m.counts.Silent++
			return m.propose(&proposal{records: m.fence(b)}), at.Time
		}
		if next.IsZero() || end.Before(next) {
			next = end
		}
	}
	if records := m.round(at); len(records) > 0 {
		return m.propose(&proposal{records: records}), at.Time
	}
	return Effects{}, m.rounds.next(m.options, next)
}

// Fence fences a broker on evidence other than its silence, such as a reset link and a refused connection.
func (m *Machine) Fence(id model.BrokerID) Effects {
	m.idle()
	if b, ok := m.current.Broker(id); ok && m.leading {
		m.sessions[id].contact = time.Time{}
		return m.propose(&proposal{records: m.fence(b)})
	}
	return Effects{}
}
