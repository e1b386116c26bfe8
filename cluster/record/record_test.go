package record

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"troupe/internal/model"
)

func text(s string) *string { return &s }

// samples has one record of every kind with every field set.
func samples() []Record {
	id := model.UUID{0: 1, 15: 2}
	dirs := []model.DirectoryID{{0: 7}, {0: 8}}
	endpoints := []Endpoint{{"PLAINTEXT", "localhost", 65535, 3}}
	features := []FeatureRange{{"metadata.version", 7, 30}}
	return []Record{
		&RegisterBroker{1, true, id, 12, endpoints, features, text("r1"), true, true, dirs, dirs[:1]},
		&UnregisterBroker{1, 12},
		&Topic{"orders", id},
		&Partition{3, id, brokers(1, 2), brokers(2), brokers(1), brokers(3), 2, Recovering, 4, 5, dirs, brokers(1), brokers(2)},
		&Config{2, "orders", "retention.ms", text("-1")},
		&PartitionChange{3, id, brokers(2), 2, brokers(1, 2), brokers(1), brokers(3), Recovering, dirs, brokers(), brokers(2)},
		&FenceBroker{1, 12}, &UnfenceBroker{1, 12}, &RemoveTopic{id},
		&DelegationToken{"a", "b", []string{"c", "d"}, 1, 2, 3, "t"},
		&UserScramCredential{"u", 2, []byte{1}, []byte{2, 3}, []byte{}, 4096},
		&FeatureLevel{"group.version", 1},
		&ClientQuota{[]QuotaEntity{{"user", text("u")}, {"client-id", nil}}, "producer_byte_rate", math.Pi, true},
		&ProducerIDs{1, 12, 2000},
		&BrokerRegistrationChange{1, 12, -1, 1, dirs, []model.DirectoryID{}},
		&AccessControlEntry{id, 2, "orders", 3, "User:u", "*", 4, 3}, &RemoveAccessControlEntry{id},
		&NoOp{}, &ZkMigrationState{3}, &RemoveUserScramCredential{"u", 1},
		&BeginTransaction{text("why")}, &EndTransaction{}, &AbortTransaction{text("why")}, &RemoveDelegationToken{"t"},
		&RegisterController{1, id, true, endpoints, features}, &ClearElr{"orders"},
	}
}

func brokers(ids ...model.BrokerID) []model.BrokerID { return append([]model.BrokerID{}, ids...) }

func TestEveryKindComesBackAsItWasWritten(t *testing.T) {
	seen := map[Key]bool{}
	for _, r := range samples() {
		seen[r.Key()] = true
		b, err := Append(nil, r, LatestMetadataVersion)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", r.Key(), err)
		}
		if !reflect.DeepEqual(r, back) {
			t.Errorf("%s: wrote %+v, read %+v", r.Key(), r, back)
		}
	}
	for k := range Key(keyCount) {
		if k.known() && !seen[k] {
			t.Errorf("no sample of %s", k)
		}
	}
}

func TestOlderVersionsLeaveOutWhatTheyDoNotHave(t *testing.T) {
	for _, r := range samples() {
		for version := range r.Key().maxVersion() + 1 {
			b, err := AppendVersion(nil, r, version)
			if err != nil {
				t.Fatal(err)
			}
			back, got, err := DecodeVersion(b)
			if err != nil || got != version {
				t.Fatalf("%s version %d: read as %d, %v", r.Key(), version, got, err)
			}
			again, err := AppendVersion(nil, back, version)
			if err != nil || !bytes.Equal(b, again) {
				t.Errorf("%s version %d: %x came back as %x", r.Key(), version, b, again)
			}
		}
		if _, err := AppendVersion(nil, r, r.Key().maxVersion()+1); !errors.Is(err, ErrVersion) {
			t.Errorf("%s was written in a version that does not exist: %v", r.Key(), err)
		}
	}
}

