package controller

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/quorum"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/configs"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// files is the metadata directory of a node that does not run.
func (n *node) files() *store {
	return &store{
		env: partitionlog.NewEnv(n.fs, vfs.NewDescriptors(100)), path: "/data/" + metadataTopic.String(),
		cfg: partitionlog.Config{SegmentBytes: 1 << 30, IndexBytes: 10 << 20, IndexIntervalBytes: 4096, RetentionMs: -1, RetentionBytes: -1}, now: n.w.clock.Now,
	}
}

// do runs a job of a log.
func do(t *testing.T, log *partitionlog.Log, job *partitionlog.Job) {
	t.Helper()
	err := job.Run()
	log.Done(job, err)
	if err != nil {
		t.Fatal(err)
	}
}

// A first start that ends between the two leaves a log that begins nowhere: who comes to the cluster later asks for that checkpoint.
func TestAStartThatWasCutOffBeforeItsFirstCheckpointWritesIt(t *testing.T) {
	w := emptyWorld(t, 1, 1)
	w.first = []batch.Voter{{ID: 1, DirectoryID: model.DirectoryID{15: 1}, MostKRaftVersion: 1}}
	w.seeds = w.first
	one := w.add(1)
	if err := errors.Join(one.fs.MkdirAll("/data", 0o755), one.fs.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	if err := one.files().format(quorum.Checkpoint{}); err != nil { // without voters it goes no further
		t.Fatal(err)
	}
	one.start()
	w.elected(2 * time.Second)
	w.register(one)
	if code := w.created(one.create("a"), time.Second); code != 0 {
		t.Fatalf("code %d", code)
	}
	o := w.add(2)
	o.observes, o.joined = true, true
	o.start()
	w.same()
}

// follower is a world whose leader is followed by a node without a vote.
func follower(t *testing.T, seed uint64) (w *world, lead, o *node) {
	t.Helper()
	w = newWorld(t, seed, 3, func(c *configs.Broker) { c.Metadata.SegmentAge = time.Hour })
	lead = w.elected(2 * time.Second)
	for _, n := range w.nodes {
		w.register(n)
	}
	if code := w.created(lead.create("before"), time.Second); code != 0 {
		t.Fatalf("code %d", code)
	}
	o = w.add(4)
	o.observes = true
	o.start()
	w.same()
	return w, lead, o
}

func TestABatchThatArrivesDamagedTakesNothingFromThoseBeforeIt(t *testing.T) {
	w, lead, o := follower(t, 1)
	w.isolate(o)
	for i := range 4 {
		if code := w.created(lead.create(fmt.Sprint("topic-", i)), time.Second); code != 0 {
			t.Fatalf("code %d", code)
		}
	}
	spoilt := 0
	w.spoil = func(to model.BrokerID, resp kmsg.Response) {
		f, ok := resp.(*kmsg.FetchResponse)
		if !ok || to != o.id || spoilt > 0 {
			return
		}
		data := f.Topics[0].Partitions[0].RecordBatches
		if first, rest, err := batch.First(data); err == nil && len(rest) > 0 {
			spoilt++
			f.Topics[0].Partitions[0].RecordBatches = slices.Clone(data)
			f.Topics[0].Partitions[0].RecordBatches[len(first)+batch.HeaderSize] ^= 1
		}
	}
	clear(w.cut)
	w.until("it has all of it, without a pause", 200*time.Millisecond, func() bool { return o.board.Status().HighWatermark == lead.board.Status().LogEnd })
	if spoilt != 1 {
		t.Errorf("%d answers were damaged", spoilt)
	}
	w.same()
}

// It answers before it hears that others have elected another one. Who follows, and knows of that one by its records, begins nothing by
// what the old one has: the logs of topics that came since would be set aside.
func TestALeaderThatWasReplacedWhileItHungCompletesNobodysMetadata(t *testing.T) {
	for seed := range uint64(3) {
		w, old, o := follower(t, seed)
		for _, n := range w.nodes {
			w.cut[[2]model.BrokerID{n.id, old.id}], w.cut[[2]model.BrokerID{old.id, n.id}] = true, true
		}
		old.paused = true
		var next *node
		w.until("another one leads", 2*time.Second, func() bool {
			i := slices.IndexFunc(w.nodes, func(n *node) bool { return n != old && n.board.Status().Active })
			if i >= 0 {
				next = w.nodes[i]
			}
			return next != nil
		})
		if code := w.created(next.create("after"), 2*time.Second); code != 0 {
			t.Fatalf("code %d", code)
		}
		o.kill(true) // its last question waits with the old one
		o.start()
		w.until("the one that follows has it", time.Second, func() bool { return slices.Contains(o.names(), "after") })
		had := o.board.Status().LogEnd
		o.kill(true)
		w.isolate(o)
		w.cut[[2]model.BrokerID{o.id, old.id}] = false
		o.settled = false
		o.start()
		w.run(10 * time.Millisecond)
		old.paused = false
		w.run(100 * time.Millisecond)
		if s := old.board.Status(); !s.Active {
			t.Fatalf("seed %d: the old leader knows: %+v", seed, s)
		}
		if end := o.board.Status().LogEnd; o.settled || end < had {
			t.Errorf("seed %d: complete %v; the log ends at %d, it had come to %d", seed, o.settled, end, had)
		}
		clear(w.cut)
		w.same()
		w.until("it is complete", time.Second, func() bool { return o.settled })
	}
}

// A voter's log may part from the leader's within a batch. Logs are cut between batches, and what stands before that was committed.
func TestWhoHasNoVoteAnyMoreKeepsWhatWasCommittedOfTheBatchThatIsCut(t *testing.T) {
	w, lead, o := follower(t, 2)
	had := o.board.Status().LogEnd
	o.kill(true)
	s := o.files()
	log, _, err := partitionlog.Open(s.env, s.path, metadataTopic, s.cfg, partitionlog.OpenParams{LogStart: model.NoOffset, TopicID: metadataTopicID})
	if err != nil {
		t.Fatal(err)
	}
	var last batch.View
	if err := s.each(log.View(), 0, func(v batch.View) error { last = slices.Clone(v); return nil }); err != nil {
		t.Fatal(err)
	}
	if last.Control() || last.NextOffset() != had || last.Count() < 2 {
		t.Fatalf("the log ends with %d records", last.Count())
	}
	b := batch.NewBuilder(batch.Options{BaseOffset: last.BaseOffset(), LeaderEpoch: last.LeaderEpoch()})
	if err := last.Each(func(r batch.Record) error { b.Add(r); return nil }); err != nil {
		t.Fatal(err)
	}
	lost, err := record.Append(nil, &record.NoOp{}, record.LatestMetadataVersion)
	if err != nil {
		t.Fatal(err)
	}
	longer, err := b.Add(batch.Record{Timestamp: last.MaxTimestamp(), Value: lost}).Build()
	if err != nil {
		t.Fatal(err)
	}
	do(t, log, log.TruncateTo(last.BaseOffset()))
	_, job, err := log.Stage(longer, partitionlog.StageOptions{NowMs: longer.MaxTimestamp(), LeaderEpoch: longer.LeaderEpoch(), Origin: partitionlog.FromLeader})
	if err != nil {
		t.Fatal(err)
	}
	do(t, log, job)
	do(t, log, log.Flush())
	log.Abandon()
	lead.kill(true)
	lead.start()
	w.elected(2 * time.Second)
	least := model.Offset(math.MaxInt64)
	o.start()
	w.until("it follows", 2*time.Second, func() bool {
		if end := o.board.Status().LogEnd; end > 0 {
			least = min(least, end)
		}
		return o.board.Status().HighWatermark > had
	})
	if least < had {
		t.Errorf("its log was cut to %d, and %d was committed", least, had)
	}
	w.same()
}
