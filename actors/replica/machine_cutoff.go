package replica

import (
	"slices"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Hold judges whether this leader is cut off: this broker's session with the controller has ended (held says not), and a member of
// the maximal ISR has lacked something for a session. Nothing can be committed then, since nobody leaves an ISR without the
// controller, and others may lead by now. Who waits for acks=all is sent to look for them, rather than kept waiting for as long as
// its request allows, which may be minutes; what it sent stays in the log (invariant R18).
//
// A broker that is only without a controller leads on as long as its followers fetch.
func (m *Machine) Hold(held bool, session time.Duration, now time.Time) Effects {
	m.cutOff = m.leading && !held && m.lacking(session, now)
	e := Effects{HighWatermark: model.NoOffset}
	if m.cutOff {
		for _, w := range m.committed.takeImpatient() {
			e.Answers = append(e.Answers, m.sentAway(w, kerr.NotLeaderOrFollower))
		}
	}
	return e
}

// CutOff tells that no producer that waits for acks=all is to be kept.
func (m *Machine) CutOff() bool { return m.cutOff }

// lacking tells whether a member of the maximal ISR has not had everything for so long.
func (m *Machine) lacking(session time.Duration, now time.Time) bool {
	isr := m.maximal()
	return slices.ContainsFunc(m.followers, func(f follower) bool {
		return f.end < m.logEnd && now.Sub(f.caughtUpAt) >= session && slices.Contains(isr, f.id)
	})
}
