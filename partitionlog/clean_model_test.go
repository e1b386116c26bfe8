package partitionlog

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/producer"
)

// compaction is a compacted log on a disk whose power may fail, and beside it the truth: everything that was written.
type compaction struct {
	t   *rapid.T
	fs  *vfs.CrashFS
	env *Env
	cfg Config
	log *Log

	written []writtenRecord // in order; what a crash took is taken out
	writers map[model.ProducerID]*writer
	nowMs   int64
	values  int
	// cleaned is what the checkpoint file says; synced is what was promised.
	cleaned, synced model.Offset
	ending, killed  bool // an end was set, and is a kill
	// met is, by offset of a tombstone, the earliest time of a cleaning that may have given it its horizon.
	met map[model.Offset]int64
}

// writtenRecord is one record; a marker has no key.
type writtenRecord struct {
	offset    model.Offset
	key       string
	value     string
	tombstone bool
	timestamp int64
	producer  model.ProducerID // of a transaction, else 0
	marker    bool
	commit    bool
}

func newCompaction(t *rapid.T) *compaction {
	c := &compaction{
		t: t, fs: vfs.NewCrashFS(rapid.Uint64().Draw(t, "disk"), clock.NewManual(time.Unix(1_700_000_000, 0))),
		nowMs: 1_000_000, cfg: compacted(), writers: map[model.ProducerID]*writer{}, met: map[model.Offset]int64{},
	}
	c.cfg.SegmentBytes = int64(rapid.IntRange(300, 2000).Draw(t, "segment.bytes"))
	c.cfg.IndexIntervalBytes = int64(rapid.IntRange(0, 300).Draw(t, "index.interval.bytes"))
	c.check(c.fs.MkdirAll("/data", 0o755))
	c.check(c.fs.SyncDir("/"))
	c.env = testEnv(c.fs)
	c.env.Dirty.limit = 0
	c.log = New(c.env, worldDir, testPartition, c.cfg, testTopic)
	return c
}

func (c *compaction) check(err error) {
	if err != nil {
		c.t.Fatal(err)
	}
}

// write appends one batch of one to three records, maybe in a transaction.
func (c *compaction) write(t *rapid.T) {
	codec := rapid.SampledFrom([]compress.Codec{compress.None, compress.None, compress.LZ4, compress.Zstd}).Draw(t, "codec")
	o := batch.Options{Codec: codec, Level: compress.DefaultLevel(codec)}
	var txn model.ProducerID
	id := model.ProducerID(rapid.IntRange(0, 3).Draw(t, "producer")) // 0 is none, 1 writes without transactions
	count := rapid.IntRange(1, 3).Draw(t, "records")
	if id > 0 {
		w := c.writers[id]
		if w == nil {
			w = &writer{}
			c.writers[id] = w
		}
		o.Producer = &batch.Producer{ID: id, Epoch: w.epoch, Sequence: w.next}
		w.next += model.Sequence(count)
		if id > 1 {
			o.Transactional, w.open, txn = true, true, id
		}
	}
	b := batch.NewBuilder(o)
	base := c.log.StagedEnd()
	for i := range count {
		c.values++
		r := writtenRecord{
			offset: base + model.Offset(i), key: fmt.Sprint("k", rapid.IntRange(0, 6).Draw(t, "key")), producer: txn,
			value: fmt.Sprint("v", c.values), tombstone: rapid.IntRange(0, 3).Draw(t, "tombstone") == 0, timestamp: c.nowMs,
		}
		rec := batch.Record{Timestamp: r.timestamp, Key: []byte(r.key)}
		if !r.tombstone {
			rec.Value = []byte(r.value)
		}
		b.Add(rec)
		c.written = append(c.written, r)
	}
	v, err := b.Build()
	c.check(err)
	c.append(v, FromClient)
}

// decide ends a transaction that is open.
func (c *compaction) decide(t *rapid.T) {
	id := model.ProducerID(rapid.IntRange(2, 3).Draw(t, "producer"))
	w := c.writers[id]
	if w == nil || !w.open {
		t.Skip("no transaction is open")
	}
	w.open = false
	commit := rapid.Bool().Draw(t, "commit")
	v, err := batch.NewControlBatch(batch.Options{
		Producer: &batch.Producer{ID: id, Epoch: w.epoch, Sequence: -1}, Transactional: true,
	}, c.nowMs, batch.EndTxnMarker{Commit: commit})
	c.check(err)
	c.written = append(c.written, writtenRecord{offset: c.log.StagedEnd(), producer: id, marker: true, commit: commit})
	c.append(v, FromCoordinator)
}

