package simulation

import (
	"encoding/binary"
	"time"

	"troupe/codec/private"
)

// A node may hear of raft's messages in another order than they were sent in, twice or not at all: a connection breaks when
// what it brought lies unread, the next one brings what was sent later, and the first is read after it.

// roughly is within what raft messages come late on a rough link.
const roughly = 2 * time.Second

// rough deals with a frame from another node's raft, and tells whether it takes its usual way no more.
func (s *session) rough(b []byte) bool {
	if s.client.Peer == nil || int16(binary.BigEndian.Uint16(b)) != private.RaftKey {
		return false
	}
	w := s.process.host.world
	switch w.random.IntN(8) {
	case 0: // lost, with its connection
		s.end.close()
		return true
	case 1: // late
		s.again(b, w.between(0, roughly))
		return true
	case 2, 3: // twice
		s.again(b, w.between(0, roughly))
	}
	return false
}

// again brings a frame by another connection, of which nobody reads the answer.
func (s *session) again(b []byte, after time.Duration) {
	p := s.process
	w := p.host.world
	w.after(after, func() {
		p.run(func() {
			other := &session{process: p, client: s.client, end: &end{net: w.net, local: s.end.local, remote: s.end.remote, peer: &end{}}}
			other.end.in, other.unread = p.run, [][]byte{b}
			other.wake()
		})
	})
}
