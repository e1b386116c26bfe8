package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// heartbeat works on Heartbeat (key 12), versions 0-4.
//
// Errors: 22 ILLEGAL_GENERATION, 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, which extends the session too, 82
// FENCED_INSTANCE_ID.
func (m *Machine) heartbeat(w *waiter, r *kmsg.HeartbeatRequest) {
	found, _ := m.groups.Get(r.Group)
	if g, is := found.(*consumer); is {
		m.heartbeatConsumer(w, g, r)
		return
	}
	g, there := found.(*classic)
	if !there {
		m.refuse(w, kerr.UnknownMemberID)
		return
	}
	p, code := g.validate(r.MemberID, r.InstanceID)
	switch {
	case code != kerr.None:
		m.refuse(w, code)
		return
	case r.Generation != g.generation:
		m.refuse(w, kerr.IllegalGeneration)
		return
	}
	m.extend(g, p)
	if g.state == preparing {
		code = kerr.RebalanceInProgress
	}
	m.refuse(w, code)
}