func TestVersionsFollowTheMetadataVersion(t *testing.T) {
	// Levels and versions: KIP-841 and KIP-858 and their successors as facts/records.md lists the versions' fields.
	for _, c := range []struct {
		key   Key
		level MetadataVersion
		want  int16
	}{
		{KeyRegisterBroker, 7, 1}, {KeyRegisterBroker, 8, 2}, {KeyRegisterBroker, 17, 3}, {KeyRegisterBroker, 30, 4},
		{KeyPartition, 16, 0}, {KeyPartition, 17, 1}, {KeyPartition, 22, 1}, {KeyPartition, 23, 2},
		{KeyPartitionChange, 16, 0}, {KeyPartitionChange, 30, 2},
		{KeyBrokerRegistrationChange, 7, 1}, {KeyBrokerRegistrationChange, 29, 2}, {KeyBrokerRegistrationChange, 30, 3},
		{KeyTopic, 30, 0},
	} {
		if got := VersionAt(c.key, c.level); got != c.want {
			t.Errorf("%s at level %d (%s) is version %d, want %d", c.key, c.level, c.level, got, c.want)
		}
	}
	for level, name := range map[MetadataVersion]string{7: "3.3-IV3", 13: "3.6-IV1", 17: "3.7-IV2", 21: "3.9-IV0", 25: "4.0-IV3", 30: "4.3-IV0", 31: "31", 6: "6"} {
		if level.String() != name {
			t.Errorf("level %d is called %s, want %s", level, level, name)
		}
	}
}

// Kafka 4.3's levels with a change of the metadata are those that it does not go back over (3.9 to 3.7-IV2 and no further: asked).
func TestALevelWritesAsAnOlderOneUnlessSomethingNewCameBetween(t *testing.T) {
	last := MinMetadataVersion
	for v := MinMetadataVersion; v <= LatestMetadataVersion; v++ {
		if slices.Contains([]MetadataVersion{7, 8, 11, 13, 14, 15, 17, 23, 30}, v) {
			last = v
		}
		for older := MinMetadataVersion; older < v; older++ {
			if got := v.WritesAs(older); got != (older >= last) {
				t.Errorf("level %s writes as %s: %v", v, older, got)
			}
		}
	}
}

func TestWhatCannotBeReadIsRefusedWithItsReason(t *testing.T) {
	for _, c := range []struct {
		title string
		bytes []byte
		want  string
	}{
		{"nothing at all", nil, "cut short"},
		{"a framing from the future", []byte{2, 2, 0}, "frame version 2, known is 1"},
		{"a kind from the future", []byte{1, 29, 0}, "kind 29"},
		{"a kind that was given up", []byte{1, 6, 0}, "kind 6"},
		{"a version from the future", []byte{1, 3, 3}, "PartitionRecord has version 3 in the log, this software knows up to 2"},
		{"a name longer than the record", []byte{1, 2, 0, 200, 1, 'a'}, "cut short"},
		{"a null name", []byte{1, 2, 0, 0}, "null where a string"},
		{"a list longer than the record", []byte{1, 10, 0, 1, 1, 0xff, 0xff, 0x7f}, "longer than its bytes"},
		{"bytes after the end", []byte{1, 20, 0, 0, 9}, "bytes follow"},
		{"tags that go back", []byte{1, 20, 0, 2, 5, 0, 4, 0}, "rising order"},
	} {
		_, err := Decode(c.bytes)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", c.title, err, c.want)
		}
		var unknown *UnknownError
		var corrupt *CorruptError
		if !errors.As(err, &unknown) && !errors.As(err, &corrupt) {
			t.Errorf("%s: %T is no typed error", c.title, err)
		}
	}
}

func TestTagsOfNewerSoftwareArePassedOver(t *testing.T) {
	r, err := Decode([]byte{1, 20, 0, 1, 9, 2, 'x', 'y'})
	if _, ok := r.(*NoOp); !ok || err != nil {
		t.Fatalf("%v, %v", r, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range samples() {
		b, err := Append(nil, r, LatestMetadataVersion)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, version, err := DecodeVersion(b)
		if err != nil {
			return
		}
		once, err := AppendVersion(nil, r, version)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(once)
		if err != nil {
			t.Fatalf("%x does not read back: %v", once, err)
		}
		twice, err := AppendVersion(nil, again, version)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%x became %x", once, twice)
		}
	})
}
