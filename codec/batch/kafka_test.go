package batch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/internal/model"
)

func TestRecordsThatKafkaStoredAreReadWithEveryCodec(t *testing.T) {
	for file, codec := range map[string]compress.Codec{
		"none": compress.None, "gzip": compress.Gzip, "snappy": compress.Snappy, "lz4": compress.LZ4, "zstd": compress.Zstd,
		"zstd22": compress.Zstd,
	} {
		t.Run(file, func(t *testing.T) {
			batches := stored(t, file+".log")
			if len(batches) != 1 || batches[0].Codec() != codec || batches[0].Count() != 40 {
				t.Fatalf("want one %v batch of 40 records", codec)
			}
			v := batches[0]
			if err := v.CheckCRC(); err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, r := range records(t, v) {
				n++
				key, value := fmt.Sprintf("key-%d", n%7), fmt.Sprintf("value-%d-the-quick-brown-fox-jumps", n)
				if string(r.Key) != key || string(r.Value) != value || r.Offset != model.Offset(n-1) {
					t.Fatalf("record %d: %d %q %q; want %q %q", n, r.Offset, r.Key, r.Value, key, value)
				}
				if r.Timestamp < v.BaseTimestamp() || r.Timestamp > v.MaxTimestamp() {
					t.Fatalf("timestamp %d outside those of the batch", r.Timestamp)
				}
			}
			if n != 40 {
				t.Fatalf("%d records", n)
			}
			facts, err := batch.Validate(v, openRules())
			if err != nil || facts.Count != 40 || facts.MaxTimestamp != v.MaxTimestamp() {
				t.Fatalf("a stored batch does not validate: %+v, %v", facts, err)
			}
		})
	}
}

func TestMarkersThatKafkaWroteEndTheirTransactions(t *testing.T) {
	batches := stored(t, "markers.log")
	if len(batches) != 4 {
		t.Fatalf("%d batches, want two records and two markers", len(batches))
	}
	for i, v := range batches {
		if !v.Transactional() || v.Control() != (i%2 == 1) {
			t.Fatalf("batch %d: attributes %#x", i, v.Attributes())
		}
	}
	for i, want := range map[int]batch.EndTxnMarker{1: {Commit: true}, 3: {Commit: false}} {
		got := controls(t, batches[i])
		if !reflect.DeepEqual(got, []batch.ControlRecord{want}) {
			t.Errorf("marker %d: %+v, want %+v", i, got, want)
		}
		p := batch.Producer{ID: batches[i].ProducerID(), Epoch: batches[i].ProducerEpoch(), Sequence: -1}
		made, err := batch.NewControlBatch(batch.Options{
			BaseOffset: batches[i].BaseOffset(), Transactional: true, Producer: &p,
		}, batches[i].BaseTimestamp(), want)
		if err != nil || string(made) != string(batches[i]) {
			t.Errorf("marker %d made here differs from Kafka's:\n%x\n%x", i, made, batches[i])
		}
	}
}

func TestControlRecordsOfTheMetadataLogAreThoseOfKafka(t *testing.T) {
	change := stored(t, "leader-change.log")
	checkpoint := stored(t, "bootstrap.checkpoint")
	wantChange := batch.LeaderChange{LeaderID: 1, Voters: []batch.QuorumVoter{{ID: 1}}, GrantingVoters: []batch.QuorumVoter{{ID: 1}}}
	got := controls(t, change[0])
	directory := got[0].(batch.LeaderChange).Voters[0].DirectoryID
	wantChange.Version = got[0].(batch.LeaderChange).Version
	wantChange.Voters[0].DirectoryID, wantChange.GrantingVoters[0].DirectoryID = directory, directory
	if !reflect.DeepEqual(got, []batch.ControlRecord{wantChange}) {
		t.Errorf("leader change %+v, want %+v", got, wantChange)
	}
	if len(checkpoint) != 2 {
		t.Fatalf("%d batches in the checkpoint, want 2", len(checkpoint))
	}
	head := controls(t, checkpoint[0])
	header, voters := head[0].(batch.SnapshotHeader), head[2].(batch.Voters)
	want := batch.Voter{
		ID: 1, DirectoryID: voters.Voters[0].DirectoryID, MostKRaftVersion: 1,
		Endpoints: []batch.VoterEndpoint{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 29893}},
	}
	// The tool reads its clock for the header, and again for the batch.
	age := checkpoint[0].BaseTimestamp() - header.LastContainedLogTimestamp
	if age < 0 || age > 1000 || head[1] != (batch.KRaftVersion{KRaftVersion: 1}) ||
		!reflect.DeepEqual(voters.Voters, []batch.Voter{want}) {
		t.Errorf("checkpoint begins with %+v", head)
	}
	if tail := controls(t, checkpoint[1]); !reflect.DeepEqual(tail, []batch.ControlRecord{batch.SnapshotFooter{}}) {
		t.Errorf("checkpoint ends with %+v", tail)
	}
	for _, v := range []batch.View{change[0], checkpoint[0], checkpoint[1]} {
		made, err := batch.NewControlBatch(batch.Options{BaseOffset: v.BaseOffset(), LeaderEpoch: v.LeaderEpoch()},
			v.BaseTimestamp(), controls(t, v)...)
		if err != nil || string(made) != string(v) {
			t.Errorf("the batch made here differs from Kafka's:\n%x\n%x", made, v)
		}
	}
}

func stored(t *testing.T, name string) (batches []batch.View) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "kafka-4.3.1", name))
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		v, rest, err := batch.First(b)
		if err != nil {
			t.Fatal(err)
		}
		batches, b = append(batches, v), rest
	}
	return batches
}

// records copies what a batch holds.
func records(t *testing.T, v batch.View) (all []batch.Record) {
	t.Helper()
	err := v.Each(func(r batch.Record) error {
		all = append(all, cloned(r))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func cloned(r batch.Record) batch.Record {
	keep := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		return append([]byte{}, b...)
	}
	c := batch.Record{Offset: r.Offset, Timestamp: r.Timestamp, Key: keep(r.Key), Value: keep(r.Value)}
	for _, h := range r.Headers {
		c.Headers = append(c.Headers, batch.Header{Key: h.Key, Value: keep(h.Value)})
	}
	return c
}

func controls(t *testing.T, v batch.View) (all []batch.ControlRecord) {
	t.Helper()
	for _, r := range records(t, v) {
		c, err := batch.ParseControl(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}
