package quorum

import (
	"encoding/binary"

	"go.etcd.io/raft/v3"
)

// Confirm asks the voters whether this node still leads, and gives the number of the question. Confirmed reaches it when a
// majority has answered that it knew of no later leader after the call: a leader whose process was hung may have been
// replaced without having heard of it. Who leads no more gets no answer.
func (m *Machine) Confirm() uint64 {
	m.asked++
	if m.leadership.Self { // raft would pass on the question of a follower
		m.node.ReadIndex(binary.BigEndian.AppendUint64(nil, m.asked))
		m.collect()
	}
	return m.asked
}

// Confirmed is the number of the last question that a majority has answered, and with it all before.
func (m *Machine) Confirmed() uint64 { return m.confirmed }

func (m *Machine) confirm(states []raft.ReadState) {
	for _, s := range states {
		m.confirmed = max(m.confirmed, binary.BigEndian.Uint64(s.RequestCtx))
	}
}
