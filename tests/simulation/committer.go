package simulation

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// committer is a consumer that only commits: higher and higher offsets, and reads them back. What a coordinator
// acknowledged it never answers less than, whichever coordinator it is.
type committer struct {
	*client
	group       string
	topic       string
	coordinator int
	of          *committer // whose commits this one only reads; nil for one that commits
	// tried and committed are the last offset sent and the last that was acknowledged.
	tried, committed int64
	// seen is the highest offset that was read: what is read once is there for good.
	seen       int64
	settled    bool // a read after the faults found what was committed
	committing bool
}

func (g *committer) start() { g.find() }

// witness reads what a committer commits, from another machine and at any time, also while a commit is on its way.
func (g *committer) witness() *committer {
	return &committer{client: newClient(g.world, firstClient+g.world.random.IntN(clientMachines)), group: g.group, topic: g.topic, of: g}
}

func (g *committer) again() {
	g.world.after(g.world.between(50*time.Millisecond, 300*time.Millisecond), g.find)
}

// find asks any broker for the group's coordinator.
func (g *committer) find() {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version = 4
	req.CoordinatorKeys = []string{g.group}
	g.call(g.anyBroker(), req, func(resp kmsg.Response, err error) {
		if err != nil {
			g.again()
			return
		}
		c := resp.(*kmsg.FindCoordinatorResponse).Coordinators[0]
		if code := kerr.Code(c.ErrorCode); code != kerr.None {
			g.expect(code)
			g.again()
			return
		}
		g.coordinator = int(c.NodeID)
		g.next()
	})
}

// next commits one more, or reads.
func (g *committer) next() {
	if g.of != nil || g.world.chance(3) || g.world.load.enough() {
		g.read()
		return
	}
	g.tried++
	at := g.tried
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 8, g.group, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = 0, at, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = g.topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	g.committing = true
	g.world.traps.commits(g.coordinator)
	g.call(g.coordinator, req, func(resp kmsg.Response, err error) {
		g.committing = false
		if err != nil {
			g.again()
			return
		}
		switch code := kerr.Code(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode); code {
		case kerr.None:
			g.committed = max(g.committed, at)
			g.world.after(g.world.between(5*time.Millisecond, 100*time.Millisecond), g.next)
		default:
			g.expect(code)
			g.again()
		}
	})
}

// read asks for what was committed. More than was acknowledged may be there, since a commit whose answer was lost may have
// been carried out; less never.
func (g *committer) read() {
	truth := g
	if g.of != nil {
		truth = g.of
	}
	least := max(truth.committed, truth.seen)
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 8, true
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group, group.MemberEpoch = g.group, -1
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = g.topic, []int32{0}
	group.Topics = append(group.Topics, t)
	req.Groups = append(req.Groups, group)
	g.call(g.coordinator, req, func(resp kmsg.Response, err error) {
		if err != nil {
			g.again()
			return
		}
		got := resp.(*kmsg.OffsetFetchResponse).Groups[0]
		code := kerr.Code(got.ErrorCode)
		if code == kerr.None {
			code = kerr.Code(got.Topics[0].Partitions[0].ErrorCode)
		}
		if code != kerr.None {
			g.expect(code)
			g.again()
			return
		}
		at := got.Topics[0].Partitions[0].Offset
		if at < least && !g.world.checks.losses.offsets {
			g.world.fail("%s: offset %d was committed, or read, and node %d knows of %d", g.group, least, g.coordinator, at)
			return
		}
		truth.seen = max(truth.seen, at)
		g.settled = g.world.load.enough()
		g.world.after(g.world.between(5*time.Millisecond, 100*time.Millisecond), g.next)
	})
}
