package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

const (
	clusterNodes = 3
	// manyTogether is how many partitions a topic of the many has.
	manyTogether = 1000
)

// partitionsReplicated measures three brokers of Troupe with many partitions that all three have: making them, memory and CPU
// with nothing to do, and how long partitions take no records after kill -9 of a broker and of the active controller.
func partitionsReplicated(b *bench) (err error) {
	kind := b.contestants[len(b.contestants)-1]
	nodes, err := peer.NewCluster(kind, b.folder, clusterNodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peer.RemoveAll(nodes)) }()
	for _, n := range nodes {
		if err := n.Launch(); err != nil {
			return err
		}
	}
	c := &cluster{bench: b, nodes: nodes, all: load.Layout{Prefix: "many", Topics: b.size.many, Partitions: manyTogether}}
	c.what = fmt.Sprintf("%d partitions on %d brokers, ", b.size.many*manyTogether, clusterNodes)
	return c.measure()
}

// cluster is what is measured.
type cluster struct {
	*bench
	nodes []*peer.Broker
	all   load.Layout
	what  string
}

func (c *cluster) measure() error {
	if err := c.serve(); err != nil {
		return err
	}
	<-time.After(time.Second)
	began := time.Now()
	if err := c.all.CreateReplicated(clusterNodes, c.nodes[0].Address); err != nil {
		return err
	}
	created := time.Since(began)
	if _, err := c.all.AwaitReplicated(c.addresses()...); err != nil {
		return err
	}
	c.tell("s until the topics are answered for", created.Seconds(), goal{})
	c.tell("s until each has acknowledged a record", time.Since(began).Seconds(), goal{atMost: 5})
	if err := c.idleEach(); err != nil {
		return err
	}
	controller, err := load.ActiveController(c.nodes[0].Address)
	if err != nil {
		return err
	}
	if err := c.failover("a broker", controller%clusterNodes+1); err != nil {
		return err
	}
	return c.failover("the active controller", controller)
}

func (c *cluster) tell(what string, value float64, g goal) {
	c.report.add(c.what+what, "troupe", value, g)
}

func (c *cluster) addresses() []string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, n.Address)
	}
	return all
}

// serve waits until the brokers have found each other.
func (c *cluster) serve() error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if s, err := (load.Layout{}).Inquire(c.nodes[0].Address); err == nil && s.InSync == clusterNodes {
			return nil
		}
	}
	return errors.New("the brokers have not found each other in a minute")
}

// idleEach watches all the brokers at once.
func (c *cluster) idleEach() error {
	<-time.After(settle)
	usage := func() (all []peer.Usage, err error) {
		for _, n := range c.nodes {
			u, failure := n.Usage()
			all, err = append(all, u), errors.Join(err, failure)
		}
		return all, err
	}
	before, err := usage()
	if err != nil {
		return err
	}
	<-time.After(c.bench.idle)
	after, err := usage()
	if err != nil {
		return err
	}
	most := peer.Usage{}
	for i, u := range after {
		most.CPU = max(most.CPU, u.CPU-before[i].CPU)
		most.Resident = max(most.Resident, u.Resident)
	}
	c.tell("resident MiB of the largest", most.Resident, goal{atMost: 350})
	c.tell("% of a core of the busiest with nothing to do", 100*most.CPU.Seconds()/c.bench.idle.Seconds(), goal{atMost: 10})
	return nil
}

// failover kills a broker that leads some, and starts it again when all is measured.
func (c *cluster) failover(whom string, id int32) error {
	victim := c.nodes[id-1]
	others := slices.DeleteFunc(c.addresses(), func(a string) bool { return a == victim.Address })
	s, err := c.all.Inquire(others...)
	if err != nil {
		return err
	}
	if err := victim.Kill(); err != nil {
		return err
	}
	took, err := c.all.AwaitReplicated(others...)
	if err != nil {
		return err
	}
	c.tell(fmt.Sprintf("s after kill -9 of %s until all take records", whom), took.Quantile(1).Seconds(), goal{atMost: 2})
	c.tell("of which it led", float64(s.Led(id)), goal{})
	if err := victim.Launch(); err != nil {
		return err
	}
	began := time.Now()
	for s.InSync = 0; s.InSync < clusterNodes; <-time.After(50 * time.Millisecond) {
		if s, err = c.all.Inquire(others...); err != nil {
			return err
		}
		if time.Since(began) > patience {
			return fmt.Errorf("the ISRs are not whole %v after the start", patience)
		}
	}
	c.tell("s from its launch until all are in sync", time.Since(began).Seconds(), goal{})
	return nil
}

// patience bounds the wait for what should take seconds.
const patience = 2 * time.Minute
