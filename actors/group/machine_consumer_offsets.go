package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// mayCommit judges who commits. A member of an older epoch may still commit what it has had since then or before
// (KIP-1251): nobody else has got that partition meanwhile.
func (g *consumer) mayCommit(r *kmsg.OffsetCommitRequest) (func(*kmsg.OffsetCommitRequestTopic, int32) kerr.Code, kerr.Code) {
	anything := func(*kmsg.OffsetCommitRequestTopic, int32) kerr.Code { return kerr.None }
	if r.Generation < 0 && g.vacant() {
		return anything, kerr.None
	}
	p, there := g.members.Get(r.MemberID)
	if !there {
		return nil, kerr.UnknownMemberID
	}
	stale, s := p.stale(), g.current(p.id)
	switch {
	case p.classic == nil && r.Version < 9:
		return nil, kerr.UnsupportedVersion
	case r.Generation == s.memberEpoch:
		return anything, kerr.None
	case r.Generation > s.memberEpoch: // the member did not get it from here
		return nil, stale
	}
	return func(t *kmsg.OffsetCommitRequestTopic, number int32) kerr.Code {
		if since, has := s.holds(topicPartition{model.TopicID(t.TopicID), number}); !has || r.Generation < since {
			return stale
		}
		return kerr.None
	}, kerr.None
}

// stale is what a member is told whose epoch is not its own, in the words of its protocol.
func (p *subscriber) stale() kerr.Code {
	if p.classic != nil {
		return kerr.IllegalGeneration
	}
	return kerr.StaleMemberEpoch
}

// mayFetch judges who fetches offsets, since version 9 of OffsetFetch: who names no member may. One that names itself with
// an old epoch would begin where another member has gone on.
func (g *consumer) mayFetch(member *string, epoch int32) kerr.Code {
	if member == nil && epoch < 0 {
		return kerr.None
	}
	id := ""
	if member != nil {
		id = *member
	}
	p, there := g.members.Committed(id)
	if !there {
		return kerr.UnknownMemberID
	}
	if s, _ := g.currents.Committed(id); s == nil || s.memberEpoch != epoch {
		return p.stale()
	}
	return kerr.None
}
