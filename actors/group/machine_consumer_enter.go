package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/invariant"
)

// entry is a heartbeat that has been let in: who it is of, and what has to be recorded before it is worked on.
type entry struct {
	group    string
	present  *consumer   // nil where the group is yet to be made
	empty    *classic    // a classic group without members that makes way
	upgrade  *conversion // a classic group with members that becomes one of this protocol
	known    *subscriber // the member as it is, in its new name; nil for a new one
	replaces *subscriber // the static member whose place it takes
}

// enter finds who a heartbeat is of, and judges whether it may be. A static member that joins takes the place that its
// instance has; every other request must come from the holder of the instance.
func (m *Machine) enter(r *kmsg.ConsumerGroupHeartbeatRequest, id string) (*entry, *kerr.Error) {
	e := &entry{group: r.Group}
	if err := e.find(m, r); err != nil {
		return nil, err
	}
	size, known, holder := e.look(id, r.InstanceID)
	if known == nil && size >= m.options.Consumer.MembersMax {
		return nil, &kerr.Error{Code: kerr.GroupMaxSizeReached, Detail: fmt.Sprintf("The consumer group has reached its maximum capacity of %d members.",
			m.options.Consumer.MembersMax)}
	}
	switch {
	case r.InstanceID == nil && known == nil && r.MemberEpoch != joinEpoch:
		return nil, unknownMember(id, r.Group)
	case r.InstanceID == nil && known == nil:
		return e, nil
	case r.InstanceID == nil:
		e.known = known
		return e, e.checkEpoch(r)
	case r.MemberEpoch == joinEpoch && holder == nil:
		e.known = known
		return e, nil
	case r.MemberEpoch == joinEpoch:
		return e, e.replace(holder, id, *r.InstanceID)
	}
	if err := checkInstance(holder, id, *r.InstanceID); err != nil {
		return nil, err
	}
	e.known = holder
	return e, e.checkEpoch(r)
}

// find finds the group, which only a member that joins may make or convert: one that believes itself in is told that its
// group is gone, and joins then.
func (e *entry) find(m *Machine, r *kmsg.ConsumerGroupHeartbeatRequest) *kerr.Error {
	g, there := m.groups.Get(r.Group)
	if !there && r.MemberEpoch != joinEpoch {
		return &kerr.Error{Code: kerr.GroupIDNotFound, Detail: fmt.Sprintf("Consumer group %s not found.", r.Group)}
	}
	switch g := g.(type) {
	case *consumer:
		e.present = g
	case *classic:
		var err *kerr.Error
		switch {
		case r.MemberEpoch != joinEpoch:
			return notConsumer(r.Group)
		case len(g.members) == 0: // also one that waits for who was given an id
			e.empty = g
		default:
			e.upgrade, err = m.upgradeOf(g)
		}
		return err
	}
	return nil
}

func notConsumer(group string) *kerr.Error {
	return &kerr.Error{Code: kerr.GroupIDNotFound, Detail: fmt.Sprintf("Group %s is not a consumer group.", group)}
}

func unknownMember(id, group string) *kerr.Error {
	return &kerr.Error{Code: kerr.UnknownMemberID, Detail: fmt.Sprintf("Member %s is not a member of group %s.", id, group)}
}

// look gives the size of the group that will be, and who it has by that id and as that instance. Of a group that is to be
// converted these are the members that it will begin with.
func (e *entry) look(id string, instance *string) (size int, known, holder *subscriber) {
	if e.upgrade != nil {
		for _, p := range e.upgrade.members {
			if p.id == id {
				known = p
			}
			if instance != nil && equal(p.instance, instance) {
				holder = p
			}
		}
		return len(e.upgrade.members), known, holder
	}
	if e.present == nil {
		return 0, nil, nil
	}
	known, _ = e.present.members.Get(id)
	if instance != nil {
		if of, there := e.present.holders.Get(*instance); there {
			holder, _ = e.present.members.Get(of)
		}
	}
	return e.present.members.Len(), known, holder
}

// current gives the current assignment of a member of the group that will be.
func (e *entry) current(id string) *currentAssignment {
	switch {
	case e.upgrade != nil:
		return e.upgrade.currents[id]
	case e.present != nil:
		return e.present.current(id)
	}
	return &currentAssignment{}
}

// replace takes a static member's place: one of this protocol must have left for a while (-2) before (KIP-848).
func (e *entry) replace(holder *subscriber, id, instance string) *kerr.Error {
	if holder.classic == nil && e.current(holder.id).memberEpoch != leaveStaticEpoch {
		return &kerr.Error{Code: kerr.UnreleasedInstanceID, Detail: fmt.Sprintf(
			"Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.", id, instance, holder.id)}
	}
	renamed := *holder
	renamed.id = id
	e.replaces, e.known = holder, &renamed
	return nil
}

// open makes the group ready: what was classic is no more.
func (e *entry) open(m *Machine) {
	switch {
	case e.empty != nil:
		m.giveUp(e.empty)
	case e.upgrade != nil:
		m.upgrade(e.upgrade)
	}
}

// take gives where the member stands; one that takes a static member's place begins at epoch 0 with what that one had.
func (e *entry) take(m *Machine, id string) *currentAssignment {
	if e.replaces == nil {
		return e.current(id)
	}
	g, there := m.consumerGroup(e.group)
	invariant.Check(there, "group: %s has a static member and is not there", e.group)
	s := *g.current(e.replaces.id)
	s.memberEpoch, s.previousEpoch = 0, 0
	target, _ := g.targets.Get(e.replaces.id)
	m.removeMember(e.group, e.replaces.id)
	m.recordMember(e.group, e.known)
	m.recordTarget(e.group, id, target)
	m.recordCurrent(e.group, id, &s)
	return &s
}
