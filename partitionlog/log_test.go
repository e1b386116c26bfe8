package partitionlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
