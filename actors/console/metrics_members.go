package console

import (
	"strconv"

	"troupe/actors/membership"
)

var (
	memberSuspected = desc("troupe_gossip_member_suspected", "1 if the other node answers nobody that gossips; 0 if it answers.", "node")
	gossipMembers   = desc("troupe_gossip_members", "Other nodes that gossip knows, by state.", "state")
	gossipHints     = desc("troupe_gossip_hints_total", "Times that a node was suspected and its links were asked.")
	gossipRefused   = desc("troupe_gossip_refused_total", "Packets and states that changed nothing: without the key, of another cluster, garbage.")
)

// collectMembers tells of what gossip knows; a node that does not gossip has none of it.
func (s *Server) collectMembers(e emitter) {
	b := s.deps.Members
	if b == nil {
		return
	}
	count := map[membership.State]int{}
	for _, m := range b.Members() {
		count[m.State]++
		e.gauge(memberSuspected, float64(one(m.State == membership.Suspected)), strconv.Itoa(int(m.NodeID)))
	}
	for _, state := range []membership.State{membership.Alive, membership.Suspected} {
		e.gauge(gossipMembers, float64(count[state]), state.String())
	}
	e.counter(gossipHints, float64(b.Hints()))
	e.counter(gossipRefused, float64(b.Refused()))
}

// memberRow is another node as gossip has it.
type memberRow struct {
	Node    int32  `json:"node"`
	Address string `json:"address"`
	Rack    string `json:"rack,omitempty"`
	State   string `json:"state"`
	SinceMs int64  `json:"sinceMs"` // for how long
}

func (s *Server) memberRows() []memberRow {
	if s.deps.Members == nil {
		return nil
	}
	var rows []memberRow
	now := s.deps.Node.Clock.Now()
	for _, m := range s.deps.Members.Members() {
		at := m.Broker
		if at.Host == "" {
			at = m.Controller
		}
		rows = append(rows, memberRow{int32(m.NodeID), at.String(), m.Rack, m.State.String(), now.Sub(m.Since).Milliseconds()})
	}
	return rows
}
