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
	images  imageCheck
	bytes   byteCheck
}

// lookEvery is how often; between two looks a few hundred actors had a turn.
const lookEvery = 20 * time.Millisecond

func newChecks(w *World) *checks {
	return &checks{
		world: w, leaders: leaderCheck{world: w, known: map[leadership]int{}},
		images: imageCheck{world: w, known: map[model.Offset]*image.Image{}, seen: map[int]*image.Image{}},
		bytes:  byteCheck{world: w, partitions: map[model.TopicPartition]*replicated{}},
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
		for _, r := range p.replicas() {
			c.leaders.look(p, r)
			c.bytes.look(p, r)
		}
	}
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

// lost is told that a machine lost what was not synced.
func (c *checks) lost(*host) {}

// unsettled names what the nodes still have to do when all faults are over.
func (c *checks) unsettled() string {
	for _, h := range c.world.hosts {
		i := h.process.broker.Node().Image()
		for t := range i.Topics("") {
			for n, p := range t.Partitions {
				if p.Leader == model.NoBroker {
					return fmt.Sprintf("node %d knows of no leader of %s-%d", h.id, t.Name, n)
				}
				if len(p.ISR) < len(p.Replicas) {
					return fmt.Sprintf("%s-%d has the ISR %v of %v", t.Name, n, p.ISR, p.Replicas)
				}
			}
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

// imageCheck: images are equal at equal offsets, and no node's goes back within a life.
type imageCheck struct {
	world *World
	known map[model.Offset]*image.Image
	seen  map[int]*image.Image
}

func (c *imageCheck) look(p *process) {
	i := p.broker.Node().Image()
	if i == c.seen[p.host.id] || i.Offset < 0 {
		return
	}
	c.seen[p.host.id] = i
	other, ok := c.known[i.Offset]
	if !ok {
		c.known[i.Offset] = i
		return
	}
	if other != i && !other.Equal(i) {
		c.world.fail("the image of node %d at offset %d is another than was seen before", p.host.id, i.Offset)
	}
}
