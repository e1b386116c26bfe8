package configs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/internal/model"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, o Options) *Loaded {
	t.Helper()
	if o.Hostname == "" {
		o.Hostname = "here.example"
	}
	got, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestWithoutAFileOneNodeServesThisMachineAlone(t *testing.T) {
	got := load(t, Options{DataDir: "/home/me/data"})
	b := got.Broker
	want := []Listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Bind: Endpoint{"127.0.0.1", 9092}, Advertised: Endpoint{"127.0.0.1", 9092}}}
	if b.NodeID != 1 || !slices.Equal(b.Listeners, want) || !slices.Equal(b.LogDirs, []string{"/home/me/data"}) || b.MetadataDir != "/home/me/data" {
		t.Errorf("loaded %+v", b)
	}
	if b.Groups.OffsetsReplicationFactor != 1 || b.Transactions.ReplicationFactor != 1 || b.Transactions.MinInsyncReplicas != 1 {
		t.Errorf("internal topics want more than one replica: %+v, %+v", b.Groups, b.Transactions)
	}
	if !got.Embedded || len(got.Unused) != 0 {
		t.Errorf("embedded=%v, warns of %v", got.Embedded, got.Unused)
	}
}

func TestTheDataDirectoryIsNotAskedForWhenOneIsGiven(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("LocalAppData", "")
	got := load(t, Options{Set: []string{"log.dirs=/a,/b", "listeners=PLAINTEXT://127.0.0.1:0", "admin.address="}})
	if !slices.Equal(got.Broker.LogDirs, []string{"/a", "/b"}) || got.Broker.Admin.Address != "" || got.Broker.Listeners[0].Bind.Port != 0 {
		t.Errorf("loaded %+v", got.Broker)
	}
	if _, err := Load(Options{}); err == nil || !strings.Contains(err.Error(), "--set log.dirs=DIR") {
		t.Errorf("without a home: %v", err)
	}
}

func TestServerPropertiesThatKafkaShipsStartUnchanged(t *testing.T) {
	for _, file := range []string{"kafka-4.3-server.properties", "kafka-3.9-kraft-server.properties"} {
		t.Run(file, func(t *testing.T) {
			got := load(t, Options{File: filepath.Join("testdata", file)})
			want := []Listener{
				{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Bind: Endpoint{"", 9092}, Advertised: Endpoint{"localhost", 9092}},
				{Name: "CONTROLLER", Protocol: "PLAINTEXT", Bind: Endpoint{"", 9093}, Advertised: Endpoint{"localhost", 9093}, Controller: true},
			}
			if !slices.Equal(got.Broker.Listeners, want) || got.Broker.InterBroker != "PLAINTEXT" {
				t.Errorf("listeners %+v, between brokers %s", got.Broker.Listeners, got.Broker.InterBroker)
			}
			if !slices.ContainsFunc(got.Unused, func(u Unused) bool { return u.Key == "num.io.threads" && u.Reason == noThreads }) {
				t.Errorf("num.io.threads is not among %v", got.Unused)
			}
		})
	}
}

func TestPropertiesOfKafkasWithPortsOfTheirOwnStartUnchanged(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		var voters []string
		var want []Voter
		for i := range nodes {
			port := 19093 + 100*(i+1)
			voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, port))
			want = append(want, Voter{model.BrokerID(i + 1), Endpoint{"127.0.0.1", uint16(port)}})
		}
		for i := range nodes {
			b := load(t, Options{File: write(t, "server.properties", kafkaNode(i+1, nodes, strings.Join(voters, ",")))}).Broker
			if b.NodeID != model.BrokerID(i+1) || !slices.Equal(b.Quorum.Voters, want) || b.Quorum.Listener != "CONTROLLER" || b.InterBroker != "PLAINTEXT" {
				t.Errorf("node %d, between brokers %s, quorum %+v", b.NodeID, b.InterBroker, b.Quorum)
			}
			if b.Roles != (Roles{true, true}) || b.Groups.OffsetsReplicationFactor != int16(nodes) {
				t.Errorf("roles %+v, offsets at %d replicas", b.Roles, b.Groups.OffsetsReplicationFactor)
			}
			if b.Admin.Address != "" {
				t.Errorf("a file that says nothing opens the admin port %s", b.Admin.Address)
			}
		}
	}
}

