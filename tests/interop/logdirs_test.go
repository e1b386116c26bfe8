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

	"github.com/twmb/franz-go/pkg/kadm"

	"troupe/tests/node"
)

// twoDirsText is what Kafka's tools print against three brokers of Kafka's with two log directories each (recordVar).
const twoDirsText = "testdata/two-directories.txt"

// dirWalk is the way through what several log directories add.
type dirWalk struct {
	*clusterWalk
	base string // of the log directories
}

// twoDirs gives each broker two log directories below base.
func twoDirs(base string) func(int32) string {
	return func(id int32) string {
		one := filepath.Join(base, fmt.Sprint(id))
		return fmt.Sprintf("log.dirs=%s,%s", filepath.Join(one, "x"), filepath.Join(one, "y"))
	}
}

func newDirWalk(t *testing.T, b brokers, with tools, base string) *dirWalk {
	t.Helper()
	w := &dirWalk{newClusterWalk(t, b, with), base}
	w.neutral = strings.NewReplacer(w.dir, "DIR", base, "BASE")
	return w
}

func (w *dirWalk) in(id int32, dir string) string { return filepath.Join(w.base, fmt.Sprint(id), dir) }

// plan makes a file that puts partition 0 of a topic on brokers and in directories of theirs.
func (w *dirWalk) plan(name string, replicas []int32, dirs ...string) string {
	w.Helper()
	var ids, paths []string
	for i, dir := range dirs {
		if dir != "any" {
			dir = w.in(replicas[i], dir)
		}
		ids, paths = append(ids, fmt.Sprint(replicas[i])), append(paths, `"`+dir+`"`)
	}
	return w.file(name, fmt.Sprintf(`{"version":1,"partitions":[{"topic":"moving","partition":0,"replicas":[%s],"log_dirs":[%s]}]}`,
		strings.Join(ids, ","), strings.Join(paths, ",")))
}

// awaitIn waits until the replica of each broker lies in a directory, and none is on its way.
func (w *dirWalk) awaitIn(want map[int32]string) {
	w.Helper()
	node.Eventually(w.T, fmt.Sprintf("replicas lie in %v", want), func() bool {
		all, err := w.admin.DescribeAllLogDirs(w.Context(), kadm.TopicsSet{"moving": {0: {}}})
		if err != nil {
			return false
		}
		found := map[int32][]string{}
		all.Each(func(d kadm.DescribedLogDir) {
			d.Topics.Each(func(p kadm.DescribedLogDirPartition) { found[p.Broker] = append(found[p.Broker], filepath.Base(p.Dir)) })
		})
		good := len(found) == len(want)
		for id, dir := range want {
			good = good && slices.Equal(found[id], []string{dir})
		}
		return good
	})
}

// through goes all the way, and leaves the cluster as it was.
func (w *dirWalk) through() []step {
	const reassign = "reassign-partitions --reassignment-json-file "
	w.run("a topic on two brokers", "", "topics --create --topic moving --replica-assignment 1:2")
	w.awaitInSync("moving")
	home := w.plan("home.json", []int32{1, 2}, "x", "x")
	w.run("its replicas get directories", "", reassign+home+" --execute", anyDirectory)
	w.awaitIn(map[int32]string{1: "x", 2: "x"})
	w.run("they lie there", "", reassign+home+" --verify")
	w.run("a plan tells where they lie", "", "reassign-partitions --generate --disable-rack-aware --broker-list 1,2,3 --topics-to-move-json-file "+
		w.file("topics.json", `{"version":1,"topics":[{"topic":"moving"}]}`), proposal)
	w.slowly(home)
	w.refusals()

	other := w.plan("other.json", []int32{3, 1}, "y", "y")
	w.run("to another broker and another directory", "", reassign+other+" --execute")
	w.await("the partition is moved", func(p kadm.PartitionDetail) bool { return slices.Equal(p.Replicas, []int32{3, 1}) && len(p.ISR) == 2 }, "moving")
	w.awaitIn(map[int32]string{3: "y", 1: "y"})
	w.run("both are where they should be", "", reassign+other+" --verify")
	w.run("the topic is deleted", "", "topics --delete --topic moving")
	return w.steps
}

// slowly moves more bytes between directories than a throttle lets pass.
func (w *dirWalk) slowly(home string) {
	w.fillHeavily("moving")
	const reassign, settings = "reassign-partitions --reassignment-json-file ", "configs --describe --entity-type brokers --entity-name 1"
	slow := w.plan("slow.json", []int32{1, 2}, "y", "any")
	w.run("a move within a broker is slow", "", reassign+slow+" --execute --replica-alter-log-dirs-throttle 1")
	w.run("its directories hold both", "", "log-dirs --describe --topic-list moving --broker-list 1", anyFigure)
	w.run("the throttle is a setting", "", settings)
	w.run("it goes on, and the throttle stays", "", reassign+slow+" --verify")
	w.run("it is there and leaves", "", reassign+home+" --verify --preserve-throttles")
	w.run("it is called off", "", reassign+slow+" --cancel")
	w.run("it does not go on", "", reassign+slow+" --verify")
	w.run("the throttle is gone", "", settings)
	w.run("nothing is called off", "", reassign+slow+" --cancel --preserve-throttles")
}

func (w *dirWalk) refusals() {
	const reassign = "reassign-partitions --reassignment-json-file "
	w.run("a directory that is not there", "", reassign+w.plan("absent.json", []int32{1, 2}, "z", "any")+" --execute", withoutStack)
	w.run("a replica that is not there", "", reassign+w.plan("elsewhere.json", []int32{3}, "x")+" --verify --preserve-throttles")
	w.run("more directories than replicas", "", reassign+w.file("uneven.json",
		`{"version":1,"partitions":[{"topic":"moving","partition":0,"replicas":[1],"log_dirs":["any","any"]}]}`)+" --execute", withoutStack)
}

// anyDirectory leaves out in which of its directories a broker put a replica.
func anyDirectory(out string) string {
	return regexp.MustCompile(`/[xy]"`).ReplaceAllString(out, `/DIR"`)
}

// anyFigure leaves out sizes and lags, in which the two may differ.
func anyFigure(out string) string {
	return regexp.MustCompile(`("(?:size|offsetLag)":)[\d.e+]+`).ReplaceAllString(sortedPartitions(out), "${1}N")
}

func TestReplicasMoveBetweenLogDirectoriesAsKafkasDoWithBothTools(t *testing.T) {
	if os.Getenv(recordVar) != "" {
		t.Run("Kafka's tools against Kafka", func(t *testing.T) {
			base := t.TempDir()
			record(t, twoDirsText, newDirWalk(t, startKafkas(t, twoDirs(base)), kafkasTools, base).through())
		})
	}
	base := t.TempDir()
	cluster, want := startTroupes(t, twoDirs(base)), recordedSteps(t, twoDirsText)
	for _, way := range []struct {
		name string
		with tools
	}{{"Kafka's tools", kafkasTools}, {"our tools", ourTools}} {
		t.Run(way.name, func(t *testing.T) { expectSteps(t, newDirWalk(t, cluster, way.with, base).through(), want) })
	}
}
