package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// readers reads each kind of file and drops what it holds.
var readers = map[string]func(name string) error{
	"offsets":   func(name string) error { _, err := ReadOffsets(vfs.OS(), name); return err },
	"epochs":    func(name string) error { _, err := ReadEpochs(vfs.OS(), name); return err },
	"partition": func(name string) error { _, err := ReadTopicID(vfs.OS(), name); return err },
	"meta":      func(name string) error { _, _, err := ReadMetaProperties(vfs.OS(), name); return err },
	"shutdown":  func(name string) error { _, _, err := ReadCleanShutdown(vfs.OS(), name); return err },
	"quorum":    func(name string) error { _, _, err := ReadQuorumState(vfs.OS(), name); return err },
}

func TestAMalformedFileIsAnErrorThatNamesFileAndLine(t *testing.T) {
	for _, c := range []struct {
		kind, title, content string
		line                 int
		says                 string
	}{
		{"offsets", "another version", "1\n0\n", 1, `version "1"`},
		{"offsets", "no version", "\n", 1, `version ""`},
		{"offsets", "no count", "0\n", 2, "missing"},
		{"offsets", "a count that is no number", "0\nx\n", 2, `"x"`},
		{"offsets", "fewer entries than announced, as after a torn write", "0\n2\na 0 1\n", 2, "1 follow"},
		{"offsets", "more entries than announced", "0\n0\na 0 1\n", 2, "1 follow"},
		{"offsets", "an entry of two fields", "0\n2\na 0 1\nb 7\n", 4, "2 fields"},
		{"offsets", "a partition that is no number", "0\n1\na b 1\n", 3, "partition"},
		{"offsets", "a partition past int32", "0\n1\na 2147483648 1\n", 3, "partition"},
		{"offsets", "a negative offset", "0\n1\na 0 -1\n", 3, "offset"},
		{"offsets", "an offset past int64", "0\n1\na 0 9223372036854775808\n", 3, "offset"},
		{"offsets", "a partition twice", "0\n2\na 0 1\na 0 2\n", 4, "a-0 stands twice"},
		{"epochs", "an epoch that falls", "0\n2\n3 10\n2 20\n", 4, "does not follow"},
		{"epochs", "a start that does not rise", "0\n2\n2 10\n3 10\n", 4, "does not follow"},
		{"epochs", "a negative epoch", "0\n1\n-1 0\n", 3, "epoch"},
		{"epochs", "an entry of three fields", "0\n1\na 0 1\n", 3, "3 fields"},
		{"partition", "empty", "", 0, "want 2"},
		{"partition", "another version", "version: 1\ntopic_id: 5MiuJowgQdWwdOgTMkJGvg", 1, "version: 1"},
		{"partition", "another key", "version: 0\ntopic: 5MiuJowgQdWwdOgTMkJGvg", 2, "topic_id"},
		{"partition", "no uuid", "version: 0\ntopic_id: 5MiuJowg", 2, "5MiuJowg"},
		{"partition", "the zero uuid", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", 2, "zero"},
		{"meta", "empty", "", 0, "version is missing"},
		{"meta", "an unknown version", "version=2\nnode.id=1\ncluster.id=c\n", 1, "version 2"},
		{"meta", "no cluster id", "version=1\nnode.id=1\n", 0, "cluster.id is missing"},
		{"meta", "no node id", "version=1\ncluster.id=c\n", 0, "node.id is missing"},
		{"meta", "a node id that is no number", "version=1\ncluster.id=c\nnode.id=one\n", 3, `"one"`},
		{"meta", "a directory id that is no uuid", "version=1\ncluster.id=c\nnode.id=1\ndirectory.id=d\n", 4, "directory.id"},
		{"meta", "a line without a key", "version=1\nnonsense\n", 2, "key=value"},
		{"meta", "a line that ends in a backslash", "version=1\ncluster.id=c\\\n", 2, "escape"},
		{"meta", "half a code point", "version=1\ncluster.id=\\u00\n", 2, "escape"},
		{"shutdown", "no JSON", "yes", 1, "invalid character"},
		{"shutdown", "JSON cut short", `{"version":0,`, 1, "unexpected end"},
		{"shutdown", "another version", `{"version":1,"brokerEpoch":3}`, 1, "version"},
		{"shutdown", "no epoch", `{"version":0}`, 1, "brokerEpoch"},
		{"quorum", "empty", "", 1, "unexpected end"},
		{"quorum", "no version", `{"leaderId":1,"leaderEpoch":1,"votedId":-1}`, 0, "data_version"},
		{"quorum", "another version", `{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":2}`, 0, "data_version"},
		{"quorum", "no vote", `{"leaderId":1,"leaderEpoch":1,"data_version":1}`, 0, "votedId"},
		{"quorum", "no directory", `{"leaderId":1,"leaderEpoch":1,"votedId":1,"data_version":1}`, 0, "votedDirectoryId"},
		{"quorum", "a negative epoch", `{"leaderId":1,"leaderEpoch":-1,"votedId":1,"data_version":0}`, 0, "negative"},
		{"quorum", "a string for a number, on line 2", "{\n\"leaderId\":\"1\"}", 2, "leaderId"},
	} {
		t.Run(c.kind+": "+c.title, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(name, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := readers[c.kind](name)
			var format *FormatError
			if !errors.As(err, &format) || format.File != name || format.Line != c.line || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one of line %d that says %s", err, c.line, c.says)
			}
		})
	}
}

