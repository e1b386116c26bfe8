package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/codec/kerr"
)

// Member epochs that mean something of their own (KIP-848).
const (
	joinEpoch        = 0
	leaveEpoch       = -1
	leaveStaticEpoch = -2 // a static member goes for a while
)

// CheckHeartbeat judges what needs no group, in Kafka's order and words (measured): clients log them, and people look for
// them. A request that joins must say everything, for nothing is known of its member.
func (o Options) CheckHeartbeat(r *kmsg.ConsumerGroupHeartbeatRequest) *kerr.Error {
	invalid := func(why string) *kerr.Error { return &kerr.Error{Code: kerr.InvalidRequest, Detail: why} }
	empty := func(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }
	switch epoch := r.MemberEpoch; {
	case (r.Version >= 1 || epoch > 0 || epoch == leaveEpoch) && empty(&r.MemberID):
		return invalid("MemberId can't be empty.")
	case empty(&r.Group):
		return invalid("GroupId can't be empty.")
	case empty(r.InstanceID):
		return invalid("InstanceId can't be empty.")
	case empty(r.RackID):
		return invalid("RackId can't be empty.")
	case epoch == joinEpoch && r.RebalanceTimeoutMillis == -1:
		return invalid("RebalanceTimeoutMs must be provided in first request.")
	case epoch == joinEpoch && (r.Topics == nil || len(r.Topics) > 0):
		return invalid("TopicPartitions must be empty when (re-)joining.")
	case epoch == joinEpoch && r.SubscribedTopicNames == nil && r.SubscribedTopicRegex == nil:
		return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	case epoch == leaveStaticEpoch && r.InstanceID == nil:
		return invalid("InstanceId can't be null.")
	case epoch < leaveStaticEpoch:
		return invalid("MemberEpoch is invalid.")
	}
	if a := r.ServerAssignor; a != nil && !slices.Contains(o.Consumer.Assignors, *a) {
		return &kerr.Error{Code: kerr.UnsupportedAssignor, Detail: fmt.Sprintf("ServerAssignor %s is not supported. Supported assignors: %s.",
			*a, strings.Join(o.Consumer.Assignors, ", "))}
	}
	return nil
}

// consumerHeartbeat works on ConsumerGroupHeartbeat (key 68), versions 0-1: joining, leaving, and all between.
//
// Errors: 25 UNKNOWN_MEMBER_ID, 42 INVALID_REQUEST, 69 GROUP_ID_NOT_FOUND, 81 GROUP_MAX_SIZE_REACHED, 82
// FENCED_INSTANCE_ID, 110 FENCED_MEMBER_EPOCH, 111 UNRELEASED_INSTANCE_ID, 112 UNSUPPORTED_ASSIGNOR, 128
// INVALID_REGULAR_EXPRESSION.
func (m *Machine) consumerHeartbeat(w *waiter, c coordinator.Client, r *kmsg.ConsumerGroupHeartbeatRequest) {
	err := m.options.CheckHeartbeat(r)
	if err == nil && r.MemberEpoch < joinEpoch {
		err = m.consumerLeave(w, r)
	} else if err == nil {
		err = m.consumerBeat(w, c, r)
	}
	if err != nil {
		m.reply(w, heartbeatFailure(r, err.Code, err.Detail))
	}
}

// heartbeatFailure leaves out the member's id and epoch, as Kafka does: what the member has to do follows from the code.
func heartbeatFailure(r kmsg.Request, code kerr.Code, why string) *kmsg.ConsumerGroupHeartbeatResponse {
	resp := response[*kmsg.ConsumerGroupHeartbeatResponse](r)
	resp.ErrorCode = int16(code)
	if why != "" {
		resp.ErrorMessage = &why
	}
	return resp
}

// consumerBeat is a heartbeat of somebody who joins or stays. Nothing is given out before all is judged.
func (m *Machine) consumerBeat(w *waiter, c coordinator.Client, r *kmsg.ConsumerGroupHeartbeatRequest) *kerr.Error {
	id := r.MemberID
	if id == "" {
		id = m.newID() // version 0 lets the coordinator choose
	}
	e, err := m.enter(r, id)
	if err != nil {
		return err
	}
	p := e.updated(id, c, r)
	if err := e.checkPattern(p); err != nil {
		return err
	}
	// From here on nothing fails: each record is replayed as it is given out, and the next step builds on it.
	e.open(m)
	before := e.take(m, id)
	changed := m.change(r.Group, e.known, p, e.upgrade != nil)
	g, _ := m.consumerGroup(r.Group)
	now := m.reconcile(g, p, ownedOf(r.Topics), changed)
	m.extendConsumer(g, p)
	resp := response[*kmsg.ConsumerGroupHeartbeatResponse](r)
	resp.MemberID, resp.MemberEpoch = &id, now.memberEpoch
	resp.HeartbeatIntervalMillis = int32(m.heartbeatOf(g).Milliseconds())
	if r.MemberEpoch == joinEpoch || full(r) || !slices.Equal(before.assigned, now.assigned) {
		resp.Assignment = heartbeatAssignment(now.assigned)
	}
	m.reply(w, resp)
	return nil
}

// full tells a request that says everything, as clients send it after an error: they may have lost the last answer.
func full(r *kmsg.ConsumerGroupHeartbeatRequest) bool {
	return r.RebalanceTimeoutMillis != -1 && (r.SubscribedTopicNames != nil || r.SubscribedTopicRegex != nil) && r.Topics != nil
}

// assignmentOf is what a member may own now. What it has to let go is told by its absence.
func heartbeatAssignment(list []assignedPartition) *kmsg.ConsumerGroupHeartbeatResponseAssignment {
	a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
	for _, h := range list {
		if n := len(a.Topics); n == 0 || a.Topics[n-1].TopicID != h.topic {
			t := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
			t.TopicID = h.topic
			a.Topics = append(a.Topics, t)
		}
		t := &a.Topics[len(a.Topics)-1]
		t.Partitions = append(t.Partitions, h.number)
	}
	return &a
}

// reconcile moves a member towards the group's target, and gives where it stands then. A member of the classic protocol has
// timers of its own; one of the consumer protocol gets its rebalance timeout to let go, from when it is told to.
func (m *Machine) reconcile(g *consumer, p *subscriber, has owned, changed bool) *currentAssignment {
	h, now := g.epochs.Get(), g.current(p.id)
	if !changed && now.reached(h.assignmentEpoch) {
		return now
	}
	target, _ := g.targets.Get(p.id)
	r := reconciliation{now: now, target: target, assignmentEpoch: h.assignmentEpoch, reads: m.idsOf(g.topicsOf(p)), changed: changed, has: has, free: func(at topicPartition) bool {
		_, held := g.owners.Get(at)
		return !held
	}}
	next := r.next()
	if _, recorded := g.currents.Get(p.id); recorded && next.same(now) {
		return now
	}
	m.recordCurrent(g.id, p.id, next)
	if p.classic == nil && next.state == unrevoked {
		m.timers.Set(timer{revokeTimer, g.id, p.id}, m.now.Add(p.rebalance))
	}
	return next
}
