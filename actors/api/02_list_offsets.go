package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/disk"
	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// ListOffsets (key 2), versions 1-11.
//
// Ordering key: the partition.
// Errors a partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 6 NOT_LEADER_OR_FOLLOWER, 29 TOPIC_AUTHORIZATION_FAILED, 35
// UNSUPPORTED_VERSION for a special timestamp below the version that brought it, 42 INVALID_REQUEST for a partition
// that is named twice, 56 KAFKA_STORAGE_ERROR, 74 FENCED_LEADER_EPOCH, 75 UNKNOWN_LEADER_EPOCH, 78
// OFFSET_NOT_AVAILABLE while a new leader's high watermark is below its epoch (5 LEADER_NOT_AVAILABLE before version
// 5). Not found is no error: offset, timestamp and epoch -1.
var listOffsets = &Handler{
	Key: 2, Name: "ListOffsets", Min: 1, Max: 11, On: OnBroker,
	Order:  Order{Keys: listOffsetsKeys, Pipelined: true},
	Access: Access{Describe, OnTopic},
	Handle: handleListOffsets,
}

// The special timestamps, and the versions that brought them.
const (
	latestOffset         = -1
	earliestOffset       = -2
	maxTimestampOffset   = -3 // KIP-734
	earliestLocalOffset  = -4 // KIP-405; without tiering everything is local
	latestTieredOffset   = -5 // KIP-1005
	earliestPendingTiers = -6 // KIP-1023
)

// consumerReplica is the replica id of those that are none; brokers and their tools see uncommitted records too.
const consumerReplica = -1

var timestampSince = map[int64]int16{
	latestOffset: 1, earliestOffset: 1, maxTimestampOffset: 7, earliestLocalOffset: 8, latestTieredOffset: 9, earliestPendingTiers: 11,
}

func handleListOffsets(n *Node, r *Request) {
	req := r.Body.(*kmsg.ListOffsetsRequest)
	var asked mentions[kmsg.ListOffsetsRequestTopicPartition]
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			asked.add(req.Topics[i].Topic, p.Partition, p)
		}
	}
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, len(asked.topics))
	g := newGather(func() { r.Reply(resp) })
	for i, name := range asked.topics {
		t := &resp.Topics[i]
		t.Topic, t.Partitions = name, make([]kmsg.ListOffsetsResponseTopicPartition, len(asked.of[name]))
		allowed := n.Authorizer.Allowed(r.Client, Describe, OnTopic, name)
		for j, m := range asked.of[name] {
			s := offsetSearch{node: n, request: r, topic: name, ask: m.ask, out: &t.Partitions[j]}
			*s.out = kmsg.NewListOffsetsResponseTopicPartition()
			s.out.Partition = m.partition
			since, special := timestampSince[m.ask.Timestamp]
			switch {
			case !allowed:
				s.out.ErrorCode = int16(kerr.TopicAuthorizationFailed)
			case m.times > 1:
				s.out.ErrorCode = int16(kerr.InvalidRequest)
			case m.ask.Timestamp < 0 && (!special || r.Version < since):
				s.out.ErrorCode = int16(kerr.UnsupportedVersion)
			default:
				s.start(req, g)
			}
		}
	}
	g.arrive()
}

// listOffsetsKeys makes a search wait for a produce that came before it: a client that was not answered yet may still
// count on its own order.
func listOffsetsKeys(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.ListOffsetsRequest)
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			dst = append(dst, partitionKey(req.Topics[i].Topic, p.Partition))
		}
	}
	return dst
}

// offsetSearch is one partition's part of a ListOffsets. It holds one view, so that limit and answer belong together.
type offsetSearch struct {
	node    *Node
	request *Request
	topic   string
	ask     kmsg.ListOffsetsRequestTopicPartition
	out     *kmsg.ListOffsetsResponseTopicPartition

	handle *replica.Handle
	view   *partitionlog.View
	limit  model.Offset // exclusive: what lies behind it is not for this reader
}

// start answers what the view knows at once, and sends a search by time to the lane that may wait for the disk.
func (s *offsetSearch) start(req *kmsg.ListOffsetsRequest, g *gather) {
	h, view, code := s.node.leading(s.topic, s.ask.Partition, model.LeaderEpoch(s.ask.CurrentLeaderEpoch))
	if code != kerr.None {
		s.out.ErrorCode = int16(code)
		return
	}
	s.handle, s.view, s.limit = h, view, readLimit(view, req.ReplicaID, req.IsolationLevel == 1)
	switch s.ask.Timestamp {
	case latestOffset:
		if code := s.lagging(); code != kerr.None {
			s.out.ErrorCode = int16(code)
			return
		}
		s.out.Offset, s.out.LeaderEpoch = int64(s.limit), int32(h.Status().LeaderEpoch)
	case earliestOffset, earliestLocalOffset:
		s.out.Offset, s.out.LeaderEpoch = int64(view.LogStart), int32(view.EpochAt(view.LogStart))
	case latestTieredOffset, earliestPendingTiers: // nothing is tiered
	default:
		// Indexes and batches may have to come from the disk, which a connection's goroutine does not wait for.
		g.expect()
		h.Dir().ColdLane(h.TP).SendCaused(s.request.Cause, &disk.Task{
			Name: "find an offset by time in " + h.TP.String(),
			Do:   s.search,
			Done: func(err error) {
				if err != nil {
					s.out.ErrorCode = int16(s.node.readCode(h, "search by time", err))
				}
				g.arrive()
			},
		})
	}
}

// readLimit is where a reader's view of the log ends: consumers see committed records, brokers everything.
func readLimit(view *partitionlog.View, replicaID int32, committed bool) model.Offset {
	switch {
	case replicaID != consumerReplica:
		return view.LogEnd
	case committed:
		return view.LastStable
	default:
		return view.HighWatermark
	}
}

// lagging tells that a new leader's high watermark has not reached the start of its epoch, so that what is committed
// is not known yet (KIP-207).
func (s *offsetSearch) lagging() kerr.Code {
	_, begins := s.view.EpochEnd(s.view.LatestEpoch - 1)
	switch {
	case s.request.Body.(*kmsg.ListOffsetsRequest).ReplicaID != consumerReplica || begins <= s.view.HighWatermark:
		return kerr.None
	case s.request.Version < 5:
		return kerr.LeaderNotAvailable
	default:
		return kerr.OffsetNotAvailable
	}
}

// search runs on the lane. What it finds behind the limit counts as not found: the record of the largest timestamp is
// sought in the whole log, as Kafka does, and hidden when this reader may not see it.
func (s *offsetSearch) search() error {
	look := func() (partitionlog.Found, bool, error) {
		if s.ask.Timestamp == maxTimestampOffset {
			return s.view.MaxTimestamp(s.limit)
		}
		return s.view.OffsetForTime(s.ask.Timestamp, s.limit)
	}
	found, ok, err := look()
	for errors.Is(err, partitionlog.ErrStale) && s.view != s.handle.View() {
		s.view = s.handle.View() // retention removed what the view still showed
		found, ok, err = look()
	}
	if err != nil {
		return err
	}
	if ok {
		s.out.Offset, s.out.Timestamp, s.out.LeaderEpoch = int64(found.Offset), found.TimestampMs, int32(found.LeaderEpoch)
		return nil
	}
	s.out.ErrorCode = int16(s.lagging())
	return nil
}
