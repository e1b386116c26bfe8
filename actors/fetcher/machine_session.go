package fetcher

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/internal/model"
)

// everything asks for all that is ready, and for a session; false when nothing is.
func (m *machine) everything(req *kmsg.FetchRequest) bool {
	var all []*part
	for _, p := range m.parts { // any order: they are sorted when they are named
		p.inSession = p.state == ready
		if p.inSession {
			all = append(all, p)
		}
	}
	m.held = len(all)
	if m.held == 0 {
		return false
	}
	m.unlist()
	named(all, func(id model.TopicID, parts []*part) {
		req.Topics = append(req.Topics, topicOf(id, parts, m.limits.PartitionBytes))
	})
	return true
}

// changes asks for what changed in the session, and takes out what is not to be fetched now. When that would leave nothing
// it changes nothing and is false: the session goes on when there is something again.
func (m *machine) changes(req *kmsg.FetchRequest) bool {
	m.inherit()
	held := m.held
	for _, p := range m.changed {
		switch wanted := p.state == ready && !p.gone; {
		case wanted && !p.inSession:
			held++
		case !wanted && p.inSession:
			held--
		}
	}
	if held == 0 {
		return false
	}
	m.held = held
	var add, drop []*part
	for _, p := range m.changed {
		if p.state == ready && !p.gone {
			p.inSession = true
			add = append(add, p)
		} else if p.inSession {
			p.inSession = false
			drop = append(drop, p)
		}
	}
	m.unlist()
	named(add, func(id model.TopicID, parts []*part) {
		req.Topics = append(req.Topics, topicOf(id, parts, m.limits.PartitionBytes))
	})
	named(drop, func(id model.TopicID, parts []*part) {
		req.ForgottenTopics = append(req.ForgottenTopics, forgottenOf(id, parts))
	})
	return true
}

// inherit gives the place of a partition that was left to one of the same name that was taken up since: a request that
// named it and forgot it would have it forgotten.
func (m *machine) inherit() {
	for _, p := range m.changed {
		if q := m.byKey[p.key()]; p.gone && p.inSession && q != nil {
			q.inSession, p.inSession = true, false
		}
	}
}

func (m *machine) unlist() {
	for i, p := range m.changed {
		p.listed = false
		m.changed[i] = nil
	}
	m.changed = m.changed[:0]
}

// continueSession takes what the leader says of the session: 0 is none, and everything is named in each fetch then.
func (m *machine) continueSession(id int32) {
	switch {
	case id == 0:
		m.endSession()
	case id != m.sessionID:
		m.sessionID, m.sessionEpoch = id, 1
	case m.sessionEpoch == 1<<31-1:
		m.sessionEpoch = 1 // 0 asks for a new one
	default:
		m.sessionEpoch++
	}
}

func (m *machine) endSession() { m.sessionID, m.sessionEpoch = 0, 0 }

func (p *part) key() partKey { return partKey{p.handle.TopicID, p.handle.TP.Partition} }

// named gives partitions topic by topic, in one order.
func named(parts []*part, topic func(model.TopicID, []*part)) {
	slices.SortFunc(parts, func(a, b *part) int { return a.handle.TP.Compare(b.handle.TP) })
	for from := 0; from < len(parts); {
		to := from + 1
		for to < len(parts) && parts[to].handle.TopicID == parts[from].handle.TopicID {
			to++
		}
		topic(parts[from].handle.TopicID, parts[from:to])
		from = to
	}
}

func topicOf(id model.TopicID, parts []*part, maxBytes int32) kmsg.FetchRequestTopic {
	t := kmsg.NewFetchRequestTopic()
	t.TopicID = id
	t.Partitions = make([]kmsg.FetchRequestTopicPartition, len(parts))
	for i, p := range parts {
		asked := &t.Partitions[i]
		asked.Default()
		asked.Partition, asked.CurrentLeaderEpoch = p.handle.TP.Partition, int32(p.LeaderEpoch)
		asked.FetchOffset, asked.LastFetchedEpoch = int64(p.Offset), int32(p.LastEpoch)
		asked.LogStartOffset, asked.HighWatermark = int64(p.LogStart), int64(p.highWatermark)
		asked.PartitionMaxBytes = maxBytes
	}
	return t
}

func forgottenOf(id model.TopicID, parts []*part) kmsg.FetchRequestForgottenTopic {
	t := kmsg.NewFetchRequestForgottenTopic()
	t.TopicID = id
	for _, p := range parts {
		t.Partitions = append(t.Partitions, p.handle.TP.Partition)
	}
	return t
}
