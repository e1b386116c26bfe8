package record

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// The files are partitions of __consumer_offsets that Kafka 4.3.1 wrote: a group of a static member, one of a dynamic
// member that joined, committed and left; offsets that its consumer-groups command reset and deleted; two groups of the
// consumer protocol (consumer_test.go).
func written(t testing.TB, file string) []coordinator.Record {
	t.Helper()
	rest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []coordinator.Record
	for len(rest) > 0 {
		var v batch.View
		if v, rest, err = batch.First(rest); err != nil {
			t.Fatal(err)
		}
		if err := v.Each(func(r batch.Record) error {
			all = append(all, coordinator.Record{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func encode(e Entry) coordinator.Record {
	switch {
	case e.Value != nil:
		return StoreConsumer(e.Consumer.Group, e.Consumer.Name, e.Value)
	case e.Consumer != nil:
		return DeleteConsumer(*e.Consumer)
	case e.Offset != nil && e.Committed != nil:
		return CommitOffset(*e.Offset, *e.Committed)
	case e.Offset != nil:
		return DeleteOffset(*e.Offset)
	case e.State != nil:
		return StoreGroup(e.Group, *e.State)
	}
	return DeleteGroup(e.Group)
}

func TestWhatKafkaWroteIsWrittenTheSame(t *testing.T) {
	for file, count := range map[string]int{"testdata/kafka-4.3.1-classic.log": 10, "testdata/kafka-4.3.1-simple.log": 5, "testdata/kafka-4.3.1-consumer.log": 121} {
		records := written(t, file)
		if len(records) != count {
			t.Errorf("%s has %d records, want %d", file, len(records), count)
		}
		for i, r := range records {
			e, err := Decode(r)
			if err != nil {
				t.Errorf("%s, record %d: %v", file, i, err)
				continue
			}
			if got := encode(e); !bytes.Equal(got.Key, r.Key) || !bytes.Equal(got.Value, r.Value) || (got.Value == nil) != (r.Value == nil) {
				t.Errorf("%s, record %d: wrote %x = %x, Kafka %x = %x", file, i, got.Key, got.Value, r.Key, r.Value)
			}
		}
	}
}

// The values are those that Kafka's own dump-log shows of the file.
func TestKafkasRecordsSayWhatKafkasToolShows(t *testing.T) {
	records := written(t, "testdata/kafka-4.3.1-classic.log")
	stable, err := Decode(records[1])
	if err != nil {
		t.Fatal(err)
	}
	s := stable.State
	if stable.Group != "golden" || s.ProtocolType != "consumer" || s.Generation != 1 || *s.Protocol != "range" ||
		s.CurrentStateTimestamp != 1795978679369 || len(s.Members) != 1 {
		t.Errorf("group %q: %+v", stable.Group, s)
	}
	m := s.Members[0]
	if m.MemberID != *s.Leader || *m.InstanceID != "inst" || m.ClientID != "cid" || m.ClientHost != "/127.0.0.1" ||
		m.RebalanceTimeoutMillis != 300000 || m.SessionTimeoutMillis != 45000 {
		t.Errorf("member %+v", m)
	}
	offset, err := Decode(records[2])
	if err != nil {
		t.Fatal(err)
	}
	id, err := model.ParseUUID("7YhU6z-sRDuferpZL1eZ7Q")
	if err != nil {
		t.Fatal(err)
	}
	if *offset.Offset != (Offset{Group: "golden", Topic: "t", Partition: 1}) {
		t.Errorf("key %+v", offset.Offset)
	}
	if c := offset.Committed; c.Offset != 4 || c.LeaderEpoch != 0 || c.Metadata != "" || c.CommitTimestamp != 1795978680325 ||
		c.ExpireTimestamp != -1 || c.TopicID != id {
		t.Errorf("value %+v", c)
	}
}

func TestATimeOfExpiryTakesTheVersionThatHasOne(t *testing.T) {
	v := kmsg.NewOffsetCommitValue()
	v.Offset, v.Metadata, v.CommitTimestamp, v.ExpireTimestamp, v.LeaderEpoch = 7, "note", 1000, 2000, 5
	r := CommitOffset(Offset{Group: "g", Topic: "t", Partition: 3}, v)
	// int16 version, int64 offset, string, int64 and int64 (facts/records.md).
	want := []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 4, 'n', 'o', 't', 'e', 0, 0, 0, 0, 0, 0, 3, 232, 0, 0, 0, 0, 0, 0, 7, 208}
	if !bytes.Equal(r.Value, want) {
		t.Fatalf("value % x, want % x", r.Value, want)
	}
	e, err := Decode(r)
	if err != nil || e.Committed.ExpireTimestamp != 2000 || e.Committed.LeaderEpoch != -1 {
		t.Fatalf("read back %+v, %v", e.Committed, err)
	}
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	key := Offset{Group: "g", Topic: "t"}.key()
	for name, r := range map[string]coordinator.Record{
		"no key":                          {},
		"a key cut short":                 {Key: key[:5]},
		"a value cut short":               {Key: key, Value: []byte{0, 4, 0, 0}},
		"a value of version 5":            {Key: key, Value: []byte{0, 5, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0}},
		"a group of version 9":            {Key: groupKey("g"), Value: []byte{0, 9}},
		"a member without an id":          {Key: []byte{0, 5, 0, 1, 'g'}},
		"a name of negative length":       {Key: []byte{0, 3, 0xff, 0xff}},
		"a key with more than a group":    {Key: []byte{0, 3, 0, 1, 'g', 0}},
		"an epoch of version 1":           {Key: []byte{0, 3, 0, 1, 'g'}, Value: []byte{0, 1, 0, 0, 0, 1, 0}},
		"an epoch that is cut short":      {Key: []byte{0, 3, 0, 1, 'g'}, Value: []byte{0, 0, 0, 0}},
		"an epoch that something follows": {Key: []byte{0, 3, 0, 1, 'g'}, Value: []byte{0, 0, 0, 0, 0, 1, 0, 0}},
	} {
		if e, err := Decode(r); err == nil || errors.Is(err, ErrUnknownType) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if _, err := Decode(coordinator.Record{Key: []byte{0, 10, 0, 1, 'g'}}); !errors.Is(err, ErrUnknownType) {
		t.Errorf("a record of a share group: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 0}, []byte{0, 4})
	f.Add([]byte{0, 2, 0, 1, 'g'}, []byte{0, 3})
	for _, r := range written(f, "testdata/kafka-4.3.1-consumer.log") {
		f.Add(r.Key, r.Value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		e, err := Decode(coordinator.Record{Key: key, Value: value})
		if err != nil {
			return
		}
		again, err := Decode(encode(e))
		if err != nil {
			t.Fatalf("%+v was written so that it cannot be read: %v", again, err)
		}
	})
}