// kafkaNode is the file of one of several combined Kafka nodes on one machine.
func kafkaNode(id, nodes int, voters string) string {
	return fmt.Sprintf(`process.roles=broker,controller
node.id=%d
controller.quorum.voters=%s
listeners=PLAINTEXT://127.0.0.1:19%d92,CONTROLLER://127.0.0.1:19%d93
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=/data/%d
offsets.topic.replication.factor=%d
transaction.state.log.replication.factor=%d
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=%d
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
`, id, voters, id, id, id, nodes, nodes, nodes)
}

func TestFlagsBeatTheEnvironmentWhichBeatsTheFile(t *testing.T) {
	file := write(t, "server.properties", "node.id=7\nnum.partitions=2\nlog.retention.hours=1\ndefault.replication.factor=1\n")
	got := load(t, Options{
		File:        file,
		Environment: []string{"PATH=/bin", "TROUPE_NUM_PARTITIONS=3", "TROUPE_LOG_RETENTION_HOURS=2"},
		Set:         []string{"num.partitions=4"},
	})
	topic, err := got.Layers.Topic(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Broker.NodeID != 7 || got.Broker.Topics.Partitions != 4 || topic.Retention != 2*time.Hour {
		t.Errorf("node %d, %d partitions, kept for %v", got.Broker.NodeID, got.Broker.Topics.Partitions, topic.Retention)
	}
}

func TestYAMLTakesKafkasNamesFlatAndNested(t *testing.T) {
	file := write(t, "broker.yaml", `
node.id: 3
broker: {rack: 010}
log:
  dirs: [/a, /b]
  retention: {hours: 24}
  retention.bytes: 1073741824
max.connections: 10
max:
  connections.per.ip: 5
listeners: PLAINTEXT://:9092
metadata.log.dir: null
`)
	got := load(t, Options{File: file})
	b := got.Broker
	if b.NodeID != 3 || b.Rack != "010" || !slices.Equal(b.LogDirs, []string{"/a", "/b"}) || b.MetadataDir != "/a" {
		t.Errorf("loaded %+v", b)
	}
	if b.Socket.ConnectionsMax != 10 || b.Socket.PerAddressMax != 5 || b.Listeners[0].Advertised != (Endpoint{"here.example", 9092}) {
		t.Errorf("loaded %+v and %+v", b.Socket, b.Listeners)
	}
}

func TestBrokerIDMeansNodeID(t *testing.T) {
	if got := load(t, Options{File: write(t, "x.properties", "broker.id=5\n")}); got.Broker.NodeID != 5 {
		t.Errorf("node %d", got.Broker.NodeID)
	}
	if got := load(t, Options{Set: []string{"broker.id=5", "log.dirs=/d"}}); got.Broker.NodeID != 5 {
		t.Errorf("over the embedded default: node %d", got.Broker.NodeID)
	}
	_, err := Load(Options{File: write(t, "x.properties", "broker.id=5\nnode.id=6\n")})
	if err == nil || !strings.Contains(err.Error(), "broker.id=5: expected the same number as node.id, which is 6") {
		t.Errorf("two numbers: %v", err)
	}
}

func TestDurationsThatNeverEndStayNeverEnding(t *testing.T) {
	topic, err := Layers{}.Topic(map[string]string{"retention.ms": "-1", "segment.ms": "9223372036854775807", "file.delete.delay.ms": "1500"})
	if err != nil {
		t.Fatal(err)
	}
	if topic.FlushInterval != math.MaxInt64 || topic.SegmentAge != math.MaxInt64 || topic.Retention >= 0 || topic.FileDeleteDelay != 1500*time.Millisecond {
		t.Errorf("resolved %+v", topic)
	}
}

func TestDefaultsOfACommandHoldWhereNobodySaysOtherwise(t *testing.T) {
	o := Options{
		Defaults: map[string]string{"node.id": "4", "listeners": "PLAINTEXT://:9092", "num.partitions": "5", "log.dirs": "/d"},
		File:     write(t, "a.yaml", "num.partitions: 6\n"),
	}
	got := load(t, o)
	if got.Broker.NodeID != 4 || got.Broker.Topics.Partitions != 6 || got.Embedded {
		t.Errorf("with a file: %+v", got.Broker)
	}
	o.File = ""
	if got := load(t, o); got.Broker.Topics.Partitions != 5 || got.Broker.Admin.Address != "" || got.Embedded {
		t.Errorf("without a file: %+v", got.Broker)
	}
}
