package simulation

import (
	"fmt"
	"time"

	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/internal/model"
)

// checks look at all nodes at once, as nobody in the cluster can.
type checks struct {
	world   *World
	leaders leaderCheck
	quorum  quorumCheck
	images  imageCheck
	bytes   byteCheck
	holders holdersCheck
	raft    raftCheck
	losses  losses
}

// lookEvery is how often; between two looks a few hundred actors had a turn.
const lookEvery = 20 * time.Millisecond

func newChecks(w *World) *checks {
	return &checks{
		world: w, leaders: leaderCheck{world: w, known: map[leadership]int{}},
		quorum:  quorumCheck{world: w, leaders: map[model.LeaderEpoch]model.BrokerID{}},
		images:  imageCheck{world: w, known: map[model.Offset]*image.Image{}, seen: map[*process]*image.Image{}, newest: image.Empty("")},
		bytes:   byteCheck{world: w, partitions: map[model.TopicPartition]*replicated{}},
		holders: holdersCheck{world: w, committed: map[replicaKey]model.Offset{}},
		raft:    raftCheck{world: w},
		losses:  losses{world: w, marks: map[model.BrokerID]int{}, forgiven: map[model.TopicPartition]bool{}},
	}
}

func (c *checks) start() { c.world.after(lookEvery, c.look) }

func (c *checks) look() {
	for _, h := range c.world.hosts {
		p := h.process
		if p == nil {
			continue
		}
		c.images.look(p)
		c.quorum.look(p)
		for _, r := range p.replicas() {
			c.leaders.look(p, r)
			c.bytes.look(p, r)
			if v := r.View(); v != nil {
				c.holders.saw(replicaKey{r.TopicID, r.TP.Partition}, v.HighWatermark)
			}
		}
	}
	c.losses.look(c.images.newest)
	c.holders.look(c.images.newest)
	c.start()
}

// replicas lists those of a process in the order of the image.
func (p *process) replicas() (all []*replica.Handle) {
	n := p.broker.Node()
	for t := range n.Image().Topics("") {
		for i := range t.Partitions {
			if h := n.Replicas.Get(model.TopicPartition{Topic: t.Name, Partition: int32(i)}); h != nil {
				all = append(all, h)
			}
		}
	}
	return all
}

// unsettled names what the nodes still have to do when all faults are over.
func (c *checks) unsettled() string {
	for t := range c.images.newest.Topics("") {
		for n, p := range t.Partitions {
			tp := model.TopicPartition{Topic: t.Name, Partition: int32(n)}
			if why := c.lags(tp, p); why != "" {
				return fmt.Sprintf("%s: %s", tp, why)
			}
		}
	}
	return ""
}

// lags tells in what a partition is not as whole as it can be.
func (c *checks) lags(tp model.TopicPartition, p *image.Partition) string {
	if p.Leader == model.NoBroker {
		return "nobody leads"
	}
	if p.Reassigning() || len(p.ISR) < len(p.Replicas) {
		return fmt.Sprintf("the ISR is %v of %v", p.ISR, p.Replicas)
	}
	end := model.NoOffset
	for _, id := range append([]model.BrokerID{p.Leader}, p.Replicas...) {
		h := c.world.host(int(id)).process.broker.Node().Replicas.Get(tp)
		if h == nil || h.View() == nil {
			return fmt.Sprintf("node %d has no replica", id)
		}
		v := h.View()
		if end == model.NoOffset {
			end = v.LogEnd
		}
		if v.LogEnd != end || v.HighWatermark != end {
			return fmt.Sprintf("node %d has %d records, %d of them committed; the leader, %d, has %d", id, v.LogEnd, v.HighWatermark, p.Leader, end)
		}
	}
	return ""
}

// final holds the logs against what clients were told.
func (c *checks) final() {
	for i, p := range c.world.load.producers {
		if err := p.ledger.settle(c.world.load.consumers[i].watermark); err != nil {
			c.world.fail("%w", err)
		}
	}
}

// leadership is what at most one node may have.
type leadership struct {
	topic     model.TopicID
	partition int32
	epoch     model.LeaderEpoch
}

// leaderCheck: there is one leader an epoch.
type leaderCheck struct {
	world *World
	known map[leadership]int
}

func (c *leaderCheck) look(p *process, r *replica.Handle) {
	s := r.Status()
	if !s.Leader {
		return
	}
	l := leadership{r.TopicID, r.TP.Partition, s.LeaderEpoch}
	switch other, ok := c.known[l]; {
	case !ok:
		c.known[l] = p.host.id
	case other != p.host.id:
		c.world.fail("nodes %d and %d both lead %s in epoch %d", other, p.host.id, r.TP, s.LeaderEpoch)
	}
}

// quorumCheck: all nodes agree on who led the metadata quorum in an epoch.
type quorumCheck struct {
	world   *World
	leaders map[model.LeaderEpoch]model.BrokerID
	voters  int // by the controller
}

func (c *quorumCheck) look(p *process) {
	s := p.broker.Node().Quorum()
	if s.Active {
		if c.voters != 0 && s.Voters != c.voters {
			c.world.cover.meet(voterChange)
			c.world.note("voters", "%d of them", s.Voters)
		}
		c.voters = s.Voters
	}
	if s.Leader == model.NoBroker || s.LeaderEpoch < 0 { // whoever does not vote does not know the epoch at first
		return
	}
	if other, ok := c.leaders[s.LeaderEpoch]; ok && other != s.Leader {
		c.world.fail("node %d takes %d for the controller of epoch %d, which was %d", p.host.id, s.Leader, s.LeaderEpoch, other)
	}
	c.leaders[s.LeaderEpoch] = s.Leader
}
