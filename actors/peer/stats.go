package peer

import (
	"cmp"
	"slices"
	"sync/atomic"

	"troupe/internal/model"
)

// counters count what a link does, through all incarnations of its actor.
type counters struct {
	used, up                     atomic.Bool // used: the link has led somewhere
	calls, failures, connections atomic.Uint64
	sent, received               atomic.Uint64 // bytes
	missed                       atomic.Pointer[Missed]
}

// Missed is where a node was looked for last, and why it was not met there.
type Missed struct {
	At  Address
	Err error
}

// Missed tells why a link does not stand; nil for one that does, and for one that was not tried yet.
func (d *Directory) Missed(id model.BrokerID, l Link) *Missed {
	if e, ok := d.entries()[id]; ok {
		return e.counts[l].missed.Load()
	}
	return nil
}

// LinkStats is what a link has done since its node became known.
type LinkStats struct {
	Node model.BrokerID
	Link Link
	Up   bool
	// Failures are calls that were given an error instead of a reply; Connections are handshakes that went well.
	Calls, Failures, Connections uint64
	SentBytes, ReceivedBytes     uint64
}

// Stats gives the links of all nodes, in order of id. A link to a listener that a node does not have is none.
func (d *Directory) Stats() []LinkStats {
	var all []LinkStats
	for id, e := range d.entries() {
		for l := range e.counts {
			c := &e.counts[l]
			if !c.used.Load() {
				continue
			}
			all = append(all, LinkStats{
				Node: id, Link: Link(l), Up: c.up.Load(), Calls: c.calls.Load(), Failures: c.failures.Load(),
				Connections: c.connections.Load(), SentBytes: c.sent.Load(), ReceivedBytes: c.received.Load(),
			})
		}
	}
	slices.SortFunc(all, func(a, b LinkStats) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Link, b.Link))
	})
	return all
}
