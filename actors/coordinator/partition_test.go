package coordinator_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/codec/batch"
	"troupe/codec/kerr"
)

func TestWhatWasCommittedIsThereAfterAPanic(t *testing.T) {
	w := newWorld(t, 1)
	w.lead()
	w.settle(time.Second)
	for i := range int64(30) { // more than one piece of 256 bytes
		a := commit(w, "g", i)
		w.rest()
		if code := commitCode(t, a); code != kerr.None {
			t.Fatalf("commit %d: %s", i, code.Name())
		}
	}
	w.coordinator().Panic()
	w.settle(time.Second)
	w.expectOffset("g", 29)
}

func TestUntilThePartitionIsLoadedClientsTryAgain(t *testing.T) {
	w := newWorld(t, 1)
	early := commit(w, "g", 1)
	if code := commitCode(t, early); code != kerr.NotCoordinator {
		t.Errorf("before there is a leader: %s", code.Name())
	}
	// The coordinator hears of the leadership before its replica does.
	w.settle(time.Second)
	w.epoch++
	lead := w.leadership(self)
	w.leadCoordinator()
	w.settle(time.Second)
	loading := commit(w, "g", 1)
	w.rest()
	if code := commitCode(t, loading); code != kerr.CoordinatorLoadInProgress {
		t.Errorf("while it loads: %s", code.Name())
	}
	w.shard.Send(&replica.Order{Handle: w.handle, Message: lead})
	w.settle(2 * time.Second)
	w.expectOffset("g", -1)
}

func TestWhatTheLogRefusesIsTakenBack(t *testing.T) {
	w := newWorld(t, 1)
	w.lead()
	w.settle(time.Second)
	first := commit(w, "g", 1)
	w.rest()
	if code := commitCode(t, first); code != kerr.None {
		t.Fatal(code)
	}
	// min.insync.replicas is 2 and one is in sync: appends are refused.
	w.shard.Send(&replica.Order{Handle: w.handle, Message: &replica.Configure{Config: w.config(2)}})
	w.rest()
	refused := []*answer[*kmsg.OffsetCommitResponse]{commit(w, "g", 2), commit(w, "h", 3)}
	w.rest()
	for _, a := range refused {
		if code := commitCode(t, a); code != kerr.CoordinatorNotAvailable {
			t.Errorf("refused with %s", code.Name())
		}
	}
	w.expectOffset("g", 1)
	w.expectOffset("h", -1)
	w.shard.Send(&replica.Order{Handle: w.handle, Message: &replica.Configure{Config: w.config(1)}})
	w.rest()
	again := commit(w, "g", 4)
	w.rest()
	if code := commitCode(t, again); code != kerr.None {
		t.Fatal(code)
	}
	w.expectOffset("g", 4)
}

func TestAReplyWaitsForTheReplicasAndReadsDoNotSeeWhatTheyLack(t *testing.T) {
	w := newWorld(t, 1)
	w.lead()
	w.settle(time.Second)
	w.shard.Send(&replica.Order{Handle: w.handle, Message: w.leadership(self, 2)}) // the other replica never fetches
	w.rest()
	a := commit(w, "g", 7)
	w.settle(4 * time.Second)
	if a.count != 0 {
		t.Fatalf("answered %+v though a replica in sync lacks it", a.resp)
	}
	w.expectOffset("g", -1)
	w.settle(2 * time.Second)
	if code := commitCode(t, a); code != kerr.CoordinatorNotAvailable {
		t.Errorf("after offsets.commit.timeout.ms: %s", code.Name())
	}
	// The other replica leaves the ISR: what was written is committed after all.
	w.shard.Send(&replica.Order{Handle: w.handle, Message: w.leadership(self)})
	w.rest()
	w.expectOffset("g", 7)
}

