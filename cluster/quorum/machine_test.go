package quorum_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/cluster/quorum"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/internal/model"
)

var self = quorum.VoterKey{ID: 1, Directory: model.DirectoryID{0: 0xaa}}

func voter(k quorum.VoterKey) batch.Voter {
	return batch.Voter{
		ID: k.ID, DirectoryID: k.Directory, MostKRaftVersion: 1,
		Endpoints: []batch.VoterEndpoint{{Name: "CONTROLLER", Host: "localhost", Port: 9093}},
	}
}

// start runs a node alone on what is on its disk.
func start(t *testing.T, d *disk, o quorum.Options, from quorum.Boundary) *disk {
	t.Helper()
	o.Self = self
	r := quorum.Restore(o, from)
	next := &disk{t: t, log: d.log, end: max(d.end, from.End), hard: d.hard, nowMs: d.nowMs}
	for _, v := range d.log {
		if err := r.Add(v); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if next.machine, err = r.Start(d.hard); err != nil {
		t.Fatal(err)
	}
	return next
}

func fresh(t *testing.T) *disk {
	t.Helper()
	empty := &disk{hard: quorum.HardState{Epoch: 0, Voted: quorum.NoVoter, Leader: model.NoBroker}}
	return start(t, empty, quorum.Options{}, alone())
}

func alone() quorum.Boundary { return quorum.Boundary{Voters: []batch.Voter{voter(self)}} }

func topics(names ...string) []record.Record {
	var records []record.Record
	for i, name := range names {
		records = append(records, &record.Topic{Name: name, ID: model.TopicID{15: byte(i)}})
	}
	return records
}

// story is the committed entries in words.
func story(entries []quorum.Entry) string {
	var words []string
	for _, e := range entries {
		what := fmt.Sprintf("%T", e.Control)
		if t, ok := e.Record.(*record.Topic); ok {
			what = t.Name
		}
		words = append(words, fmt.Sprintf("%d/%d %s", e.Offset, e.Epoch, what))
	}
	return strings.Join(words, ", ")
}

func TestALoneVoterElectsItselfWithoutATick(t *testing.T) {
	d := fresh(t)
	d.settle()
	if l := d.machine.Leadership(); !l.Self || l.Epoch != 1 || l.Leader != self {
		t.Fatalf("leadership %+v", l)
	}
	if d.hard.Epoch != 1 || d.hard.Voted != self {
		t.Errorf("quorum-state says %+v", d.hard)
	}
	if got := story(d.committed); got != "0/1 batch.LeaderChange" {
		t.Errorf("committed %s", got)
	}
	var said batch.ControlRecord
	err := d.log[0].Each(func(r batch.Record) (err error) {
		said, err = batch.ParseControl(r.Key, r.Value)
		return err
	})
	want := "{0 1 [{1 AAAAAAAAAAAAAAAAAAAAAA}] [{1 AAAAAAAAAAAAAAAAAAAAAA}]}"
	if got := fmt.Sprint(said); err != nil || got != want {
		t.Errorf("the log begins with %s (%v), want %s", got, err, want)
	}
}

// Nothing is said to be led, sent or committed before what it depends on is on the disk.
func TestNothingHappensBeforeTheDiskHasIt(t *testing.T) {
	d := fresh(t)
	d.take()
	if len(d.pending) != 1 || d.pending[0].Hard == nil || d.machine.Leadership().Self {
		t.Fatalf("before the vote is durable: %d appends, leadership %+v", len(d.pending), d.machine.Leadership())
	}
	d.write()
	d.take()
	if !d.machine.Leadership().Self || len(d.committed) != 0 {
		t.Fatalf("after the vote, before the first entry: %+v, committed %s", d.machine.Leadership(), story(d.committed))
	}
	d.settle()
	if base, err := d.machine.Propose(topics("a", "b"), record.LatestMetadataVersion); err != nil || base != 1 {
		t.Fatalf("proposed at %d, %v", base, err)
	}
	if base, err := d.machine.Propose(topics("c"), record.LatestMetadataVersion); err != nil || base != 3 {
		t.Fatalf("proposed at %d, %v", base, err)
	}
	before := story(d.committed)
	d.take()
	if story(d.committed) != before {
		t.Fatalf("committed before it was written: %s", story(d.committed))
	}
	d.settle()
	if got := story(d.committed); got != before+", 1/1 a, 2/1 b, 3/1 c" {
		t.Errorf("committed %s", got)
	}
	if len(d.log) != 2 && len(d.log) != 3 {
		t.Errorf("%d batches for one term", len(d.log))
	}
}

func TestARestartFindsWhatWasWrittenAndNothingElse(t *testing.T) {
	d := fresh(t)
	d.settle()
	if _, err := d.machine.Propose(topics("kept"), record.LatestMetadataVersion); err != nil {
		t.Fatal(err)
	}
	d.settle()
	if _, err := d.machine.Propose(topics("lost"), record.LatestMetadataVersion); err != nil {
		t.Fatal(err)
	}
	d.take() // handed out, not written: the power goes
	d = start(t, d, quorum.Options{}, alone())
	d.settle()
	if got := story(d.committed); got != "0/1 batch.LeaderChange, 1/1 kept, 2/2 batch.LeaderChange" {
		t.Errorf("committed %s", got)
	}
	if d.machine.End() != 3 {
		t.Errorf("the log ends at %d", d.machine.End())
	}
}

func TestAVoteIsRememberedOverARestart(t *testing.T) {
	d := fresh(t)
	d.take()
	d.write() // the vote of epoch 1 is durable, the first entry is not
	d = start(t, d, quorum.Options{}, alone())
	d.settle()
	if l := d.machine.Leadership(); l.Epoch != 2 {
		t.Errorf("the node leads in epoch %d, in which it has already voted", l.Epoch)
	}
}

func TestALogBehindACheckpointIsContinued(t *testing.T) {
	d := fresh(t)
	d.settle()
	for _, name := range []string{"a", "b", "c"} {
		if _, err := d.machine.Propose(topics(name), record.LatestMetadataVersion); err != nil {
			t.Fatal(err)
		}
		d.settle()
	}
	from := alone()
	from.End, from.Epoch = 3, 1
	// The log may still hold what the checkpoint covers, in whole or in part.
	again := start(t, d, quorum.Options{}, from)
	again.settle()
	if got := story(again.committed); got != "3/1 c, 4/2 batch.LeaderChange" {
		t.Errorf("committed %s", got)
	}
	from.End = 4
	d.log, d.end = nil, 4
	again = start(t, d, quorum.Options{}, from)
	again.settle()
	if got := story(again.committed); got != "4/2 batch.LeaderChange" {
		t.Errorf("committed %s", got)
	}
}

func TestTwoChangesOfVotersInOneBatchAreTwo(t *testing.T) {
	two, three := voter(quorum.VoterKey{ID: 2}), voter(quorum.VoterKey{ID: 3})
	first, second, last := []batch.Voter{voter(self), two, three}, []batch.Voter{voter(self), two}, []batch.Voter{two}
	changes, err := batch.NewControlBatch(batch.Options{LeaderEpoch: 1}, 0, batch.Voters{Voters: second}, batch.Voters{Voters: last})
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{hard: quorum.HardState{Epoch: 1, Voted: quorum.NoVoter, Leader: model.NoBroker}, log: []batch.View{changes}, end: 2}
	for name, c := range map[string]struct {
		from  quorum.Boundary
		want  []batch.Voter
		since model.Offset
	}{
		"from the beginning":             {quorum.Boundary{Voters: first}, second, 0},
		"a checkpoint ends between them": {quorum.Boundary{End: 1, Epoch: 1, Voters: second}, second, model.NoOffset},
		"a checkpoint ends behind them":  {quorum.Boundary{End: 2, Epoch: 1, Voters: last}, last, model.NoOffset},
	} {
		m := start(t, d, quorum.Options{}, c.from).machine
		if got := m.Voters(); !reflect.DeepEqual(got, c.want) || m.VotersSince() != c.since {
			t.Errorf("%s: starts with the voters %+v of offset %d, want %+v of %d", name, got, m.VotersSince(), c.want, c.since)
		}
	}
}

func TestBatchesAreCutAtTheirLimit(t *testing.T) {
	d := start(t, &disk{hard: quorum.HardState{Voted: quorum.NoVoter}}, quorum.Options{BatchBytesMax: 256}, alone())
	d.settle()
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprintf("topic-%030d", i)
	}
	if _, err := d.machine.Propose(topics(names...), record.LatestMetadataVersion); err != nil {
		t.Fatal(err)
	}
	d.settle()
	for _, v := range d.log {
		if len(v) > 256+64 {
			t.Errorf("a batch of %d bytes", len(v))
		}
	}
	if len(d.committed) != 51 {
		t.Errorf("%d entries were committed", len(d.committed))
	}
}

