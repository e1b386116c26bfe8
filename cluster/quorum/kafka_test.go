package quorum_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/internal/model"
)

const kafkaLogs = "../testdata/kafka"

// batches reads a file of record batches.
func batches(t *testing.T, path string) []batch.View {
	t.Helper()
	rest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var views []batch.View
	for len(rest) > 0 {
		var v batch.View
		if v, rest, err = batch.First(rest); err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	return views
}

// readCheckpoint gives what a checkpoint file says and the image it holds.
func readCheckpoint(t *testing.T, path string) (quorum.Checkpoint, *image.Image) {
	t.Helper()
	end, epoch, ok := quorum.ParseCheckpointName(filepath.Base(path))
	if !ok {
		t.Fatalf("%s is not the name of a checkpoint", path)
	}
	var r quorum.CheckpointReader
	r.End, r.Epoch = end, epoch
	e := image.Empty("").Edit()
	for _, v := range batches(t, path) {
		err := r.Add(v, func(rec record.Record) error { return e.Apply(end-1, epoch, rec) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Done(); err != nil {
		t.Fatal(err)
	}
	i, _ := e.Publish()
	return r.Checkpoint, i
}

// imageAt replays a log up to an offset, exclusive.
func imageAt(t *testing.T, log string, end model.Offset) *image.Image {
	t.Helper()
	e := image.Empty("").Edit()
	for _, v := range batches(t, log) {
		if v.Control() {
			continue
		}
		err := v.Each(func(raw batch.Record) error {
			if raw.Offset >= end {
				return nil
			}
			r, err := record.Decode(raw.Value)
			if err != nil {
				return err
			}
			return e.Apply(raw.Offset, v.LeaderEpoch(), r)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	i, _ := e.Publish()
	return i
}

// Kafka wrote both: the image that its log gives up to a checkpoint's end is the one that the checkpoint holds.
func TestCheckpointsOfKafkaHoldWhatItsLogGives(t *testing.T) {
	checked := 0
	for _, folder := range []string{"dynamic", "static"} {
		dir := filepath.Join(kafkaLogs, folder, "__cluster_metadata-0")
		files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			c, held := readCheckpoint(t, file)
			given := imageAt(t, filepath.Join(dir, "00000000000000000000.log"), c.End)
			if !held.Equal(given) {
				t.Errorf("%s: the log up to %d gives another image", file, c.End)
			}
			if c.End > 0 && held.TopicCount() == 0 {
				t.Errorf("%s holds no topic", file)
			}
			if wantVoters := map[string]int{"dynamic": 1, "static": 0}[folder]; len(c.Voters) != wantVoters || int(c.KRaftVersion) != wantVoters {
				t.Errorf("%s: %d voters at kraft.version %d", file, len(c.Voters), c.KRaftVersion)
			}
			checked++
		}
	}
	if checked != 6 {
		t.Errorf("%d checkpoints were checked, there are 6", checked)
	}
}

// A node that takes over Kafka's directory continues its log: same offsets, a higher epoch, nothing lost.
func TestALogOfKafkaIsTakenOver(t *testing.T) {
	for _, c := range []struct {
		folder string
		self   string
		epoch  model.LeaderEpoch
		from   string
	}{
		{"dynamic", "UFegKf3eTUKPxMn1KYBiTA", 3, "00000000000000000216-0000000003.checkpoint"},
		{"dynamic", "UFegKf3eTUKPxMn1KYBiTA", 3, "00000000000000000095-0000000001.checkpoint"},
		{"dynamic", "UFegKf3eTUKPxMn1KYBiTA", 3, "00000000000000000000-0000000000.checkpoint"},
		{"static", "AAAAAAAAAAAAAAAAAAAAEA", 1, "00000000000000000043-0000000001.checkpoint"},
	} {
		dir := filepath.Join(kafkaLogs, c.folder, "__cluster_metadata-0")
		directory, err := model.ParseUUID(c.self)
		if err != nil {
			t.Fatal(err)
		}
		checkpoint, held := readCheckpoint(t, filepath.Join(dir, c.from))
		if c.folder == "static" {
			// controller.quorum.voters names it.
			checkpoint.Voters = []batch.Voter{{ID: 1}}
		}
		restorer := quorum.Restore(quorum.Options{Self: quorum.VoterKey{ID: 1, Directory: directory}}, checkpoint.Boundary)
		log := batches(t, filepath.Join(dir, "00000000000000000000.log"))
		for _, v := range log {
			if err := restorer.Add(v); err != nil {
				t.Fatal(err)
			}
		}
		m, err := restorer.Start(quorum.HardState{Epoch: c.epoch, Voted: quorum.NoVoter, Leader: 1})
		if err != nil {
			t.Fatal(err)
		}
		end := log[len(log)-1].NextOffset()
		shell := &disk{t: t, machine: m, end: end}
		shell.settle()
		if l := m.Leadership(); !l.Self || l.Epoch != c.epoch+1 {
			t.Errorf("%s from %s: leadership %+v", c.folder, c.from, l)
		}
		e := held.Edit()
		next := checkpoint.End
		for _, entry := range shell.committed {
			if entry.Offset != next {
				t.Fatalf("%s from %s: offset %d is followed by %d", c.folder, c.from, next-1, entry.Offset)
			}
			next++
			if entry.Record == nil {
				e.Skip(entry.Offset, entry.Epoch)
			} else if err := e.Apply(entry.Offset, entry.Epoch, entry.Record); err != nil {
				t.Fatal(err)
			}
		}
		if next != end+1 {
			t.Errorf("%s from %s: committed up to %d, the log ended at %d", c.folder, c.from, next, end)
		}
		if i, _ := e.Publish(); !i.Equal(imageAt(t, filepath.Join(dir, "00000000000000000000.log"), end)) {
			t.Errorf("%s from %s: another image", c.folder, c.from)
		}
	}
}

// A checkpoint written from what Kafka's holds is Kafka's but for the order of records and the times.
func TestACheckpointComesBackAsItWasWritten(t *testing.T) {
	file := filepath.Join(kafkaLogs, "dynamic", "__cluster_metadata-0", "00000000000000000216-0000000003.checkpoint")
	c, held := readCheckpoint(t, file)
	c.Level = held.MetadataVersion()
	path := filepath.Join(t.TempDir(), quorum.CheckpointName(c.End, c.Epoch))
	var b bytes.Buffer
	for v, err := range c.Batches(held.Records(), time.UnixMilli(1700000000000)) {
		if err != nil {
			t.Fatal(err)
		}
		b.Write(v)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	again, back := readCheckpoint(t, path)
	if !back.Equal(held) || again.LastTimestamp != c.LastTimestamp || len(again.Voters) != 1 {
		t.Errorf("wrote %+v, read %+v", c, again)
	}
	if original, err := os.Stat(file); err != nil || original.Size() != int64(b.Len()) {
		t.Errorf("%d bytes, Kafka needs %d for the same", b.Len(), original.Size())
	}
	var r quorum.CheckpointReader
	for _, v := range batches(t, path)[:2] {
		if err := r.Add(v, func(record.Record) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Done(); err != quorum.ErrTruncated {
		t.Errorf("a checkpoint without footer: %v", err)
	}
}
