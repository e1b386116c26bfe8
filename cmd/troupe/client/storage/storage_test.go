package storage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/cmd/troupe/client/option"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// config writes a node of two directories.
func config(t *testing.T, quorum string) (file, dir string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "server.properties")
	text := fmt.Sprintf("process.roles=broker,controller\nnode.id=3\n%s\nlisteners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2\n"+
		"controller.listener.names=CONTROLLER\nlog.dirs=%s,%s\n", quorum, filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, dir
}

// call runs the command; DIR stands for the folder in what it prints.
func call(dir string, args ...string) (out, problem string) {
	var stdout bytes.Buffer
	c := Command(option.Streams{Out: &stdout, Err: &stdout})
	c.SetArgs(args)
	if err := c.ExecuteContext(context.Background()); err != nil {
		problem = err.Error()
	}
	return strings.ReplaceAll(stdout.String(), dir, "DIR"), strings.ReplaceAll(problem, dir, "DIR")
}

const static = "controller.quorum.voters=3@127.0.0.1:2"

// The texts are those of Kafka 4.3.1's tool.
func TestDirectoriesAreFormattedOnce(t *testing.T) {
	file, dir := config(t, static)
	out, problem := call(dir, "info", "-c", file)
	if out != "Found problems:\n  DIR/a does not exist\n  DIR/b does not exist\n\n" {
		t.Errorf("before: %s%s", out, problem)
	}
	out, problem = call(dir, "format", "-t", "abc", "-c", file, "-r", "3.9")
	if want := "Bootstrap metadata: BootstrapMetadata(records=[ApiMessageAndVersion(FeatureLevelRecord(name='metadata.version', featureLevel=21) at version 0)], " +
		"metadataVersionLevel=21, source=format command)\nFormatting metadata directory DIR/a with metadata.version 3.9-IV0.\n" +
		"Formatting data directory DIR/b with metadata.version 3.9-IV0.\n"; out != want || problem != "" {
		t.Errorf("formatting: %s%s", out, problem)
	}
	m, there, err := checkpoint.ReadMetaProperties(vfs.OS(), filepath.Join(dir, "b", checkpoint.MetaFile))
	if err != nil || !there || m.ClusterID != "abc" || m.NodeID != 3 || m.Version != 1 || m.DirectoryID.IsZero() {
		t.Errorf("meta.properties: %+v, %v", m, err)
	}
	for title, c := range map[string]struct{ args, want string }{
		"again":            {"-t abc", "Log directory DIR/a is already formatted. Use --ignore-formatted to ignore this directory and format the others."},
		"again, ignored":   {"-t abc -g", ""},
		"of another one":   {"-t other -g", "Invalid cluster.id in: DIR/a/meta.properties. Expected other, but read abc"},
		"as a lone quorum": {"-t abc -s", "You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead."},
	} {
		if _, problem := call(dir, append([]string{"format", "-c", file}, strings.Fields(c.args)...)...); problem != c.want {
			t.Errorf("%s: %s", title, problem)
		}
	}
}

func TestLevelsThatCannotBeAreRefusedBeforeAFileIsWritten(t *testing.T) {
	file, dir := config(t, static)
	for args, want := range map[string]string{
		"-f group.version":         "Can't parse feature=level string group.version: equals sign not found.",
		"-f group.version=7":       "No feature:group.version with feature level 7",
		"-f foo=1":                 "Unsupported feature: foo. Supported features are: eligible.leader.replicas.version, group.version, kraft.version, share.version, streams.version, transaction.version",
		"-f transaction.version=2": "transaction.version=2 is not supported here: at most 0",
		"-r 3.9 -f eligible.leader.replicas.version=1": "eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23",
		"-r 4.0 -f metadata.version=20":                "Use --release-version instead of --feature metadata.version=X to avoid ambiguity.",
		"-S SCRAM-SHA-256=[name=alice,password=x]":     "--add-scram is not available: this version has no SASL, so that nobody could log in with it",
		"-s -N": "kafka-storage: error: argument --no-initial-controllers/-N: not allowed with argument --standalone/-s",
	} {
		if _, problem := call(dir, append([]string{"format", "-t", "abc", "-c", file}, strings.Fields(args)...)...); problem != want {
			t.Errorf("%s: %s", args, problem)
		}
	}
	if found, err := filepath.Glob(filepath.Join(dir, "[ab]")); err != nil || len(found) > 0 {
		t.Errorf("written: %v, %v", found, err)
	}
}

func TestVotersAreNamedWithTheirDirectories(t *testing.T) {
	file, dir := config(t, "controller.quorum.bootstrap.servers=127.0.0.1:2")
	const id = "JEXY6aqzQY-32P5TStzaFg"
	if _, problem := call(dir, "format", "-t", "abc", "-c", file, "-I", "3@127.0.0.1:2:x"); !strings.Contains(problem, "3@127.0.0.1:2:x") {
		t.Errorf("a voter without a directory: %s", problem)
	}
	out, problem := call(dir, "format", "-t", "abc", "-c", file, "-I", "3@127.0.0.1:2:"+id+",4@127.0.0.1:3:MvDxzVmcRsaTz33bUuRU6A")
	if !strings.Contains(out, "Formatting dynamic metadata voter directory DIR/a with") || problem != "" {
		t.Fatalf("%s%s", out, problem)
	}
	m, _, err := checkpoint.ReadMetaProperties(vfs.OS(), filepath.Join(dir, "a", checkpoint.MetaFile))
	if err != nil || m.DirectoryID.String() != id {
		t.Errorf("the voter's directory is %s, %v", m.DirectoryID, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "__cluster_metadata-0", "00000000000000000000-0000000000.checkpoint")); err != nil {
		t.Error(err)
	}
}
