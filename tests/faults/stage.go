//go:build interop && unix

// Package faults breaks clusters of real processes while clients use them, and judges what they promised: nothing that was
// acknowledged to acks=all is lost, nothing is there twice, order is kept, and offsets that groups committed never go back.
//
// A fault is a script of steps (script.go has the scripts, steps.go the steps). All that is left to chance is drawn from a
// seed: who is hit, and when. The moments of a real machine do not repeat, so that a seed repeats the choices alone.
package faults

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/chaos"
	"troupe/tests/node"
)

var (
	wholeRun = flag.Bool("whole", false, "faults as often and as long as they are meant to be; without it few and short ones")
	seedFlag = flag.Uint64("seed", 0, "of the choices; 0 draws one")
)

// partitions of the load's topic: each of three nodes leads some.
const partitions = 6

// Fault is one way to break a cluster.
type Fault struct {
	Title   string                     // without commas, which separate log directories: they are named after the test
	Cluster func() node.ClusterOptions // nil is three nodes
	Linked  bool                       // whether links can be cut
	Before  []Step                     // what comes before the nodes are started
	Prepare []Step                     // what comes before the load
	Steps   []Step                     // in the middle of it
	After   []Step                     // when the load has ended and before it is judged
	// NoStrangers holds that in the end there is no record but the load's.
	NoStrangers bool
	Load        chaos.Options // over the engine's own, where it says something
}

// Step is one thing that is done to a stage, or awaited.
type Step func(*stage)

// stage is a cluster under load with what the steps of a fault remember.
type stage struct {
	*testing.T
	fault   Fault
	cluster *node.Cluster
	links   *Links
	load    *chaos.Load
	readers *chaos.Readers
	chance  *rand.Rand
	seed    uint64
	// chosen are the nodes that steps are about.
	chosen []int32
	rounds int
	// led is a partition that the chosen node led, and zombie what it says to a record for it.
	led    int32
	zombie <-chan answer
	// promised are the records that it acknowledged.
	promised int
	visits   []visit
	// written is what the topic aside has acknowledged by partition, and begins where its logs begin.
	written  map[int32][]written
	begins   map[int32]int64
	numbered int              // records of the topic aside
	foreign  string           // the id of another cluster
	disks    map[int32]string // where what fills the disk of a node is put
}

// Run plays one fault and adds it to the report.
func Run(t *testing.T, f Fault) {
	s := &stage{T: t, fault: f, seed: *seedFlag, written: map[int32][]written{}, begins: map[int32]int64{}, disks: map[int32]string{}}
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano())
	}
	name := fnv.New64a()
	name.Write([]byte(f.Title))
	s.chance = rand.New(rand.NewPCG(s.seed, name.Sum64()))
	t.Logf("-seed=%d", s.seed)
	if _, err := node.Binary(); err != nil { // building it is no part of the fault
		t.Fatal(err)
	}
	begun := time.Now()
	var v chaos.Verdict
	defer func() { record(t, f.Title, s, v, time.Since(begun)) }()

	o := node.ClusterOptions{Dynamic: true}
	if f.Cluster != nil {
		o = f.Cluster()
	}
	o.Set = append([]string{"group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=5"}, o.Set...)
	if f.Linked {
		s.links = newLinks(t)
		o.Through = func(id int32, listener string) string { return s.links.Through(t, id, listener) }
	}
	s.cluster = node.NewCluster(t, o)
	s.play(f.Before)
	s.cluster.Start()
	s.cluster.AwaitServing()
	s.play(f.Prepare)
	s.begin(int16(min(3, len(s.cluster.Nodes))))
	s.play(f.Steps)
	s.load.AwaitEach(20)
	s.load.Stop()
	s.play(f.After)
	v = s.load.Verify()
	if v.Strange < s.promised {
		t.Errorf("a deposed leader acknowledged %d records, and %d are there", s.promised, v.Strange)
	}
	if f.NoStrangers && v.Strange > 0 {
		t.Errorf("%d records are there that a deposed leader took", v.Strange)
	}
	s.readers.Verify()
}

// begin starts the load and a group that reads it.
func (s *stage) begin(replicas int16) {
	s.Helper()
	o := s.fault.Load
	if o.Producers == 0 {
		o.Producers = 3
	}
	if o.Rest == 0 {
		o.Rest = 3 * time.Millisecond
	}
	o.Partitions, o.Replicas = partitions, replicas
	// A producer of these settings turns to the next leader quickly, so that a gap is the cluster's and not the client's.
	o.Client = append([]kgo.Opt{
		kgo.ProducerLinger(0), kgo.MetadataMinAge(20 * time.Millisecond), kgo.DialTimeout(time.Second), kgo.RequestTimeoutOverhead(2 * time.Second),
		kgo.ProduceRequestTimeout(3 * time.Second), kgo.UnknownTopicRetries(-1),
	}, o.Client...)
	s.load = chaos.StartWith(s, s.cluster.Bootstrap(), o)
	s.readers = chaos.ReadInGroup(s, s.load, fmt.Sprint("readers-of-", s.load.Topic()), 2)
	s.load.AwaitEach(5)
	s.readers.AwaitCommits(1)
}

func (s *stage) play(steps []Step) {
	for _, step := range steps {
		step(s)
	}
}

// nodes gives the chosen ones.
func (s *stage) nodes() (nodes []*node.Node) {
	for _, id := range s.chosen {
		nodes = append(nodes, s.cluster.Node(id))
	}
	return nodes
}
