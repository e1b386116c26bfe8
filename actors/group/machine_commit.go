package group

import (
	"cmp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/group/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// partition is what an offset is committed for, within a group.
type partition struct {
	topic  string
	number int32
}

func comparePartitions(a, b partition) int {
	return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.number, b.number))
}

// committed is an offset with what its consumer left beside it. It is immutable.
type committed struct {
	offset      int64
	leaderEpoch int32
	metadata    string
	atMs        int64
	expireMs    int64 // -1 unless the consumer asked for a time of its own (OffsetCommit up to version 4)
	topic       model.TopicID
}

// commitOffsets works on OffsetCommit (key 8), versions 2-10. Topics stand in the request by name; who passes it on has
// resolved ids, and has answered for topics that are not there.
//
// Errors, of all partitions: 22 ILLEGAL_GENERATION, 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, 35
// UNSUPPORTED_VERSION, 69 GROUP_ID_NOT_FOUND from version 9, 82 FENCED_INSTANCE_ID, 113 STALE_MEMBER_EPOCH; of one: 12
// OFFSET_METADATA_TOO_LARGE, 22, 113.
func (m *Machine) commitOffsets(w *waiter, r *kmsg.OffsetCommitRequest) {
	may := func(*kmsg.OffsetCommitRequestTopic, int32) kerr.Code { return kerr.None }
	var code kerr.Code
	if g, is := m.consumerGroup(r.Group); is {
		may, code = g.mayCommit(r)
	} else {
		g, there := m.classicGroup(r.Group)
		code = m.mayCommit(g, there, r)
	}
	if code != kerr.None {
		m.refuse(w, code)
		return
	}
	resp := response[*kmsg.OffsetCommitResponse](r)
	for i := range r.Topics {
		asked := &r.Topics[i]
		t := kmsg.NewOffsetCommitResponseTopic()
		t.Topic, t.TopicID = asked.Topic, asked.TopicID
		for j := range asked.Partitions {
			p := kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition = asked.Partitions[j].Partition
			code := may(asked, p.Partition)
			if code == kerr.None {
				code = m.commit(r, asked, &asked.Partitions[j])
			}
			p.ErrorCode = int16(code)
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	m.reply(w, resp)
}

// mayCommit judges who commits, and extends the session of a member: one that commits is alive. The rules keep a member that
// was left out from moving the offsets of partitions that others have by now:
//
//	no generation, no member    only while the group is empty: administrators, and consumers that assign themselves
//	a generation                the member must be in it; between join and sync nobody owns anything, so nobody commits
func (m *Machine) mayCommit(g *classic, there bool, r *kmsg.OffsetCommitRequest) kerr.Code {
	switch {
	case !there && r.Generation < 0:
		return kerr.None // a consumer without a group's membership makes the group by its commit
	case !there && r.Version >= 9:
		return kerr.GroupIDNotFound
	case !there:
		return kerr.IllegalGeneration
	case r.Generation < 0 && g.state == empty:
		return kerr.None
	case r.Generation < 0 && r.MemberID == "" && r.InstanceID == nil:
		return kerr.UnknownMemberID
	}
	p, code := g.validate(r.MemberID, r.InstanceID)
	switch {
	case code != kerr.None:
		return code
	case r.Generation != g.generation:
		return kerr.IllegalGeneration
	case g.state == completing:
		return kerr.RebalanceInProgress
	}
	m.extend(g, p)
	return kerr.None
}

// commit takes one partition's offset. It is not compared with the one before: a consumer may go back on purpose.
func (m *Machine) commit(r *kmsg.OffsetCommitRequest, t *kmsg.OffsetCommitRequestTopic, p *kmsg.OffsetCommitRequestTopicPartition) kerr.Code {
	c := &committed{
		offset: p.Offset, leaderEpoch: p.LeaderEpoch, atMs: m.now.UnixMilli(), expireMs: -1, topic: t.TopicID,
	}
	if p.Metadata != nil {
		c.metadata = *p.Metadata
	}
	if units(c.metadata) > m.options.MetadataMax {
		return kerr.OffsetMetadataTooLarge
	}
	if r.Version <= 4 && r.RetentionTimeMillis != -1 {
		c.expireMs = c.atMs + r.RetentionTimeMillis
	}
	key := record.Offset{Group: r.Group, Topic: t.Topic, Partition: p.Partition}
	m.append(record.CommitOffset(key, c.value()))
	m.replayOffset(key, c)
	m.options.Count(OffsetCommitted, 1)
	return kerr.None
}

// units is the length that Java gives a string: Kafka holds offset.metadata.max.bytes against characters, not bytes.
func units(s string) int {
	if len(s) == utf8.RuneCountInString(s) {
		return len(s)
	}
	return len(utf16.Encode([]rune(s)))
}

func (c *committed) value() kmsg.OffsetCommitValue {
	v := kmsg.NewOffsetCommitValue()
	v.Offset, v.LeaderEpoch, v.Metadata, v.TopicID = c.offset, c.leaderEpoch, c.metadata, c.topic
	v.CommitTimestamp, v.ExpireTimestamp = c.atMs, c.expireMs
	return v
}

func committedOf(v *kmsg.OffsetCommitValue) *committed {
	return &committed{
		offset: v.Offset, leaderEpoch: v.LeaderEpoch, metadata: v.Metadata, topic: v.TopicID,
		atMs: v.CommitTimestamp, expireMs: v.ExpireTimestamp,
	}
}

// deleteOffset gives out and replays a tombstone.
func (m *Machine) deleteOffset(g *core, p partition) {
	key := record.Offset{Group: g.id, Topic: p.topic, Partition: p.number}
	m.append(record.DeleteOffset(key))
	m.replayOffset(key, nil)
}
