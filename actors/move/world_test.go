package move

import (
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/actors/throttle"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// world is a partition on a broker with the log directories /a and /b in memory. Everything runs on the test's goroutine, in an
// order that the seed gives.
type world struct {
	t      *testing.T
	clock  *clock.Manual
	order  *kit.Deterministic
	fs     *vfs.CrashFS
	system *kit.System
	dirs   map[string]*disk.Dir
	shard  kit.Ref
	moves  kit.Ref
	handle *replica.Handle
	rate   int64 // of the quota, bytes a second
	config *replica.Config
	sent   []*sent
	life   *life
	moved  int // how often the broker was told of a replica in another directory
	// named is the directory that the metadata gives; answering is false where no controller answers.
	named     string
	answering bool
	asked     []func()
}

// life is that of a process.
type life struct{ gone bool }

// sent is a record and what became of it.
type sent struct {
	value string
	done  bool
	code  kerr.Code
}

// AppendDone is part of replica.AppendSink.
func (s *sent) AppendDone(_ int, r replica.AppendResult) { s.done, s.code = true, r.Code }

var (
	tp      = model.TopicPartition{Topic: "orders"}
	topicID = model.TopicID{7}
	paths   = []string{"/a", "/b"}
)

type ignorant struct{}

func (ignorant) Receive(*kit.Context, kit.Message) {}

// newWorld has a log in /a of which each batch is synced before it is acknowledged.
func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), order: kit.NewDeterministic(seed), rate: throttle.Unlimited}
	w.fs = vfs.NewCrashFS(seed, w.clock)
	w.config = &replica.Config{
		Log:    partitionlog.Config{SegmentBytes: 1000, SegmentMs: math.MaxInt64, IndexBytes: 1 << 20, IndexIntervalBytes: 100, RetentionMs: -1, RetentionBytes: -1, FileDeleteDelayMs: 60_000},
		MinISR: 1, MaxBatchBytes: 1 << 20, SegmentBytes: 1000, FlushMessages: 1,
	}
	for _, p := range paths {
		if err := w.fs.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := w.fs.SyncDir(filepath.Dir(p)); err != nil {
			t.Fatal(err)
		}
	}
	w.begin("/a", true, false)
	w.run()
	return w
}

// begin starts a process whose replica lies in a directory.
func (w *world) begin(in string, fresh, kept bool) {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(testLog{w.t}, nil))
	w.system = kit.NewSystem(kit.Options{Clock: w.clock, Dispatcher: w.order, Log: log})
	warden := w.system.Spawn("warden", kit.Props{Kind: "test", New: func() kit.Behavior { return ignorant{} }})
	if w.life != nil {
		w.life.gone = true
	}
	w.life = &life{}
	life := w.life
	env := partitionlog.NewEnv(vfs.Mortal{FS: w.fs, Gone: func() bool { return life.gone }}, vfs.NewDescriptors(1000))
	w.dirs = map[string]*disk.Dir{}
	for i, p := range paths {
		w.dirs[p] = disk.Open(prefixed{w.system, fmt.Sprintf("disks/%d/", i)}, env, p, model.DirectoryID{byte(i + 1)}, disk.Lanes{}, warden)
	}
	deps := &replica.Deps{Self: 1, Log: log, ProducerExpiry: func() time.Duration { return time.Hour }, Moved: func(*replica.Handle) { w.moved++ }}
	hour := replica.Pace{First: time.Hour, Retention: time.Hour, Producers: time.Hour}
	w.shard = w.system.Spawn("replicas", replica.NewShard(deps, hour))
	quota := throttle.NewQuota(throttle.Windows{Count: 11, Length: time.Second}, func() int64 { return w.rate })
	w.answering, w.asked = true, nil
	w.named = in // the broker tells where it finds a replica
	w.moves = w.system.Spawn("moves", New(Deps{Quota: quota, Log: log, Assign: w.assign, Stays: w.stays}))
	w.handle = replica.NewHandle(tp, topicID, w.dirs[in], w.config)
	host := &replica.Host{
		Handle: w.handle, Lead: &replica.BecomeLeader{ISR: []model.BrokerID{1}, Replicas: []model.BrokerID{1}},
		Fresh: fresh, Kept: kept, Done: func() {},
	}
	for file, at := range map[string]*model.Offset{
		checkpoint.RecoveryPoints: &host.RecoveryPoint, checkpoint.LogStarts: &host.LogStart, checkpoint.HighWatermarks: &host.HighWatermark,
	} {
		o, err := checkpoint.ReadOffsets(w.fs, filepath.Join(in, file))
		if err != nil {
			w.t.Fatal(err)
		}
		*at = o[tp]
		w.dirs[in].Checkpoints.Found(file, o)
	}
	w.shard.Send(host)
}

