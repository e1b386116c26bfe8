package replica

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// world is one shard over a directory in memory. Everything runs on the test's goroutine, in an order that the seed
// gives.
type world struct {
	t      *testing.T
	clock  *clock.Manual
	order  *kit.Deterministic
	system *kit.System
	fs     *vfs.CrashFS
	dir    *disk.Dir
	fenced *fences
	shard  kit.Ref
	deps   *Deps
	events []string
}

// fences hears of directories that failed.
type fences struct{ count int }

func (f *fences) Receive(*kit.Context, kit.Message) { f.count++ }

var tp = model.TopicPartition{Topic: "t"}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), order: kit.NewDeterministic(seed), fenced: &fences{}}
	w.fs = vfs.NewCrashFS(seed, w.clock)
	if err := w.fs.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	w.begin()
	return w
}

// begin starts the actors, as a process does that finds the directory.
func (w *world) begin() {
	w.system = kit.NewSystem(kit.Options{Clock: w.clock, Dispatcher: w.order})
	warden := w.system.Spawn("warden", kit.Props{Kind: "test", New: func() kit.Behavior { return w.fenced }})
	env := partitionlog.NewEnv(w.fs, vfs.NewDescriptors(1000))
	w.dir = disk.Open(w.system, env, "/data", model.DirectoryID{1}, disk.Lanes{}, warden)
	pace := Pace{First: time.Hour, Retention: time.Hour, Producers: time.Hour}
	w.deps = &Deps{Self: 1, Log: slog.New(slog.NewTextHandler(testLog{w.t}, nil)), ProducerExpiry: func() time.Duration { return time.Hour }}
	w.shard = w.system.Spawn("replicas", NewShard(w.deps, pace))
}

func (w *world) run() {
	w.t.Helper()
	const limit = 100_000
	if w.order.Run(limit) == limit {
		w.t.Fatal("the actors do not come to rest")
	}
}

func config() *Config {
	return &Config{
		Log:    partitionlog.Config{SegmentBytes: 1 << 20, SegmentMs: math.MaxInt64, IndexBytes: 1 << 20, IndexIntervalBytes: 4096, RetentionMs: -1, RetentionBytes: -1},
		MinISR: 1, MaxBatchBytes: 1 << 20, SegmentBytes: 1 << 20, FlushMessages: math.MaxInt64,
	}
}

// host has the shard run the partition, of the topic's incarnation with that id, led by this broker.
func (w *world) host(id byte, fresh bool, cfg *Config, isr ...model.BrokerID) *Handle {
	h := NewHandle(tp, model.TopicID{15: id}, w.dir, cfg)
	w.shard.Send(&Host{
		Handle: h, Lead: &BecomeLeader{ISR: append([]model.BrokerID{1}, isr...), Replicas: append([]model.BrokerID{1}, isr...)},
		Fresh: fresh, Done: func() {}, HighWatermark: model.NoOffset, LogStart: model.NoOffset,
	})
	return h
}

func (w *world) note(format string, args ...any) {
	w.events = append(w.events, fmt.Sprintf(format, args...))
}

// expectEvents compares what happened since the last call.
func (w *world) expectEvents(want ...string) {
	w.t.Helper()
	if got := strings.Join(w.events, "; "); got != strings.Join(want, "; ") {
		w.t.Fatalf("happened: %s\nwant: %s", got, strings.Join(want, "; "))
	}
	w.events = nil
}

// sink gathers the answers to its appends.
type sink struct {
	w       *world
	handle  *Handle
	values  []string
	answers map[int][]AppendResult
	quiet   bool
}

func (w *world) sink(h *Handle) *sink {
	return &sink{w: w, handle: h, answers: map[int][]AppendResult{}}
}

// append sends a batch of one record; its number is its index.
func (s *sink) append(all bool, deadline time.Duration) {
	i := len(s.values)
	s.values = append(s.values, fmt.Sprint("value ", i))
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Timestamp: 1, Value: []byte(s.values[i])}).Build()
	if err != nil {
		s.w.t.Fatal(err)
	}
	s.handle.Send(&Append{Batch: v, AllAcks: all, Version: 9, Deadline: s.w.clock.Now().Add(deadline), Sink: s, Index: i})
}

// AppendDone is part of AppendSink. Whoever is told of success finds it readable.
func (s *sink) AppendDone(i int, r AppendResult) {
	s.answers[i] = append(s.answers[i], r)
	if v := s.handle.View(); r.Code == kerr.None && (v == nil || v.LogEnd <= r.BaseOffset) {
		s.w.t.Errorf("append %d was answered before offset %d was published", i, r.BaseOffset)
	}
	if !s.quiet {
		s.w.note("append %d: %s at %d", i, r.Code.Name(), r.BaseOffset)
	}
}

// content reads what is committed.
func (w *world) content(h *Handle) (values []string) {
	w.t.Helper()
	v := h.View()
	for at := v.LogStart; at < v.HighWatermark; {
		region, err := v.Read(at, v.HighWatermark, 1<<20, true)
		if err != nil {
			w.t.Fatal(err)
		}
		data := make([]byte, region.Len)
		if _, err := region.File.ReadAt(data, region.Pos); err != nil {
			w.t.Fatal(err)
		}
		region.Release()
		for len(data) > 0 {
			b, rest, err := batch.First(data)
			if err == nil {
				err = b.CheckCRC()
			}
			if err != nil || b.BaseOffset() != at {
				w.t.Fatalf("offset %d: a batch of offset %d, %v", at, b.BaseOffset(), err)
			}
			if err := b.Each(func(r batch.Record) error { values = append(values, string(r.Value)); return nil }); err != nil {
				w.t.Fatal(err)
			}
			at, data = b.NextOffset(), rest
		}
	}
	return values
}

// settled checks that each append was answered once, and that the successes stand in the log where they were said to.
func (s *sink) settled() {
	s.w.t.Helper()
	log := s.w.content(s.handle)
	for i := range s.values {
		switch a := s.answers[i]; {
		case len(a) != 1:
			s.w.t.Errorf("append %d was answered %d times: %v", i, len(a), a)
		case a[0].Code == kerr.None && (int(a[0].BaseOffset) >= len(log) || log[a[0].BaseOffset] != s.values[i]):
			s.w.t.Errorf("append %d was answered with offset %d; the log is %q", i, a[0].BaseOffset, log)
		case a[0].Code != kerr.None && !a[0].Code.Retriable():
			s.w.t.Errorf("append %d failed with %s", i, a[0].Code.Name())
		}
	}
}

// watcher notes the calls of a watch.
type watcher struct {
	w    *world
	name string
}

func (x *watcher) Unwatched(key uint32) { x.w.note("%s: %d not watched", x.name, key) }

func (x *watcher) Changed(_ *kit.Turn, key uint32) { x.w.note("%s: %d changed", x.name, key) }

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}
