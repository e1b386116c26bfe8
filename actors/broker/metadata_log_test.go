package broker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

const metadataDir = "/data/" + metadataLog

// appendToMetadataLog writes a record of a version of this software that does not exist yet behind what is there.
func appendToMetadataLog(t *testing.T, n *node, value []byte) {
	t.Helper()
	entries, err := n.fs.ReadDir(metadataDir)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".log") {
			last = e.Name()
		}
	}
	f, err := n.fs.Open(filepath.Join(metadataDir, last), os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, size)
	if n, err := f.ReadAt(data, 0); n < len(data) {
		t.Fatal(err)
	}
	var tail batch.View
	for rest := data; len(rest) > 0; {
		if tail, rest, err = batch.First(rest); err != nil {
			t.Fatal(err)
		}
	}
	b := batch.NewBuilder(batch.Options{BaseOffset: tail.NextOffset(), LeaderEpoch: tail.LeaderEpoch()})
	v, err := b.Add(batch.Record{Timestamp: 1, Value: value}).Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(v, size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestARecordOfALaterVersionStopsTheNodeAndIsNamed(t *testing.T) {
	// The frame version, then key and version as unsigned varints: TopicRecord has key 2 and is known at version 0.
	for title, c := range map[string]struct {
		value []byte
		names []string
	}{
		"a key that nobody knows":           {[]byte{1, 0xd0, 0x0f, 0}, []string{"2000"}},
		"a version above the one we know":   {[]byte{1, 2, 9}, []string{"version 9", "0"}},
		"a frame of a version of its own":   {[]byte{2, 2, 0}, []string{"2"}},
		"bytes that are no record any more": {[]byte{1, 2, 0, 5}, []string{"TopicRecord", "offset"}},
	} {
		t.Run(title, func(t *testing.T) {
			n := newNode(t, 1)
			n.start()
			n.stopClean()
			appendToMetadataLog(t, n, c.value)
			err := n.tryStart()
			if err == nil {
				t.Fatal("the node starts with a record that it does not understand")
			}
			for _, name := range c.names {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%q does not name %s", err, name)
				}
			}
		})
	}
}

func TestTheMetadataLogIsSummedUpAndShortened(t *testing.T) {
	n := newNode(t, 1, "metadata.log.max.record.bytes.between.snapshots=1000", "metadata.log.segment.ms=10")
	n.start()
	c := dial(t, n.address())
	made := 0
	checkpoints := func() (ends []model.Offset, segments int) {
		entries, err := n.fs.ReadDir(metadataDir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if end, _, ok := quorum.ParseCheckpointName(e.Name()); ok && end > 0 {
				ends = append(ends, end)
			}
			if strings.HasSuffix(e.Name(), ".log") {
				segments++
			}
		}
		return ends, segments
	}
	first := func() bool {
		_, err := n.fs.Stat(filepath.Join(metadataDir, "00000000000000000000.log"))
		return err == nil
	}
	eventually(t, "two checkpoints are there and the oldest segment is gone", func() bool {
		if err := createTopic(c, fmt.Sprint("t", made), nil); err != nil {
			t.Fatal(err)
		}
		made++
		ends, _ := checkpoints()
		return len(ends) >= 2 && !first()
	})
	for _, stop := range []func(){n.stopClean, n.cutPower} {
		stop()
		n.start()
		topics := 0
		for range n.source.Image().Topics("") {
			topics++
		}
		if topics != made {
			t.Fatalf("after a restart there are %d topics, want %d", topics, made)
		}
	}
	if ends, segments := checkpoints(); len(ends) > 2 {
		t.Errorf("%d checkpoints and %d segments are kept", len(ends), segments)
	}
}

// A metadata log that lost what was committed knows of no topics: their logs would be set aside as nobody's.
func TestAMetadataLogThatIsDamagedBeforeItsEndIsRefusedAndLeftAsItIs(t *testing.T) {
	log := filepath.Join(metadataDir, "00000000000000000000.log")
	rewrite := func(change func([]byte) []byte) func(*node) error {
		return func(n *node) error {
			data, err := read(n, log)
			if err != nil {
				return err
			}
			f, err := n.fs.Open(log, os.O_RDWR|os.O_TRUNC, 0o644)
			if err != nil {
				return err
			}
			if _, err := f.WriteAt(change(data), 0); err != nil {
				return err
			}
			return f.Close()
		}
	}
	for title, damage := range map[string]func(*node) error{
		"a byte changed in the middle": rewrite(func(b []byte) []byte { b[len(b)/2] ^= 0x55; return b }),
		"a byte changed at its start":  rewrite(func(b []byte) []byte { b[3] ^= 0x55; return b }),
		"half of it is gone":           rewrite(func(b []byte) []byte { return b[:len(b)/2] }),
		"it is empty":                  rewrite(func(b []byte) []byte { return nil }),
		"its file is gone":             func(n *node) error { return n.fs.Remove(log) },
		"its directory is gone":        func(n *node) error { return n.fs.RemoveAll(metadataDir) },
	} {
		t.Run(title+" after a clean stop", func(t *testing.T) { expectLeftAsItIs(t, log, damage, true) })
		t.Run(title+" after a kill", func(t *testing.T) { expectLeftAsItIs(t, log, damage, false) })
	}
}

func expectLeftAsItIs(t *testing.T, log string, damage func(*node) error, clean bool) {
	n := newNode(t, 1, "replica.high.watermark.checkpoint.interval.ms=10")
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := produce(c, "a", "kept"); err != nil {
		t.Fatal(err)
	}
	if clean {
		n.stopClean()
	} else {
		end := n.source.Image().Offset
		eventually(t, "it is written down how far the log has come", func() bool {
			marks, err := checkpoint.ReadOffsets(n.fs, "/data/"+checkpoint.HighWatermarks)
			return err == nil && marks[metadataPartition] > end
		})
		n.abort()
	}
	if err := damage(n); err != nil {
		t.Fatal(err)
	}
	before, _ := read(n, log)
	err := n.tryStart()
	if err == nil || !strings.Contains(err.Error(), metadataDir) {
		t.Fatalf("start: %v, want an error that names %s", err, metadataDir)
	}
	if after, _ := read(n, log); !bytes.Equal(after, before) {
		t.Errorf("of %d bytes %d are left", len(before), len(after))
	}
	if _, err := n.fs.Stat("/data/a-0"); err != nil {
		t.Errorf("the log of the topic: %v", err)
	}
}

// read gives a file's bytes.
func read(n *node, name string) ([]byte, error) {
	f, err := n.fs.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if got, err := f.ReadAt(data, 0); got < len(data) {
		return nil, err
	}
	return data, f.Close()
}
