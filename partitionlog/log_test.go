package partitionlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

var testTopic = model.TopicID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

var testPartition = model.TopicPartition{Topic: "t", Partition: 0}

func testConfig() Config {
	return Config{
		SegmentBytes: 1 << 30, SegmentMs: 7 * 24 * 3600 * 1000, IndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		RetentionMs: -1, RetentionBytes: -1, DeleteOld: true, FileDeleteDelayMs: 60_000,
	}
}

func testEnv(fsys vfs.FS) *Env { return NewEnv(fsys, vfs.NewDescriptors(1000)) }

// at makes a batch of one record with a timestamp.
func at(timestampMs int64) batch.View {
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Timestamp: timestampMs, Value: make([]byte, 100)}).Build()
	if err != nil {
		panic(err)
	}
	return v
}

// appendAll appends batches one by one, as their owner would with an idle disk.
func appendAll(t *testing.T, l *Log, o StageOptions, batches ...batch.View) {
	t.Helper()
	for _, v := range batches {
		_, j, err := l.Stage(v, o)
		if err == nil {
			err = j.Run()
			l.Done(j, err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l.SetHighWatermark(l.LogEnd())
}

// background runs what the log asks for until it asks for nothing.
func background(t *testing.T, l *Log, nowMs int64) {
	t.Helper()
	for jobs := l.Background(nowMs); len(jobs) > 0; jobs = l.Background(nowMs) {
		for _, j := range jobs {
			err := j.Run()
			l.Done(j, err)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func newLogOnDisk(t *testing.T, cfg Config) (*Log, *Env, string) {
	env, dir := testEnv(vfs.OS()), filepath.Join(t.TempDir(), "t-0")
	return New(env, dir, testPartition, cfg, testTopic), env, dir
}

func bases(l *Log) (out []model.Offset) {
	for _, s := range l.segments {
		out = append(out, s.base)
	}
	return out
}

func TestASegmentIsRolledBySizeAgeIndexAndOffsets(t *testing.T) {
	size := int64(len(at(0)))
	for _, c := range []struct {
		name   string
		change func(*Config)
		times  []int64
		want   string
	}{
		{"two batches fit", func(c *Config) { c.SegmentBytes = 2 * size }, []int64{0, 0, 0, 0, 0}, "[0 2 4]"},
		{"older than segment.ms by the first batch", func(c *Config) { c.SegmentMs = 100 }, []int64{1000, 1100, 1101, 1201, 1202}, "[0 2 4]"},
		{"records without timestamps age by the clock", func(c *Config) { c.SegmentMs = 100 }, []int64{-1, -1, -1}, "[0]"},
		{"the offset index is full", func(c *Config) { c.IndexBytes, c.IndexIntervalBytes = 36, 0 }, []int64{5, 5, 5, 5, 5, 5, 5}, "[0 5]"},
		{"the time index keeps room for one entry", func(c *Config) { c.IndexBytes, c.IndexIntervalBytes = 36, 0 }, []int64{1, 2, 3, 4, 5}, "[0 3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfig()
			c.change(&cfg)
			l, _, _ := newLogOnDisk(t, cfg)
			for _, ms := range c.times {
				appendAll(t, l, StageOptions{NowMs: 1}, at(ms))
			}
			if got := fmt.Sprint(bases(l)); got != c.want {
				t.Errorf("segments at %s, want %s", got, c.want)
			}
		})
	}
	t.Run("a follower's offsets go too far", func(t *testing.T) {
		l, env, dir := newLogOnDisk(t, testConfig())
		for _, o := range []model.Offset{0, 1<<31 - 1, 1 << 31, 1 << 33} {
			v := at(0)
			v.SetBaseOffset(o)
			appendAll(t, l, StageOptions{Origin: FromLeader}, v)
		}
		if got, want := fmt.Sprint(bases(l)), fmt.Sprint([]int64{0, 1 << 31, 1 << 33}); got != want {
			t.Errorf("segments at %s, want %s", got, want)
		}
		background(t, l, 1)
		l, _, err := Open(env, dir, testPartition, testConfig(), OpenParams{})
		if err != nil || l.LogEnd() != 1<<33+1 {
			t.Errorf("opened, the log ends at %d, %v", l.LogEnd(), err)
		}
	})
}

func TestJitterRollsEarlierAndTheSameWayEachTime(t *testing.T) {
	cfg := testConfig()
	cfg.SegmentMs, cfg.SegmentJitterMs = 1000, 900
	seen := map[int64]bool{}
	for p := range int32(50) {
		tp := model.TopicPartition{Topic: "t", Partition: p}
		j := jitter(cfg, tp, 0)
		if j < 0 || j >= 900 || j != jitter(cfg, tp, 0) {
			t.Fatalf("jitter %d", j)
		}
		seen[j] = true
	}
	if len(seen) < 30 {
		t.Errorf("only %d different values", len(seen))
	}
}

func TestABatchIsRefusedWithoutATrace(t *testing.T) {
	l, _, _ := newLogOnDisk(t, testConfig())
	cfg := testConfig()
	cfg.SegmentBytes = 500
	l.SetConfig(cfg)
	appendAll(t, l, StageOptions{}, sized(400, -1), sequenced(7, 0, 0), sequenced(7, 0, 1))
	copied := sized(400, -1)
	copied.SetBaseOffset(1)
	for _, c := range []struct {
		name   string
		v      batch.View
		origin Origin
		want   error
	}{
		{"larger than a segment", sized(501, -1), FromClient, kerr.RecordListTooLarge},
		{"a sequence left out", sequenced(7, 0, 3), FromClient, kerr.OutOfOrderSequenceNumber},
		{"of an older epoch", sequenced(7, -1, 0), FromClient, kerr.InvalidProducerEpoch},
		{"copied from a leader, below the end", copied, FromLeader, ErrUnexpectedOffset},
	} {
		if _, j, err := l.Stage(c.v, StageOptions{Origin: c.origin}); !errors.Is(err, c.want) || j != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if l.StagedEnd() != 3 || l.Size() != int64(400+2*len(sequenced(7, 0, 0))) {
		t.Errorf("the log ends at %d with %d bytes", l.StagedEnd(), l.Size())
	}
}

// sequenced makes a batch of one record of an idempotent producer.
func sequenced(id model.ProducerID, epoch model.ProducerEpoch, seq model.Sequence) batch.View {
	v, err := batch.NewBuilder(batch.Options{Producer: &batch.Producer{ID: id, Epoch: epoch, Sequence: seq}}).
		Add(batch.Record{Timestamp: int64(seq), Value: []byte("v")}).Build()
	if err != nil {
		panic(err)
	}
	return v
}

func TestFiveBatchesAreKnownForDuplicatesAfterEveryKindOfRestart(t *testing.T) {
	small := testConfig()
	small.SegmentBytes = 3 * int64(len(sequenced(1, 0, 0)))
	for _, c := range []struct {
		name  string
		cfg   Config
		clean bool
		noise int // batches of others behind the five
	}{
		{"a clean stop", testConfig(), true, 0},
		{"a kill", testConfig(), false, 0},
		{"a clean stop right after a roll", small, true, 0},
		{"a kill right after a roll", small, false, 0},
		{"a clean stop behind much else", testConfig(), true, 900},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, env, dir := newLogOnDisk(t, c.cfg)
			for seq := range model.Sequence(9) {
				appendAll(t, l, StageOptions{}, sequenced(1, 0, seq))
				background(t, l, 1)
			}
			for range c.noise {
				appendAll(t, l, StageOptions{}, at(0))
			}
			end := l.LogEnd()
			if c.clean {
				finish(t, l)
			} else {
				l.Abandon()
			}
			l, _, err := Open(env, dir, testPartition, c.cfg, OpenParams{Clean: c.clean, RecoveryPoint: end})
			if err != nil {
				t.Fatal(err)
			}
			for seq := model.Sequence(4); seq < 9; seq++ {
				s, j, err := l.Stage(sequenced(1, 0, seq), StageOptions{})
				if err != nil || j != nil || !s.Duplicate || s.BaseOffset != model.Offset(seq) || s.LastOffset != model.Offset(seq) {
					t.Errorf("sequence %d: %+v, %v", seq, s, err)
				}
			}
			if _, _, err := l.Stage(sequenced(1, 0, 3), StageOptions{}); !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
				t.Errorf("the sixth batch back: %v", err)
			}
			if s, _, err := l.Stage(sequenced(1, 0, 9), StageOptions{}); err != nil || s.BaseOffset != end {
				t.Errorf("the next batch: %+v, %v", s, err)
			}
		})
	}
}

func TestLogAppendTimeIsSetAndAnswered(t *testing.T) {
	cfg := testConfig()
	cfg.LogAppendTime = true
	l, _, _ := newLogOnDisk(t, cfg)
	v := at(5)
	s, j, err := l.Stage(v, StageOptions{NowMs: 1234})
	if err != nil || s.LogAppendMs != 1234 || v.MaxTimestamp() != 1234 || !v.LogAppendTime() || v.CheckCRC() != nil {
		t.Fatalf("%+v, %v, timestamp %d", s, err, v.MaxTimestamp())
	}
	l.Done(j, j.Run())
	if r, ok, err := l.View().OffsetForTime(1234, 1); err != nil || !ok || r.Offset != 0 {
		t.Errorf("found %+v, %v, %v", r, ok, err)
	}
}

func TestReadersSeeWholeBatchesWhileTheLogGrowsRollsAndIsCleanedUp(t *testing.T) {
	cfg := testConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes, cfg.RetentionBytes, cfg.FileDeleteDelayMs = 20_000, 500, 100_000, 0
	l, env, _ := newLogOnDisk(t, cfg)
	env.Dirty.limit = 0
	var mu sync.Mutex
	var view *View
	publish := func() { mu.Lock(); view = l.View(); mu.Unlock() }
	current := func() *View { mu.Lock(); defer mu.Unlock(); return view }
	publish()
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			var at model.Offset
			for {
				v := current()
				at = max(at, v.LogStart)
				r, err := v.Read(at, v.HighWatermark, 3000, true)
				if errors.Is(err, ErrStale) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				b := make([]byte, r.Len)
				if r.Len == 0 {
					runtime.Gosched()
				} else if err := readFull(r.File, b, r.Pos); err != nil {
					t.Error(err)
				}
				r.Release()
				for len(b) > 0 {
					first, rest, err := batch.First(b)
					if err != nil || first.CheckCRC() != nil || first.BaseOffset() != at {
						t.Errorf("read at %d: batch %d, %v", at, first.BaseOffset(), err)
						return
					}
					at, b = first.NextOffset(), rest
				}
				if _, _, err := v.OffsetForTime(int64(at), v.LogEnd); err != nil && !errors.Is(err, ErrStale) {
					t.Error(err)
				}
				select {
				case <-done:
					if at >= current().HighWatermark {
						return
					}
				default:
				}
			}
		})
	}
	for i := range 3000 {
		appendAll(t, l, StageOptions{NowMs: int64(i)}, at(int64(i)))
		publish()
		if i%50 == 0 {
			background(t, l, int64(i))
			if j := l.Retention(int64(i)); j != nil {
				l.Done(j, j.Run())
				publish()
			}
		}
	}
	close(done)
	readers.Wait()
	if l.LogStart() == 0 || l.Size() > 140_000 {
		t.Errorf("the log starts at %d with %d bytes", l.LogStart(), l.Size())
	}
}

