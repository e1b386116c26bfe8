package group

import (
	"encoding/hex"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/codec/kerr"
	"troupe/internal/invariant"
)

// newMemberTimeout is how long somebody who never got an answer is kept: it can not send heartbeats while it waits, and
// nobody sees that its connection has gone.
const newMemberTimeout = 5 * time.Minute

// CheckJoin judges what needs no group, in Kafka's order: it comes before the question whether this broker coordinates it.
func (o Options) CheckJoin(r *kmsg.JoinGroupRequest) kerr.Code {
	session := time.Duration(r.SessionTimeoutMillis) * time.Millisecond
	switch {
	case r.Group == "":
		return kerr.InvalidGroupID
	case session < o.SessionMin || session > o.SessionMax:
		return kerr.InvalidSessionTimeout
	}
	return kerr.None
}

// join works on JoinGroup (key 11), versions 0-9.
//
// Errors: 15 COORDINATOR_NOT_AVAILABLE, 23 INCONSISTENT_GROUP_PROTOCOL, 25 UNKNOWN_MEMBER_ID, 79 MEMBER_ID_REQUIRED, 81
// GROUP_MAX_SIZE_REACHED, 82 FENCED_INSTANCE_ID.
func (m *Machine) join(w *waiter, c coordinator.Client, r *kmsg.JoinGroupRequest) {
	former, is := m.consumerGroup(r.Group)
	if is && !former.vacant() {
		m.joinConsumer(w, c, former, r)
		return
	}
	g, there := m.classicGroup(r.Group)
	if !there && r.MemberID != "" {
		m.refuse(w, kerr.UnknownMemberID)
		return
	}
	if !there {
		g = m.newClassic(m.coreOf(r.Group))
	}
	switch {
	case !m.accepts(g, r):
		if p := g.byID[r.MemberID]; p != nil {
			m.drop(g, p)
		}
		m.refuse(w, kerr.GroupMaxSizeReached)
		return
	case !g.supports(r.ProtocolType, r.Protocols):
		m.refuse(w, kerr.InconsistentGroupProtocol)
		return
	}
	if !there {
		m.unsettled = append(m.unsettled, unsettled{offset: m.next, group: g, created: true})
		if former != nil {
			m.eraseConsumer(former)
		}
		m.recordState(g)
	}
	if r.MemberID == "" {
		m.joinNew(w, c, g, r)
	} else {
		m.joinKnown(w, c, g, r)
	}
}

// accepts holds group.max.size against a member that wants in. A static member that comes back without its id counts as
// one more, though it replaces one: Kafka does so (measured), and in a full group it waits for its former session's end.
func (m *Machine) accepts(g *classic, r *kmsg.JoinGroupRequest) bool {
	p := g.byID[r.MemberID]
	switch g.state {
	case empty:
		return true
	case preparing:
		return p != nil && p.joining != nil || g.joiningCount() < m.options.MembersMax
	default:
		return p != nil || len(g.members) < m.options.MembersMax
	}
}

// joinNew takes somebody without a member id. Since version 4 a dynamic member must come back with the one it is given,
// so that a retry does not leave a member behind that nobody is (KIP-394).
func (m *Machine) joinNew(w *waiter, c coordinator.Client, g *classic, r *kmsg.JoinGroupRequest) {
	prefix := c.ID
	if r.InstanceID != nil {
		prefix = *r.InstanceID
	}
	id := prefix + "-" + m.newID()
	switch {
	case r.InstanceID != nil:
		if old, taken := g.instances[*r.InstanceID]; taken {
			m.replaceStatic(w, c, g, g.byID[old], id, r)
			return
		}
		m.admit(w, c, g, id, r)
	case r.Version >= 4:
		g.given[id] = true
		m.timers.Set(timer{knownTimer, g.id, id}, m.now.Add(millis(r.SessionTimeoutMillis)))
		resp := joinFailure(r, kerr.MemberIDRequired)
		resp.MemberID = id
		m.reply(w, resp)
	default:
		m.admit(w, c, g, id, r)
	}
}

