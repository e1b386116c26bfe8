package integration

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// expectRefusal checks that a broker does not start, and that what it prints names what is wrong.
func expectRefusal(t *testing.T, o node.Options, names ...string) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	n := node.New(t, o)
	err := n.TryRestart()
	if err == nil {
		t.Fatal("the broker started")
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the message does not name %q:\n%v", name, err)
		}
	}
	if lines := strings.Count(strings.TrimSpace(n.Output()), "\n"); lines > 5 || strings.Contains(n.Output(), "goroutine ") {
		t.Errorf("the message is no sentence:\n%s", n.Output())
	}
}

func TestAWrongSettingIsRefusedWithItsKeyAndValue(t *testing.T) {
	cases := []struct {
		title   string
		setting string
		names   []string
	}{
		{"an unknown key", "no.such.key=1", []string{"no.such.key"}},
		{"a key with a typing error", "log.retention.hour=5", []string{"log.retention.hour"}},
		{"a word for a number", "num.io.threads=many", []string{"num.io.threads", "many"}},
		{"a number out of range", "num.io.threads=0", []string{"num.io.threads", "0"}},
		{"a number beyond 32 bits", "log.retention.hours=99999999999", []string{"log.retention.hours", "99999999999"}},
		{"neither true nor false", "auto.create.topics.enable=perhaps", []string{"auto.create.topics.enable", "perhaps"}},
		{"a policy that is none", "log.cleanup.policy=burn", []string{"log.cleanup.policy", "burn"}},
		{"a listener that is none", "listeners=nonsense", []string{"listeners", "nonsense"}},
		{"a node id below zero", "node.id=-2", []string{"node.id", "-2"}},
		{"a key of the ZooKeeper age", "zookeeper.connect=localhost:2181", []string{"zookeeper.connect"}},
		{"an old key with a new name", "host.name=localhost", []string{"host.name", "listeners"}},
		{"an old port", "port=9092", []string{"port", "listeners"}},
		{"a setting without a value", "node.id", []string{"node.id"}},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) { expectRefusal(t, node.Options{Set: []string{c.setting}}, c.names...) })
	}
}

func TestASecondBrokerOnADirectoryIsRefusedAndTheFirstGoesOn(t *testing.T) {
	first := node.Start(t, node.Options{})
	expectRefusal(t, node.Options{Dir: first.Dir}, first.Dir)
	wire.Dial(t, first.Bootstrap).Call(metadataOf("there", 9))
}

func TestADirectoryOfAnotherNodeIsRefused(t *testing.T) {
	first := node.Start(t, node.Options{})
	first.Terminate()
	expectRefusal(t, node.Options{Dir: first.Dir, Set: []string{"node.id=2"}}, first.Dir, "1", "2")
}

