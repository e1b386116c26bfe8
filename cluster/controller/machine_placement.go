package controller

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"troupe/cluster/placement"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// place chooses replicas for count partitions from number first on. Every call draws anew where the stripes start, so that
// many small topics spread as well as one large one.
// Error: INVALID_REPLICATION_FACTOR.
func (m *Machine) place(id model.TopicID, first, count, factor int) ([]*record.Partition, error) {
	var brokers []placement.Broker
	for b := range m.current.Brokers() {
		rack := ""
		if b.Rack != nil {
			rack = *b.Rack
		}
		// Every directory is cordoned (KIP-1066). A broker that names none is of an older version and takes what it gets.
		if len(b.LogDirs) > 0 && len(openDirectories(b)) == 0 {
			continue
		}
		// One that stops is as good as fenced: it cannot be in the first ISR.
		brokers = append(brokers, placement.Broker{ID: b.ID, Rack: rack, Fenced: !b.Active()})
	}
	placer := placement.New(brokers, m.draw)
	partitions := make([]*record.Partition, 0, count)
	for n := range count {
		replicas, err := placer.Next(factor)
		if err != nil {
			return nil, unplaced(factor, err.Error())
		}
		partitions = append(partitions, m.newPartition(id, int32(first+n), replicas, m.activeOf(replicas)))
	}
	return partitions, nil
}

// unplaced words what the placement says as Kafka words it.
func unplaced(factor int, why string) error {
	return fail(kerr.InvalidReplicationFactor, fmt.Sprintf("Unable to replicate the partition %d time(s): %s", factor, why))
}

// draw gives a number in [0, n); the slight bias of the remainder does not matter to placement.
func (m *Machine) draw(n int) int {
	var b [8]byte
	_, err := io.ReadFull(m.options.Random, b[:])
	invariant.Check(err == nil, "controller: no randomness: %v", err)
	return int(binary.BigEndian.Uint64(b[:]) % uint64(n))
}

// assignedPartition takes replicas as a request gives them; factor is how many the partition before had, 0 for none.
// Error: INVALID_REPLICA_ASSIGNMENT.
func (m *Machine) assignedPartition(id model.TopicID, n int32, replicas []model.BrokerID, factor int) (*record.Partition, error) {
	if err := m.checkAssignment(replicas, factor); err != nil {
		return nil, err
	}
	isr := m.activeOf(replicas)
	if len(isr) == 0 {
		return nil, fail(kerr.InvalidReplicaAssignment, fmt.Sprintf(
			"All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", n))
	}
	return m.newPartition(id, n, replicas, isr), nil
}

// checkAssignment judges in order of broker id, so that the broker that is named is always the same.
func (m *Machine) checkAssignment(replicas []model.BrokerID, factor int) error {
	if len(replicas) == 0 {
		return fail(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for i, id := range sorted {
		if _, ok := m.current.Broker(id); !ok {
			return fail(kerr.InvalidReplicaAssignment,
				fmt.Sprintf("The manual partition assignment includes broker %d, but no such broker is registered.", id))
		}
		if i > 0 && sorted[i-1] == id {
			return fail(kerr.InvalidReplicaAssignment,
				fmt.Sprintf("The manual partition assignment includes the broker %d more than once.", id))
		}
	}
	if factor > 0 && len(replicas) != factor {
		return fail(kerr.InvalidReplicaAssignment, fmt.Sprintf("The manual partition assignment includes a partition with %d replica(s), "+
			"but this is not consistent with previous partitions, which have %d replica(s).", len(replicas), factor))
	}
	return nil
}

// newPartition begins at leader epoch 0 and partition epoch 0, led by the first replica that can.
func (m *Machine) newPartition(id model.TopicID, n int32, replicas, isr []model.BrokerID) *record.Partition {
	p := &record.Partition{
		PartitionID: n, TopicID: id, Replicas: replicas, ISR: isr, Leader: isr[0],
		RemovingReplicas: []model.BrokerID{}, AddingReplicas: []model.BrokerID{},
	}
	for _, r := range replicas {
		p.Directories = append(p.Directories, m.directoryOf(r))
	}
	return p
}

// activeOf keeps the brokers that may be in an ISR.
func (m *Machine) activeOf(ids []model.BrokerID) []model.BrokerID {
	var active []model.BrokerID
	for _, id := range ids {
		if m.active(id) {
			active = append(active, id)
		}
	}
	return active
}

// active tells whether a broker may lead: registered, not fenced, not shutting down.
func (m *Machine) active(id model.BrokerID) bool {
	b, ok := m.current.Broker(id)
	return ok && b.Active()
}

// brokerIDs and int32s go between the protocol's numbers and this program's types.
func brokerIDs(ids []int32) []model.BrokerID {
	out := make([]model.BrokerID, len(ids))
	for i, id := range ids {
		out[i] = model.BrokerID(id)
	}
	return out
}

func int32s(ids []model.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}
