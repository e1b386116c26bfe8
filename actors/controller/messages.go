// Package controller is the shell of the metadata quorum and of the controller's machine: it keeps raft's log and hard
// state on the metadata lane, in raft's order of durability, and hands committed metadata to this broker.
package controller

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/controller"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/cluster/record"
	"troupe/codec/kerr"
)

// Request asks the controller. Done gets the reply once the change is committed and this broker has applied it; it is
// called once, on an actor's goroutine.
type Request struct {
	Body kmsg.Request
	// Local tells that another node sent it here, taking this one for the leader: it is not forwarded again.
	Local bool
	Done  func(kmsg.Response)

	deadline time.Time // of waiting for a leader
	answered bool
}

// MessageKind is part of kit.Message.
func (*Request) MessageKind() string { return "controller.request" }

// Raft brings messages of the quorum from another voter, in raft's encoding and the order in which they were sent. They may
// lie in a frame, which is not used again.
type Raft struct {
	From     quorum.VoterKey
	Messages [][]byte
}

// MessageKind is part of kit.Message.
func (*Raft) MessageKind() string { return "controller.raft" }

// Reply answers; the first answer counts, so that a panic after it does no harm.
func (m *Request) Reply(resp kmsg.Response) {
	if !m.answered {
		m.answered = true
		m.Done(resp)
	}
}

// Fail sends the client to look for the controller again.
func (m *Request) Fail(error) { m.Reply(refuse(m.Body, kerr.NotController)) }

// SupportedFeatures are the ranges of feature levels that this software can run (KIP-584), by name. Those of
// transactions, share and streams groups have the level 0 alone: their coordinators are not here.
var SupportedFeatures = []record.FeatureRange{
	{Name: "eligible.leader.replicas.version", MaxSupportedVersion: 1},
	{Name: "group.version", MaxSupportedVersion: 1},
	{Name: KRaftVersionFeature, MaxSupportedVersion: 1},
	{Name: "metadata.version", MinSupportedVersion: int16(record.MinMetadataVersion), MaxSupportedVersion: int16(record.LatestMetadataVersion)},
	{Name: "share.version"},
	{Name: "streams.version"},
	{Name: "transaction.version"},
}

// KRaftVersionFeature is finalized by the quorum, in its log, and not by a record of the metadata.
const KRaftVersionFeature = "kraft.version"

// newClusterLevels are the levels that Kafka 4.3 switches on in a new cluster, as far as they are supported. A cluster that is
// older keeps its levels until somebody raises them (features upgrade).
var newClusterLevels = map[string]int16{image.ELRVersionFeature: 1, image.GroupVersionFeature: 1}

// CheckTopicName judges the name of a new topic.
func CheckTopicName(name string) error { return controller.CheckTopicName(name) }
