package partitionlog

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
	"troupe/partitionlog/producer"
)

// world is a log with its owner and its disk, and beside it the truth: every batch that was staged, in order.
type world struct {
	t      *testing.T
	random *rand.Rand
	fs     *vfs.CrashFS
	env    *Env
	cfg    Config
	log    *Log

	truth   []truth
	appends []*Job
	others  []*Job
	nowMs   int64
	epoch   model.LeaderEpoch
	// recoveryPoint is what the checkpoint file says; synced is what Flushed has promised.
	recoveryPoint, synced model.Offset
	sequences             map[model.ProducerID]*writer
	together              bool // recovery points are moved as those of many logs are
	deleted               bool // records were deleted, so that old producers may be forgotten
	// cutTo is where a truncation that was interrupted was to leave the log, -1 without one; a Reset was to leave it empty.
	cutTo     model.Offset
	resetting bool
	follows   bool         // the batches come from a leader, whose log has gaps
	floor     model.Offset // where the log began when it was last empty
}

// truth is one batch as it was staged.
type truth struct {
	bytes batch.View
	base  model.Offset
	next  model.Offset
}

type writer struct {
	epoch model.ProducerEpoch
	next  model.Sequence
	open  bool
}

const worldDir = "/data/t-0"

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), fs: vfs.NewCrashFS(seed, clock.NewManual(time.Unix(1_700_000_000, 0))),
		nowMs: 1_700_000_000_000, sequences: map[model.ProducerID]*writer{}, together: seed%2 == 1, cutTo: -1, follows: seed%3 == 2,
	}
	w.cfg = testConfig()
	w.cfg.SegmentBytes, w.cfg.IndexIntervalBytes = int64(4000+w.random.IntN(8000)), int64(w.random.IntN(1200))
	w.cfg.IndexBytes = 8 * int64(4+w.random.IntN(60))
	w.check(w.fs.MkdirAll("/data", 0o755))
	w.check(w.fs.SyncDir("/"))
	w.env = testEnv(w.fs)
	w.env.Dirty.limit = 0
	w.log = New(w.env, worldDir, testPartition, w.cfg, testTopic)
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// batch makes a random batch of a random producer.
func (w *world) batch() batch.View {
	id := model.ProducerID(w.random.IntN(4)) // 3 is none
	if w.random.IntN(20) == 0 {
		w.epoch++
	}
	codec := []compress.Codec{compress.None, compress.None, compress.LZ4}[w.random.IntN(3)]
	o := batch.Options{Codec: codec, Level: compress.DefaultLevel(codec)}
	count := 1 + w.random.IntN(3)
	if id < 3 {
		p := w.sequences[id]
		if p == nil {
			p = &writer{}
			w.sequences[id] = p
		}
		if p.open && w.random.IntN(3) == 0 {
			p.open = false
			return w.marker(id, p.epoch)
		}
		p.open = p.open || id > 0 // producer 0 is idempotent only
		o.Producer = &batch.Producer{ID: id, Epoch: p.epoch, Sequence: p.next}
		o.Transactional = p.open
		p.next += model.Sequence(count)
	}
	b := batch.NewBuilder(o)
	for range count {
		b.Add(batch.Record{
			Timestamp: w.nowMs - int64(w.random.IntN(50)), Value: bytes.Repeat([]byte{byte(w.random.IntN(256))}, w.random.IntN(900)),
		})
	}
	v, err := b.Build()
	w.check(err)
	return v
}

func (w *world) marker(id model.ProducerID, epoch model.ProducerEpoch) batch.View {
	v, err := batch.NewControlBatch(batch.Options{
		Producer: &batch.Producer{ID: id, Epoch: epoch, Sequence: -1}, Transactional: true,
	}, w.nowMs, batch.EndTxnMarker{Commit: w.random.IntN(2) == 0, CoordinatorEpoch: 1})
	w.check(err)
	return v
}

