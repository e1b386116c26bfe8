package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// leave works on LeaveGroup (key 13), versions 0-5. An administrator may name members by their instance alone.
//
// Errors a member: 25 UNKNOWN_MEMBER_ID, 82 FENCED_INSTANCE_ID. Up to version 2 they stand at the top.
func (m *Machine) leave(w *waiter, r *kmsg.LeaveGroupRequest) {
	members := r.Members
	if r.Version < 3 {
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID = r.MemberID
		members = []kmsg.LeaveGroupRequestMember{one}
	}
	if g, is := m.consumerGroup(r.Group); is {
		m.leaveConsumer(w, g, r, members)
		return
	}
	g, there := m.classicGroup(r.Group)
	resp := response[*kmsg.LeaveGroupResponse](r)
	left := false
	for i := range members {
		out := kmsg.NewLeaveGroupResponseMember()
		out.MemberID, out.InstanceID, out.ErrorCode = members[i].MemberID, members[i].InstanceID, int16(kerr.UnknownMemberID)
		if there {
			gone, code := m.leaves(g, &members[i])
			left = left || gone
			out.ErrorCode = int16(code)
		}
		resp.Members = append(resp.Members, out)
	}
	if r.Version < 3 {
		resp.ErrorCode = resp.Members[0].ErrorCode
	}
	if left {
		m.shrunk(g)
	}
	m.reply(w, resp)
}

// leaves takes one member out, and tells whether the group has one less. Somebody who has not joined with the id that
// it was given was none.
func (m *Machine) leaves(g *classic, r *kmsg.LeaveGroupRequestMember) (bool, kerr.Code) {
	id := r.MemberID
	if id == "" && r.InstanceID != nil {
		id = g.instances[*r.InstanceID]
	}
	if g.given[id] && r.InstanceID == nil {
		m.timers.Cancel(timer{knownTimer, g.id, id})
		delete(g.given, id)
		m.maybeCompleteJoin(g)
		return false, kerr.None
	}
	p, code := g.validate(id, r.InstanceID)
	if code != kerr.None {
		return false, code
	}
	m.drop(g, p)
	return true, kerr.None
}