func TestALogThatCannotBeRightIsRefused(t *testing.T) {
	d := fresh(t)
	d.settle()
	if _, err := d.machine.Propose(topics("a"), record.LatestMetadataVersion); err != nil {
		t.Fatal(err)
	}
	d.settle()
	refuse := func(title, want string, views ...batch.View) {
		r := quorum.Restore(quorum.Options{Self: self}, alone())
		var err error
		for _, v := range views {
			err = errors.Join(err, r.Add(v))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", title, err, want)
		}
	}
	refuse("a gap", "offset 1 follows -1", d.log[1])
	back := append(batch.View{}, d.log[1]...)
	back.SetLeaderEpoch(0)
	refuse("an epoch that goes back", "epoch 0 at offset 1 follows epoch 1", d.log[0], back)
	b := batch.NewBuilder(batch.Options{BaseOffset: 1, LeaderEpoch: 1})
	future, err := b.Add(batch.Record{Value: []byte{1, 3, 9}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	refuse("a record of a newer software", "PartitionRecord has version 9 in the log, this software knows up to 2", d.log[0], future)
}

func TestAPolicyAsksForACheckpointByBytesAndByAge(t *testing.T) {
	p := quorum.CheckpointPolicy{BytesMax: 100, AgeMax: time.Hour}
	now := time.UnixMilli(0)
	var g quorum.Growth
	if p.Due(g, now.Add(2*time.Hour)) {
		t.Error("a checkpoint of nothing new")
	}
	g.Add(99, now)
	if p.Due(g, now.Add(59*time.Minute)) {
		t.Error("too early")
	}
	if !p.Due(g, now.Add(time.Hour)) {
		t.Error("not after an hour")
	}
	g.Add(1, now)
	if !p.Due(g, now) {
		t.Error("not after 100 bytes")
	}
	g.Reset()
	if p.Due(g, now) {
		t.Error("again at once")
	}
}
