package api

import (
	"math"
	"unique"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/internal/model"
)

// topicName is a topic the way the requests of a fetch name it: by name before version 13, by id from there on. All
// sessions share one copy of each: a name is longer than all else that a session keeps of a partition.
type topicName struct {
	name string
	id   model.TopicID
	byID bool
}

// partKey names a partition within a session.
type partKey struct {
	topic     unique.Handle[topicName]
	partition int32
}

// fetchPart is what one fetch, or one fetch session, wants of one partition, and how far the two have come. It is worked
// on by who holds the set's exclusive lock, but for watch and queued, which the set's mu guards: replicas change those.
//
// A thousand sessions over a thousand partitions are a million of these: the order of the fields leaves no gaps.
type fetchPart struct {
	topic   unique.Handle[topicName]
	handle  *replica.Handle
	traffic *Traffic // of the topic; nil until there is a handle

	offset model.Offset
	// seen is the high watermark of the view last read, for a follower the log end; -1 since a request has named the partition.
	seen model.Offset
	// What the session's client was last told, to leave out what did not change (KIP-227). A follower says itself which high
	// watermark it knows (KIP-1166), and where its own log begins.
	toldHighWatermark, toldLogStart model.Offset

	key              uint32 // index in fetchSet.parts
	partition        int32
	maxBytes         int32
	leaderEpoch      model.LeaderEpoch // -1 skips the check
	lastFetchedEpoch model.LeaderEpoch // -1 skips the check

	told   bool
	queued bool // in fetchSet.queue
	gone   bool // left the session
	watch  watchState
}

// newFetchPart makes what a request wants of one partition.
func newFetchPart(k partKey, p *kmsg.FetchRequestTopicPartition) *fetchPart {
	part := &fetchPart{topic: k.topic, partition: k.partition, toldHighWatermark: model.NoOffset, toldLogStart: model.NoOffset}
	part.update(p)
	return part
}

func (p *fetchPart) update(asked *kmsg.FetchRequestTopicPartition) {
	p.offset, p.maxBytes = model.Offset(asked.FetchOffset), asked.PartitionMaxBytes
	p.leaderEpoch = model.LeaderEpoch(asked.CurrentLeaderEpoch)
	p.lastFetchedEpoch = model.LeaderEpoch(asked.LastFetchedEpoch)
	p.seen = model.NoOffset
	if asked.LogStartOffset >= 0 { // a follower's
		p.toldLogStart = model.Offset(asked.LogStartOffset)
	}
	if asked.HighWatermark != math.MaxInt64 {
		p.toldHighWatermark = model.Offset(asked.HighWatermark)
	}
}

// name is the topic's; empty for one that is named by an id with which no replica was found yet.
func (p *fetchPart) name() string {
	t := p.topic.Value()
	if t.byID && p.handle != nil {
		return p.handle.TP.Topic
	}
	return t.name
}
