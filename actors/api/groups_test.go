package api

import (
	"bytes"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/cluster/record"
	"troupe/codec/batch"
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
		Consumer: group.ConsumerOptions{
			Session:   group.Bounded{Standard: 45 * time.Second, Least: 45 * time.Second, Most: time.Minute},
			Heartbeat: group.Bounded{Standard: 5 * time.Second, Least: 5 * time.Second, Most: 15 * time.Second},
			Interval:  group.Bounded{Standard: time.Second, Most: 15 * time.Second}, PatternRefresh: 10 * time.Minute,
			MembersMax: 10, Assignors: []string{"uniform", "range"}, Upgrade: true, Downgrade: true,
		},
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

// Consumers ask several times a second for as long as they wait.
func TestItIsToldOnceThatGroupsCannotBeCoordinatedAndOnceThatTheyCan(t *testing.T) {
	w := newWorld(t)
	var told bytes.Buffer
	w.node.Log = slog.New(slog.NewTextHandler(&told, nil))
	expectLines := func(want ...string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(told.String()), "\n")
		if told.Len() == 0 {
			lines = nil
		}
		told.Reset()
		if len(lines) != len(want) {
			t.Fatalf("told %q, want %q", lines, want)
		}
		for i := range want {
			if !strings.Contains(lines[i], want[i]) {
				t.Errorf("told %q, want %q", lines[i], want[i])
			}
		}
	}
	code := kerr.InvalidReplicationFactor
	w.answer = func(req kmsg.Request) kmsg.Response { return created(req, code) }
	for range 3 {
		findGroup(w, 4, "g")
	}
	expectLines("level=ERROR msg=\"groups cannot be coordinated: __consumer_offsets needs more brokers than there are\"")
	code = kerr.RequestTimedOut
	for range 3 {
		findGroup(w, 4, "g")
	}
	expectLines("level=ERROR msg=\"groups cannot be coordinated: __consumer_offsets cannot be created\"")
	w.topic(OffsetsTopic, 1, "cleanup.policy", "compact") // another broker has seen to it
	for range 3 {
		findGroup(w, 4, "g")
	}
	expectLines("level=INFO msg=\"groups can be coordinated")
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

func TestClientsDoNotWriteToTheTopicOfOffsets(t *testing.T) {
	w := newWorld(t)
	w.groups(1)
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Key: []byte("k"), Value: []byte("v")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acksAll, 1000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: OffsetsTopic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: v}}}}
	expect(t, "produce", ask[*kmsg.ProduceResponse](w, req, 9).Topics[0].Partitions[0].ErrorCode, kerr.InvalidTopicException)
}

// join asks for the simplest membership: one request, no waiting for others.
func join(id string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = id, 10_000, 10_000, "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	return req
}

// A group's whole life by the wire: members, an offset by topic id, the lists, the end.
func TestAGroupLivesAndIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.groups(50)
	orders := w.topic("orders", 2)
	joined := ask[*kmsg.JoinGroupResponse](w, join("g"), 3)
	if joined.ErrorCode != 0 || joined.Generation != 1 || joined.LeaderID != joined.MemberID {
		t.Fatalf("joined: %+v", joined)
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = "g", joined.MemberID, 1
	expect(t, "sync without the protocol's name", ask[*kmsg.SyncGroupResponse](w, sync, 5).ErrorCode, kerr.InconsistentGroupProtocol)
	expect(t, "sync", ask[*kmsg.SyncGroupResponse](w, sync, 3).ErrorCode, kerr.None)

	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group, commit.MemberID, commit.Generation = "g", joined.MemberID, 1
	part := func(n int32) kmsg.OffsetCommitRequestTopicPartition {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = n, 7
		return p
	}
	commit.Topics = []kmsg.OffsetCommitRequestTopic{
		{TopicID: orders, Partitions: []kmsg.OffsetCommitRequestTopicPartition{part(0), part(9)}},
		{TopicID: model.TopicID{77}, Partitions: []kmsg.OffsetCommitRequestTopicPartition{part(0)}},
	}
	codes := map[[16]byte][]int16{}
	for _, topic := range ask[*kmsg.OffsetCommitResponse](w, commit, 10).Topics {
		for _, p := range topic.Partitions {
			codes[topic.TopicID] = append(codes[topic.TopicID], p.ErrorCode)
		}
	}
	want := map[[16]byte][]int16{orders: {0, int16(kerr.UnknownTopicOrPartition)}, {77}: {int16(kerr.UnknownTopicID)}}
	if !maps.EqualFunc(codes, want, slices.Equal) {
		t.Errorf("commit: %v, want %v", codes, want)
	}

	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", MemberEpoch: -1}, {Group: "nobody", MemberEpoch: -1}}
	fetched := ask[*kmsg.OffsetFetchResponse](w, fetch, 10).Groups
	if len(fetched) != 2 || len(fetched[0].Topics) != 1 || fetched[0].Topics[0].TopicID != orders ||
		fetched[0].Topics[0].Partitions[0].Offset != 7 || len(fetched[1].Topics) != 0 {
		t.Errorf("fetched %+v", fetched)
	}

	listed := ask[*kmsg.ListGroupsResponse](w, kmsg.NewPtrListGroupsRequest(), 5)
	if len(listed.Groups) != 1 || listed.Groups[0].Group != "g" || listed.Groups[0].GroupState != "Stable" || listed.Groups[0].GroupType != "classic" {
		t.Errorf("listed %+v", listed.Groups)
	}
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"g", "nobody"}
	for i, code := range []kerr.Code{kerr.NonEmptyGroup, kerr.GroupIDNotFound} {
		expect(t, "delete "+remove.Groups[i], ask[*kmsg.DeleteGroupsResponse](w, remove, 2).Groups[i].ErrorCode, code)
	}
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = "g", joined.MemberID
	expect(t, "leave", ask[*kmsg.LeaveGroupResponse](w, leave, 2).ErrorCode, kerr.None)
	expect(t, "delete", ask[*kmsg.DeleteGroupsResponse](w, remove, 2).Groups[0].ErrorCode, kerr.None)
	if left := ask[*kmsg.ListGroupsResponse](w, kmsg.NewPtrListGroupsRequest(), 5).Groups; len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
}

func TestAGroupWithoutANameHasNoMembers(t *testing.T) {
	w := newWorld(t)
	w.groups(1)
	expect(t, "join", ask[*kmsg.JoinGroupResponse](w, join(""), 9).ErrorCode, kerr.InvalidGroupID)
	expect(t, "heartbeat", ask[*kmsg.HeartbeatResponse](w, kmsg.NewPtrHeartbeatRequest(), 4).ErrorCode, kerr.InvalidGroupID)
	expect(t, "leave", ask[*kmsg.LeaveGroupResponse](w, kmsg.NewPtrLeaveGroupRequest(), 4).ErrorCode, kerr.InvalidGroupID)
}
