package partitionlog

import (
	"fmt"
	"testing"

	"troupe/codec/batch"
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

// records makes a batch of n records at a timestamp.
func records(n int, timestampMs int64, size int) batch.View {
	b := batch.NewBuilder(batch.Options{})
	for i := range n {
		b.Add(batch.Record{Timestamp: timestampMs + int64(i), Key: []byte(fmt.Sprint(i)), Value: make([]byte, size)})
	}
	v, err := b.Build()
	if err != nil {
		panic(err)
	}
	return v
}

func TestSmoke(t *testing.T) {
	dir := t.TempDir() + "/t-0"
	env := testEnv(vfs.OS())
	l := New(env, dir, testPartition, testConfig(), testTopic)
	for i := range 100 {
		s, j, err := l.Stage(records(3, int64(1000*i), 500), StageOptions{NowMs: 1, LeaderEpoch: 5})
		if err != nil {
			t.Fatal(err)
		}
		if s.BaseOffset != model.Offset(3*i) {
			t.Fatal(s)
		}
		err = j.Run()
		l.Done(j, err)
		if err != nil {
			t.Fatal(err)
		}
	}
	l.SetHighWatermark(300)
	v := l.View()
	var at model.Offset
	for at < 300 {
		r, err := v.Read(at, 300, 10000, true)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, r.Len)
		if err := readFull(r.File, b, r.Pos); err != nil {
			t.Fatal(err)
		}
		r.Release()
		for len(b) > 0 {
			v, rest, err := batch.First(b)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.CheckCRC(); err != nil {
				t.Fatal(err)
			}
			if v.BaseOffset() != at {
				t.Fatal(v.BaseOffset(), at)
			}
			at = v.NextOffset()
			b = rest
		}
	}
	f, ok, err := v.OffsetForTime(50_001, 300)
	if err != nil || !ok || f.Offset != 151 {
		t.Fatal(f, ok, err)
	}
	l2, rep, err := Open(env, dir, testPartition, testConfig(), OpenParams{})
	if err != nil || l2.LogEnd() != 300 {
		t.Fatal(err, rep)
	}
	t.Log(rep)
	j := l.Close()
	err = j.Run()
	l.Done(j, err)
	if err != nil {
		t.Fatal(err)
	}
	l2, rep, err = Open(env, dir, testPartition, testConfig(), OpenParams{Clean: true})
	if err != nil || l2.LogEnd() != 300 || rep.ScannedBytes > 0 {
		t.Fatal(err, rep)
	}
}