func (w *world) stage() {
	v := w.batch()
	origin := FromClient
	if v.Control() {
		origin = FromCoordinator
	}
	want := w.log.StagedEnd()
	if w.follows {
		origin = FromLeader
		if w.random.IntN(8) == 0 { // a cleaner was at work there
			want += model.Offset(1 + w.random.IntN(3))
		}
		v.SetBaseOffset(want)
		v.SetLeaderEpoch(w.epoch)
	}
	s, j, err := w.log.Stage(v, StageOptions{NowMs: w.nowMs, LeaderEpoch: w.epoch, Origin: origin})
	w.check(err)
	if s.Duplicate || s.BaseOffset != want {
		w.t.Fatalf("staged at %+v, the log ended at %d", s, want)
	}
	w.truth = append(w.truth, truth{slices.Clone(v), s.BaseOffset, s.LastOffset + 1})
	w.appends = append(w.appends, j)
}

func (w *world) end() model.Offset {
	if len(w.truth) == 0 {
		return w.floor
	}
	return w.truth[len(w.truth)-1].next
}

// step does one random thing; false when the power failed.
func (w *world) step() bool {
	w.nowMs += int64(w.random.IntN(100))
	switch w.random.IntN(12) {
	case 0, 1, 2, 3:
		for range 1 + w.random.IntN(4) {
			w.stage()
		}
	case 4, 5, 6:
		return w.runAppends(1 + w.random.IntN(6))
	case 7:
		if w.random.IntN(2) == 0 && len(w.log.segments) > 0 && len(w.log.maintenance.due) == 0 {
			w.log.checkpointAt(w.log.next) // as a log does that has written its share
		}
		w.others = append(w.others, w.log.Background(w.nowMs)...)
		return w.runOther()
	case 8:
		if j := w.log.Flush(); j != nil {
			w.others = append(w.others, j)
		}
	case 9:
		return w.runOther()
	case 10:
		w.recoveryPoint = w.log.RecoveryPoint()
		hw := w.log.HighWatermark()
		w.log.SetHighWatermark(hw + model.Offset(w.random.Int64N(int64(w.log.LogEnd()-hw)+1)))
	case 11:
		if w.random.IntN(4) == 0 {
			return w.drain() && w.rare()
		}
	}
	return true
}

// live does random things until the power fails, and may end in order before that.
func (w *world) live() {
	for range 20 + w.random.IntN(180) {
		if !w.step() {
			return
		}
	}
	if w.drain() {
		w.close()
	}
}

// close closes the log as its owner does.
func (w *world) close() {
	if j := w.log.Close(); j != nil {
		w.run(j)
	}
}

// rare is what needs an idle log.
func (w *world) rare() bool {
	start, end := w.log.LogStart(), w.log.LogEnd()
	switch w.random.IntN(4) {
	case 0:
		to := start + model.Offset(w.random.Int64N(int64(end-start)+1))
		if w.left(to) < start {
			return true // a batch in which records were deleted is not parted from
		}
		j := w.log.TruncateTo(to)
		if j == nil {
			return true
		}
		if !w.run(j) {
			w.truncated(to, true)
			return false
		}
		w.truncated(to, false)
		w.recoveryPoint = w.log.RecoveryPoint()
	case 1:
		w.check(w.log.DeleteRecordsTo(w.log.HighWatermark()))
		w.deleted = w.deleted || w.log.LogStart() > 0
	case 2:
		if j := w.log.Retention(w.nowMs); j != nil {
			return w.run(j)
		}
	case 3:
		if w.random.IntN(2) == 0 {
			return w.reset(max(0, start-3) + model.Offset(w.random.Int64N(int64(end-start)+8)))
		}
	}
	return true
}

