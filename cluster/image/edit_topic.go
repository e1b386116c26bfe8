package image

import (
	"fmt"
	"slices"

	"troupe/cluster/record"
	"troupe/internal/model"
)

// applyTopic replays the records about topics and partitions; done is false for any other record.
func (e *Editor) applyTopic(r record.Record) (reason string, done bool) {
	switch r := r.(type) {
	case *record.Topic:
		return e.createTopic(r), true
	case *record.RemoveTopic:
		return e.removeTopic(r.ID), true
	case *record.Partition:
		return e.partition(r), true
	case *record.PartitionChange:
		return e.changePartition(r), true
	case *record.ClearElr:
		return e.clearELR(r.TopicName), true
	}
	return "", false
}

// createTopic makes a topic without partitions; their records follow in the same transaction.
func (e *Editor) createTopic(r *record.Topic) string {
	// The controller refuses both before it writes a record: in a log either is damage, or a bug.
	if old, ok := e.next.byName.get(r.Name); ok {
		return fmt.Sprintf("topic %s exists with id %s", r.Name, old.ID)
	}
	if old, ok := e.next.byID.get(r.ID); ok {
		return fmt.Sprintf("id %s belongs to topic %s", r.ID, old.Name)
	}
	e.own(&Topic{ID: r.ID, Name: r.Name})
	if key, risky := collisionKey(r.Name); risky {
		names, _ := e.next.collisions.get(key)
		e.next.collisions = e.next.collisions.with(key, append(slices.Clone(names), r.Name))
	}
	return ""
}

// forgetCollision lets the name's look-alikes be created again.
func (e *Editor) forgetCollision(name string) {
	// Names that differ in '.' and '_' alone collide in metrics.
	key, risky := collisionKey(name)
	if !risky {
		return
	}
	names, _ := e.next.collisions.get(key)
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	if len(names) == 0 {
		e.next.collisions = e.next.collisions.without(key)
		return
	}
	e.next.collisions = e.next.collisions.with(key, names)
}

// removeTopic takes the topic's configs with it, as Kafka does without a record for each.
func (e *Editor) removeTopic(id model.TopicID) string {
	t, ok := e.next.byID.get(id)
	if !ok {
		return fmt.Sprintf("no topic has id %s", id)
	}
	e.next.byID = e.next.byID.without(id)
	e.next.byName = e.next.byName.without(t.Name)
	e.forgetCollision(t.Name)
	e.next.partitions -= len(t.Partitions)
	// The id is not owned any more: a topic created under the name has another one.
	delete(e.owned, id)
	e.touched.topics = append(e.touched.topics, id)
	if resource := (ConfigResource{TopicResource, t.Name}); e.next.Config(resource).Len() > 0 {
		e.setConfig(resource, Config{})
	}
	return ""
}

// own puts a topic that nobody else holds into the next image.
func (e *Editor) own(t *Topic) {
	e.next.byID = e.next.byID.with(t.ID, t)
	e.next.byName = e.next.byName.with(t.Name, t)
	e.owned[t.ID] = t
	e.touched.topics = append(e.touched.topics, t.ID)
}

// mutable gives a topic that may be changed in place: a batch over many partitions copies their list once.
func (e *Editor) mutable(id model.TopicID) (*Topic, string) {
	if t, ok := e.owned[id]; ok {
		return t, ""
	}
	old, ok := e.next.byID.get(id)
	if !ok {
		return nil, fmt.Sprintf("no topic has id %s", id)
	}
	t := &Topic{ID: old.ID, Name: old.Name, Partitions: slices.Clone(old.Partitions)}
	e.own(t)
	return t, ""
}

// partition creates the next partition of a topic, or states an existing one anew.
func (e *Editor) partition(r *record.Partition) string {
	t, reason := e.mutable(r.TopicID)
	if reason != "" {
		return reason
	}
	p := &Partition{
		Replicas: r.Replicas, ISR: r.ISR, ELR: r.EligibleLeaderReplicas, LastKnownELR: r.LastKnownELR,
		Adding: r.AddingReplicas, Removing: r.RemovingReplicas, Directories: r.Directories,
		Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, Epoch: r.PartitionEpoch, LeaderRecoveryState: r.LeaderRecoveryState,
	}
	switch n := r.PartitionID; {
	case n >= 0 && int(n) < len(t.Partitions):
		t.Partitions[n] = p.compacted()
	case int(n) == len(t.Partitions):
		t.Partitions = append(t.Partitions, p.compacted())
		e.next.partitions++
	default:
		return fmt.Sprintf("partition %d of topic %s, which has %d", n, t.Name, len(t.Partitions))
	}
	return ""
}

// changePartition replaces the partition by a copy: whoever holds the old one keeps it.
func (e *Editor) changePartition(r *record.PartitionChange) string {
	t, reason := e.mutable(r.TopicID)
	if reason != "" {
		return reason
	}
	old, ok := t.Partition(r.PartitionID)
	if !ok {
		return fmt.Sprintf("topic %s has no partition %d", t.Name, r.PartitionID)
	}
	p := old.Changed(r)
	t.Partitions[r.PartitionID] = &p
	return ""
}

// Changed gives the partition after a change record. Every change raises the partition epoch; one that names a leader
// raises the leader epoch too (facts/replication.md 1).
func (p *Partition) Changed(r *record.PartitionChange) Partition {
	next := *p
	next.Epoch++
	// Null in a change record means "as before", an empty list means empty.
	set := func(field *[]model.BrokerID, value []model.BrokerID) {
		if value != nil {
			*field = value
		}
	}
	set(&next.ISR, r.ISR)
	set(&next.Replicas, r.Replicas)
	set(&next.Removing, r.RemovingReplicas)
	set(&next.Adding, r.AddingReplicas)
	set(&next.ELR, r.EligibleLeaderReplicas)
	set(&next.LastKnownELR, r.LastKnownELR)
	if r.Directories != nil {
		next.Directories = r.Directories
	}
	if r.Leader != record.NoLeaderChange {
		next.Leader = r.Leader
		next.LeaderEpoch++
	}
	if r.LeaderRecoveryState != record.NoRecoveryChange {
		next.LeaderRecoveryState = r.LeaderRecoveryState
	}
	return *next.compacted()
}

// compacted lets equal lists share memory and drops empty ones: 100,000 partitions mostly have ISR = replicas.
func (p *Partition) compacted() *Partition {
	if slices.Equal(p.ISR, p.Replicas) {
		p.ISR = p.Replicas
	}
	for _, list := range []*[]model.BrokerID{&p.ELR, &p.LastKnownELR, &p.Adding, &p.Removing} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	return p
}

// clearELR is one record for any number of partitions (KIP-966).
func (e *Editor) clearELR(name string) string {
	if name != "" {
		t, ok := e.next.byName.get(name)
		if !ok {
			return fmt.Sprintf("no topic is named %s", name)
		}
		e.clearTopicELR(t)
		return ""
	}
	for t := range e.next.Topics("") {
		e.clearTopicELR(t)
	}
	return ""
}

// clearTopicELR counts as a change of each partition that had any, as Kafka counts it.
func (e *Editor) clearTopicELR(t *Topic) {
	for n, p := range t.Partitions {
		if len(p.ELR) == 0 && len(p.LastKnownELR) == 0 {
			continue
		}
		next := *p
		next.ELR, next.LastKnownELR = nil, nil
		next.Epoch++
		owned, _ := e.mutable(t.ID)
		owned.Partitions[n] = &next
	}
}
