package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// OffsetFetch (key 9), versions 1-10: one group up to version 7, a list of them from version 8 on (KIP-709), topics by
// id from version 10 on. The groups' coordinators answer, from what is committed.
//
// Ordering key: the group.
// Errors a group (version 1: a partition): 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16
// NOT_COORDINATOR, 30 GROUP_AUTHORIZATION_FAILED. A partition: 29 TOPIC_AUTHORIZATION_FAILED, 88 UNSTABLE_OFFSET_COMMIT,
// 100 UNKNOWN_TOPIC_ID.
var offsetFetch = &Handler{
	Key: 9, Name: "OffsetFetch", Min: 1, Max: 10, On: OnBroker, Coded: Versions{2, 7},
	Order:  Order{Keys: offsetFetchKeys, Pipelined: true},
	Access: Access{Describe, OnGroup},
	Handle: handleOffsetFetch,
}

func offsetFetchKeys(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.OffsetFetchRequest)
	if req.Version < 8 {
		return append(dst, groupKey(req.Group))
	}
	for i := range req.Groups {
		dst = append(dst, groupKey(req.Groups[i].Group))
	}
	return dst
}

func handleOffsetFetch(n *Node, r *Request) {
	req := r.Body.(*kmsg.OffsetFetchRequest)
	if r.Version < 8 {
		n.ofGroup(r, Describe, req.Group)
		return
	}
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))
	g := newGather(func() { r.Reply(resp) })
	for i := range req.Groups {
		g.expect()
		n.fetchOffsetsOf(r, &req.Groups[i], req.RequireStable, func(out kmsg.OffsetFetchResponseGroup) {
			resp.Groups[i] = out
			g.arrive()
		})
	}
	g.arrive()
}

// fetchOffsetsOf asks for one group by the names of its topics, and answers itself for ids that are not known.
func (n *Node) fetchOffsetsOf(r *Request, asked *kmsg.OffsetFetchRequestGroup, stable bool, done func(kmsg.OffsetFetchResponseGroup)) {
	byID := r.Version >= 10
	var refused []kmsg.OffsetFetchResponseGroupTopic
	known := *asked
	if asked.Topics != nil {
		known.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, t := range asked.Topics {
		name, code := n.knownTopic(r, t.Topic, t.TopicID, byID)
		if code != kerr.None {
			refused = append(refused, refusedOffsets(&t, code))
			continue
		}
		t.Topic = name
		known.Topics = append(known.Topics, t)
	}
	body := kmsg.NewPtrOffsetFetchRequest()
	body.Version, body.RequireStable, body.Groups = r.Version, stable, []kmsg.OffsetFetchRequestGroup{known}
	n.askGroup(r, Describe, asked.Group, body, func(resp kmsg.Response) {
		out := resp.(*kmsg.OffsetFetchResponse).Groups[0]
		if byID && asked.Topics == nil {
			out.Topics = n.withIDs(out.Topics)
		}
		out.Topics = append(out.Topics, refused...)
		done(out)
	})
}

func refusedOffsets(t *kmsg.OffsetFetchRequestGroupTopic, code kerr.Code) kmsg.OffsetFetchResponseGroupTopic {
	out := kmsg.NewOffsetFetchResponseGroupTopic()
	out.Topic, out.TopicID = t.Topic, t.TopicID
	for _, number := range t.Partitions {
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.ErrorCode = number, -1, -1, int16(code)
		out.Partitions = append(out.Partitions, p)
	}
	return out
}

// withIDs leaves out topics that are not there any more: the answer has no name for them.
func (n *Node) withIDs(topics []kmsg.OffsetFetchResponseGroupTopic) (kept []kmsg.OffsetFetchResponseGroupTopic) {
	for _, t := range topics {
		if known, there := n.Image().Topic(t.Topic); there {
			t.TopicID = known.ID
			kept = append(kept, t)
		}
	}
	return kept
}
