package broker

import (
	"sync/atomic"
	"testing"
	"time"

	"troupe/internal/clock"
)

// wall is the machine's clock as an operator sets it: timers run on, the time of day jumps.
type wall struct {
	clock.Clock
	off atomic.Int64 // nanoseconds
}

// Now has no monotonic part, so that whatever counts by it sees the jump.
func (w *wall) Now() time.Time {
	return w.Clock.Now().Round(0).Add(time.Duration(w.off.Load()))
}

func TestAClockThatIsSetBackLosesNothingAndStopsNobody(t *testing.T) {
	w := &wall{Clock: clock.System()}
	n := newNode(t, 1, "log.message.timestamp.type=LogAppendTime")
	n.clock = w
	n.start()
	if err := createTopic(dial(t, n.address()), "load", map[string]string{"segment.ms": "20"}); err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, n.address(), "load")
	for _, step := range []time.Duration{0, -time.Hour, -48 * time.Hour, 48 * time.Hour, -time.Second} {
		w.off.Add(int64(step))
		l.advances(50)
	}
	l.stop()
	n.stopClean()
	w.off.Add(-int64(time.Hour))
	n.start()
	log, err := fetchAll(dial(t, n.address()), "load", 0)
	if err != nil || int64(len(log)) < l.produced.Load() {
		t.Errorf("after a restart the log has %d records, %d were acknowledged: %v", len(log), l.produced.Load(), err)
	}
}