// assign is a controller's part: the metadata names the directory from its answer on.
func (w *world) assign(h *replica.Handle, to *disk.Dir, done func(error)) {
	if h.Dir() == to || h.Future() == nil || h.Future().Dir != to || !h.Future().Assigned {
		w.t.Errorf("the metadata is to name %s for a replica in %s whose copy is %+v", to.Path, h.Dir().Path, h.Future())
	}
	w.asked = append(w.asked, func() {
		w.named = to.Path
		done(nil)
	})
	w.answer()
}

// stays has the metadata name the directory again that the replica is in.
func (w *world) stays(h *replica.Handle) { w.named = h.Dir().Path }

func (w *world) answer() {
	if w.answering {
		asked := w.asked
		w.asked = nil
		for _, tell := range asked {
			tell()
		}
	}
}

type prefixed struct {
	system *kit.System
	prefix string
}

func (p prefixed) Spawn(name string, props kit.Props) kit.Ref {
	return p.system.Spawn(p.prefix+name, props)
}

// again starts the next process, after what was left was settled, and gives the directory in which the log was found and the
// moves that may go on.
func (w *world) again(kept bool) (in string, open []partitionlog.Move) {
	w.t.Helper()
	w.life.gone = true
	open, orphans, err := partitionlog.SettleMoves(w.fs, paths)
	if err != nil || len(orphans) > 0 {
		w.t.Fatalf("orphans %v, error %v", orphans, err)
	}
	var found []string
	for _, p := range paths {
		if slices.Contains(w.names(p), tp.String()) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("the log stands in %q", found)
	}
	w.begin(found[0], false, kept)
	w.run()
	return found[0], open
}

// names lists the directories in a log directory, with the unique part of a name as #.
func (w *world) names(dir string) (names []string) {
	w.t.Helper()
	entries, err := w.fs.ReadDir(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		name, rest, unique := strings.Cut(e.Name(), ".")
		if unique {
			name += ".#" + rest[strings.LastIndex(rest, "-"):]
		}
		names = append(names, name)
	}
	return names
}

func (w *world) run() {
	w.t.Helper()
	const limit = 1_000_000
	if w.order.Run(limit) == limit {
		for _, a := range w.system.Tree() {
			w.t.Logf("%s handled %d, restarts %d, %v", a.Name, a.Handled, a.Restarts, a.LastError)
		}
		w.t.Fatal("the actors do not come to rest")
	}
}

func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= 10 * time.Millisecond {
		w.clock.Advance(10 * time.Millisecond)
		w.run()
	}
}

// produce sends records of one value each.
func (w *world) produce(values ...string) {
	w.t.Helper()
	for _, v := range values {
		s := &sent{value: v}
		w.sent = append(w.sent, s)
		b, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Timestamp: 1, Value: []byte(v)}).Build()
		if err != nil {
			w.t.Fatal(err)
		}
		w.handle.Send(&replica.Append{Batch: b, AllAcks: true, Version: 9, Deadline: w.clock.Now().Add(time.Minute), Sink: s})
	}
}

// acknowledged checks that all was, where all is set, and that what was acknowledged is in the log.
func (w *world) acknowledged(all bool) {
	w.t.Helper()
	content := w.content()
	for _, s := range w.sent {
		if good := s.done && s.code == kerr.None; all && !good {
			w.t.Errorf("%q is answered: %v, %s", s.value, s.done, s.code.Name())
		} else if good && !slices.Contains(content, s.value) {
			w.t.Errorf("%q was acknowledged and is lost; there is %q", s.value, content)
		}
	}
}

// content reads what is committed, and checks each batch.
func (w *world) content() (values []string) {
	w.t.Helper()
	v := w.handle.View()
	if v == nil {
		w.t.Fatal("the replica does not serve")
	}
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
			if err != nil {
				w.t.Fatalf("offset %d: %v", at, err)
			}
			if err := b.Each(func(r batch.Record) error { values = append(values, string(r.Value)); return nil }); err != nil {
				w.t.Fatalf("offset %d: %v", at, err)
			}
			at, data = b.NextOffset(), rest
		}
	}
	return values
}

func (w *world) to(dir string) { w.moves.Send(&Begin{Handle: w.handle, To: w.dirs[dir]}) }

func numbered(n int) (values []string) {
	for i := range n {
		values = append(values, fmt.Sprintf("record %d of some bytes", i))
	}
	return values
}

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}