func TestADirectoryOfAnotherTopicIsNotOpened(t *testing.T) {
	l, env, dir := newLogOnDisk(t, testConfig())
	background(t, l, 1)
	if _, _, err := Open(env, dir, testPartition, testConfig(), OpenParams{TopicID: model.TopicID{9}}); err == nil ||
		!strings.Contains(err.Error(), testTopic.String()) {
		t.Errorf("opened as another topic: %v", err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 || names[0].Name() != "partition.metadata" {
		t.Errorf("a log without records has %v, %v", names, err)
	}
}

func TestADeletedLogIsRenamedWithinTheLengthOfAName(t *testing.T) {
	for _, topic := range []string{"t", strings.Repeat("x", 249)} {
		env, root := testEnv(vfs.OS()), t.TempDir()
		l := New(env, filepath.Join(root, topic+"-0"), model.TopicPartition{Topic: topic}, testConfig(), testTopic)
		appendAll(t, l, StageOptions{}, at(1))
		background(t, l, 1)
		v := l.View()
		j := l.Delete(testTopic)
		err := j.Run()
		l.Done(j, err)
		if err != nil {
			t.Fatal(err)
		}
		end := "-0.0102030405060708090a0b0c0d0e0f10-delete"
		want := topic[:min(len(topic), 255-len(end))] + end
		names, err := os.ReadDir(root)
		if err != nil || len(names) != 1 || names[0].Name() != want {
			t.Fatalf("left %v, %v; want %s", names, err, want)
		}
		if _, err := v.Read(0, 1, 100, true); !errors.Is(err, ErrStale) {
			t.Errorf("a view of a deleted log: %v", err)
		}
		if _, _, err := l.Stage(at(1), StageOptions{}); !errors.Is(err, ErrBusy) {
			t.Errorf("a batch for a deleted log: %v", err)
		}
		if err := RemoveDirectory(env, filepath.Join(root, want)).Run(); err != nil {
			t.Fatal(err)
		}
		if names, _ := os.ReadDir(root); len(names) != 0 || env.Files.Open() != 0 || env.Index.Used() != 0 || env.Dirty.Bytes() != 0 {
			t.Errorf("left: files %v, %d open, %d bytes of index, %d dirty", names, env.Files.Open(), env.Index.Used(), env.Dirty.Bytes())
		}
	}
}
