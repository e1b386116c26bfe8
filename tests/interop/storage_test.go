//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"troupe/tests/kafka"
)

// storageConfig is a node of one directory, whose quorum is fixed or may change.
func storageConfig(t *testing.T, dir string, quorum string) string {
	t.Helper()
	file := filepath.Join(dir, "server.properties")
	text := fmt.Sprintf(`process.roles=broker,controller
node.id=3
%s
listeners=PLAINTEXT://127.0.0.1:19992,CONTROLLER://127.0.0.1:19993
controller.listener.names=CONTROLLER
log.dirs=%s
`, quorum, filepath.Join(dir, "data"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// formatted are the parts of the output that differ from one directory to the next, and the levels, of which Kafka sets
// some by default that are not supported here.
var formatted = regexp.MustCompile(`directory\.id=[\w-]+|(?m)^Bootstrap metadata: .*$`)

func TestStoragePrintsAndWritesWhatKafkasToolDoes(t *testing.T) {
	const id = "-t AAAAAAAAAAAAAAAAAAAAAQ -c CONFIG"
	static, dynamic := "controller.quorum.voters=3@127.0.0.1:19993", "controller.quorum.bootstrap.servers=127.0.0.1:19993"
	for title, c := range map[string]struct {
		quorum string
		calls  []string
	}{
		"a fixed quorum": {static, []string{
			"info -c CONFIG", "format " + id + " -s", "format " + id + " -f kraft.version=1", "format " + id + " -r 9.9", "format " + id + " -f foo=1",
			"format " + id + " -r 3.9", "info -c CONFIG", "format " + id, "format " + id + " -g",
		}},
		"a quorum that may change": {dynamic, []string{"format " + id, "format " + id + " -s -f kraft.version=0", "format " + id + " --standalone --release-version 4.0 --feature group.version=0", "info -c CONFIG"}},
		"initial controllers": {dynamic, []string{
			"format " + id + " -I 3@127.0.0.1:19993:JEXY6aqzQY-32P5TStzaFg,4@127.0.0.1:29993:MvDxzVmcRsaTz33bUuRU6A", "info -c CONFIG",
		}},
		"a node that joins": {dynamic, []string{"format " + id + " -N"}},
	} {
		t.Run(title, func(t *testing.T) {
			theirs, ours := t.TempDir(), t.TempDir()
			theirConfig, ourConfig := storageConfig(t, theirs, c.quorum), storageConfig(t, ours, c.quorum)
			for _, call := range c.calls {
				want := kafka.Tool(t, "storage", "", strings.Fields(strings.ReplaceAll(call, "CONFIG", theirConfig))...)
				got := troupe(t, "", append([]string{"storage"}, strings.Fields(strings.ReplaceAll(call, "CONFIG", ourConfig))...)...)
				neutral := func(r kafka.Result, dir string) string {
					return formatted.ReplaceAllString(strings.ReplaceAll(fmt.Sprint(r), dir, "DIR"), "…")
				}
				if neutral(got, ours) != neutral(want, theirs) {
					t.Errorf("%s\n--- ours\n%v\n--- Kafka's\n%v", call, got, want)
				}
			}
			if got, want := filesOf(t, ours), filesOf(t, theirs); !slices.Equal(got, want) {
				t.Errorf("the files are %v, Kafka's %v", got, want)
			}
			for _, file := range filesOf(t, ours) {
				if !strings.HasSuffix(file, ".checkpoint") {
					continue
				}
				r := kafka.Tool(t, "dump-log", "", "--cluster-metadata-decoder", "--files", filepath.Join(ours, file))
				if r.Code != 0 || strings.Contains(r.Stdout, "isvalid: false") || !strings.Contains(r.Stdout, "SnapshotFooter") {
					t.Errorf("Kafka's dump-log of %s: %v", file, r)
				}
			}
		})
	}
}

// filesOf lists the files below a folder.
func filesOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