// reset begins anew at an offset, wherever the log was, as a follower does that has nothing in common with its leader.
func (w *world) reset(to model.Offset) bool {
	j := w.log.Reset(to)
	w.synced, w.sequences = 0, map[model.ProducerID]*writer{}
	if !w.run(j) {
		w.cutTo, w.resetting, w.synced = 0, true, 0
		return false
	}
	w.emptied(to)
	w.synced = w.log.Flushed()
	l := w.log
	if l.LogStart() != to || l.LogEnd() != to || l.HighWatermark() != to || l.RecoveryPoint() > to || len(l.Producers()) > 0 {
		w.t.Fatalf("begun anew at %d the log is [%d, %d), committed up to %d, recovered up to %d, with producers %v",
			to, l.LogStart(), l.LogEnd(), l.HighWatermark(), l.RecoveryPoint(), l.Producers())
	}
	w.recoveryPoint = l.RecoveryPoint()
	return true
}

// emptied forgets what was there.
func (w *world) emptied(at model.Offset) {
	w.truth, w.floor, w.deleted = nil, at, false
	w.nextEpoch()
}

// nextEpoch is that of what comes after a truncation: the leader that is followed from now on may not have seen the epochs of
// what was removed.
func (w *world) nextEpoch() {
	w.epoch = model.LeaderEpoch(w.random.IntN(2))
	if n := len(w.truth); n > 0 {
		w.epoch += w.truth[n-1].bytes.LeaderEpoch()
	}
}

// resumed tells what an interrupted Reset has left: nothing, or a beginning of what was there.
func (w *world) resumed() {
	if w.resetting && w.log.LogStart() == w.log.LogEnd() {
		w.emptied(w.log.LogEnd())
	}
	w.resetting = false
}

// left is where the log ends after a truncation: it keeps whole batches.
func (w *world) left(to model.Offset) (end model.Offset) {
	end = w.floor
	for _, b := range w.truth {
		if b.next <= to {
			end = b.next
		}
	}
	return end
}

// truncated brings the truth to what was left; when the power failed within, the disk says what that is.
func (w *world) truncated(to model.Offset, interrupted bool) {
	w.synced = min(w.synced, w.left(to))
	w.sequences = map[model.ProducerID]*writer{} // their next batches would not fit; new epochs do
	if interrupted {
		w.cutTo = w.left(to)
		return
	}
	for len(w.truth) > 0 && w.end() > to {
		w.truth = w.truth[:len(w.truth)-1]
	}
	w.synced = min(w.synced, w.end())
	w.nextEpoch()
	w.resume()
}

// resume gives each producer a new epoch, and the state of its transaction.
func (w *world) resume() {
	w.sequences = map[model.ProducerID]*writer{}
	for _, e := range w.log.Producers() {
		w.sequences[e.ProducerID] = &writer{epoch: e.Epoch + 1, open: e.TxnFirstOffset != model.NoOffset}
	}
}

func (w *world) runAppends(n int) bool {
	n = min(n, len(w.appends))
	jobs := w.appends[:n]
	w.appends = w.appends[n:]
	for i, err := range RunAppends(jobs) {
		w.log.Done(jobs[i], err)
		if err != nil && !errors.Is(err, vfs.ErrPowerOff) {
			w.t.Fatal(err)
		}
	}
	return w.log.Err() == nil
}

func (w *world) runOther() bool {
	if len(w.others) == 0 {
		return true
	}
	j := w.others[0]
	w.others = w.others[1:]
	return w.run(j)
}

func (w *world) run(j *Job) bool {
	err := w.outcome(j)
	w.log.Done(j, err)
	if err != nil && !errors.Is(err, vfs.ErrPowerOff) {
		w.t.Fatal(err)
	}
	w.synced = max(w.synced, w.log.Flushed())
	return err == nil
}

func (w *world) outcome(j *Job) error {
	if w.together && j.Groups() {
		errs, _ := runTogether(w.fs, worldDir, []*Job{j})
		return errs[0]
	}
	return j.Run()
}

func (w *world) drain() bool {
	for len(w.appends) > 0 || len(w.others) > 0 {
		if !w.runAppends(len(w.appends)) || !w.runOther() {
			return false
		}
	}
	return true
}

