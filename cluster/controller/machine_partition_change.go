package controller

import (
	"slices"
	"strconv"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// Keys of topic configs that elections depend on.
const (
	minISRKey  = "min.insync.replicas"
	uncleanKey = "unclean.leader.election.enable"
)

// election says whom a change may make leader (facts/replication.md 7).
type election int8

const (
	// electAny keeps a valid leader and takes the first valid replica otherwise.
	electAny election = iota
	// electPreferred takes the first replica when it is valid, and acts as electAny otherwise.
	electPreferred
	// electUnclean takes any live replica when none is valid.
	electUnclean
)

// change works out the record that moves a partition to a target state, with its consequences for leader, ELR and epochs.
//
// Invariants of the record it gives:
//  1. the leader is a live member of the ISR after the change, or there is none;
//  2. without ELR the ISR is never emptied, and beside a member of it nobody is eligible; with it, who leaves an ISR that is
//     under min.insync.replicas becomes an eligible leader, unless it stopped uncleanly. After an unclean election nobody is
//     eligible: who was has what the new leader lacks, and will lack what it acknowledges;
//  3. the leader epoch rises when the leader changes and when a replica leaves the list; before metadata version 3.6 when one
//     leaves the ISR, too, which brokers of that time wait for.
type change struct {
	topic *image.Topic
	n     int32
	now   *image.Partition
	// The target: lists to be, before consequences.
	isr, replicas, adding, removing []model.BrokerID
	// live tells whether a broker may lead.
	live     func(model.BrokerID) bool
	election election
	// crashed is a broker that may have lost what it had not synced; it is in no ELR afterwards.
	crashed model.BrokerID
	// minISR is min.insync.replicas of the topic; elr tells whether eligible leaders are kept at all.
	minISR int
	elr    bool
	// shrinkRaises has the leader epoch rise when the ISR shrinks.
	shrinkRaises bool
	// recovery is the leader recovery state to be.
	recovery int8
	// directoryOf places replicas that are new.
	directoryOf func(model.BrokerID) model.DirectoryID
}

// change begins with the partition as it is; callers then set what they want of it.
func (m *Machine) change(t *image.Topic, n int32) *change {
	p := t.Partitions[n]
	c := &change{
		topic: t, n: n, now: p, isr: p.ISR, replicas: p.Replicas, adding: p.Adding, removing: p.Removing,
		live: m.leadable(p, m.active), election: electAny, crashed: model.NoBroker, minISR: m.minISR(t.Name),
		elr: m.current.Feature(image.ELRVersionFeature) > 0, recovery: p.LeaderRecoveryState, directoryOf: m.directoryOf,
		shrinkRaises: m.level() < record.SteadyEpochs,
	}
	if m.topicValue(t.Name, uncleanKey) == "true" {
		c.election = electUnclean
	}
	return c
}

// minISR is the configured number; what counts is never more than there are replicas.
func (m *Machine) minISR(topic string) int {
	n, err := strconv.Atoi(m.topicValue(topic, minISRKey))
	if err != nil {
		return 1
	}
	return n
}

// inherited is what topics without an override of their own have, as of an image: a broker's departure asks for every
// topic of the cluster.
type inherited struct {
	of     *image.Image
	values map[string]string
}

// topicValue is the effective value of a key for a topic, in the current state.
func (m *Machine) topicValue(topic, key string) string {
	if _, own := m.current.Config(image.ConfigResource{Type: image.TopicResource, Name: topic}).Get(key); own {
		return m.options.Rules.TopicValue(m.current, topic, key)
	}
	if m.inherited.of != m.current {
		m.inherited = inherited{m.current, map[string]string{}}
	}
	value, ok := m.inherited.values[key]
	if !ok {
		value = m.options.Rules.TopicValue(m.current, topic, key)
		m.inherited.values[key] = value
	}
	return value
}

// record gives the change, or nil when the partition is as it should be.
func (c *change) record() *record.PartitionChange {
	r := record.NewPartitionChange(c.n, c.topic.ID)
	c.finishReassignment()
	elr := c.eligible()
	leader, unclean := c.elect(elr)
	if leader != c.now.Leader {
		r.Leader = leader
		switch {
		case unclean:
			c.isr, c.recovery, elr = []model.BrokerID{leader}, record.Recovering, nil
		case leader != model.NoBroker && !slices.Contains(c.isr, leader):
			c.isr, elr = []model.BrokerID{leader}, without(elr, leader)
		}
	}
	if c.enough() || !c.elr && len(c.isr) > 0 {
		elr = nil
	}
	if r.Leader == record.NoLeaderChange && lacks(c.replicas, c.now.Replicas) {
		r.Leader = c.now.Leader
	}
	if c.recovery != c.now.LeaderRecoveryState {
		r.LeaderRecoveryState = c.recovery
	}
	if !slices.Equal(c.isr, c.now.ISR) && (c.elr || len(c.isr) > 0) {
		r.ISR = present(c.isr)
	}
	if c.shrinkRaises && r.Leader == record.NoLeaderChange && r.ISR != nil && lacks(r.ISR, c.now.ISR) {
		r.Leader = c.now.Leader
	}
	c.setLists(r)
	c.setELR(r, elr)
	if unchanged(r) {
		return nil
	}
	return r
}

// finishReassignment ends one whose new replicas have caught up (facts/replication.md 10): all that are added are in the
// ISR, somebody who stays is, and where fewer come than go, all who stay are.
func (c *change) finishReassignment() {
	if len(c.adding) == 0 && len(c.removing) == 0 {
		return
	}
	target := without(c.replicas, c.removing...)
	isr := without(c.isr, c.removing...)
	if len(isr) == 0 || slices.ContainsFunc(c.adding, func(id model.BrokerID) bool { return !slices.Contains(isr, id) }) {
		return
	}
	if len(c.adding) < len(c.removing) && len(isr) < len(target) {
		return
	}
	c.replicas, c.isr, c.adding, c.removing = target, isr, nil, nil
}

// enough tells whether the ISR has min.insync.replicas members, and goes on without others.
func (c *change) enough() bool { return len(c.isr) >= min(c.minISR, len(c.replicas)) }

// eligible gives the ELR after the change: with enough members in the ISR nobody else is needed. With fewer, nothing is
// acknowledged to acks=all any more, so who leaves now has all that was (KIP-966). Where ELR was switched off while nobody
// led, who was eligible still is: else only an unclean election could end that.
func (c *change) eligible() []model.BrokerID {
	if c.enough() || !c.elr && len(c.now.ISR) > 0 {
		return nil
	}
	var elr []model.BrokerID
	for _, id := range slices.Concat(c.now.ELR, c.now.ISR) {
		if !slices.Contains(elr, id) && !slices.Contains(c.isr, id) && slices.Contains(c.replicas, id) && id != c.crashed {
			elr = append(elr, id)
		}
	}
	slices.Sort(elr)
	return elr
}

// elect finds a leader for the target state. "Unclean" is one that may lack what was acknowledged.
func (c *change) elect(elr []model.BrokerID) (leader model.BrokerID, unclean bool) {
	valid := func(id model.BrokerID) bool {
		trusted := slices.Contains(c.isr, id) || len(c.isr) == 0 && slices.Contains(elr, id)
		return trusted && c.live(id)
	}
	if c.election == electPreferred && valid(c.replicas[0]) {
		return c.replicas[0], false
	}
	if valid(c.now.Leader) {
		return c.now.Leader, false
	}
	for _, id := range c.replicas {
		if valid(id) {
			return id, false
		}
	}
	if known := c.now.LastKnownELR; c.elr && len(c.isr) == 0 && len(elr) == 0 && len(known) == 1 && c.live(known[0]) {
		return known[0], true
	}
	if c.election == electUnclean {
		for _, id := range c.replicas {
			if c.live(id) {
				return id, true
			}
		}
	}
	return model.NoBroker, false
}

// setLists sets replicas and the running reassignment where they differ.
func (c *change) setLists(r *record.PartitionChange) {
	if !slices.Equal(c.replicas, c.now.Replicas) {
		r.Replicas = c.replicas
		for _, id := range c.replicas {
			if i := slices.Index(c.now.Replicas, id); i >= 0 && i < len(c.now.Directories) {
				r.Directories = append(r.Directories, c.now.Directories[i])
			} else {
				r.Directories = append(r.Directories, c.directoryOf(id))
			}
		}
	}
	if !slices.Equal(c.adding, c.now.Adding) {
		r.AddingReplicas = present(c.adding)
	}
	if !slices.Equal(c.removing, c.now.Removing) {
		r.RemovingReplicas = present(c.removing)
	}
}

// setELR sets the eligible leaders, and remembers the last leader of an ISR that became empty until there is another one
// (KIP-966).
func (c *change) setELR(r *record.PartitionChange, elr []model.BrokerID) {
	if !slices.Equal(elr, c.now.ELR) {
		r.EligibleLeaderReplicas = present(elr)
	}
	last := []model.BrokerID{c.now.Leader}
	switch {
	case r.ISR != nil && len(r.ISR) == 0 && c.now.Leader != model.NoBroker && !slices.Equal(c.now.LastKnownELR, last):
		r.LastKnownELR = last
	case (r.Leader >= 0 || c.enough()) && len(c.now.LastKnownELR) > 0:
		r.LastKnownELR = []model.BrokerID{}
	}
}

// unchanged tells whether a record says nothing.
func unchanged(r *record.PartitionChange) bool {
	return r.ISR == nil && r.Leader == record.NoLeaderChange && r.Replicas == nil && r.AddingReplicas == nil &&
		r.RemovingReplicas == nil && r.LeaderRecoveryState == record.NoRecoveryChange && r.Directories == nil &&
		r.EligibleLeaderReplicas == nil && r.LastKnownELR == nil
}

// lacks tells whether a list has not all that another one has.
func lacks(ids, others []model.BrokerID) bool {
	return slices.ContainsFunc(others, func(id model.BrokerID) bool { return !slices.Contains(ids, id) })
}

// present makes an empty list differ from "leave as it is".
func present(ids []model.BrokerID) []model.BrokerID {
	if ids == nil {
		return []model.BrokerID{}
	}
	return ids
}

// without copies, since lists of partitions are shared.
func without(ids []model.BrokerID, gone ...model.BrokerID) []model.BrokerID {
	return slices.DeleteFunc(slices.Clone(ids), func(id model.BrokerID) bool { return slices.Contains(gone, id) })
}
