package replica

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// A topic is deleted in the middle of appends and made again at once under its name, in any order of events; now and
// then the replica or its shard panics.
func TestATopicThatComesBackStartsEmpty(t *testing.T) {
	for seed := range uint64(100) {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { deletedAndMade(t, seed) }) {
			return
		}
	}
}

func deletedAndMade(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	random := rand.New(rand.NewPCG(seed, 3))
	h := w.host(1, true, config())
	for id := byte(2); id < 6; id++ {
		s := w.sink(h)
		s.quiet = true
		for range random.IntN(6) {
			s.append(true, time.Hour)
			w.order.Run(random.IntN(10))
		}
		if random.IntN(3) == 0 {
			w.strike(random)
		}
		w.shard.Send(&Drop{Handle: h, Unique: model.UUID{id}})
		w.order.Run(random.IntN(10))
		next := w.host(id, true, config())
		late := w.sink(h) // sent to the topic that is going
		late.quiet = true
		late.append(true, time.Hour)
		w.run()
		w.clock.Advance(3 * time.Second)
		w.run()
		for _, one := range []*sink{s, late} {
			for i := range one.values {
				if len(one.answers[i]) != 1 {
					t.Errorf("append %d to a deleted topic was answered %d times", i, len(one.answers[i]))
				}
			}
		}
		h = next
	}
	s := w.sink(h)
	s.quiet = true
	w.recover(s)
	if v := h.View(); int(v.LogEnd) > len(s.values) {
		t.Errorf("the new topic's log ends at %d after %d appends", v.LogEnd, len(s.values))
	}
	s.settled()
	w.clock.Advance(time.Hour)
	w.run()
	entries, err := w.fs.ReadDir("/data")
	if err != nil || len(entries) != 1 || entries[0].Name() != tp.String() {
		t.Errorf("the directory holds %v, %v; want one log", entries, err)
	}
	if id, err := checkpoint.ReadTopicID(w.fs, "/data/t-0/"+checkpoint.PartitionMetadata); err != nil || id != h.TopicID {
		t.Errorf("the files are of topic %s, %v", id, err)
	}
}

func TestADeletionWaitsForALogThatIsBeingOpened(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	w.sink(h).append(true, time.Hour)
	w.run()
	w.begin()
	h = w.host(1, false, config())
	w.shard.Send(&Drop{Handle: h, Unique: model.UUID{1}})
	next := w.host(2, true, config())
	w.run()
	s := w.sink(next)
	w.events = nil
	s.append(true, time.Hour)
	w.run()
	w.expectEvents("append 0: NONE at 0")
	s.settled()
}