func TestWhatAnAbsentOrEmptyFileMeans(t *testing.T) {
	dir := t.TempDir()
	missing, empty := filepath.Join(dir, "missing"), filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{missing, empty} {
		if offsets, err := ReadOffsets(vfs.OS(), name); err != nil || len(offsets) != 0 {
			t.Errorf("offsets: %v, %v", offsets, err)
		}
		if epochs, err := ReadEpochs(vfs.OS(), name); err != nil || len(epochs.All()) != 0 {
			t.Errorf("epochs: %v, %v", epochs, err)
		}
	}
	if _, err := ReadTopicID(vfs.OS(), missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory without partition.metadata: %v", err)
	}
	if _, ok, err := ReadMetaProperties(vfs.OS(), missing); ok || err != nil {
		t.Errorf("a directory that was not formatted: %v, %v", ok, err)
	}
	if _, ok, err := ReadQuorumState(vfs.OS(), missing); ok || err != nil {
		t.Errorf("a node that never voted: %v, %v", ok, err)
	}
	if _, clean, err := ReadCleanShutdown(vfs.OS(), missing); clean || err != nil {
		t.Errorf("no mark: clean %v, %v", clean, err)
	}
	if epoch, clean, err := ReadCleanShutdown(vfs.OS(), empty); !clean || err != nil || epoch != NoBrokerEpoch {
		t.Errorf("Kafka's old mark: epoch %d, clean %v, %v", epoch, clean, err)
	}
}

func TestMetaPropertiesOfTheTimeOfZooKeeperAreReadToo(t *testing.T) {
	for content, want := range map[string]MetaProperties{
		"#\n#Thu Jan 01 00:00:00 UTC 2015\nversion=0\nbroker.id=7\n":  {NodeID: 7},
		"version=0\ncluster.id=AbCdEfGhIjKlMnOpQrStUg\nbroker.id=0\n": {NodeID: 0, ClusterID: "AbCdEfGhIjKlMnOpQrStUg"},
		"version=0\n": {NodeID: model.NoBroker},
		"! a comment\r\n version = 0 \r\ncluster.id : a\\:b\\\\c\\u0041 ": {NodeID: model.NoBroker, ClusterID: `a:b\cA`},
	} {
		got, err := parseMetaProperties("f", []byte(content))
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", content, got, err, want)
		}
	}
}

func TestRemovingTheCleanShutdownMark(t *testing.T) {
	name := filepath.Join(t.TempDir(), CleanShutdown)
	if err := RemoveCleanShutdown(vfs.OS(), name); err != nil {
		t.Fatalf("a mark that is not there: %v", err)
	}
	if err := WriteCleanShutdown(vfs.OS(), name, 9); err != nil {
		t.Fatal(err)
	}
	if err := RemoveCleanShutdown(vfs.OS(), name); err != nil {
		t.Fatal(err)
	}
	if _, clean, err := ReadCleanShutdown(vfs.OS(), name); clean || err != nil {
		t.Errorf("clean %v, %v", clean, err)
	}
}
