package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ClusterOptions says how to start several brokers. The zero value is three that are voters too, each with three
// replicas of the internal topics and, unless a topic says otherwise, of every topic.
type ClusterOptions struct {
	Nodes int    // how many; 0 means 3
	Dir   string // of all data; empty makes one that goes with the test
	// Dynamic makes a quorum whose voters may change (KIP-853), instead of one that every node is told.
	Dynamic bool
	Set     []string                // settings of every node, over the harness's own
	Each    func(id int32) []string // settings of one node, over Set; nil has none
	Env     []string
	// Through, where it is set, gives the address at which the other nodes reach a listener of a node: that of a proxy. Clients
	// come on a listener of their own then.
	Through func(id int32, listener string) string
}

// Cluster is several nodes that make one cluster.
type Cluster struct {
	Nodes []*Node // by node.id, from 1 on

	t       testing.TB
	options ClusterOptions
	dir     string
	bound   []string // the controller listeners of the first nodes
	quorum  []string // where the others reach them
}

// StartCluster starts the nodes side by side and returns when every one of them knows every other. They are killed with
// the test.
func StartCluster(t testing.TB, o ClusterOptions) *Cluster {
	t.Helper()
	c := NewCluster(t, o)
	c.Start()
	c.AwaitServing()
	return c
}

// NewCluster is StartCluster without starting.
func NewCluster(t testing.TB, o ClusterOptions) *Cluster {
	t.Helper()
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	c := &Cluster{t: t, options: o, dir: o.Dir}
	if c.dir == "" {
		c.dir = t.TempDir()
	}
	for i, port := range FreePorts(t, o.Nodes) {
		c.bound = append(c.bound, "127.0.0.1:"+port)
		c.quorum = append(c.quorum, c.through(int32(i+1), c.bound[i]))
	}
	for i := range o.Nodes {
		c.add(c.bound[i], c.quorum[i])
	}
	return c
}

func (c *Cluster) through(id int32, listener string) string {
	if c.options.Through == nil {
		return listener
	}
	return c.options.Through(id, listener)
}

// Add makes one more node, with settings of its own over those of all, and does not start it. It finds the cluster at
// the nodes that the cluster began with.
func (c *Cluster) Add(set ...string) *Node {
	c.t.Helper()
	controller := "127.0.0.1:" + FreePorts(c.t, 1)[0]
	return c.add(controller, c.through(int32(len(c.Nodes)+1), controller), set...)
}

// add makes a node with its controller listener, and where the others reach that.
func (c *Cluster) add(controller, reached string, set ...string) *Node {
	c.t.Helper()
	id := int32(len(c.Nodes) + 1)
	dir := filepath.Join(c.dir, fmt.Sprintf("node-%d", id))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	n := New(c.t, Options{Dir: dir, Env: c.options.Env})
	n.ID, n.Controller = id, controller
	settings := slices.Concat(c.common(), []string{
		fmt.Sprintf("node.id=%d", id),
		"listeners=PLAINTEXT://" + n.Bootstrap + ",CONTROLLER://" + controller,
	})
	if c.options.Through != nil {
		settings = append(settings, c.apart(n, reached)...)
	}
	settings = append(settings, c.options.Set...)
	if c.options.Each != nil {
		settings = append(settings, c.options.Each(id)...)
	}
	n.options.Set = append(settings, set...)
	c.Nodes = append(c.Nodes, n)
	return n
}

// apart has the brokers come on a listener of their own, and all nodes by what Through gives.
func (c *Cluster) apart(n *Node, reached string) []string {
	broker := "127.0.0.1:" + FreePorts(c.t, 1)[0]
	return []string{
		"listeners=PLAINTEXT://" + n.Bootstrap + ",BROKER://" + broker + ",CONTROLLER://" + n.Controller,
		"advertised.listeners=PLAINTEXT://" + n.Bootstrap + ",BROKER://" + c.through(n.ID, broker) + ",CONTROLLER://" + reached,
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name=BROKER",
	}
}

// common is what every node of the cluster is told.
func (c *Cluster) common() []string {
	replicas := min(3, c.options.Nodes)
	least := max(1, replicas-1)
	settings := []string{
		"process.roles=broker,controller", "controller.listener.names=CONTROLLER",
		fmt.Sprintf("default.replication.factor=%d", replicas), fmt.Sprintf("min.insync.replicas=%d", least),
		fmt.Sprintf("offsets.topic.replication.factor=%d", replicas),
		fmt.Sprintf("transaction.state.log.replication.factor=%d", replicas), fmt.Sprintf("transaction.state.log.min.isr=%d", least),
	}
	if c.options.Dynamic {
		return append(settings, "controller.quorum.bootstrap.servers="+strings.Join(c.quorum, ","),
			fmt.Sprintf("controller.quorum.initial.voters=%d", len(c.quorum)), "controller.quorum.auto.join.enable=true")
	}
	var voters []string
	for i, address := range c.quorum {
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, address))
	}
	return append(settings, "controller.quorum.voters="+strings.Join(voters, ","))
}

// Node gives a node by its node.id.
func (c *Cluster) Node(id int32) *Node { return c.Nodes[id-1] }

// Bootstrap is what a client is told: the addresses of the nodes that run, between commas.
func (c *Cluster) Bootstrap() string {
	var all []string
	for _, n := range c.running() {
		all = append(all, n.Bootstrap)
	}
	return strings.Join(all, ",")
}

// Start starts nodes that do not run, on the directories and ports they had: those named, or all. It returns when each
// says that it serves; a quorum's majority has to be among them, or to run.
func (c *Cluster) Start(ids ...int32) {
	c.t.Helper()
	nodes := c.those(ids, false)
	for _, n := range nodes {
		n.Launch()
	}
	for _, n := range nodes {
		if err := n.AwaitReady(); err != nil {
			c.t.Fatalf("node %d: %v", n.ID, err)
		}
	}
}

// Kill ends nodes that run at one moment (SIGKILL): those named, or all.
func (c *Cluster) Kill(ids ...int32) {
	c.t.Helper()
	nodes := c.those(ids, true)
	for _, n := range nodes {
		n.Signal(os.Kill)
	}
	for _, n := range nodes {
		n.AwaitExit()
	}
}

// those gives the nodes named or, when none is, all that run or do not.
func (c *Cluster) those(ids []int32, run bool) []*Node {
	var found []*Node
	for _, n := range c.Nodes {
		if slices.Contains(ids, n.ID) || len(ids) == 0 && n.Running() == run {
			found = append(found, n)
		}
	}
	return found
}

func (c *Cluster) running() []*Node { return c.those(nil, true) }
