package api

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/cluster/record"
	"troupe/codec/compress"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// groups lets broker 1 coordinate all partitions of the topic of offsets.
func (w *world) groups(partitions int) kit.Ref {
	w.t.Helper()
	w.topic(OffsetsTopic, partitions, "cleanup.policy", "compact")
	w.node.Groups = Groups{Directory: coordinator.NewDirectory(), Options: group.Options{
		SessionMin: 6 * time.Second, SessionMax: 30 * time.Minute, MembersMax: 100, MetadataMax: 4096,
		Retention: time.Hour, RetentionCheck: 10 * time.Minute, Random: rand.NewChaCha8([32]byte{}),
	}}
	host := w.system.Spawn("groups", coordinator.NewHost(&coordinator.Deps{
		Kind: "group", Directory: w.node.Groups.Directory, Refuse: group.Refuse, LoadBytes: 1 << 20, CommitTimeout: 5 * time.Second,
		New: func() coordinator.Machine { return group.New(w.node.Groups.Options) }, Codec: compress.None, Log: slog.New(slog.DiscardHandler),
	}))
	for p := range partitions {
		h := w.node.Replicas.Get(model.TopicPartition{Topic: OffsetsTopic, Partition: int32(p)})
		host.Send(&coordinator.Lead{Handle: h})
	}
	w.settle()
	return host
}

func findGroup(w *world, version int16, ids ...string) *kmsg.FindCoordinatorResponse {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = ids[0], ids
	return ask[*kmsg.FindCoordinatorResponse](w, req, version)
}

func TestAGroupIsCoordinatedWhereItsPartitionLeads(t *testing.T) {
	w := newWorld(t)
	w.groups(50)
	for version := findCoordinator.Min; version <= findCoordinator.Max; version++ {
		resp := findGroup(w, version, "g", "h")
		if version < 4 {
			if resp.ErrorCode != 0 || resp.NodeID != 1 || resp.Host != "host-1" || resp.Port != 9093 {
				t.Errorf("v%d: %+v", version, resp)
			}
			continue
		}
		for i, id := range []string{"g", "h"} {
			if c := resp.Coordinators[i]; c.ErrorCode != 0 || c.Key != id || c.NodeID != 1 || c.Host != "host-1" || c.Port != 9093 {
				t.Errorf("v%d: %+v", version, c)
			}
		}
	}
}

func TestTheTopicOfOffsetsIsMadeWhenFirstLookedFor(t *testing.T) {
	w := newWorld(t)
	g := &w.node.Config.Groups
	g.OffsetsPartitions, g.OffsetsReplicationFactor, g.OffsetsSegmentBytes = 50, 1, 104857600
	w.answer = func(req kmsg.Request) kmsg.Response {
		id := model.TopicID{1}
		w.apply(&record.Topic{Name: OffsetsTopic, ID: id})
		for p := range int32(50) {
			w.apply(&record.Partition{PartitionID: p, TopicID: id, Replicas: []model.BrokerID{1}, ISR: []model.BrokerID{1}, Leader: 1})
		}
		return created(req, kerr.None)
	}
	if c := findGroup(w, 4, "g").Coordinators[0]; c.ErrorCode != 0 || c.NodeID != 1 {
		t.Errorf("found %+v", c)
	}
	asked := w.controlled[0].(*kmsg.CreateTopicsRequest).Topics[0]
	settings := map[string]string{}
	for _, c := range asked.Configs {
		settings[c.Name] = *c.Value
	}
	// Those that Kafka gives the topic (facts/groups-txn.md, A).
	if asked.Topic != OffsetsTopic || asked.NumPartitions != 50 || asked.ReplicationFactor != 1 ||
		settings["cleanup.policy"] != "compact" || settings["compression.type"] != "producer" || settings["segment.bytes"] != "104857600" {
		t.Errorf("asked for %+v with %v", asked, settings)
	}
}

func TestTooFewBrokersMakeTheCoordinatorNotAvailable(t *testing.T) {
	w := newWorld(t)
	w.node.Config.Groups.OffsetsReplicationFactor = 3
	w.answer = func(req kmsg.Request) kmsg.Response { return created(req, kerr.InvalidReplicationFactor) }
	c := findGroup(w, 4, "g").Coordinators[0]
	expect(t, "the coordinator", c.ErrorCode, kerr.CoordinatorNotAvailable)
	if c.NodeID != -1 || c.Host != "" || c.Port != -1 {
		t.Errorf("beside the error stands %+v", c)
	}
}

func TestWithoutTheTopicNoGroupIsServed(t *testing.T) {
	w := newWorld(t)
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group = "g"
	expect(t, "heartbeat", ask[*kmsg.HeartbeatResponse](w, req, 4).ErrorCode, kerr.CoordinatorNotAvailable)
}

// created is the controller's answer for the one topic of a request.
func created(req kmsg.Request, code kerr.Code) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.ErrorCode = req.(*kmsg.CreateTopicsRequest).Topics[0].Topic, int16(code)
	resp.Topics = append(resp.Topics, out)
	return resp
}
