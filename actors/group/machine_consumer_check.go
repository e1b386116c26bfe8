package group

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/codec/kerr"
)

// checkInstance holds a member id against the one that has the instance, nil for nobody. Clients are told the name of the
// one that fenced them, so that an operator finds two processes with one instance.
func checkInstance(holder *subscriber, id, instance string) *kerr.Error {
	switch {
	case holder == nil:
		return &kerr.Error{Code: kerr.UnknownMemberID, Detail: fmt.Sprintf("Instance id %s is unknown.", instance)}
	case holder.id != id:
		return &kerr.Error{Code: kerr.FencedInstanceID, Detail: fmt.Sprintf("Static member %s with instance id %s was fenced by member %s.", id, instance, holder.id)}
	}
	return nil
}

// checkEpoch holds the epoch that a member sends against where it stands. The one before is taken when the member has
// nothing but what it may have: the answer with the newer one was lost.
func (e *entry) checkEpoch(r *kmsg.ConsumerGroupHeartbeatRequest) *kerr.Error {
	s := e.current(e.known.id)
	relation := "greater"
	switch {
	case r.MemberEpoch == joinEpoch || r.MemberEpoch == s.memberEpoch:
		return nil
	case r.MemberEpoch < s.memberEpoch:
		if r.MemberEpoch == s.previousEpoch && ownedOf(r.Topics).within(s.assigned) {
			return nil
		}
		relation = "smaller"
	}
	return &kerr.Error{Code: kerr.FencedMemberEpoch, Detail: fmt.Sprintf("The consumer group member has a %s member epoch (%d) than the one known "+
		"by the group coordinator (%d). The member must abandon all its partitions and rejoin.", relation, r.MemberEpoch, s.memberEpoch)}
}

// updated is the member with what the request says; null fields say that nothing changed.
func (e *entry) updated(id string, c coordinator.Client, r *kmsg.ConsumerGroupHeartbeatRequest) *subscriber {
	p := &subscriber{id: id, rebalance: -time.Millisecond}
	if e.known != nil {
		*p = *e.known
	}
	p.client, p.classic = c, nil
	if r.InstanceID != nil {
		p.instance = r.InstanceID
	}
	if r.RackID != nil {
		p.rack = r.RackID
	}
	if r.RebalanceTimeoutMillis != -1 {
		p.rebalance = millis(r.RebalanceTimeoutMillis)
	}
	if r.ServerAssignor != nil {
		p.assignor = *r.ServerAssignor
	}
	if r.SubscribedTopicNames != nil {
		p.topics = sorted(r.SubscribedTopicNames)
	}
	if r.SubscribedTopicRegex != nil {
		p.pattern = *r.SubscribedTopicRegex
	}
	return p
}

// sorted makes lists comparable: a member may name its topics in another order each time.
func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}

// checkPattern parses a pattern that is new to the member. Both RE2/J and Go's regexp take time linear in the length of a
// name, whatever the pattern, so that no client can hold up a coordinator with one.
func (e *entry) checkPattern(p *subscriber) *kerr.Error {
	if p.pattern == "" || e.known != nil && e.known.pattern == p.pattern {
		return nil
	}
	if _, err := syntax.Parse(p.pattern, syntax.Perl); err != nil {
		why := err.Error()
		if bad, is := err.(*syntax.Error); is {
			why = string(bad.Code)
		}
		return &kerr.Error{Code: kerr.InvalidRegularExpression, Detail: fmt.Sprintf("SubscribedTopicRegex `%s` is not a valid regular expression: %s.", p.pattern, why)}
	}
	return nil
}
