package fetcher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// deleteUpTo asks the leader to delete, and notes what it says in events.
func (w *world) deleteUpTo(upTo model.Offset, within time.Duration, events *[]string) {
	w.brokers[w.state.Leader].process.handle.Send(&replica.DeleteRecords{
		Before: upTo, Deadline: w.clock.Now().Add(within),
		Waits: func(low model.Offset) { *events = append(*events, fmt.Sprint("waits at ", low)) },
		Done: func(low model.Offset, code kerr.Code) {
			*events = append(*events, fmt.Sprint(code.Name(), " at ", low))
		},
	})
}

func TestRecordsAreDeletedWhenAllReplicasHaveDeletedThem(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b", "c", "d")
		w.pass(200 * time.Millisecond)
		var events []string
		w.deleteUpTo(3, time.Minute, &events)
		w.pass(time.Second)
		if got := strings.Join(events, ", "); got != "waits at 0, NONE at 3" {
			w.t.Errorf("the leader says: %s", got)
		}
		for _, id := range w.ids {
			if start := w.brokers[id].process.handle.View().LogStart; start != 3 {
				w.t.Errorf("the log of broker %d begins at %d", id, start)
			}
		}
	})
}

func TestADeletionWaitsForABrokerThatIsCutOffUntilItIsBack(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b", "c", "d")
		w.pass(200 * time.Millisecond)
		w.cut[[2]model.BrokerID{3, 1}] = true
		w.pass(200 * time.Millisecond)
		var events []string
		w.deleteUpTo(2, time.Minute, &events)
		w.pass(time.Second)
		if got := strings.Join(events, ", "); got != "waits at 0" {
			w.t.Errorf("while broker 3 is cut off the leader says: %s", got)
		}
		clear(w.cut)
		w.pass(time.Second)
		if got := strings.Join(events, ", "); got != "waits at 0, NONE at 2" {
			w.t.Errorf("when it is back the leader says: %s", got)
		}
	})
}

func TestADeletionDoesNotWaitForABrokerThatIsDown(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b", "c", "d")
		w.pass(200 * time.Millisecond)
		w.kill(3, false)
		w.recheck()
		var events []string
		w.deleteUpTo(2, time.Minute, &events)
		w.pass(time.Second)
		if got := strings.Join(events, ", "); got != "waits at 0, NONE at 2" {
			w.t.Errorf("the leader says: %s", got)
		}
	})
}
