package localcluster

import (
	"bytes"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"troupe/configs"
)

func planned(t *testing.T, o command, environment ...string) []*node {
	t.Helper()
	if o.dir == "" {
		o.dir = t.TempDir()
	}
	nodes, err := o.plan(environment)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

func TestPortsOfTheNodesFollowThatOfTheFirst(t *testing.T) {
	nodes := planned(t, command{nodes: 3, port: 9092})
	for i, want := range []map[string]string{
		{clientPort: "127.0.0.1:9092", controllerPort: "127.0.0.1:9192", gossipPort: "127.0.0.1:9292", adminPort: "127.0.0.1:9644"},
		{clientPort: "127.0.0.1:9093", controllerPort: "127.0.0.1:9193", gossipPort: "127.0.0.1:9293", adminPort: "127.0.0.1:9645"},
		{clientPort: "127.0.0.1:9094", controllerPort: "127.0.0.1:9194", gossipPort: "127.0.0.1:9294", adminPort: "127.0.0.1:9646"},
	} {
		if !maps.Equal(nodes[i].ports, want) {
			t.Errorf("node %d listens at %v, want %v", i+1, nodes[i].ports, want)
		}
	}
}

func TestEachNodeIsConfiguredWhollyByItsFile(t *testing.T) {
	for _, c := range []struct {
		nodes           int
		replicas, least string
	}{{1, "1", "1"}, {2, "2", "1"}, {3, "3", "2"}, {5, "3", "2"}} {
		for i, n := range planned(t, command{nodes: c.nodes, port: 19092, rack: "a, b"}) {
			if err := n.write(); err != nil {
				t.Fatal(err)
			}
			loaded, err := configs.Load(configs.Options{File: n.configuration()})
			if err != nil {
				t.Fatal(err)
			}
			b := loaded.Broker
			if int(b.NodeID) != i+1 || b.MetadataDir != filepath.Join(n.dir, "data") || b.Admin.Address != n.ports[adminPort] {
				t.Errorf("node %d of %d is %d with data in %s", i+1, c.nodes, b.NodeID, b.MetadataDir)
			}
			if want := string("ab"[i%2]); b.Rack != want {
				t.Errorf("node %d stands in rack %q, want %q", i+1, b.Rack, want)
			}
			if int(b.Quorum.InitialVoters) != c.nodes || len(b.Quorum.Bootstrap) != c.nodes || !b.Quorum.AutoJoin {
				t.Errorf("node %d of %d: quorum %+v", i+1, c.nodes, b.Quorum)
			}
			for key, want := range map[string]string{
				"default.replication.factor": c.replicas, "offsets.topic.replication.factor": c.replicas, "min.insync.replicas": c.least,
			} {
				if got := loaded.Layers.Static[key]; got != want {
					t.Errorf("%d nodes: %s is %s, want %s", c.nodes, key, got, want)
				}
			}
		}
	}
}

func TestNodesGossipWithAKeyThatLasts(t *testing.T) {
	dir := t.TempDir()
	var key []byte
	for run := range 2 {
		o := command{nodes: 3, port: 19092, dir: dir}
		nodes, err := o.plan(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := keepKey(dir, o.key); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if err := n.write(); err != nil {
				t.Fatal(err)
			}
			loaded, err := configs.Load(configs.Options{File: n.configuration()})
			if err != nil {
				t.Fatal(err)
			}
			g := loaded.Broker.Gossip
			if key == nil {
				key = g.Key
			}
			if g.Address.String() != n.ports[gossipPort] || len(g.Seeds) != 3 || len(g.Key) != 32 || !bytes.Equal(g.Key, key) {
				t.Errorf("in run %d node %d gossips at %v with %v and a key of %d bytes", run+1, n.id, g.Address, g.Seeds, len(g.Key))
			}
		}
	}
	if info, err := os.Stat(filepath.Join(dir, keyFile)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the key is kept as %v, %v", info, err)
	}
	if alone := planned(t, command{nodes: 1, port: 19092}); alone[0].settings["cluster.gossip.address"] != "" {
		t.Error("a node gossips that is alone")
	}
	o := command{nodes: 3, port: 19092, dir: dir, set: []string{"cluster.gossip.key=swordfish"}}
	if _, err := o.plan(nil); err == nil || !strings.Contains(err.Error(), "cluster.gossip.key") || strings.Contains(err.Error(), "=") {
		t.Errorf("another key is given: %v", err)
	}
}

func TestWhatIsGivenGoesToEveryNodeInTheUsualOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "all.properties")
	text := "node.id=9\nlisteners=PLAINTEXT://:1\nnum.partitions=2\nlog.retention.hours=2\nmin.insync.replicas=1\nlog.roll.hours=2\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := command{nodes: 3, port: 9092, config: file, set: []string{"num.partitions=4"}}
	for _, n := range planned(t, o, "TROUPE_NUM_PARTITIONS=3", "TROUPE_LOG_RETENTION_HOURS=3", "TROUPE_NODE_ID=7") {
		for key, want := range map[string]string{
			"node.id": strconv.Itoa(n.id), "num.partitions": "4", "log.retention.hours": "3", "log.roll.hours": "2",
			"min.insync.replicas": "1", "default.replication.factor": "3",
		} {
			if got := n.settings[key]; got != want {
				t.Errorf("node %d: %s is %s, want %s", n.id, key, got, want)
			}
		}
	}
}

