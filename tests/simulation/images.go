package simulation

import (
	"slices"

	"troupe/cluster/image"
	"troupe/internal/model"
)

// imageCheck: images are equal at equal offsets, and no process's goes back.
type imageCheck struct {
	world  *World
	known  map[model.Offset]*image.Image
	seen   map[*process]*image.Image
	newest *image.Image // that anybody had
}

func (c *imageCheck) look(p *process) {
	i, before := p.broker.Node().Image(), c.seen[p]
	if i == before || i.Offset < 0 {
		return
	}
	c.seen[p] = i
	if before != nil && i.Offset < before.Offset {
		c.world.fail("the image of node %d goes back from offset %d to %d", p.host.id, before.Offset, i.Offset)
	}
	if i.Offset > c.newest.Offset {
		c.elections(c.newest, i)
		c.newest = i
		c.world.traps.changed(i)
	}
	other, ok := c.known[i.Offset]
	switch {
	case !ok:
		c.known[i.Offset] = i
	case other != i && !other.Equal(i):
		c.world.fail("the image of node %d at offset %d is another than was seen before", p.host.id, i.Offset)
	}
}

// offsetsTopic keeps what groups commit.
const offsetsTopic = "__consumer_offsets"

// elections notes changes of leaders that a seed may be proud of.
func (c *imageCheck) elections(before, after *image.Image) {
	for _, t := range image.Diff(before, after).Topics {
		if t.Before == nil || t.After == nil {
			continue
		}
		for n, p := range t.Partitions() {
			old, ok := t.Before.Partition(n)
			if ok && slices.ContainsFunc(old.ISR, func(id model.BrokerID) bool { return !slices.Contains(p.ISR, id) }) {
				c.world.traps.shrank(replicaKey{t.After.ID, n}, old, p)
			}
			if !ok || old.Leader == p.Leader || p.Leader == model.NoBroker {
				continue
			}
			if !slices.Contains(old.ISR, p.Leader) && slices.Contains(old.ELR, p.Leader) {
				c.world.cover.meet(elrElection)
			}
			moving := func(g *committer) bool { return g.committing }
			if t.After.Name == offsetsTopic && slices.ContainsFunc(c.world.load.groups, moving) {
				c.world.cover.meet(coordinatorMove)
			}
		}
	}
}
