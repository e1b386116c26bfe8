package api

import (
	"hash/maphash"

	"troupe/internal/model"
)

// keySeed makes the hashes of ordering keys; they live no longer than the process. Two things that hash alike wait for
// each other without need, which is harmless.
var keySeed = maphash.MakeSeed()

// partitionKey is the ordering key of a partition.
func partitionKey(topic string, partition int32) uint64 {
	return maphash.Comparable(keySeed, model.TopicPartition{Topic: topic, Partition: partition})
}

// sessionKey is the ordering key of a fetch session.
func sessionKey(id int32) uint64 { return maphash.Comparable(keySeed, id) }

// topicName gives the name that a request means, whichever way it names the topic; an unknown id stands for itself.
func (n *Node) topicName(name string, id model.TopicID) string {
	if name != "" || id.IsZero() {
		return name
	}
	if t, ok := n.Image().TopicByID(id); ok {
		return t.Name
	}
	return id.String()
}

// coordinatorKey is the ordering key of a group or transactional id.
func coordinatorKey(kind int8, id string) uint64 {
	return maphash.Comparable(keySeed, struct {
		kind int8
		id   string
	}{kind, id})
}
