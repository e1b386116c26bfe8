package consumergroups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// group is what a coordinator tells of a group. The epochs are nil for a classic group, which has none.
type group struct {
	id, state, assignor string
	epoch, targetEpoch  *int32
	members             []member
}

// member of a group. upgraded tells members of the consumer protocol from classic ones in one group, while it moves from
// one to the other (KIP-848); nil when the broker does not tell.
type member struct {
	id, instance, clientID, host string
	assigned, target             []model.TopicPartition
	epoch                        *int32
	upgraded                     *bool
}

// describe answers one question a call: where a group stands, who is in it, or how it does.
func (c *command) describe(ctx context.Context) error {
	ids, err := c.groupIDs(ctx)
	if err != nil {
		return err
	}
	found, err := c.described(ctx, ids)
	if err != nil {
		return inFuture(err)
	}
	switch {
	case c.has("members"):
		return c.members(found)
	case c.has("state"):
		return c.describeStates(ctx, found)
	}
	return c.offsets(ctx, found)
}

// described asks for groups as groups of the consumer protocol first and then for those that are not as classic ones, as
// the Java client does. They come sorted by id. The first group that cannot be described is the error.
func (c *command) described(ctx context.Context, ids []string) ([]group, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	// Without a name brokers would be asked about nothing, which some of them answer with an error.
	if len(ids) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = ids
	resp, err := connection.Ask(ctx, c.client, "describeConsumerGroups", req.RequestWith)
	// Brokers before the consumer protocol have classic groups only.
	if connection.Unsupported(err) {
		return c.describedClassic(ctx, ids)
	}
	if err != nil {
		return nil, err
	}
	var found []group
	var classic []string
	for _, g := range resp.Groups {
		switch kerr.Code(g.ErrorCode) {
		case kerr.GroupIDNotFound, kerr.UnsupportedVersion:
			classic = append(classic, g.Group)
			continue
		}
		if err := kafkatext.Answer(g.ErrorCode, g.ErrorMessage); err != nil {
			return nil, err
		}
		found = append(found, modern(g))
	}
	more, err := c.describedClassic(ctx, classic)
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	slices.SortFunc(found, func(a, b group) int { return strings.Compare(a.id, b.id) })
	return found, nil
}

// memberClassic is ConsumerGroupDescribe's type of a member that uses the classic protocol; 1 is the consumer protocol,
// and -1 is a broker that does not tell (version 0).
const memberClassic = 0

// modern reads a group of the consumer protocol. Its members have what they own now and, while they give partitions up to
// one another, what they are to own in the end.
func modern(g kmsg.ConsumerGroupDescribeResponseGroup) group {
	told := group{id: g.Group, state: g.State, assignor: g.AssignorName, epoch: &g.Epoch, targetEpoch: &g.AssignmentEpoch}
	for _, m := range g.Members {
		one := member{
			id: m.MemberID, clientID: m.ClientID, host: m.ClientHost, epoch: &m.MemberEpoch,
			assigned: assigned(m.Assignment), target: assigned(m.TargetAssignment),
		}
		if m.InstanceID != nil {
			one.instance = *m.InstanceID
		}
		if upgraded := m.MemberType > memberClassic; m.MemberType >= memberClassic {
			one.upgraded = &upgraded
		}
		told.members = append(told.members, one)
	}
	return told
}

// assigned flattens an assignment. Topics come by name as well as by id, so no metadata is needed.
func assigned(a kmsg.Assignment) []model.TopicPartition {
	var all []model.TopicPartition
	for _, t := range a.TopicPartitions {
		for _, p := range t.Partitions {
			all = append(all, model.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return all
}

// describedClassic asks for groups of the classic protocol. Coordinators keep what members said to one another as bytes
// and do not read it, so assignments are decoded here. Up to version 5 an unknown group is Dead, from 6 on an error (KIP-1043).
func (c *command) describedClassic(ctx context.Context, ids []string) ([]group, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = ids
	resp, err := connection.Ask(ctx, c.client, "describeConsumerGroups", req.RequestWith)
	if err != nil {
		return nil, err
	}
	found := make([]group, 0, len(ids))
	for _, g := range resp.Groups {
		if err := kafkatext.Answer(g.ErrorCode, g.ErrorMessage); err != nil {
			return nil, err
		}
		// "" is a group without members, which may be of consumers as well.
		if g.ProtocolType != "" && g.ProtocolType != "consumer" {
			return nil, fmt.Errorf("java.lang.IllegalArgumentException: GroupId %s is not a consumer group (%s).", g.Group, g.ProtocolType)
		}
		told := group{id: g.Group, state: g.State, assignor: g.Protocol}
		for _, m := range g.Members {
			one := member{id: m.MemberID, clientID: m.ClientID, host: m.ClientHost}
			if m.InstanceID != nil {
				one.instance = *m.InstanceID
			}
			if one.assigned, err = classicAssignment(m.MemberAssignment); err != nil {
				return nil, fmt.Errorf("member %s of group %s: %w", m.MemberID, g.Group, err)
			}
			told.members = append(told.members, one)
		}
		found = append(found, told)
	}
	return found, nil
}

// classicAssignment reads what the group's leader assigned to a member. It is empty while the group rebalances.
func classicAssignment(b []byte) ([]model.TopicPartition, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var read kmsg.ConsumerMemberAssignment
	if err := read.ReadFrom(b); err != nil {
		return nil, errors.Join(errors.New("the assignment is not one of a consumer"), err)
	}
	var all []model.TopicPartition
	for _, t := range read.Topics {
		for _, p := range t.Partitions {
			all = append(all, model.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return all, nil
}

// introduce says what the state of a group means for what is printed of it: a group that nobody is in, or that is
// moving, is remarked on standard error. It tells whether the group is there.
func (c *command) introduce(g group) (bool, error) {
	switch g.state {
	case "Dead":
		return false, c.complain(fmt.Sprintf("Consumer group '%s' does not exist.", g.id))
	case "Empty":
		fmt.Fprintf(c.streams.Err, "\nConsumer group '%s' has no active members.\n", g.id)
	case "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling":
		fmt.Fprintf(c.streams.Err, "\nWarning: Consumer group '%s' is rebalancing.\n", g.id)
	}
	return true, nil
}