func TestADirectoryOfAnotherClusterIsRefused(t *testing.T) {
	first := node.Start(t, node.Options{})
	first.Terminate()
	path := filepath.Join(first.Dir, "meta.properties")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var changed []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "cluster.id=") {
			line = "cluster.id=AAAAAAAAAAAAAAAAAAAAAg"
		}
		changed = append(changed, line)
	}
	second := t.TempDir()
	other := node.Start(t, node.Options{Dir: second})
	other.Terminate()
	if err := os.WriteFile(filepath.Join(second, "meta.properties"), []byte(strings.Join(changed, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	// One node with the directories of two clusters.
	expectRefusal(t, node.Options{Dir: first.Dir + "," + second}, "AAAAAAAAAAAAAAAAAAAAAg")
}

func TestABusyPortIsRefusedWithItsAddress(t *testing.T) {
	first := node.Start(t, node.Options{})
	expectRefusal(t, node.Options{Set: []string{"listeners=PLAINTEXT://" + first.Bootstrap}}, first.Bootstrap)
	expectRefusal(t, node.Options{Set: []string{"admin.address=" + first.Admin}}, first.Admin)
	wire.Dial(t, first.Bootstrap).Call(metadataOf("there", 9))
}

func TestADirectoryThatCannotBeMadeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	expectRefusal(t, node.Options{Dir: filepath.Join(file, "data")}, file)
}

func TestCorruptMetaPropertiesAreRefused(t *testing.T) {
	first := node.Start(t, node.Options{})
	first.Terminate()
	path := filepath.Join(first.Dir, "meta.properties")
	if err := os.WriteFile(path, []byte("version=1\nnode.id=one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expectRefusal(t, node.Options{Dir: first.Dir}, path)
}

// A new identity would make the node wait for its own former one, for ever and without a word.
func TestLogsWithoutMetaPropertiesAreRefused(t *testing.T) {
	first := node.Start(t, node.Options{})
	first.Terminate()
	if err := os.Remove(filepath.Join(first.Dir, "meta.properties")); err != nil {
		t.Fatal(err)
	}
	expectRefusal(t, node.Options{Dir: first.Dir}, first.Dir, "meta.properties")
}

func TestTopicsAndRecordsAreThereAfterACleanRestart(t *testing.T) {
	n := node.Start(t, node.Options{})
	to := filled(t, n.Bootstrap, 3)
	conn := wire.Dial(t, n.Bootstrap)
	expectCode(t, alter(conn, ofTopic, to.name, change{set, "retention.ms", text("86400000")}), 0)
	expectCode(t, deleteRecords(conn, to, 1).ErrorCode, 0)
	cluster := *metadata(conn, to.name).ClusterID
	n.Terminate()
	n.Restart()

	conn = wire.Dial(t, n.Bootstrap)
	awaitLeaders(t, n.Bootstrap, to.name, 1)
	got := metadata(conn, to.name)
	if got.Topics[0].TopicID != to.id || *got.ClusterID != cluster {
		t.Errorf("topic id %x in cluster %s, want %x in %s", got.Topics[0].TopicID, *got.ClusterID, to.id, cluster)
	}
	expectConfig(t, conn, ofTopic, to.name, "retention.ms", "86400000", kmsg.ConfigSourceDynamicTopicConfig)
	if start, end := listOffset(conn, to.name, 0, -2).Offset, listOffset(conn, to.name, 0, -1).Offset; start != 1 || end != 3 {
		t.Errorf("the log holds [%d, %d), want [1, 3)", start, end)
	}
	if batch := fetchBytes(t, conn, to, 2); baseOffset(batch) != 2 {
		t.Errorf("offset 2 is read from %d", baseOffset(batch))
	}
}

func TestANewClusterBeginsWithTheLevelsThatItsDirectoryWasFormattedWith(t *testing.T) {
	binary, err := node.Binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "server.properties")
	text := "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n" +
		"controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=127.0.0.1:9093\nlog.dirs=" + dir + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	format := exec.Command(binary, "storage", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", file, "-s", "-r", "4.0", "-f", "group.version=0")
	if out, err := format.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := node.Start(t, node.Options{Dir: dir})
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 4, "test", "1"
	resp := wire.Dial(t, n.Bootstrap).Call(req).(*kmsg.ApiVersionsResponse)
	got := map[string]int16{}
	for _, f := range resp.FinalizedFeatures {
		got[f.Name] = f.MaxVersionLevel
	}
	// 25 is 4.0-IV3 (facts/README.md), and its own voters may change (-s); a feature at 0 is not named.
	if want := map[string]int16{"kraft.version": 1, "metadata.version": 25}; !maps.Equal(got, want) {
		t.Errorf("finalized are %v, want %v", got, want)
	}
}

func TestANodeThatIsStoppedBeforeItServesSaysSoAndHasNotFailed(t *testing.T) {
	nobody := "127.0.0.1:" + node.FreePorts(t, 1)[0]
	n := node.New(t, node.Options{Set: []string{"process.roles=broker", "controller.listener.names=CONTROLLER", "controller.quorum.bootstrap.servers=" + nobody}})
	n.Launch()
	node.Eventually(t, "it says whom it looks for", func() bool {
		return strings.Contains(n.Output(), "no node of a cluster is found") && strings.Contains(n.Output(), nobody+" (connection refused)")
	})
	n.Signal(syscall.SIGTERM)
	if err := n.AwaitReady(); err == nil || !strings.Contains(err.Error(), "exit status 0") || !strings.Contains(n.Output(), "stopped before it served") {
		t.Errorf("it ended with %v", err)
	}
}
