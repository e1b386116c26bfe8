package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/configs"
)

// Everybody is told again and again that everybody else is dead, while nobody is.
func TestAWrongHintAboutHealthyNodesChangesNothing(t *testing.T) {
	for seed := range uint64(5) {
		w := newWorld(t, seed, 3)
		lead := w.elected(2 * time.Second)
		for _, n := range w.nodes {
			w.register(n)
		}
		w.same()
		epoch, offset := lead.board.Status().LeaderEpoch, lead.source.Image().Offset
		for range 20 {
			for _, n := range w.nodes {
				for _, other := range w.nodes {
					n.actor.Send(&Suspected{Node: other.id})
				}
			}
			w.run(100 * time.Millisecond)
		}
		if now := w.leader(); now != lead || lead.board.Status().LeaderEpoch != epoch || lead.source.Image().Offset != offset {
			t.Fatalf("seed %d: epoch %d, was %d; metadata up to %d, was %d", seed, lead.board.Status().LeaderEpoch, epoch, lead.source.Image().Offset, offset)
		}
		for _, n := range w.nodes {
			if len(n.probed) != 40 || slices.Contains(n.probed, n.id) {
				t.Errorf("seed %d: node %d had the links to %v asked", seed, n.id, n.probed)
			}
		}
	}
}

// The clock that fences looks every half second, and at the end of a session.
func TestASilentBrokerIsFencedWhenItsSessionIsOverWhateverWasHinted(t *testing.T) {
	const session = 1900 * time.Millisecond
	for seed := range uint64(5) {
		w := newWorld(t, seed, 3, func(c *configs.Broker) { c.Membership.SessionTimeout = session })
		lead := w.elected(2 * time.Second)
		w.register(lead)
		silent := w.besides(lead)
		w.register(silent)
		beat := kmsg.NewPtrBrokerHeartbeatRequest()
		b, _ := lead.source.Image().Broker(silent.id)
		beat.Version, beat.BrokerID, beat.BrokerEpoch, beat.CurrentMetadataOffset = 1, int32(silent.id), int64(b.Epoch), int64(lead.source.Image().Offset)
		answer := lead.ask(beat)
		w.until("its last heartbeat is answered", time.Second, func() bool { return len(answer) > 0 })
		fenced := func() bool {
			b, ok := lead.source.Image().Broker(silent.id)
			return ok && b.Fenced
		}
		lead.actor.Send(&Suspected{Node: silent.id})
		w.run(session - 100*time.Millisecond)
		if fenced() {
			t.Fatalf("seed %d: it was fenced before its session was over", seed)
		}
		w.until("it is fenced", 150*time.Millisecond, fenced)
	}
}