func TestAForeignBatchInTheLogIsLoaded(t *testing.T) {
	w := newWorld(t, 1)
	w.lead()
	w.settle(time.Second)
	first := commit(w, "g", 1)
	w.rest()
	if code := commitCode(t, first); code != kerr.None {
		t.Fatal(code)
	}
	// The batch of a former incarnation, say: the commit of offset 5, written behind the coordinator's back.
	old := newWorld(t, 1)
	old.lead()
	old.settle(time.Second)
	commit(old, "g", 5)
	old.rest()
	records := old.read()
	w.handle.Send(&replica.Append{Batch: records, AllAcks: true, Deadline: w.clock.Now().Add(time.Hour), Sink: deaf{}})
	w.rest()
	lost := commit(w, "g", 2)
	w.settle(time.Second)
	if code := commitCode(t, lost); code != kerr.NotCoordinator {
		t.Errorf("a commit at an offset that is taken: %s", code.Name())
	}
	w.expectOffset("g", 5)
}

// Between two leaderships of this broker another leader may have cut the log and written as many records.
func TestALogUnderAnotherLeaderEpochIsLoadedAnew(t *testing.T) {
	w := newWorld(t, 1)
	w.lead()
	w.settle(time.Second)
	first := commit(w, "g", 1)
	w.rest()
	if code := commitCode(t, first); code != kerr.None {
		t.Fatal(code)
	}
	w.epoch++
	w.shard.Send(&replica.Order{Handle: w.handle, Message: w.leadership(self)}) // the coordinator has not heard of it
	w.rest()
	unsure := commit(w, "g", 2)
	w.rest()
	if code := commitCode(t, unsure); code != kerr.NotCoordinator {
		t.Errorf("a commit on what was loaded under the epoch before: %s", code.Name())
	}
	w.settle(time.Second)
	w.expectOffset("g", 1)
	again := commit(w, "g", 3)
	w.rest()
	if code := commitCode(t, again); code != kerr.None {
		t.Fatal(code)
	}
}

// Replica and coordinator get their orders from one image, on two ways: either may be the first to hear of its epoch.
func TestALeadershipIsLoadedOnceWhoeverHearsOfItFirst(t *testing.T) {
	for _, replicaFirst := range []bool{false, true} {
		w := newWorld(t, 1)
		w.lead()
		w.settle(time.Second)
		commit(w, "g", 1)
		w.rest()
		before := w.loadings
		w.epoch++
		if !replicaFirst {
			w.leadCoordinator()
			w.rest()
		}
		w.shard.Send(&replica.Order{Handle: w.handle, Message: w.leadership(self)})
		w.rest()
		commit(w, "g", 2) // of which the coordinator hears, if of nothing else, that the epoch it knew is over
		w.settle(time.Second)
		w.leadCoordinator()
		w.leadCoordinator() // an order that was given before changes nothing
		w.settle(time.Second)
		if got := w.loadings - before; got != 1 {
			t.Errorf("the replica first: %v: loaded %d times", replicaFirst, got)
		}
		w.expectOffset("g", 1)
	}
}

func TestRequestsThatWaitTogetherShareABatch(t *testing.T) {
	w := newWorld(t, 1)
	w.lead()
	w.settle(time.Second)
	end := w.handle.View().LogEnd
	var all []*answer[*kmsg.OffsetCommitResponse]
	for i := range int64(50) {
		all = append(all, commit(w, fmt.Sprint("g", i), i))
	}
	w.rest()
	for _, a := range all {
		if code := commitCode(t, a); code != kerr.None {
			t.Fatal(code)
		}
	}
	if got := w.handle.View().LogEnd - end; got != 50 {
		t.Errorf("%d records, want 50", got)
	}
}

