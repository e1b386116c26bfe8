package simulation

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/codec/frame"
	"troupe/codec/private"
	"troupe/internal/model"
)

// traps wait for a leader to propose that somebody joins its ISR, and strike in that moment: what is rare among faults at
// random is where ISRs go wrong. A proposal is seen when it goes to a controller on another node.
type traps struct {
	world *World
	armed *trap
	// open are the last proposals of partitions that would let somebody join.
	open map[replicaKey]expansion
}

// expansion is a proposed ISR with new members.
type expansion struct {
	on    model.PartitionEpoch
	added []model.BrokerID
}

// trap is what happens to the proposal and to whom it would let in. All of it is drawn beforehand.
type trap struct {
	late    bool          // the proposal comes late; else its answer does, and with it all news from the controller
	held    time.Duration // for how long
	member  func(*World, *host, time.Duration) bool
	away    time.Duration
	expires time.Duration
}

// trapFor is how long one waits.
const trapFor = 15 * time.Second

// lateProposalFault sets a trap, and sends a node away for a moment, so that leaders have somebody to let in again.
func (w *World) lateProposalFault(h *host) bool {
	if h.process == nil {
		return false
	}
	t := &trap{late: w.chance(2), held: w.between(500*time.Millisecond, 8*time.Second), expires: w.since() + trapFor}
	switch w.random.IntN(4) {
	case 0:
		t.member, t.away = (*World).killNow, w.between(50*time.Millisecond, time.Second)
	case 1:
		t.member, t.away = (*World).haltNow, t.held
	default:
		t.member, t.away = (*World).powerNow, w.between(50*time.Millisecond, time.Second)
	}
	w.traps.armed = t
	w.kill(h, w.between(50*time.Millisecond, 500*time.Millisecond))
	return true
}

func (w *World) killNow(h *host, away time.Duration) bool  { w.kill(h, away); return true }
func (w *World) haltNow(h *host, away time.Duration) bool  { w.halt(h, away); return true }
func (w *World) powerNow(h *host, away time.Duration) bool { w.cutPower(h, away); return true }

func (t *traps) disarm() { t.armed = nil }

// sent looks at a request that a node sends to another one.
func (t *traps) sent(c *outward, b []byte) {
	if int16(binary.BigEndian.Uint16(b)) != private.ForwardKey {
		return
	}
	_, body, err := frame.ParseRequestHeader(b)
	carried := &private.ForwardRequest{}
	if err != nil || carried.ReadFrom(body) != nil || carried.RequestKey != kmsg.NewPtrAlterPartitionRequest().Key() {
		return
	}
	req := &kmsg.AlterPartitionRequest{Version: carried.RequestVersion}
	if err := req.ReadFrom(carried.Body); err != nil {
		t.world.fail("node %d forwards an AlterPartition request that cannot be read: %w", c.host.id, err)
		return
	}
	for _, topic := range req.Topics {
		for _, p := range topic.Partitions {
			if added := t.added(topic.TopicID, p); len(added) > 0 {
				t.open[replicaKey{topic.TopicID, p.Partition}] = expansion{model.PartitionEpoch(p.PartitionEpoch), added}
				t.spring(c, added[0])
			}
		}
	}
}

// added are the members of a proposed ISR that the newest image does not have in it.
func (t *traps) added(id model.TopicID, asked kmsg.AlterPartitionRequestTopicPartition) (added []model.BrokerID) {
	topic, ok := t.world.checks.images.newest.TopicByID(id)
	if !ok || int(asked.Partition) >= len(topic.Partitions) {
		return nil
	}
	for _, m := range asked.NewEpochISR {
		if member := model.BrokerID(m.BrokerID); !slices.Contains(topic.Partitions[asked.Partition].ISR, member) {
			added = append(added, member)
		}
	}
	return added
}

// spring does what the trap was set for, before the proposal leaves.
func (t *traps) spring(c *outward, member model.BrokerID) {
	w, armed := t.world, t.armed
	if armed == nil || w.since() > armed.expires {
		return
	}
	h := w.host(int(member))
	if h.process == nil || h.process.paused || h == c.host {
		return
	}
	t.armed = nil
	from, to := c.end.local, c.end.remote
	w.note("trap", "node %d proposes that node %d joins an ISR", from, member)
	if !armed.late {
		from, to = to, from
	}
	w.cutFor(from, to, controllerPort, armed.held)
	// Not within the turn of an actor of that process.
	w.after(0, func() {
		if h.process != nil && !h.process.paused {
			armed.member(w, h, armed.away)
		}
	})
}

// shrank is told of a partition whose ISR lost members: was there a proposal to let somebody in that came to nothing?
func (t *traps) shrank(k replicaKey, before, after *image.Partition) {
	p, ok := t.open[k]
	if ok && p.on == before.Epoch && slices.ContainsFunc(p.added, func(id model.BrokerID) bool { return !slices.Contains(after.ISR, id) }) {
		t.world.cover.meet(pendingShrink)
	}
}
