package integration

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

// newTopic describes a topic to create.
func newTopic(name string, partitions int32, replicas int16) kmsg.CreateTopicsRequestTopic {
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = name, partitions, replicas
	return one
}

func assigned(one kmsg.CreateTopicsRequestTopic, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
	for i, brokers := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), brokers
		one.ReplicaAssignment = append(one.ReplicaAssignment, a)
	}
	return one
}

func configured(one kmsg.CreateTopicsRequestTopic, key string, value *string) kmsg.CreateTopicsRequestTopic {
	c := kmsg.NewCreateTopicsRequestTopicConfig()
	c.Name, c.Value = key, value
	one.Configs = append(one.Configs, c)
	return one
}

func create(c *wire.Conn, validateOnly bool, topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis, req.ValidateOnly, req.Topics = 10_000, validateOnly, topics
	return wire.On[*kmsg.CreateTopicsResponse](c, wire.Versioned(req, 7)).Topics
}

func text(s string) *string { return &s }

func TestCreateTopicsNamesWhatIsWrong(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	there := createTopic(t, address, 1)
	cases := []struct {
		title string
		topic kmsg.CreateTopicsRequestTopic
		want  *kerr.Error
	}{
		{"a topic that is there", newTopic(there.name, 1, 1), kerr.TopicAlreadyExists},
		{"an empty name", newTopic("", 1, 1), kerr.InvalidTopicException},
		{"a dot", newTopic(".", 1, 1), kerr.InvalidTopicException},
		{"two dots", newTopic("..", 1, 1), kerr.InvalidTopicException},
		{"a path", newTopic("../etc", 1, 1), kerr.InvalidTopicException},
		{"a name of 250 characters", newTopic(strings.Repeat("n", 250), 1, 1), kerr.InvalidTopicException},
		{"letters beyond ASCII", newTopic("tópico", 1, 1), kerr.InvalidTopicException},
		{"a space", newTopic("a topic", 1, 1), kerr.InvalidTopicException},
		{"the metadata log's name", newTopic("__cluster_metadata", 1, 1), kerr.InvalidRequest},
		{"no partition", newTopic(freshName(), 0, 1), kerr.InvalidPartitions},
		{"fewer than the default's -1", newTopic(freshName(), -2, 1), kerr.InvalidPartitions},
		{"no replica", newTopic(freshName(), 1, 0), kerr.InvalidReplicationFactor},
		{"more replicas than brokers", newTopic(freshName(), 1, 2), kerr.InvalidReplicationFactor},
		{"counts beside an assignment", assigned(newTopic(freshName(), 1, 1), []int32{1}), kerr.InvalidRequest},
		{"a broker that is not there", assigned(newTopic(freshName(), -1, -1), []int32{77}), kerr.InvalidReplicaAssignment},
		{"a broker twice", assigned(newTopic(freshName(), -1, -1), []int32{1, 1}), kerr.InvalidReplicaAssignment},
		{"a partition without replicas", assigned(newTopic(freshName(), -1, -1), []int32{}), kerr.InvalidReplicaAssignment},
		{"an unknown key", configured(newTopic(freshName(), 1, 1), "no.such.key", text("1")), kerr.InvalidConfig},
		{"a word for a number", configured(newTopic(freshName(), 1, 1), "segment.bytes", text("many")), kerr.InvalidConfig},
		{"a number out of range", configured(newTopic(freshName(), 1, 1), "segment.bytes", text("13")), kerr.InvalidConfig},
		{"an unknown policy", configured(newTopic(freshName(), 1, 1), "cleanup.policy", text("burn")), kerr.InvalidConfig},
		{"null for a value", configured(newTopic(freshName(), 1, 1), "retention.ms", nil), kerr.InvalidConfig},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			got := create(conn, false, c.topic)[0]
			expectCode(t, got.ErrorCode, c.want.Code)
			if got.ErrorMessage == nil || *got.ErrorMessage == "" {
				t.Error("no message says what is wrong")
			}
			if c.topic.Topic != there.name && c.topic.Topic != "" {
				expectAbsent(t, conn, c.topic.Topic)
			}
		})
	}
}

// expectAbsent checks that a topic is not there; Metadata would create it if it were asked to.
func expectAbsent(t *testing.T, c *wire.Conn, name string) {
	t.Helper()
	req := metadataOf(name, 12).(*kmsg.MetadataRequest)
	req.AllowAutoTopicCreation = false
	got := wire.On[*kmsg.MetadataResponse](c, req).Topics[0].ErrorCode
	if got != kerr.UnknownTopicOrPartition.Code && got != kerr.InvalidTopicException.Code {
		t.Errorf("%q: error %d, want it absent", name, got)
	}
}

func TestATopicNamedTwiceInOneRequestIsRefusedOnce(t *testing.T) {
	conn, name := wire.Dial(t, broker(t)), freshName()
	got := create(conn, false, newTopic(name, 1, 1), newTopic(name, 1, 1))
	if len(got) != 1 {
		t.Fatalf("%d answers, want one", len(got))
	}
	expectCode(t, got[0].ErrorCode, kerr.InvalidRequest.Code)
	expectAbsent(t, conn, name)
}

func TestNamesThatCollideInMetricsAreRefused(t *testing.T) {
	conn, name := wire.Dial(t, broker(t)), freshName()
	expectCode(t, create(conn, false, newTopic(name+".x", 1, 1))[0].ErrorCode, 0)
	expectCode(t, create(conn, false, newTopic(name+"_x", 1, 1))[0].ErrorCode, kerr.InvalidTopicException.Code)
}

