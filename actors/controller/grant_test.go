package controller

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/internal/model"
)

// The broker in the process of a controller that hung asks it first of all, before either has heard that it was replaced.
func TestAControllerThatWasReplacedWhileItHungGrantsNothing(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, 3)
		hung := w.elected(2 * time.Second)
		for _, n := range w.nodes {
			w.register(n)
		}
		b, _ := hung.source.Image().Broker(hung.id)
		beat := kmsg.NewPtrBrokerHeartbeatRequest()
		beat.Version, beat.BrokerID, beat.BrokerEpoch, beat.CurrentMetadataOffset = 1, int32(b.ID), int64(b.Epoch), int64(model.NoOffset)
		w.isolate(hung) // so that what the others say is not in its mailbox before the heartbeat
		hung.paused = true
		w.until("another one leads", 2*time.Second, func() bool { l := w.leader(); return l != nil && l != hung })
		answer := hung.ask(beat)
		hung.paused = false
		w.run(20 * time.Millisecond)
		if len(answer) > 0 {
			t.Fatalf("seed %d: a controller that nobody follows answers %+v", seed, <-answer)
		}
		clear(w.cut)
		w.until("the next controller answers", 2*time.Second, func() bool { return len(answer) > 0 })
		if got := (<-answer).(*kmsg.BrokerHeartbeatResponse); got.ErrorCode != 0 || got.IsFenced {
			t.Errorf("seed %d: answered %+v", seed, got)
		}
	}
}
