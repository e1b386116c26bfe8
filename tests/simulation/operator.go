package simulation

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// What an operator does goes once to any node. Whether it was done is not waited for, but that it can be undone is.

// revisionPatience is how long the removal of a voter may still be on its way.
const revisionPatience = 30 * time.Second

// removeVoterFault takes a node's vote, which it then asks for again by itself.
func (w *World) removeVoterFault(h *host) bool {
	if w.static || !w.allVote(nil) {
		return false
	}
	w.revisedUntil = w.since() + revisionPatience
	w.note("remove", "the vote of node %d", h.id)
	req := kmsg.NewPtrRemoveRaftVoterRequest()
	req.VoterID, req.VoterDirectoryID = int32(h.id), h.directory
	w.load.admin.call(w.load.admin.anyBroker(), req, func(resp kmsg.Response, err error) {
		if err == nil {
			w.note("removed", "node %d: %s", h.id, kerr.Code(resp.(*kmsg.RemoveRaftVoterResponse).ErrorCode).Name())
		}
	})
	return true
}

// reassignFault gives a partition other replicas, or another order of them; never fewer than min.insync.replicas.
func (w *World) reassignFault(*host) bool {
	if w.load.created < len(topics) {
		return false
	}
	shape := topics[w.random.IntN(len(topics))]
	part := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	part.Partition = int32(w.random.IntN(shape.partitions))
	for _, i := range w.random.Perm(len(w.hosts))[:2+w.random.IntN(2)] {
		part.Replicas = append(part.Replicas, int32(w.hosts[i].id))
	}
	topic := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	topic.Topic, topic.Partitions = shape.name, append(topic.Partitions, part)
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Topics = append(req.Topics, topic)
	w.note("reassign", "%s-%d to %v", shape.name, part.Partition, part.Replicas)
	w.load.admin.call(w.load.admin.anyBroker(), req, func(resp kmsg.Response, err error) {
		if err != nil {
			return
		}
		got := resp.(*kmsg.AlterPartitionAssignmentsResponse)
		code := kerr.Code(got.ErrorCode)
		if code == kerr.None && len(got.Topics) > 0 {
			code = kerr.Code(got.Topics[0].Partitions[0].ErrorCode)
		}
		if w.load.admin.expect(code); code == kerr.None {
			w.cover.meet(reassignment)
		}
	})
	return true
}

// trimmedPartition loses its first records now and then.
const trimmedPartition = "orders-1"

// deleteRecordsFault deletes up to somewhere before the high watermark, or all that there is.
func (w *World) deleteRecordsFault(*host) bool {
	book := w.load.ledgers[trimmedPartition]
	if book == nil {
		return false
	}
	c := w.load.reader(trimmedPartition)
	leader, known := c.leader(c.topic, c.partition)
	if !known || c.watermark == 0 {
		return false
	}
	to := c.watermark
	if !w.chance(3) {
		to = w.random.Int64N(c.watermark)
	}
	// From the question on: an answer that is lost may have been carried out.
	book.trim(to)
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Partition, part.Offset = int32(c.partition), to
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic, topic.Partitions = c.topic, append(topic.Partitions, part)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis, req.Topics = 5000, append(req.Topics, topic)
	w.note("trim", "%s to %d", trimmedPartition, to)
	w.load.admin.call(leader, req, func(resp kmsg.Response, err error) {
		if err != nil {
			return
		}
		code := kerr.Code(resp.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].ErrorCode)
		if w.load.admin.expect(code); code == kerr.None {
			w.cover.meet(trimmed)
		}
	})
	return true
}