// joinKnown takes somebody who names the member it is. What it leads to depends on where the group stands:
//
//	Empty                  nobody is a member: the id is of a former life
//	PreparingRebalance     it is one more that has come
//	CompletingRebalance    unchanged: the lost answer again; else a new generation
//	Stable                 a follower unchanged: the present generation; a leader may have seen new partitions, and
//	                       asks by joining again
func (m *Machine) joinKnown(w *waiter, c coordinator.Client, g *classic, r *kmsg.JoinGroupRequest) {
	if g.given[r.MemberID] && r.InstanceID == nil {
		m.timers.Cancel(timer{knownTimer, g.id, r.MemberID})
		m.admit(w, c, g, r.MemberID, r)
		return
	}
	p, code := g.validate(r.MemberID, r.InstanceID)
	if code != kerr.None {
		m.refuse(w, code)
		return
	}
	switch {
	case g.state == preparing:
	case g.state == completing && p.matches(r.Protocols):
		// The answer was lost: it is given again.
		m.reply(w, g.joinReply(r, p, g.leader == p.id))
		return
	case g.state == stable && g.leader != p.id && p.matches(r.Protocols):
		m.reply(w, g.joinReply(r, p, false))
		return
	case g.state == empty:
		m.refuse(w, kerr.UnknownMemberID)
		return
	}
	m.rejoin(g, p, w, r)
	m.rebalance(g)
}

// admit makes a member of the group. Until it has its first answer it can not be told apart from a client that is gone, so
// its session is a long one.
func (m *Machine) admit(w *waiter, c coordinator.Client, g *classic, id string, r *kmsg.JoinGroupRequest) {
	p := &member{id: id, instance: r.InstanceID, client: c, fresh: true, joining: w, protocols: r.Protocols}
	p.session, p.rebalance = timeouts(r)
	g.add(p, r.ProtocolType)
	if g.state == preparing && g.generation == 0 {
		g.newcomer = true
	}
	m.timers.Set(timer{sessionTimer, g.id, id}, m.now.Add(newMemberTimeout))
	m.rebalance(g)
}

// rejoin takes what a member now says of itself, and parks its request. A request that it had parked before was given
// up by its client.
func (m *Machine) rejoin(g *classic, p *member, w *waiter, r *kmsg.JoinGroupRequest) {
	if p.joining != nil {
		m.refuse(p.joining, kerr.RebalanceInProgress)
	}
	g.count(p, -1)
	p.protocols = r.Protocols
	g.count(p, 1)
	p.session, p.rebalance = timeouts(r)
	p.joining = w
}

func timeouts(r *kmsg.JoinGroupRequest) (session, rebalance time.Duration) {
	session = millis(r.SessionTimeoutMillis)
	if r.Version == 0 {
		return session, session
	}
	return session, millis(r.RebalanceTimeoutMillis)
}

func millis(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// joinReply tells a member its generation; the leader gets the members to make the assignment from.
func (g *classic) joinReply(r kmsg.Request, p *member, withMembers bool) *kmsg.JoinGroupResponse {
	resp := response[*kmsg.JoinGroupResponse](r)
	resp.Generation, resp.LeaderID, resp.MemberID = g.generation, g.leader, p.id
	// The reply may be encoded when the group has moved on.
	protocol, kind := g.chosen, g.protocolType
	resp.Protocol, resp.ProtocolType = &protocol, &kind
	if withMembers {
		for _, each := range g.members {
			out := kmsg.NewJoinGroupResponseMember()
			out.MemberID, out.InstanceID, out.ProtocolMetadata = each.id, each.instance, each.metadata(g.chosen)
			resp.Members = append(resp.Members, out)
		}
	}
	return resp
}

// joinFailure has the fields that Kafka sends beside an error (measured).
func joinFailure(r *kmsg.JoinGroupRequest, code kerr.Code) *kmsg.JoinGroupResponse {
	resp := response[*kmsg.JoinGroupResponse](r)
	resp.ErrorCode, resp.Generation = int16(code), -1
	if code != kerr.InconsistentGroupProtocol && code != kerr.InvalidSessionTimeout && code != kerr.GroupMaxSizeReached {
		resp.MemberID = r.MemberID
	}
	return resp
}

// newID draws a random UUID in its usual form.
func (m *Machine) newID() string {
	var b [16]byte
	_, err := io.ReadFull(m.options.Random, b[:])
	invariant.Check(err == nil, "group: no random bytes: %v", err)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
