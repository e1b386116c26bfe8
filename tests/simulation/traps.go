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

// traps wait for a moment in which things go wrong that go right at any other, and strike then: what is rare among faults at
// random is where ISRs and coordinators go wrong.
type traps struct {
	world *World
	// proposal waits for a leader to propose that somebody joins its ISR. It is seen when it goes to a controller on another node.
	proposal *proposalTrap
	commit   *commitTrap
	answer   *answerTrap
	elder    *elderTrap
	// open are the last proposals of partitions that would let somebody join.
	open map[replicaKey]expansion
}

// expansion is a proposed ISR with new members.
type expansion struct {
	on    model.PartitionEpoch
	added []model.BrokerID
}

// proposalTrap is what happens to the proposal and to those whom it concerns. All of it is drawn beforehand.
type proposalTrap struct {
	late    bool                               // the proposal comes late; else its answer does, and with it all news from the controller
	held    time.Duration                      // for how long
	apart   bool                               // whom it would let in gets nothing from the leader meanwhile
	member  bool                               // not the one that it would let in is struck, but one that is in the ISR
	strike  func(*World, *host, time.Duration) // nil for nothing
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
	t := &proposalTrap{late: w.chance(2), held: w.between(500*time.Millisecond, 8*time.Second), expires: w.since() + trapFor}
	shortly := w.between(50*time.Millisecond, time.Second)
	switch w.random.IntN(8) {
	case 0:
		t.strike, t.away = (*World).kill, shortly
	case 1:
		t.strike, t.away = (*World).halt, t.held
	case 2, 3:
		// It is in the ISR and lags, and the leader does not know of the one while it notices the other.
		t.late, t.apart, t.held = false, true, w.lagMax+w.between(time.Second, 4*time.Second)
	case 4, 5:
		// The ISR shrinks without the one who waits to be let in.
		t.late, t.member, t.held = true, true, w.between(3*time.Second, 8*time.Second)
		t.strike, t.away = (*World).kill, t.held
	default:
		// Another process comes back, without what the one had that was to be let in.
		t.late, t.apart = !w.chance(4), w.chance(2)
		t.strike, t.away = (*World).cutPower, shortly
	}
	w.traps.proposal = t
	w.kill(h, w.between(50*time.Millisecond, 500*time.Millisecond))
	return true
}

func (t *traps) disarm() { t.proposal, t.commit, t.answer, t.elder = nil, nil, nil, nil }

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
			isr := t.isr(topic.TopicID, p.Partition)
			if added := joining(isr, p); len(added) > 0 {
				t.open[replicaKey{topic.TopicID, p.Partition}] = expansion{model.PartitionEpoch(p.PartitionEpoch), added}
				t.spring(c, isr, added[0])
			}
		}
	}
}

// isr is that of a partition in the newest image, nil where it does not have it.
func (t *traps) isr(id model.TopicID, partition int32) []model.BrokerID {
	topic, ok := t.world.checks.images.newest.TopicByID(id)
	if !ok || int(partition) >= len(topic.Partitions) {
		return nil
	}
	return topic.Partitions[partition].ISR
}

// joining are the members of a proposed ISR that the one now does not have.
func joining(isr []model.BrokerID, asked kmsg.AlterPartitionRequestTopicPartition) (added []model.BrokerID) {
	for _, m := range asked.NewEpochISR {
		if member := model.BrokerID(m.BrokerID); isr != nil && !slices.Contains(isr, member) {
			added = append(added, member)
		}
	}
	return added
}

// spring does what the trap was set for, before the proposal leaves.
func (t *traps) spring(c *outward, isr []model.BrokerID, joins model.BrokerID) {
	w, armed := t.world, t.proposal
	if armed == nil || w.since() > armed.expires {
		return
	}
	struck := w.host(int(joins))
	if armed.member {
		if struck = t.bystander(c, isr); struck == nil {
			return
		}
	}
	if struck.process == nil || struck.process.paused || struck == c.host {
		return
	}
	t.proposal = nil
	from, to := c.end.local, c.end.remote
	w.note("trap", "node %d proposes that node %d joins an ISR", from, joins)
	w.cover.meet(trapSprung)
	if armed.apart {
		w.cutFor(from, int(joins), brokerPort, armed.held+time.Second)
		w.cutFor(int(joins), from, brokerPort, armed.held+time.Second)
	}
	if !armed.late {
		from, to = to, from
	}
	w.cutFor(from, to, controllerPort, armed.held)
	t.hit(struck, armed.strike, armed.away)
}

// bystander is a member of an ISR that does not lead; nil for none. It may be the controller: the next one fences it at once.
func (t *traps) bystander(c *outward, isr []model.BrokerID) *host {
	for _, id := range isr {
		if h := t.world.host(int(id)); h != c.host {
			return h
		}
	}
	return nil
}

// hit strikes a node, though not within the turn of one of its actors.
func (t *traps) hit(h *host, strike func(*World, *host, time.Duration), away time.Duration) {
	t.world.after(0, func() {
		if strike != nil && h.process != nil && !h.process.paused {
			strike(t.world, h, away)
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
