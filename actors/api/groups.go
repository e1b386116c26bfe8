package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// OffsetsTopic is where groups and what they committed are recorded.
const OffsetsTopic = "__consumer_offsets"

// Groups is what handlers see of the group coordinators of this broker.
type Groups struct {
	Directory *coordinator.Directory
	Options   group.Options
	Counters  *group.Counters
}

// ofGroup is a handler's work for a request about one group: it asks the group's coordinator, which answers in the
// request's own form.
func (n *Node) ofGroup(r *Request, op Operation, id string) {
	n.askGroup(r, op, id, r.Body, func(resp kmsg.Response) { r.Reply(resp) })
}

// askGroup asks a group's coordinator. done is called once, from any goroutine. What fails as a whole is answered with
// the code in the form of the body.
func (n *Node) askGroup(r *Request, op Operation, id string, body kmsg.Request, done func(kmsg.Response)) {
	if !n.Authorizer.Allowed(r.Client, op, OnGroup, id) {
		done(group.Refuse(body, kerr.GroupAuthorizationFailed))
		return
	}
	partition, there := n.groupPartition(id)
	if !there {
		done(group.Refuse(body, kerr.CoordinatorNotAvailable))
		return
	}
	n.askCoordinator(r, partition, body, done)
}

func (n *Node) askCoordinator(r *Request, partition int32, body kmsg.Request, done func(kmsg.Response)) {
	call := coordinator.Call{Client: coordinator.Client{ID: r.ClientID, Host: "/" + r.Client.Host}, Principal: r.Client.Principal, Body: body}
	n.Groups.Directory.SendOn(r.Turn, r.Cause, partition, coordinator.NewRequest(call, group.Refuse, done))
}

// groupPartition is the partition of the topic of offsets that a group belongs to; false while there is no topic.
func (n *Node) groupPartition(id string) (int32, bool) {
	t, there := n.Image().Topic(OffsetsTopic)
	if !there {
		return 0, false
	}
	return coordinator.PartitionFor(id, len(t.Partitions)), true
}

// knownTopic finds the name of a topic that a request of a group names, by id where it has one.
func (n *Node) knownTopic(r *Request, name string, id model.TopicID, byID bool) (string, kerr.Code) {
	if byID {
		t, there := n.Image().TopicByID(id)
		if !there {
			return "", kerr.UnknownTopicID
		}
		name = t.Name
	}
	if !n.Authorizer.Allowed(r.Client, Read, OnTopic, name) {
		return name, kerr.TopicAuthorizationFailed
	}
	return name, kerr.None
}

// groupKey is the ordering key of what concerns a group.
func groupKey(id string) uint64 { return coordinatorKey(groupCoordinator, id) }