func TestALostLeadershipSendsThoseWhoWaitAway(t *testing.T) {
	w := newWorld(t, 1)
	w.lead()
	w.settle(time.Second)
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = "g", 10_000, 60_000, "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	join := send[*kmsg.JoinGroupResponse](w, req, 3)
	w.rest()
	w.resign()
	w.rest()
	if join.count != 1 || kerr.Code(join.resp.ErrorCode) != kerr.NotCoordinator {
		t.Errorf("the join is answered %d times: %+v", join.count, join.resp)
	}
	if got := w.directory.Partitions(); len(got) != 0 {
		t.Errorf("partitions %v are coordinated", got)
	}
	w.lead()
	w.settle(time.Second)
	w.expectOffset("g", -1)
}

// Whatever fails while clients commit: an offset that was acknowledged is fetched, or a later one.
func TestAcknowledgedOffsetsNeverGoBack(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { commitThroughFaults(t, seed) })
	}
}

func commitThroughFaults(t *testing.T, seed uint64) {
	c := &committers{world: newWorld(t, seed), chance: rand.New(rand.NewPCG(seed, 1)), acknowledged: map[string]int64{}, next: map[string]int64{}}
	c.lead()
	for range 300 {
		if n := c.chance.IntN(40); n < 30 {
			c.send(fmt.Sprint("g", c.chance.IntN(3)))
		} else {
			c.fault(n - 30)
		}
		c.order.Run(c.chance.IntN(20))
		c.collect()
	}
	c.lead()
	c.settle(30 * time.Second)
	c.collect()
	for _, s := range c.open {
		t.Errorf("the commit of %d for %s has no answer", s.offset, s.id)
	}
	for id, want := range c.acknowledged {
		a := fetch(c.world, id)
		c.rest()
		if a.count != 1 || a.resp.ErrorCode != 0 || a.resp.Topics[0].Partitions[0].Offset < want {
			t.Errorf("%s: %d was acknowledged, fetched %+v", id, want, a.resp)
		}
	}
	if len(c.acknowledged) == 0 {
		t.Error("nothing was acknowledged")
	}
}

// committers commit rising offsets for a few groups.
type committers struct {
	*world
	chance          *rand.Rand
	open            []sent
	acknowledged    map[string]int64
	next            map[string]int64
	replicas, hosts int // panics so far
}

// sent is a commit without an answer.
type sent struct {
	id     string
	offset int64
	answer *answer[*kmsg.OffsetCommitResponse]
}

func (c *committers) send(id string) {
	c.next[id]++
	c.open = append(c.open, sent{id, c.next[id], commit(c.world, id, c.next[id])})
}

// fault does one thing of ten. More panics than few within a minute, and what fails is given up: a coordinator comes back
// by itself, a host ends the process, a replica's partition stays offline.
func (c *committers) fault(n int) {
	const few = 6
	switch {
	case n == 0:
		if ref, ok := c.system.Find("groups/0"); ok {
			ref.Panic()
		}
	case n == 1 && c.replicas < few:
		if ref, ok := c.system.Find("replicas/__consumer_offsets-0"); ok {
			c.replicas++
			ref.Panic()
		}
	case n == 2:
		c.resign()
	case n == 3 && c.hosts < few:
		c.hosts++
		c.host.Panic()
	case n < 6:
		c.lead()
	default:
		c.settle(time.Duration(c.chance.IntN(100)) * time.Millisecond)
	}
}

// collect takes the answers that have come.
func (c *committers) collect() {
	kept := c.open[:0]
	for _, s := range c.open {
		if s.answer.count == 0 {
			kept = append(kept, s)
		} else if commitCode(c.t, s.answer) == kerr.None {
			c.acknowledged[s.id] = max(c.acknowledged[s.id], s.offset)
		}
	}
	c.open = kept
}

// read gives the whole log of a world.
func (w *world) read() batch.View {
	w.t.Helper()
	v := w.handle.View()
	r, err := v.Read(0, v.LogEnd, 1<<20, true)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Release()
	b := make([]byte, r.Len)
	if _, err := r.File.ReadAt(b, r.Pos); err != nil {
		w.t.Fatal(err)
	}
	return b
}

type deaf struct{}

func (deaf) AppendDone(int, replica.AppendResult) {}
