package checkpoint

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// The files of a log directory of Kafka 4.3.1, described in the README beside them.
const (
	golden    = "../testdata/kafka/"
	directory = golden + "directory/"
)

func contents(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func uuid(t testing.TB, text string) model.UUID {
	t.Helper()
	u, err := model.ParseUUID(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestKafkasOffsetCheckpointsReadAsWhatItsLogsHold(t *testing.T) {
	// The log ends are the offsets after the last ones in the dumps.
	ends := map[model.TopicPartition]model.Offset{
		{Topic: "plain"}: 6, {Topic: "gzip"}: 53, {Topic: "snappy"}: 53, {Topic: "lz4"}: 53, {Topic: "zstd"}: 53,
		{Topic: "idempotent"}: 19, {Topic: "transactional"}: 16, {Topic: "transactional-segments"}: 76,
		{Topic: "segments"}: 120, {Topic: "deleted"}: 120, {Topic: "logappendtime"}: 6, {Topic: "epochs"}: 9,
		{Topic: "grown"}: 1, {Topic: "__transaction_state"}: 71,
	}
	for name, want := range map[string]map[model.TopicPartition]model.Offset{
		RecoveryPoints: ends,
		HighWatermarks: ends,
		LogStarts:      {{Topic: "deleted"}: 64},
		CleanerPoints:  {}, // not there: nothing was compacted
	} {
		got, err := ReadOffsets(vfs.OS(), directory+name)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestOffsetCheckpointsAreWrittenAsKafkaDoesButSorted(t *testing.T) {
	name := filepath.Join(t.TempDir(), HighWatermarks)
	if err := WriteOffsets(vfs.OS(), name, map[model.TopicPartition]model.Offset{
		{Topic: "b", Partition: 10}: 1 << 40, {Topic: "b", Partition: 2}: 0, {Topic: "a", Partition: 3}: 7,
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := string(contents(t, name)), "0\n3\na 3 7\nb 2 0\nb 10 1099511627776\n"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	theirs := contents(t, directory+LogStarts)
	if err := WriteOffsets(vfs.OS(), name, map[model.TopicPartition]model.Offset{{Topic: "deleted"}: 64}); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, name); !bytes.Equal(got, theirs) {
		t.Errorf("written %q, Kafka wrote %q", got, theirs)
	}
}

func TestKafkasLeaderEpochsReadAndAreWrittenTheSame(t *testing.T) {
	for topic, want := range map[string][]Epoch{
		"epochs":  {{0, 0}, {2, 3}, {4, 6}},
		"plain":   {{0, 0}, {4, 6}},    // a leader notes its epoch before it writes; epoch 2 wrote nothing
		"deleted": {{0, 64}, {4, 120}}, // the first entry moved with the log start
	} {
		theirs := golden + topic + "/" + topic + "-0/" + LeaderEpochs
		got, err := ReadEpochs(vfs.OS(), theirs)
		if err != nil || !slices.Equal(got.All(), want) {
			t.Errorf("%s: %v, %v, want %v", topic, got.All(), err, want)
		}
		ours := filepath.Join(t.TempDir(), LeaderEpochs)
		if err := WriteEpochs(vfs.OS(), ours, got); err != nil {
			t.Fatal(err)
		}
		if ours, theirs := contents(t, ours), contents(t, theirs); !bytes.Equal(ours, theirs) {
			t.Errorf("%s: written %q, Kafka wrote %q", topic, ours, theirs)
		}
	}
}

func TestKafkasPartitionMetadataReadsAndIsWrittenTheSame(t *testing.T) {
	theirs := contents(t, golden+"epochs/epochs-0/"+PartitionMetadata)
	id, err := ReadTopicID(vfs.OS(), golden+"epochs/epochs-0/"+PartitionMetadata)
	if want := uuid(t, "5MiuJowgQdWwdOgTMkJGvg"); err != nil || id != want {
		t.Fatalf("topic id %v, %v, want %v", id, err, want)
	}
	name := filepath.Join(t.TempDir(), PartitionMetadata)
	if err := WriteTopicID(vfs.OS(), name, id); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, name); !bytes.Equal(got, theirs) {
		t.Errorf("written %q, Kafka wrote %q", got, theirs)
	}
}

func TestKafkasMetaPropertiesReadAndAreWrittenTheSame(t *testing.T) {
	m, ok, err := ReadMetaProperties(vfs.OS(), directory+MetaFile)
	want := MetaProperties{Version: 1, ClusterID: "AbCdEfGhIjKlMnOpQrStUg", NodeID: 1, DirectoryID: uuid(t, "UFegKf3eTUKPxMn1KYBiTA")}
	if err != nil || !ok || m != want {
		t.Fatalf("%+v, %v, %v, want %+v", m, ok, err, want)
	}
	name := filepath.Join(t.TempDir(), MetaFile)
	formatted := time.Date(2026, time.November, 29, 17, 51, 8, 0, time.UTC)
	if err := WriteMetaProperties(vfs.OS(), name, m, formatted); err != nil {
		t.Fatal(err)
	}
	if ours, theirs := contents(t, name), contents(t, directory+MetaFile); !bytes.Equal(ours, theirs) {
		t.Errorf("written %q, Kafka wrote %q", ours, theirs)
	}
}

func TestKafkasCleanShutdownMarkReadsAndIsWrittenTheSame(t *testing.T) {
	epoch, clean, err := ReadCleanShutdown(vfs.OS(), directory+CleanShutdown)
	if err != nil || !clean || epoch != 173 {
		t.Fatalf("epoch %d, clean %v, %v, want 173", epoch, clean, err)
	}
	name := filepath.Join(t.TempDir(), CleanShutdown)
	if err := WriteCleanShutdown(vfs.OS(), name, 173); err != nil {
		t.Fatal(err)
	}
	if ours, theirs := contents(t, name), contents(t, directory+CleanShutdown); !bytes.Equal(ours, theirs) {
		t.Errorf("written %q, Kafka wrote %q", ours, theirs)
	}
}

func TestKafkasQuorumStatesReadAndAreWrittenTheSame(t *testing.T) {
	for file, want := range map[string]QuorumState{
		"quorum-state-v0": {Version: 0, LeaderID: 1, LeaderEpoch: 2, VotedID: model.NoBroker, CurrentVoters: []model.BrokerID{1}},
		"quorum-state-v1": {Version: 1, LeaderID: 1, LeaderEpoch: 3, VotedID: model.NoBroker},
	} {
		got, ok, err := ReadQuorumState(vfs.OS(), directory+file)
		if err != nil || !ok || !slices.Equal(got.CurrentVoters, want.CurrentVoters) {
			t.Fatalf("%s: %+v, %v, %v", file, got, ok, err)
		}
		voters := got.CurrentVoters
		got.CurrentVoters, want.CurrentVoters = nil, nil
		if got.Version != want.Version || got.LeaderID != want.LeaderID || got.LeaderEpoch != want.LeaderEpoch ||
			got.VotedID != want.VotedID || !got.VotedDirectoryID.IsZero() {
			t.Errorf("%s: %+v, want %+v", file, got, want)
		}
		got.CurrentVoters = voters
		name := filepath.Join(t.TempDir(), QuorumFile)
		if err := WriteQuorumState(vfs.OS(), name, got); err != nil {
			t.Fatal(err)
		}
		if ours, theirs := contents(t, name), contents(t, directory+file); !bytes.Equal(ours, theirs) {
			t.Errorf("written %q, Kafka wrote %q", ours, theirs)
		}
	}
}

func TestEveryPartitionDirectoryOfKafkaReads(t *testing.T) {
	files, err := filepath.Glob(golden + "*/*/" + LeaderEpochs)
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if _, err := ReadEpochs(vfs.OS(), file); err != nil {
			t.Error(err)
		}
		if _, err := ReadTopicID(vfs.OS(), filepath.Join(filepath.Dir(file), PartitionMetadata)); err != nil {
			t.Error(err)
		}
	}
}
