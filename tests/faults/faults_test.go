//go:build interop && unix

package faults

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/chaos"
	"troupe/tests/node"
)

// Faults of processes: they are killed, hung, stopped and started, and lose their disks.
var ofProcesses = []Fault{
	{Title: "all three are killed at once in mid-load", Steps: []Step{
		times(size{50, 3}, choose(everyone), anyMoment, kill, start, goesOn), whole,
	}},
	{Title: "a leader is hung for 30 s and goes on", Steps: []Step{
		once(choose(plainLeader), remember, anyMoment, pause, askTheZombie, deposed, goesOn, seconds(30, 4), resume, zombieRefuses, whole),
	}},
	{Title: "a leader that leads the quorum too is hung for 30 s and goes on", Steps: []Step{
		once(choose(leaderAndController), remember, anyMoment, pause, askTheZombie, deposed, goesOn, seconds(30, 4), resume, zombieRefuses, whole),
	}},
	{Title: "the disk of a node is wiped", Steps: []Step{
		times(size{9, 2}, choose(leader), anyMoment, kill, wipe, start, goesOn, whole, votersAre(3)),
	}},
	{Title: "followers are killed first and the leader last", Steps: []Step{
		times(size{20, 2}, choose(followersThenLeader), anyMoment, oneByOne(kill, moment), shuffled, oneByOne(launch, moment), goesOn, whole),
	}},
	{Title: "a follower is killed", Steps: []Step{
		times(size{20, 2}, choose(follower), anyMoment, kill, goesOn, start, whole),
	}},
	{Title: "a leader is killed", Steps: []Step{
		times(size{20, 2}, choose(plainLeader), anyMoment, kill, goesOn, start, whole),
	}},
	{Title: "the active controller is killed", Steps: []Step{
		times(size{20, 2}, choose(controller), anyMoment, kill, goesOn, start, whole),
	}},
	{Title: "two of three are killed", Steps: []Step{
		times(size{10, 1}, choose(allButOne), anyMoment, kill, standsStill, start, goesOn, whole),
	}},
	{Title: "all three are restarted one after the other", Steps: []Step{
		times(size{20, 2}, choose(everyone), shuffled, oneByOne(anyMoment, stop, start, whole)),
	}},
}

// quickISR has a node that lags leave an ISR within seconds.
func quickISR() node.ClusterOptions {
	return node.ClusterOptions{Dynamic: true, Set: []string{"replica.lag.time.max.ms=4000"}}
}

// bulky is a load that a slow link does not carry: the values would be compressed to nothing.
var bulky = chaos.Options{Rest: time.Millisecond, Client: []kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression())}}

// patient producers let a leader keep them waiting for longer than a test lasts: they go on when it sends them away.
var patient = chaos.Options{Client: []kgo.Opt{kgo.ProduceRequestTimeout(5 * time.Minute)}}

// Faults of the links between nodes. Clients reach all nodes.
var ofLinks = []Fault{
	{Title: "a leader is cut off both ways", Linked: true, Load: patient, Steps: cutOff(bothWays, zombieRefuses)},
	{Title: "what a leader sends to the others is lost", Linked: true, Load: patient, Steps: cutOff(outbound, zombieRefuses)},
	{Title: "what the others send to a leader is lost", Linked: true, Load: patient, Steps: cutOff(inbound, zombieKeeps)},
	{Title: "a leader that leads the quorum too is cut off both ways", Linked: true, Load: patient, Steps: []Step{
		once(choose(leaderAndController), remember, anyMoment, cut(bothWays), askTheZombie, deposed, goesOn, seconds(10, 2), heal, zombieRefuses, whole),
	}},
	{Title: "a leader and one follower are parted", Linked: true, Cluster: quickISR, Steps: []Step{
		once(choose(leaderAndFollower), anyMoment, cutPair(bothWays), outOfSync, goesOn, seconds(10, 1), heal, whole),
		once(choose(leaderAndFollower), anyMoment, cutPair(outbound), outOfSync, goesOn, seconds(10, 1), heal, whole),
		once(choose(leaderAndFollower), anyMoment, cutPair(inbound), outOfSync, goesOn, seconds(10, 1), heal, whole),
	}},
	{Title: "a leader and the controller are parted", Linked: true, Steps: []Step{
		once(choose(leaderThenController), remember, anyMoment, cutPair(bothWays), goesOn, seconds(10, 2), heal, whole),
	}},
	{Title: "a follower is slow", Linked: true, Cluster: quickISR, Load: bulky, Steps: []Step{
		times(size{5, 1}, choose(someNode), anyMoment, narrow(40_000), outOfSync, goesOn, heal, inSyncAgain),
	}},
	{Title: "a leader comes back with records of an old epoch", Linked: true, NoStrangers: true, Steps: []Step{
		times(size{5, 1}, choose(plainLeader), remember, anyMoment, cut(bothWays), zombieDiverges, deposed, goesOn, kill, heal, start, whole, prefer, goesOn),
	}},
}

// Faults of what is stored.
var ofTopics = []Fault{
	{Title: "records are deleted up to the end and then all three are killed", Steps: []Step{
		create, write(20),
		times(size{10, 2}, choose(everyone), shuffled, deleteRecords, kill, oneByOne(launch, moment), goesOn, asWritten, write(5), asWritten),
		whole,
	}},
	{Title: "a topic is deleted and made again while a node is down", Steps: []Step{
		create,
		times(size{10, 2}, choose(someNode), write(20), kill, remove, create, write(5), start, whole, asWritten, prefer, asWritten),
	}},
	{Title: "a node is started with the data of another cluster", Steps: []Step{
		once(choose(someNode), anyMoment, kill, withForeignData(refused), goesOn, start, whole),
	}},
}

// Clusters that grow and shrink.
var ofSizes = []Fault{
	{Title: "one node becomes three and then the first is killed for ever", Cluster: lone, Steps: []Step{
		once(
			grow(2, "controller.quorum.initial.voters=0", "default.replication.factor=3", "offsets.topic.replication.factor=3"), votersAre(3),
			operator("rebalance --replication-factor 3 --execute"), copies(3),
			operator("configs --entity-type brokers --entity-default --alter --add-config min.insync.replicas=2"),
			anyMoment, choose(node1), kill, forEver, goesOn,
		),
	}},
	{Title: "three nodes become five and three again", Steps: []Step{
		once(
			grow(2, "controller.quorum.auto.join.enable=false"), addVoters, votersAre(5),
			operator("rebalance --execute"), copies(3), goesOn,
			drain, removeVoters, votersAre(3), stop, forEver, unregister, goesOn, copies(3),
		),
	}},
}

func cutOff(d direction, judge Step) []Step {
	return []Step{
		once(choose(plainLeader), remember, anyMoment, cut(d), askTheZombie, deposed, goesOn, seconds(10, 2), heal, judge, whole),
	}
}

func TestProcesses(t *testing.T) { runAll(t, ofProcesses) }

func TestLinks(t *testing.T) { runAll(t, ofLinks) }

func TestTopics(t *testing.T) { runAll(t, ofTopics) }

func TestSizes(t *testing.T) { runAll(t, ofSizes) }

func runAll(t *testing.T, faults []Fault) {
	for _, f := range faults {
		t.Run(f.Title, func(t *testing.T) { Run(t, f) })
	}
}
