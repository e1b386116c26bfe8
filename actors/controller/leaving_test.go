package controller

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// leaving asks as a broker that stops does.
func (n *node) leaving() <-chan kmsg.Response {
	beat := kmsg.NewPtrBrokerHeartbeatRequest()
	beat.Version, beat.BrokerID, beat.WantShutdown = 1, int32(n.id), true
	return n.ask(beat)
}

func TestABrokerThatStopsWaitsForNoControllerWhereNoneCanBe(t *testing.T) {
	for _, c := range []struct {
		title       string
		lose        func(w *world, n *node)
		bereft      bool
		least, most time.Duration
	}{
		{"the others have ended", func(w *world, n *node) {
			for _, other := range w.nodes {
				if other != n {
					other.kill(false)
				}
			}
		}, true, 0, 500 * time.Millisecond}, // within the first of them it still takes itself for the leader
		{"nobody answers", func(w *world, n *node) { w.isolate(n) }, false, leaveMax, leaveMax + time.Second},
	} {
		t.Run(c.title, func(t *testing.T) {
			w := newWorld(t, 7, 3)
			lead := w.elected(2 * time.Second)
			for _, n := range w.nodes {
				w.register(n)
			}
			c.lose(w, lead)
			w.until("it leads no more", time.Second, func() bool { return !lead.board.Status().Active })
			answer := lead.leaving()
			took := w.until("the broker is answered", 5*time.Second, func() bool { return len(answer) > 0 })
			if code := (<-answer).(*kmsg.BrokerHeartbeatResponse).ErrorCode; code != int16(kerr.NotController) || took < c.least || took > c.most {
				t.Errorf("after %s it is answered with %d, want within %s and %s", took, code, c.least, c.most)
			}
			if got := lead.board.Status().Bereft; got != c.bereft {
				t.Errorf("that nobody can be elected: %v", got)
			}
		})
	}
}

// What came while there was still hope is answered when it is gone.
func TestABrokerThatStopsIsAnsweredWhenTheLastOfTheOthersEnds(t *testing.T) {
	w := newWorld(t, 8, 3)
	lead := w.elected(2 * time.Second)
	for _, n := range w.nodes {
		w.register(n)
	}
	w.isolate(lead)
	w.until("it leads no more", time.Second, func() bool { return !lead.board.Status().Active })
	answer := lead.leaving()
	w.run(100 * time.Millisecond)
	if len(answer) > 0 {
		t.Fatal("it is answered while somebody may lead")
	}
	for _, other := range w.nodes {
		if other != lead {
			other.kill(false)
		}
	}
	if took := w.until("it is answered", time.Second, func() bool { return len(answer) > 0 }); took > 100*time.Millisecond {
		t.Errorf("it is answered %s after the others have ended", took)
	}
}