func (c *compaction) append(v batch.View, origin Origin) {
	_, j, err := c.log.Stage(v, StageOptions{NowMs: c.nowMs, Origin: origin})
	c.check(err)
	if !c.run(j) {
		c.open()
		return
	}
	c.log.SetHighWatermark(c.log.LogEnd())
}

// run does a job; false when the power failed.
func (c *compaction) run(j *Job) bool {
	err := j.Run()
	c.log.Done(j, err)
	if err != nil && !errors.Is(err, vfs.ErrPowerOff) {
		c.t.Fatal(err)
	}
	c.synced = max(c.synced, c.log.Flushed())
	return err == nil
}

func (c *compaction) background(*rapid.T) {
	for jobs := c.log.Background(c.nowMs); len(jobs) > 0; jobs = c.log.Background(c.nowMs) {
		for _, j := range jobs {
			if !c.run(j) { // the others are lost with the process
				c.open()
				return
			}
		}
	}
}

func (c *compaction) advance(t *rapid.T) {
	c.nowMs += rapid.Int64Range(1, c.cfg.DeleteRetentionMs*2).Draw(t, "ms")
}

func (c *compaction) roll(*rapid.T) {
	if len(c.log.segments) > 0 && c.log.segments[len(c.log.segments)-1].size > 0 {
		c.cfg.SegmentMs, c.nowMs = 1, c.nowMs+1000 // the next batch begins a segment
		c.log.SetConfig(c.cfg)
	}
}

// clean is one cleaning, which may be cut short between groups.
func (c *compaction) clean(t *rapid.T) {
	c.cfg.SegmentMs = compacted().SegmentMs
	c.log.SetConfig(c.cfg)
	if j := c.log.Flush(); j != nil && !c.run(j) { // what is decided on must not be lost later
		c.open()
		return
	}
	found, err := c.log.View().Cleanable(c.cfg, c.cleaned, c.nowMs)
	c.check(err)
	if found.End <= found.Dirty {
		t.Skip("nothing is dirty")
	}
	end := c.log.LogEnd()
	for _, r := range c.written {
		if r.tombstone && r.offset < found.End {
			if _, known := c.met[r.offset]; !known {
				c.met[r.offset] = c.nowMs
			}
		}
	}
	keys := rapid.SampledFrom([]int64{1, 2, 4, 100}).Draw(t, "keys in memory")
	cl := c.log.View().Clean(c.env, CleanOptions{
		Config: c.cfg, Range: found.Range, NowMs: c.nowMs, Producers: c.log.Producers(), MapBytes: (keys + 1) * 24, KeyLoad: 0.9,
		BufferBytes: 1 + rapid.IntRange(0, 6000).Draw(t, "buffer"), Passed: func(int) error { return nil },
	})
	err = cl.Map()
	groups := rapid.IntRange(0, 20).Draw(t, "groups before it is stopped")
	for n := 0; err == nil; n++ {
		var r *Replacement
		if r, err = cl.Next(); err != nil {
			break
		}
		if n == groups { // the cleaner is stopped
			if err := r.Discard(); errors.Is(err, vfs.ErrPowerOff) {
				c.open()
			} else {
				c.check(err)
			}
			return
		}
		j, replaceErr := c.log.Replace(r, c.nowMs)
		c.check(replaceErr)
		if !c.run(j) {
			err = vfs.ErrPowerOff
		}
	}
	switch {
	case errors.Is(err, vfs.ErrPowerOff):
		c.open()
	case !errors.Is(err, io.EOF):
		t.Fatal(err)
	default:
		if cl.End() <= c.cleaned {
			t.Fatalf("the cleaning made no progress beyond %d", c.cleaned)
		}
		c.cleaned = cl.End()
	}
	if err == io.EOF && c.log.LogEnd() != end {
		t.Fatalf("the log ended at %d and ends at %d", end, c.log.LogEnd())
	}
}

// cut lets the power fail within the next operations.
func (c *compaction) cut(t *rapid.T) {
	c.ends(t)
	c.fs.CutAfter(rapid.IntRange(1, 60).Draw(t, "operations"))
}

// ends notes that an end is set to this life of the log, which has one.
func (c *compaction) ends(t *rapid.T) {
	if c.ending {
		t.Skip("it will end")
	}
	c.ending = true
}

func (c *compaction) crash(*rapid.T) { c.open() }