// crash cuts the power and opens the log again.
func (w *world) crash() {
	w.fs.Crash()
	w.log.Abandon()
	w.appends, w.others, w.cutTo = nil, nil, -1
	w.env = testEnv(w.fs)
	w.env.Dirty.limit = 0
	params := OpenParams{RecoveryPoint: w.recoveryPoint, HighWatermark: w.synced, TopicID: testTopic}
	// The power may go again before the start is over.
	for range w.random.IntN(3) {
		w.fs.CutAfter(1 + w.random.IntN(12))
		w.openInVain(params)
		w.fs.Crash()
	}
	l, report, err := Open(w.env, worldDir, testPartition, w.cfg, params)
	w.check(err)
	w.log = l
	w.resumed()
	if l.LogEnd() < w.synced {
		w.t.Fatalf("the log ends at %d, but was synced to %d: %+v", l.LogEnd(), w.synced, report)
	}
	w.verify()
	w.synced, w.recoveryPoint = l.Flushed(), min(w.recoveryPoint, l.RecoveryPoint())
	w.resume()
}

// killAfter ends the process within the n-th call from now that changes something: a write is done in part, what comes
// after it not at all. The page cache lives on.
func (w *world) killAfter(n int) {
	w.fs.Hook(func(c vfs.Call) (f vfs.Fault) {
		if n--; n > 0 {
			return f
		}
		f.Err = vfs.ErrPowerOff
		if n == 0 {
			f.Bytes = w.random.Int64N(c.Len + 1)
		}
		return f
	})
}

// restart opens the log again after a kill.
func (w *world) restart() {
	w.fs.Hook(nil)
	written := w.log.LogEnd()
	if w.cutTo >= 0 {
		written = min(written, w.cutTo)
	}
	w.log.Abandon()
	w.appends, w.others, w.cutTo = nil, nil, -1
	w.env = testEnv(w.fs)
	w.env.Dirty.limit = 0
	params := OpenParams{RecoveryPoint: w.recoveryPoint, HighWatermark: w.synced, Kept: true, TopicID: testTopic}
	// Starts may be killed, too.
	for range w.random.IntN(3) {
		w.killAfter(1 + w.random.IntN(12))
		w.openInVain(params)
		w.fs.Hook(nil)
	}
	l, report, err := Open(w.env, worldDir, testPartition, w.cfg, params)
	w.check(err)
	w.log = l
	w.resumed()
	if l.LogEnd() < written {
		w.t.Fatalf("the log ends at %d, but was written to %d: %+v", l.LogEnd(), written, report)
	}
	if report.ScannedBytes > 0 {
		w.t.Fatalf("%d bytes were checked in a log that was kept", report.ScannedBytes)
	}
	w.verify()
	w.synced, w.recoveryPoint = min(w.synced, l.LogEnd()), min(w.recoveryPoint, l.RecoveryPoint())
	w.resume()
}

// openInVain is a start that does not come to its end.
func (w *world) openInVain(p OpenParams) {
	l, _, err := Open(w.env, worldDir, testPartition, w.cfg, p)
	if err == nil {
		l.Abandon()
	} else if !errors.Is(err, vfs.ErrPowerOff) {
		w.t.Fatal(err)
	}
}

// verify compares what a reader finds with the truth, which it shortens to what the disk has.
func (w *world) verify() {
	l := w.log
	for len(w.truth) > 0 && w.end() > l.LogEnd() {
		w.truth = w.truth[:len(w.truth)-1]
	}
	if len(w.truth) > 0 && w.end() != l.LogEnd() && l.LogEnd() != l.LogStart() {
		w.t.Fatalf("the log ends at %d, in the midst of a batch or after a gap: staged up to %d", l.LogEnd(), w.end())
	}
	l.SetHighWatermark(l.LogEnd())
	v := l.View()
	i := 0
	for i < len(w.truth) && w.truth[i].next <= l.LogStart() {
		i++
	}
	present := w.truth[i:]
	readAllBatches(w.t, v, l.LogStart(), l.LogEnd(), 1+w.random.IntN(5000), func(b batch.View) {
		if len(present) == 0 || !bytes.Equal(present[0].bytes, b) {
			w.t.Fatalf("the batch at %d is not what was staged", b.BaseOffset())
		}
		present = present[1:]
	})
	if len(present) > 0 && l.LogStart() < l.LogEnd() {
		w.t.Fatalf("%d batches were not read", len(present))
	}
	w.verifyState(w.truth[i:])
	w.verifyLookups(v, w.truth[i:])
}

