package localcluster

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"troupe/configs"
)

// How far the ports of a node are above the port of its clients. The distance from one kind to the next bounds the nodes.
const (
	controllerAbove = 100
	gossipAbove     = 200
	adminAbove      = 552 // 9092 gives 9644, the default of a node alone
	mostNodes       = 100
)

// host is where all of them listen: the machine itself, and nobody else.
const host = "127.0.0.1"

// node is one of the processes to be.
type node struct {
	id       int
	dir      string
	ports    map[string]string // what listens: its address
	settings map[string]string
}

var gossipKeys = []string{"cluster.gossip.address", "cluster.gossip.seeds", "cluster.gossip.key"}

// What listens, for people.
const (
	clientPort     = "clients"
	controllerPort = "the quorum"
	gossipPort     = "gossip"
	adminPort      = "the admin port"
)

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }

// configuration is the file that `troupe start --config` takes.
func (n *node) configuration() string { return n.file("troupe.yaml") }

// plan decides what each node is told. Environment has the form of os.Environ.
func (o *command) plan(environment []string) ([]*node, error) {
	if o.nodes < 1 || o.nodes > mostNodes {
		return nil, fmt.Errorf("--nodes %d: expected a number from 1 to %d", o.nodes, mostNodes)
	}
	if highest := 65535 - adminAbove - o.nodes + 1; o.port < 1 || o.port > highest {
		return nil, fmt.Errorf("--port %d: expected a port from 1 to %d, since those of the nodes are above it", o.port, highest)
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, err
	}
	if strings.Contains(dir, ",") {
		return nil, fmt.Errorf("--dir %s: expected a path without a comma, which separates log directories", o.dir)
	}
	// The voters of a quorum that is missing some may have no majority.
	if beyond := filepath.Join(dir, fmt.Sprintf("node-%d", o.nodes+1)); exists(beyond) {
		return nil, fmt.Errorf("--nodes %d: %s exists, so this was a larger cluster; expected as many nodes as it had, or another --dir", o.nodes, beyond)
	}
	if o.key, err = gossipKey(dir); err != nil {
		return nil, fmt.Errorf("--dir %s cannot be used: %w", o.dir, err)
	}
	if o.rack != "" && slices.ContainsFunc(strings.Split(o.rack, ","), func(rack string) bool { return strings.TrimSpace(rack) == "" }) {
		return nil, fmt.Errorf("--rack %s: one of the racks has no name; expected names between commas", o.rack)
	}
	var nodes []*node
	for id := 1; id <= o.nodes; id++ {
		n := &node{id: id, dir: filepath.Join(dir, fmt.Sprintf("node-%d", id)), ports: map[string]string{
			clientPort:     o.address(id, 0),
			controllerPort: o.address(id, controllerAbove),
			gossipPort:     o.address(id, gossipAbove),
			adminPort:      o.address(id, adminAbove),
		}}
		if n.settings, err = o.settings(n, environment); err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (o *command) address(id, above int) string {
	return net.JoinHostPort(host, strconv.Itoa(o.port+above+id-1))
}

// settings is the whole configuration of one node. What makes the nodes one cluster is said over everything else, and
// what suits a cluster of this size under everything else.
func (o *command) settings(n *node, environment []string) (map[string]string, error) {
	own := o.own(n)
	for _, pair := range o.set {
		key, _, _ := strings.Cut(pair, "=")
		if value, decided := own[strings.TrimSpace(key)]; decided {
			if slices.Contains(gossipKeys, strings.TrimSpace(key)) {
				return nil, fmt.Errorf("--set %s: gossip is decided for each node", strings.TrimSpace(key))
			}
			return nil, fmt.Errorf("--set %s: the key is decided for each node; it is %s on node %d", pair, value, n.id)
		}
	}
	set := slices.Clone(o.set)
	for _, key := range slices.Sorted(maps.Keys(own)) {
		set = append(set, key+"="+own[key])
	}
	loaded, err := configs.Load(configs.Options{Defaults: o.suitable(), File: o.config, Environment: environment, Set: set, Hostname: host})
	if err != nil {
		return nil, err
	}
	delete(loaded.Layers.Static, "broker.id") // the older name of node.id, which is there
	return loaded.Layers.Static, nil
}

// own is what no other source may say otherwise.
func (o *command) own(n *node) map[string]string {
	var quorum, gossip []string
	for id := 1; id <= o.nodes; id++ {
		quorum = append(quorum, o.address(id, controllerAbove))
		gossip = append(gossip, o.address(id, gossipAbove))
	}
	own := map[string]string{
		"node.id":                             strconv.Itoa(n.id),
		"process.roles":                       "broker,controller",
		"listeners":                           "PLAINTEXT://" + n.ports[clientPort] + ",CONTROLLER://" + n.ports[controllerPort],
		"listener.security.protocol.map":      "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"controller.listener.names":           "CONTROLLER",
		"controller.quorum.bootstrap.servers": strings.Join(quorum, ","),
		"controller.quorum.initial.voters":    strconv.Itoa(o.nodes),
		"log.dirs":                            n.file("data"),
		"cluster.gossip.address":              n.ports[gossipPort],
		"cluster.gossip.seeds":                strings.Join(gossip, ","),
		"cluster.gossip.key":                  o.key,
		"admin.address":                       n.ports[adminPort],
	}
	if o.nodes == 1 { // it has nobody to gossip with
		for _, key := range gossipKeys {
			delete(own, key)
		}
	}
	if racks := strings.Split(o.rack, ","); o.rack != "" {
		own["broker.rack"] = strings.TrimSpace(racks[(n.id-1)%len(racks)])
	}
	return own
}

// suitable are the replicas that so many nodes can hold: of every topic, and of the internal ones, which would otherwise
// want three. A node may be away without a write being refused from three on.
func (o *command) suitable() map[string]string {
	replicas, least := strconv.Itoa(min(o.nodes, 3)), "1"
	if o.nodes >= 3 {
		least = "2"
	}
	return map[string]string{
		"default.replication.factor":               replicas,
		"min.insync.replicas":                      least,
		"offsets.topic.replication.factor":         replicas,
		"transaction.state.log.replication.factor": replicas,
		"transaction.state.log.min.isr":            least,
		// A node whose data was removed comes back as another voter.
		"controller.quorum.auto.join.enable": "true",
	}
}

// write makes the directory and the configuration, which may hold a password.
func (n *node) write() error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	head := fmt.Sprintf("# Node %d of a cluster on this machine, written by `troupe cluster` at each start: what is changed here is lost then.\n"+
		"# To start this node by hand: troupe start --config %s\n", n.id, n.configuration())
	return os.WriteFile(n.configuration(), append([]byte(head), configs.YAML(n.settings)...), 0o600)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