// open cuts the power and starts anew.
func (c *compaction) open() {
	c.log.Abandon()
	end, kept := c.log.LogEnd(), c.killed
	p := c.ended()
	for range rapid.IntRange(0, 2).Draw(c.t, "starts that end early") {
		if c.ending = true; kept {
			c.killAfter(rapid.IntRange(1, 20).Draw(c.t, "operations"), 0)
		} else {
			c.fs.CutAfter(rapid.IntRange(1, 20).Draw(c.t, "operations"))
		}
		c.reopen(p)
		c.log.Abandon()
		if c.ending { // it came to its end all the same
			c.ended()
		}
	}
	if c.reopen(p); kept && c.log.LogEnd() < end {
		c.t.Fatalf("the log ended at %d, and at %d after a kill", end, c.log.LogEnd())
	}
}

// ended does what the end that was set to this life does, a power cut where none was, and says how the next begins.
func (c *compaction) ended() OpenParams {
	p := OpenParams{HighWatermark: c.synced, Kept: c.killed, TopicID: testTopic}
	if c.fs.Hook(nil); !c.killed {
		c.fs.Crash()
	}
	c.ending, c.killed = false, false
	return p
}

// kill lets the process end within the next operations, and the page cache live on.
func (c *compaction) kill(t *rapid.T) {
	c.ends(t)
	c.killAfter(rapid.IntRange(1, 60).Draw(t, "operations"), rapid.Int64Range(0, 400).Draw(t, "bytes"))
}

func (c *compaction) killAfter(left int, bytes int64) {
	c.killed = true
	c.fs.Hook(func(call vfs.Call) (f vfs.Fault) {
		if left--; left > 0 {
			return f
		}
		f.Err = vfs.ErrPowerOff
		if left == 0 {
			f.Bytes = min(bytes, call.Len)
		}
		return f
	})
}

func (c *compaction) restart(*rapid.T) {
	if j := c.log.Close(); j != nil && !c.run(j) {
		c.open()
		return
	}
	end := c.log.LogEnd()
	c.reopen(OpenParams{RecoveryPoint: end, HighWatermark: end, Clean: true, TopicID: testTopic})
	if c.log.LogEnd() != end {
		c.t.Fatalf("closed at %d, opened at %d", end, c.log.LogEnd())
	}
}

func (c *compaction) reopen(p OpenParams) {
	c.env = testEnv(c.fs)
	c.env.Dirty.limit = 0
	l, report, err := Open(c.env, worldDir, testPartition, c.cfg, p)
	if errors.Is(err, vfs.ErrPowerOff) {
		c.reopen(c.ended())
		return
	}
	c.check(err)
	c.log = l
	if l.LogEnd() < c.synced {
		c.t.Fatalf("the log ends at %d, but was synced to %d: %+v", l.LogEnd(), c.synced, report)
	}
	c.written = slices.DeleteFunc(c.written, func(r writtenRecord) bool { return r.offset >= l.LogEnd() })
	l.SetHighWatermark(l.LogEnd())
	c.synced = l.Flushed()
	c.writers = map[model.ProducerID]*writer{}
	for _, e := range l.Producers() {
		c.writers[e.ProducerID] = &writer{epoch: e.Epoch + 1, open: e.TxnFirstOffset != model.NoOffset}
	}
}

// visible tells, by offset, which records a read_committed reader is given.
func (c *compaction) visible() map[model.Offset]bool {
	out := map[model.Offset]bool{}
	open := map[model.ProducerID][]model.Offset{}
	for _, r := range c.written {
		switch {
		case r.marker:
			for _, o := range open[r.producer] {
				out[o] = r.commit
			}
			delete(open, r.producer)
		case r.producer != 0:
			open[r.producer] = append(open[r.producer], r.offset)
		default:
			out[r.offset] = true
		}
	}
	return out
}

