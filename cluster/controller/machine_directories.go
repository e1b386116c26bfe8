package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// openDirectories gives the directories that take new replicas: all that are not cordoned (KIP-1066).
func openDirectories(b *image.Broker) []model.DirectoryID {
	return slices.DeleteFunc(slices.Clone(b.LogDirs), func(dir model.DirectoryID) bool { return slices.Contains(b.CordonedLogDirs, dir) })
}

// directoryOf is where a broker puts a new replica: known only when it has a single directory for it.
func (m *Machine) directoryOf(id model.BrokerID) model.DirectoryID {
	b, ok := m.current.Broker(id)
	if !ok {
		return model.DirectoryUnassigned
	}
	if dirs := openDirectories(b); len(dirs) == 1 {
		return dirs[0]
	}
	return model.DirectoryUnassigned
}

// leadable adds to live that the replica's directory is online.
func (m *Machine) leadable(p *image.Partition, live func(model.BrokerID) bool) func(model.BrokerID) bool {
	return func(id model.BrokerID) bool {
		if !live(id) {
			return false
		}
		b, ok := m.current.Broker(id)
		return !ok || b.HasOnline(p)
	}
}

// directoryChanges records what a heartbeat tells of a broker's directories: those that failed, whose replicas leave
// ISRs and leadership, and those that take no new replicas. A broker whose every directory failed stops by itself.
func (m *Machine) directoryChanges(b *image.Broker, r *kmsg.BrokerHeartbeatRequest) []record.Record {
	var records []record.Record
	// A directory that failed never comes back to this registration; a restart registers anew.
	if left := working(b, r); len(left) < len(b.LogDirs) && len(left) > 0 {
		records = append(records, &record.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, LogDirs: left})
		records = append(records, m.leaveDirectories(b.ID, func(dir model.DirectoryID) bool { return slices.Contains(r.OfflineLogDirs, [16]byte(dir)) })...)
	}
	if r.CordonedLogDirs == nil || m.level() < record.CordonedDirectories {
		return records
	}
	cordoned := make([]model.DirectoryID, 0, len(r.CordonedLogDirs))
	for _, dir := range r.CordonedLogDirs {
		cordoned = append(cordoned, dir)
	}
	if !slices.Equal(cordoned, b.CordonedLogDirs) {
		records = append(records, &record.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, CordonedLogDirs: cordoned})
	}
	return records
}

// working gives the directories that a heartbeat does not tell to have failed.
func working(b *image.Broker, r *kmsg.BrokerHeartbeatRequest) []model.DirectoryID {
	return slices.DeleteFunc(slices.Clone(b.LogDirs), func(dir model.DirectoryID) bool { return slices.Contains(r.OfflineLogDirs, [16]byte(dir)) })
}

// leaveDirectories is leave for the replicas in some directories of a broker.
func (m *Machine) leaveDirectories(id model.BrokerID, failed func(model.DirectoryID) bool) []record.Record {
	var records []record.Record
	for t := range m.current.Topics("") {
		for n, p := range t.Partitions {
			i := slices.Index(p.Replicas, id)
			if i < 0 || i >= len(p.Directories) || !failed(p.Directories[i]) {
				continue
			}
			records = appendChange(records, m.leaveDirectory(t, int32(n), id))
		}
	}
	return records
}

// assignDirectories notes in which of its directories a broker keeps replicas (KIP-858). Version 0, between brokers and
// controllers only.
//
// Errors of the whole: 77 the sender's epoch is stale, 102 it is not registered. Of a partition: 3 there is no such
// partition, 6 the sender has no replica of it, 100 there is no such topic.
func (m *Machine) assignDirectories(r *kmsg.AssignReplicasToDirsRequest) outcome {
	resp := reply[*kmsg.AssignReplicasToDirsResponse](r)
	broker := model.BrokerID(r.BrokerID)
	if _, err := m.registered(broker, model.BrokerEpoch(r.BrokerEpoch)); err != nil {
		resp.ErrorCode = codeOf(err)
		return outcome{response: resp}
	}
	var records []record.Record
	for _, d := range r.Directories {
		directory := kmsg.NewAssignReplicasToDirsResponseDirectory()
		directory.ID = d.ID
		for _, t := range d.Topics {
			topic := kmsg.NewAssignReplicasToDirsResponseDirectoryTopic()
			topic.TopicID = t.TopicID
			for _, p := range t.Partitions {
				change, err := m.assignDirectory(broker, d.ID, t.TopicID, p.Partition)
				result := kmsg.NewAssignReplicasToDirsResponseDirectoryTopicPartition()
				result.Partition, result.ErrorCode = p.Partition, codeOf(err)
				topic.Partitions = append(topic.Partitions, result)
				records = appendChange(records, change)
			}
			directory.Topics = append(directory.Topics, topic)
		}
		resp.Directories = append(resp.Directories, directory)
	}
	return outcome{records, resp}
}

// assignDirectory needs no leader epoch: the replica is the same wherever it lies. In a directory that has failed
// already it leads no more and leaves the ISR: the heartbeat that told of the failure did not know that it lay there. Out of
// one it may lead again.
func (m *Machine) assignDirectory(broker model.BrokerID, dir model.DirectoryID, id model.TopicID, n int32) (*record.PartitionChange, error) {
	t, ok := m.current.TopicByID(id)
	if !ok {
		return nil, kerr.UnknownTopicID
	}
	p, ok := t.Partition(n)
	if !ok {
		return nil, kerr.UnknownTopicOrPartition
	}
	i := slices.Index(p.Replicas, broker)
	if i < 0 {
		return nil, kerr.NotLeaderOrFollower
	}
	directories := make([]model.DirectoryID, len(p.Replicas))
	for j := range directories {
		directories[j] = model.DirectoryMigrating
	}
	copy(directories, p.Directories)
	if directories[i] == dir {
		return nil, nil
	}
	directories[i] = dir
	r := record.NewPartitionChange(n, id)
	if b, ok := m.current.Broker(broker); ok && len(b.LogDirs) > 0 && !slices.Contains(b.LogDirs, dir) {
		if away := m.leaveDirectory(t, n, broker); away != nil {
			r = away
		}
	} else if led := m.leadFrom(t, n, directories); led != nil {
		r = led
	}
	if r.Directories == nil {
		r.Directories = directories
	}
	return r, nil
}

// leadFrom elects where nobody leads: one that could may lie in a directory that works, now that it is told of.
func (m *Machine) leadFrom(t *image.Topic, n int32, directories []model.DirectoryID) *record.PartitionChange {
	here := *t.Partitions[n]
	if here.Leader != model.NoBroker {
		return nil
	}
	here.Directories = directories
	c := m.change(t, n)
	c.now, c.live, c.election = &here, m.leadable(&here, m.active), electAny
	return c.record()
}

// leaveDirectory takes one replica of a broker out of the ISR and of leadership.
func (m *Machine) leaveDirectory(t *image.Topic, n int32, id model.BrokerID) *record.PartitionChange {
	p := t.Partitions[n]
	c := m.change(t, n)
	c.isr = without(p.ISR, id)
	c.live = m.leadable(p, func(other model.BrokerID) bool { return other != id && m.active(other) })
	return c.record()
}