func TestValidateOnlyCreatesNothing(t *testing.T) {
	conn, name := wire.Dial(t, broker(t)), freshName()
	got := create(conn, true, newTopic(name, 3, 1))[0]
	expectCode(t, got.ErrorCode, 0)
	if got.NumPartitions != 3 || got.ReplicationFactor != 1 || got.TopicID == [16]byte{} {
		t.Errorf("answered %d partitions, %d replicas, id %x", got.NumPartitions, got.ReplicationFactor, got.TopicID)
	}
	expectAbsent(t, conn, name)
}

func TestACreatedTopicIsToldWithItsConfiguration(t *testing.T) {
	conn, name := wire.Dial(t, broker(t)), freshName()
	got := create(conn, false, configured(newTopic(name, -1, -1), "retention.ms", text("12345")))[0]
	expectCode(t, got.ErrorCode, 0)
	if got.NumPartitions != 1 || got.ReplicationFactor != 1 {
		t.Errorf("%d partitions and %d replicas by default, want 1 and 1", got.NumPartitions, got.ReplicationFactor)
	}
	sources := map[string]int8{}
	for _, c := range got.Configs {
		sources[c.Name] = int8(c.Source)
		if c.Name == "retention.ms" && (c.Value == nil || *c.Value != "12345") {
			t.Errorf("retention.ms is told as %v", c.Value)
		}
	}
	for key, want := range map[string]kmsg.ConfigSource{"retention.ms": kmsg.ConfigSourceDynamicTopicConfig, "cleanup.policy": kmsg.ConfigSourceDefaultConfig} {
		if sources[key] != int8(want) {
			t.Errorf("%s comes from source %d, want %d", key, sources[key], want)
		}
	}
}

func TestCleanupPolicyMayBeEmpty(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	expectCode(t, create(conn, false, configured(newTopic(freshName(), 1, 1), "cleanup.policy", text("")))[0].ErrorCode, 0)
}

func TestDeleteTopicsByNameAndByID(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	byName, byID := createTopic(t, address, 1), createTopic(t, address, 1)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 10_000
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &byName.name}, {TopicID: byID.id}, {Topic: text(freshName())}, {TopicID: [16]byte{9, 9}}}
	got := wire.On[*kmsg.DeleteTopicsResponse](conn, wire.Versioned(req, 6)).Topics
	want := map[int16]int{0: 2, kerr.UnknownTopicOrPartition.Code: 1, kerr.UnknownTopicID.Code: 1}
	for _, one := range got {
		want[one.ErrorCode]--
	}
	for code, left := range want {
		if left != 0 {
			t.Errorf("error %d: %d more than were answered: %+v", code, left, got)
		}
	}
	expectAbsent(t, conn, byName.name)
	expectAbsent(t, conn, byID.name)
}

func TestATopicMadeAgainIsAnother(t *testing.T) {
	address := broker(t)
	conn, old := wire.Dial(t, address), filled(t, address, 2)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = 10_000, []string{old.name}
	expectCode(t, wire.On[*kmsg.DeleteTopicsResponse](conn, wire.Versioned(req, 5)).Topics[0].ErrorCode, 0)
	again := create(conn, false, newTopic(old.name, 1, 1))[0]
	expectCode(t, again.ErrorCode, 0)
	if again.TopicID == old.id {
		t.Error("the new topic has the id of the old one")
	}
	awaitLeaders(t, address, old.name, 1)
	if end := listOffset(conn, old.name, 0, -1).Offset; end != 0 {
		t.Errorf("the new topic ends at %d", end)
	}
	expectCode(t, fetch(conn, fetchRequest(fetchByID, old, 0)).ErrorCode, kerr.UnknownTopicID.Code)
}

func grow(c *wire.Conn, name string, count int32, assignment [][]int32) int16 {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 10_000
	one := kmsg.NewCreatePartitionsRequestTopic()
	one.Topic, one.Count = name, count
	for _, replicas := range assignment {
		a := kmsg.NewCreatePartitionsRequestTopicAssignment()
		a.Replicas = replicas
		one.Assignment = append(one.Assignment, a)
	}
	if assignment != nil && len(assignment) == 0 {
		one.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
	}
	req.Topics = append(req.Topics, one)
	return wire.On[*kmsg.CreatePartitionsResponse](c, wire.Versioned(req, 3)).Topics[0].ErrorCode
}

func TestCreatePartitions(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 2)
	cases := []struct {
		title      string
		name       string
		count      int32
		assignment [][]int32
		want       int16
	}{
		{"fewer", to.name, 1, nil, kerr.InvalidPartitions.Code},
		{"as many", to.name, 2, nil, kerr.InvalidPartitions.Code},
		{"an unknown topic", freshName(), 4, nil, kerr.UnknownTopicOrPartition.Code},
		{"an empty assignment", to.name, 3, [][]int32{}, kerr.InvalidReplicaAssignment.Code},
		{"an assignment of the wrong length", to.name, 4, [][]int32{{1}}, kerr.InvalidReplicaAssignment.Code},
		{"a broker that is not there", to.name, 3, [][]int32{{9}}, kerr.InvalidReplicaAssignment.Code},
		{"more", to.name, 4, nil, 0},
		{"one more, placed by hand", to.name, 5, [][]int32{{1}}, 0},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) { expectCode(t, grow(conn, c.name, c.count, c.assignment), c.want) })
	}
	awaitLeaders(t, address, to.name, 5)
}