// verifyState compares producers, transactions and epochs with a replay of the truth.
func (w *world) verifyState(present []truth) {
	var s producer.State
	var epochs checkpoint.Epochs
	var aborted []AbortedTxn
	for _, b := range w.truth {
		c, ok, err := replay(&s, b.bytes)
		w.check(err)
		if ok && c.LastOffset >= w.log.LogStart() {
			aborted = append(aborted, AbortedTxn{c.ProducerID, c.FirstOffset})
		}
		epochs, _ = epochs.Assign(b.bytes.LeaderEpoch(), b.base)
	}
	s.HighWatermark(w.log.HighWatermark())
	want, got := s.Entries(), w.log.Producers()
	if w.deleted {
		recent := func(e producer.Entry) bool { return e.LastOffset < w.log.LogStart() }
		want, got = slices.DeleteFunc(want, recent), slices.DeleteFunc(got, recent)
	}
	for i := range want {
		if w.deleted && i < len(got) { // what an old transaction began with is known only where its records are
			got[i].TxnFirstOffset, want[i].TxnFirstOffset = 0, 0
			got[i].CoordinatorEpoch, want[i].CoordinatorEpoch = 0, 0
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("producers\n%+v, want\n%+v", got, want)
	}
	if w.deleted {
		return
	}
	if first, ok := s.FirstUnstable(); ok != (w.log.LastStable() < w.log.LogEnd()) || ok && first != w.log.LastStable() {
		w.t.Fatalf("last stable offset %d, want %d", w.log.LastStable(), first)
	}
	if len(present) > 0 {
		got, err := w.log.View().Aborted(w.log.LogStart(), w.log.LogEnd())
		w.check(err)
		if !slices.Equal(got, aborted) {
			w.t.Fatalf("aborted %v, want %v", got, aborted)
		}
	}
	for e := range w.epoch + 2 {
		wantEpoch, wantEnd := epochs.End(e, w.log.LogEnd())
		if gotEpoch, gotEnd := w.log.EpochEnd(e); gotEpoch != wantEpoch || gotEnd != wantEnd {
			w.t.Fatalf("epoch %d ends at (%d, %d), want (%d, %d)", e, gotEpoch, gotEnd, wantEpoch, wantEnd)
		}
	}
}

// verifyLookups compares offsets for times with a search through all records.
func (w *world) verifyLookups(v *View, present []truth) {
	var all []batch.Record
	for _, b := range present {
		w.check(b.bytes.Each(func(r batch.Record) error {
			if r.Offset >= v.LogStart {
				all = append(all, batch.Record{Offset: r.Offset, Timestamp: r.Timestamp})
			}
			return nil
		}))
	}
	for range 10 {
		at := w.nowMs - int64(w.random.IntN(3000))
		i := slices.IndexFunc(all, func(r batch.Record) bool { return r.Timestamp >= at })
		got, ok, err := v.OffsetForTime(at, v.LogEnd)
		w.check(err)
		if ok != (i >= 0) || ok && (got.Offset != all[i].Offset || got.TimestampMs != all[i].Timestamp) {
			w.t.Fatalf("time %d is at %+v (%v), want record %d of %d", at, got, ok, i, len(all))
		}
	}
	if len(all) == 0 {
		return
	}
	latest := slices.MaxFunc(all, func(a, b batch.Record) int { return int(a.Timestamp - b.Timestamp) })
	got, ok, err := v.MaxTimestamp(v.LogEnd)
	w.check(err)
	if !ok || got.Offset != latest.Offset || got.TimestampMs != latest.Timestamp {
		w.t.Fatalf("the greatest timestamp is at %+v (%v), want %d at %d", got, ok, latest.Timestamp, latest.Offset)
	}
}
