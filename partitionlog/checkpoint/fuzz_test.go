package checkpoint

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Each target holds a decoder to the same: whatever it takes it can write again, and what it wrote it reads as the same.

func seed(f *testing.F, pattern string, more ...string) {
	f.Helper()
	files, err := filepath.Glob(golden + pattern)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range more {
		f.Add([]byte(s))
	}
}

func FuzzOffsets(f *testing.F) {
	seed(f, "directory/*offset-checkpoint", "", "0\n1\na 0 1\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		offsets, err := parseOffsets("f", data)
		if err != nil {
			return
		}
		again, err := parseOffsets("f", appendOffsets(nil, offsets))
		if err != nil || !maps.Equal(again, offsets) {
			t.Fatalf("%v became %v, %v", offsets, again, err)
		}
	})
}

func FuzzEpochs(f *testing.F) {
	seed(f, "*/*/"+LeaderEpochs, "", "0\n1\n2147483647 9223372036854775807\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		epochs, err := parseEpochs("f", data)
		if err != nil {
			return
		}
		again, err := parseEpochs("f", appendEpochs(nil, epochs))
		if err != nil || !slices.Equal(again.All(), epochs.All()) {
			t.Fatalf("%v became %v, %v", epochs, again, err)
		}
	})
}

func FuzzPartitionMetadata(f *testing.F) {
	seed(f, "*/*/"+PartitionMetadata, "version: 0\ntopic_id: ")
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := parseTopicID("f", data)
		if err != nil {
			return
		}
		if again, err := parseTopicID("f", appendTopicID(nil, id)); err != nil || again != id {
			t.Fatalf("%v became %v, %v", id, again, err)
		}
	})
}

func FuzzMetaProperties(f *testing.F) {
	seed(f, "directory/"+MetaFile, "version=0\nbroker.id=7\n", "version=1\ncluster.id=a\\:b\\u0041\nnode.id=2147483647\n", "version=1\ncluster.id=\\u0020\\ a\nnode.id=0\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMetaProperties("f", data)
		if err != nil || m.Version == 0 {
			return
		}
		again, err := parseMetaProperties("f", appendMetaProperties(nil, m, time.Unix(0, 0)))
		if err != nil || again != m {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}

func FuzzCleanShutdown(f *testing.F) {
	seed(f, "directory/"+CleanShutdown, "", `{"version":0,"brokerEpoch":-1}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		if epoch, err := parseCleanShutdown("f", data); err != nil && epoch != NoBrokerEpoch {
			t.Fatalf("epoch %d beside the error %v", epoch, err)
		}
	})
}

func FuzzQuorumState(f *testing.F) {
	seed(f, "directory/quorum-state-*")
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := parseQuorumState("f", data)
		if err != nil {
			return
		}
		again, err := parseQuorumState("f", appendQuorumState(nil, q))
		if err != nil || !slices.Equal(again.CurrentVoters, q.CurrentVoters) {
			t.Fatalf("%+v became %+v, %v", q, again, err)
		}
		again.CurrentVoters = q.CurrentVoters
		if appendText := appendQuorumState(nil, again); !bytes.Equal(appendText, appendQuorumState(nil, q)) {
			t.Fatalf("%+v became %s", q, appendText)
		}
	})
}
