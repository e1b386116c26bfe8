package api

import (
	"errors"

	"troupe/actors/disk"
	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// leading gives the replica of a partition that this broker leads, with its view.
func (n *Node) leading(topic string, partition int32, epoch model.LeaderEpoch) (*replica.Handle, *partitionlog.View, kerr.Code) {
	h := n.Replicas.Get(model.TopicPartition{Topic: topic, Partition: partition})
	if h == nil {
		return nil, nil, n.absentPartition(topic, partition)
	}
	view, code := leaderView(h, epoch)
	return h, view, code
}

// leaderView gives the view of a leading replica, or the code that says why there is none. The client's epoch is
// judged before the leadership, as in Kafka: a client that is ahead asks again instead of looking elsewhere.
func leaderView(h *replica.Handle, epoch model.LeaderEpoch) (*partitionlog.View, kerr.Code) {
	st, view := h.Status(), h.View()
	known := st.LeaderEpoch != model.NoLeaderEpoch && epoch != model.NoLeaderEpoch
	switch {
	// First of all: a fenced directory's replicas may still believe that they lead.
	case h.Dir().Err() != nil:
		return nil, kerr.KafkaStorageError
	case !st.Online || view == nil:
		return nil, kerr.NotLeaderOrFollower
	case known && epoch < st.LeaderEpoch:
		return nil, kerr.FencedLeaderEpoch
	case known && epoch > st.LeaderEpoch:
		return nil, kerr.UnknownLeaderEpoch
	case !st.Leader:
		return nil, kerr.NotLeaderOrFollower
	}
	return view, kerr.None
}

// readCode is the answer to a read that failed. A lane that is gone or fenced and a file that cannot be read are one to
// the client: it looks for another leader.
func (n *Node) readCode(h *replica.Handle, what string, err error) kerr.Code {
	code, _ := kerr.Of(err)
	if code != kerr.UnknownServerError {
		return code
	}
	if !errors.Is(err, disk.ErrFenced) {
		n.Log.Error(what+" failed", "partition", h.TP.String(), "err", err)
	}
	return kerr.KafkaStorageError
}