// invariants compares what readers find with the truth.
func (c *compaction) invariants(t *rapid.T) {
	// Some errors are nobody's concern, such as that of the removal of an old file.
	if _, err := c.fs.ReadDir("/data"); errors.Is(err, vfs.ErrPowerOff) {
		c.open()
	}
	truth := map[model.Offset]writtenRecord{}
	newest := map[string]writtenRecord{}
	committed := c.visible()
	stable := c.log.LastStable()
	for _, r := range c.written {
		truth[r.offset] = r
		if !r.marker && r.offset < stable && committed[r.offset] {
			newest[r.key] = r
		}
	}
	here := map[model.Offset]bool{}
	clean := map[string]model.Offset{}
	table := map[string]writtenRecord{}
	for _, r := range c.read(t) {
		want, known := truth[r.offset]
		if !known || want.key != r.key || want.tombstone != r.tombstone || !r.tombstone && want.value != r.value || want.timestamp != r.timestamp {
			t.Fatalf("read %+v, written was %+v", r, want)
		}
		here[r.offset] = true
		if r.offset < c.cleaned {
			if !committed[r.offset] {
				t.Fatalf("the aborted record at %d is left below %d", r.offset, c.cleaned)
			}
			if o, twice := clean[r.key]; twice {
				t.Fatalf("%s is at %d and at %d, below %d", r.key, o, r.offset, c.cleaned)
			}
			clean[r.key] = r.offset
		}
		if r.offset < stable && committed[r.offset] {
			table[r.key] = r
		}
	}
	for key, want := range newest {
		got, there := table[key]
		switch {
		case there && got.offset == want.offset:
		case !there && want.tombstone:
			if met, cleaned := c.met[want.offset]; !cleaned || c.nowMs < met+c.cfg.DeleteRetentionMs {
				t.Fatalf("the tombstone of %s at %d is gone at %d (first met at %d)", key, want.offset, c.nowMs, met)
			}
		default:
			t.Fatalf("%s is %+v, want %+v", key, got, want)
		}
	}
	for key, got := range table {
		if _, known := newest[key]; !known {
			t.Fatalf("%s came back: %+v", key, got)
		}
	}
	c.compareProducers(t)
}

// read gives all records as a read_committed consumer sees them, which has to agree with what was decided.
func (c *compaction) read(t *rapid.T) (out []writtenRecord) {
	v := c.log.View()
	aborted, err := v.Aborted(v.LogStart, v.LogEnd)
	c.check(err)
	slices.SortFunc(aborted, func(a, b AbortedTxn) int { return int(a.FirstOffset - b.FirstOffset) })
	committed, skipping := c.visible(), map[model.ProducerID]bool{}
	for from := v.LogStart; from < v.LogEnd; {
		r, err := v.Read(from, v.LogEnd, 1<<20, true)
		c.check(err)
		if r.Len == 0 {
			if v.LogEnd-from > 0 && len(c.log.segments) > 0 && c.log.segments[len(c.log.segments)-1].size > 0 {
				t.Fatalf("nothing to read at %d of %d", from, v.LogEnd)
			}
			break // the active segment is empty, as after a truncation
		}
		b := make([]byte, r.Len)
		c.check(readFull(r.File, b, r.Pos))
		r.Release()
		for len(b) > 0 {
			var x batch.View
			x, b, err = batch.First(b)
			c.check(err)
			c.check(x.CheckCRC())
			if x.BaseOffset() < from {
				t.Fatalf("offset %d after %d", x.BaseOffset(), from)
			}
			from = x.NextOffset()
			for len(aborted) > 0 && aborted[0].FirstOffset <= x.LastOffset() {
				skipping[aborted[0].ProducerID] = true
				aborted = aborted[1:]
			}
			if x.Control() {
				delete(skipping, x.ProducerID())
				continue
			}
			c.check(x.Each(func(r batch.Record) error {
				if skips := x.Transactional() && skipping[x.ProducerID()]; r.Offset < v.LastStable && skips == committed[r.Offset] {
					t.Fatalf("a read_committed consumer skips offset %d: %v; committed: %v", r.Offset, skips, committed[r.Offset])
				}
				out = append(out, writtenRecord{offset: r.Offset, key: string(r.Key), value: string(r.Value),
					tombstone: r.Value == nil, timestamp: r.Timestamp})
				return nil
			}))
		}
	}
	return out
}

// compareProducers: whatever was cleaned, the log knows each producer's last batch, and refuses what does not follow it.
func (c *compaction) compareProducers(t *rapid.T) {
	for _, e := range c.log.Producers() {
		w := c.writers[e.ProducerID]
		if w == nil || w.next == 0 {
			continue // it has not written since the log was opened
		}
		if e.LastSequence != producer.NoSequence && e.LastSequence != w.next-1 {
			t.Fatalf("producer %d wrote up to sequence %d, the log knows %d", e.ProducerID, w.next-1, e.LastSequence)
		}
	}
}

func TestWhateverHappensToACompactedLogTheNewestValuesStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCompaction(t)
		t.Repeat(map[string]func(*rapid.T){
			"write": c.write, "write more": c.write, "write on": c.write, "decide": c.decide, "roll": c.roll, "background": c.background,
			"sync": c.background, "clean": c.clean, "clean again": c.clean, "advance": c.advance, "cut": c.cut, "kill": c.kill, "crash": c.crash,
			"restart": c.restart, "": c.invariants,
		})
	})
}