func TestWhatCannotBeIsSaidBeforeAnythingStarts(t *testing.T) {
	larger := t.TempDir()
	if err := os.MkdirAll(filepath.Join(larger, "node-4"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(larger, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    command
		want string
	}{
		{command{nodes: 0, port: 1}, "--nodes 0: expected a number from 1 to 100"},
		{command{nodes: 101, port: 1}, "--nodes 101"},
		{command{nodes: 3, port: 65000}, "--port 65000: expected a port from 1 to 64981"},
		{command{nodes: 3, port: 9092, dir: "a,b"}, "without a comma"},
		{command{nodes: 3, port: 9092, dir: larger}, "this was a larger cluster"},
		{command{nodes: 3, port: 9092, set: []string{"node.id=4"}}, "--set node.id=4: the key is decided for each node"},
		{command{nodes: 3, port: 9092, set: []string{"num.partitions=x"}}, "--set: Invalid value x"},
		{command{nodes: 3, port: 9092, config: "/nowhere.yaml"}, "/nowhere.yaml"},
		{command{nodes: 3, port: 9092, rack: "a,,b"}, "--rack a,,b: one of the racks has no name"},
		{command{nodes: 3, port: 9092, dir: file}, "--dir " + file + " cannot be used"},
	} {
		if c.o.dir == "" {
			c.o.dir = t.TempDir()
		}
		if _, err := c.o.plan(nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestPortsThatOthersHaveAreNamedAllAtOnce(t *testing.T) {
	var held []string
	nodes := []*node{{id: 1, dir: t.TempDir()}, {id: 2, dir: t.TempDir()}}
	for _, n := range nodes {
		socket, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		held = append(held, socket.Addr().String())
		n.ports = map[string]string{clientPort: "127.0.0.1:0", controllerPort: socket.Addr().String(), gossipPort: "127.0.0.1:0", adminPort: "127.0.0.1:0"}
	}
	found := inTheWay(nodes)
	if len(found) != 2 {
		t.Fatalf("found %v", found)
	}
	for i, err := range found {
		if !strings.Contains(err.Error(), "the quorum of node "+strconv.Itoa(i+1)) || !strings.Contains(err.Error(), held[i]) {
			t.Errorf("%v does not name %s", err, held[i])
		}
	}
	// A process of an earlier run that still holds the port is named instead.
	if err := os.WriteFile(nodes[0].file("pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := inTheWay(nodes[:1]); len(found) != 1 || !strings.Contains(found[0].Error(), "runs already, as process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("found %v", found)
	}
}

func TestAStaleNumberOfAProcessIsInNobodysWay(t *testing.T) {
	n := &node{id: 1, dir: t.TempDir(), ports: map[string]string{clientPort: "127.0.0.1:0", controllerPort: "127.0.0.1:0", gossipPort: "127.0.0.1:0", adminPort: "127.0.0.1:0"}}
	for _, text := range []string{"", "x", "-1", strconv.Itoa(os.Getpid())} {
		if err := os.WriteFile(n.file("pid"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if found := inTheWay([]*node{n}); len(found) > 0 {
			t.Errorf("%q: found %v", text, found)
		}
	}
}