func TestFilesOfAnEarlierTopicOfTheNameAreSetAside(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	w.sink(h).append(true, time.Hour)
	w.run()
	w.begin() // the deletion of topic 1 was committed, but not carried out
	next := w.host(2, false, config())
	w.run()
	if v := next.View(); v == nil || v.LogEnd != 0 {
		t.Fatalf("the new topic begins with %+v", v)
	}
	entries, err := w.fs.ReadDir("/data")
	if err != nil || len(entries) != 2 || !strings.HasSuffix(entries[1].Name(), "-stray") {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

// A start that is cut short must not forget what the checkpoints said of logs that it did not come to.
func TestALogThatIsNotOpenKeepsItsCheckpoint(t *testing.T) {
	w := newWorld(t, 1)
	h := NewHandle(tp, model.TopicID{15: 1}, w.dir, config())
	found := Checkpoint{RecoveryPoint: 7, LogStart: 5, HighWatermark: 9}
	w.shard.Send(&Host{Handle: h, RecoveryPoint: 7, LogStart: 5, HighWatermark: 9, Done: func() {}})
	for h.actor.Load() == nil {
		w.order.Step()
	}
	if got, ok := h.Checkpoint(); !ok || got != found {
		t.Errorf("before the log is open: %+v, %v", got, ok)
	}
	w.run()
	if got, ok := h.Checkpoint(); ok {
		t.Errorf("the directory turned out to be empty, and is written down as %+v", got)
	}
}

func TestACleanCloseAnswersAndLeavesNothingToRecover(t *testing.T) {
	for seed := range uint64(50) {
		w := newWorld(t, seed)
		h := w.host(1, true, config())
		w.run()
		s := w.sink(h)
		for range 5 {
			s.append(true, time.Hour)
		}
		w.order.Run(int(seed) % 20)
		failed := -1
		w.shard.Send(&CloseAll{Done: func(n int) { failed = n }})
		w.run()
		if failed != 0 {
			t.Fatalf("seed %d: %d logs were not closed", seed, failed)
		}
		writes := 0
		w.fs.Hook(func(vfs.Call) vfs.Fault { writes++; return vfs.Fault{} })
		w.begin()
		again := NewHandle(tp, h.TopicID, w.dir, config())
		w.shard.Send(&Host{
			Handle: again, Clean: true, RecoveryPoint: h.RecoveryPoint(), HighWatermark: h.View().HighWatermark, LogStart: 0,
			Lead: &BecomeLeader{LeaderEpoch: 0, ISR: []model.BrokerID{1}, Replicas: []model.BrokerID{1}}, Done: func() {},
		})
		w.run()
		if writes > 0 || again.View() == nil || again.View().LogEnd != h.View().LogEnd {
			t.Fatalf("seed %d: opening made %d changes and found %+v", seed, writes, again.View())
		}
		s.handle = again
		s.settled()
	}
}

// A topic is deleted, and another made, while the broker stops: that the logs are closed is said once, and when it is so.
func TestACloseIsOverWhenAllLogsAreClosedWhateverIsDeletedMeanwhile(t *testing.T) {
	for seed := range uint64(50) {
		w := newWorld(t, seed)
		doomed := w.host(1, true, config())
		stays := NewHandle(model.TopicPartition{Topic: "stays"}, model.TopicID{15: 2}, w.dir, config())
		order := &BecomeLeader{ISR: []model.BrokerID{1}, Replicas: []model.BrokerID{1}}
		w.shard.Send(&Host{Handle: stays, Lead: order, Fresh: true, Done: func() {}})
		w.run()
		w.sink(doomed).append(true, time.Hour)
		w.sink(stays).append(true, time.Hour)
		w.run()
		said := 0
		w.shard.Send(&CloseAll{Done: func(failed int) {
			said++
			if failed != 0 || stays.Status().Online {
				t.Errorf("seed %d: %d logs are said to have failed, and one is open: %v", seed, failed, stays.Status().Online)
			}
		}})
		w.order.Run(int(seed) % 5)
		w.shard.Send(&Drop{Handle: doomed, Unique: model.UUID{1}})
		late := NewHandle(model.TopicPartition{Topic: "late"}, model.TopicID{15: 3}, w.dir, config())
		told := false
		w.shard.Send(&Host{Handle: late, Lead: order, Fresh: true, Done: func() { told = true }})
		w.run()
		w.clock.Advance(2 * time.Minute)
		w.run()
		if said != 1 {
			t.Errorf("seed %d: it is said %d times", seed, said)
		}
		if v := late.View(); v != nil || !told {
			t.Errorf("seed %d: the topic that came late has a log that nobody closes: %+v, answered %v", seed, v, told)
		}
	}
}

// The log of a leader that was elected though it lacked much ends where this one's first records had been deleted.
func TestALogThatBeginsEarlierThanItDidIsTakenForNoOther(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed)
		h := w.host(1, true, config())
		w.run()
		s := w.sink(h)
		s.quiet = true
		for range 10 {
			s.append(true, time.Hour)
		}
		w.run()
		h.Send(&DeleteRecords{Before: 5, Deadline: w.clock.Now().Add(time.Hour), Done: func(model.Offset, kerr.Code) {}, Waits: func(model.Offset) {}})
		w.order.Run(int(seed))
		follow := &BecomeFollower{Leader: 2, LeaderEpoch: 1, ISR: []model.BrokerID{2}, Replicas: []model.BrokerID{1, 2}}
		h.Send(follow)
		w.run()
		h.Send(&Fetched{Handle: h, LeaderEpoch: 1, Offset: 10, OutOfRange: true, LogEnd: 3})
		w.run()
		if v := h.View(); v.LogStart != 3 || v.LogEnd != 3 {
			t.Fatalf("seed %d: the log begins at %d and ends at %d", seed, v.LogStart, v.LogEnd)
		}
		starts, err := checkpoint.ReadOffsets(w.fs, "/data/"+checkpoint.LogStarts)
		if err != nil || starts[tp] > 3 {
			t.Errorf("seed %d: a start would have the log begin at %d, %v", seed, starts[tp], err)
		}
	}
}
