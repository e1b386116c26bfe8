package group

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"troupe/actors/coordinator/timeline"
	"troupe/cluster/image"
	"troupe/internal/model"
)

// change records what a member now says of itself, begins a new epoch where that concerns anybody, and makes the target of
// it. It tells whether the member's subscription is another one. due asks for an epoch in any case: a group that was classic
// may have been about to rebalance, which nobody else would take up.
func (m *Machine) change(group string, old, p *subscriber, due bool) bool {
	if old == nil {
		old = &subscriber{}
	}
	if !old.same(p) {
		m.recordMember(group, p)
	}
	g := m.mustConsumer(group)
	names := !slices.Equal(old.topics, p.topics)
	pattern, known := m.changePattern(g, old.pattern, p.pattern)
	m.refreshPatterns(g)
	m.advance(g, names || known || due)
	m.retarget(g)
	return names || pattern
}

// advance begins an epoch when a member's change asks for it, or when the topics that are subscribed to are not what
// they were.
func (m *Machine) advance(g *consumer, changed bool) {
	if !changed && g.looked == m.topics.stamp {
		return
	}
	g.looked = m.topics.stamp
	h := g.epochs.Get()
	if hash := m.topicsHash(g); changed || hash != h.metadataHash {
		m.recordEpoch(g.id, h.groupEpoch+1, hash)
		m.options.Count(ConsumerRebalanced, 1)
	}
}

// topicsHash tells whether the topics of a group changed: which there are, their partitions, and the racks of these. It is
// kept in the group's record and need not be the one that Kafka would make: another one costs a rebalance.
func (m *Machine) topicsHash(g *consumer) int64 {
	all := fnv.New64a()
	none := true
	for _, name := range timeline.SortedKeys(g.readers) {
		if t, there := m.topics.image.Topic(name); there {
			all.Write(binary.BigEndian.AppendUint64(nil, m.topics.hash(t)))
			none = false
		}
	}
	if none {
		return 0 // that of a group without topics, which begins so
	}
	return int64(all.Sum64())
}

// topics are the cluster's topics as the machine was last told of them.
type topics struct {
	image *image.Image
	// stamp rises with each image that has other topics or brokers.
	stamp uint64
	// grown is the offset of the last image that had new topics: patterns may have more than they had.
	grown model.Offset
	// hashes has what hash gave for a topic, which is another pointer when it changes.
	hashes map[*image.Topic]uint64
}

func (t *topics) hash(of *image.Topic) uint64 {
	if h, known := t.hashes[of]; known {
		return h
	}
	h := fnv.New64a()
	h.Write(of.ID[:])
	for n := range of.Partitions {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
		for _, rack := range t.racks(of, n) {
			h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(rack))))
			h.Write([]byte(rack))
		}
	}
	t.hashes[of] = h.Sum64()
	return t.hashes[of]
}

// racks are those with a replica of a partition, sorted.
func (t *topics) racks(of *image.Topic, n int) (racks []string) {
	for _, id := range of.Partitions[n].Replicas {
		if b, there := t.image.Broker(id); there && b.Rack != nil {
			racks = append(racks, *b.Rack)
		}
	}
	slices.SortFunc(racks, cmp.Compare)
	return slices.Compact(racks)
}

// look takes the next image.
func (t *topics) look(d image.Delta) {
	first := t.stamp == 0
	if len(d.Brokers) > 0 || first {
		t.hashes = map[*image.Topic]uint64{} // racks may have changed
	}
	if first {
		t.grown = d.To.Offset
	}
	for _, each := range d.Topics {
		delete(t.hashes, each.Before)
		if each.Before == nil {
			t.grown = d.To.Offset
		}
	}
	t.image = d.To
	t.stamp++
}

// ordered gives the topics of an assignment that there are, by name.
func (t *topics) ordered(p assignment) (list []*image.Topic) {
	for id := range p { // any order: the list is sorted below.
		if topic, there := t.image.TopicByID(id); there {
			list = append(list, topic)
		}
	}
	slices.SortFunc(list, func(a, b *image.Topic) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// idsOf gives the ids of the topics that there are.
func (m *Machine) idsOf(names []string) map[model.TopicID]bool {
	ids := make(map[model.TopicID]bool, len(names))
	for _, name := range names {
		if t, there := m.topics.image.Topic(name); there {
			ids[t.ID] = true
		}
	}
	return ids
}
