package api

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// threeBrokers is a cluster in which broker 2 has no listener for the client and broker 3 is fenced. Of the topic
// "spread" each broker leads a partition of its number less one, and partition 3 has no leader.
func threeBrokers(t *testing.T) *world {
	w := newWorld(t)
	w.apply(&record.RegisterBroker{BrokerID: 2, IncarnationID: model.UUID{2}, Endpoints: []record.Endpoint{{Name: "INTERNAL", Host: "host-2", Port: 1}}})
	w.broker(3, true)
	id := model.TopicID{7}
	w.apply(&record.Topic{Name: "spread", ID: id})
	all := []model.BrokerID{1, 2, 3}
	for p, leader := range []model.BrokerID{1, 2, 3, model.NoBroker} {
		w.apply(&record.Partition{
			PartitionID: int32(p), TopicID: id, Replicas: all, ISR: all[:2], Leader: leader, LeaderEpoch: 4,
			EligibleLeaderReplicas: []model.BrokerID{3},
		})
	}
	return w
}

func named(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestMetadataTellsOfLeadersThatTheClientReaches(t *testing.T) {
	w := threeBrokers(t)
	for version := metadata.Min; version <= metadata.Max; version++ {
		resp := ask[*kmsg.MetadataResponse](w, named("spread"), version)
		if len(resp.Brokers) != 1 || resp.Brokers[0].NodeID != 1 || resp.Brokers[0].Port != 9093 {
			t.Errorf("v%d: the client reaches %+v, want broker 1 alone", version, resp.Brokers)
		}
		unreachable := kerr.ListenerNotFound
		if version < 6 {
			unreachable = kerr.LeaderNotAvailable
		}
		want := []kerr.Code{kerr.None, unreachable, kerr.LeaderNotAvailable, kerr.LeaderNotAvailable}
		for i, p := range resp.Topics[0].Partitions {
			expect(t, "partition", p.ErrorCode, want[i])
			if (p.Leader == 1) != (i == 0) || i > 0 && p.Leader != -1 {
				t.Errorf("v%d: partition %d is led by %d", version, i, p.Leader)
			}
			if version >= 5 && !slices.Equal(p.OfflineReplicas, []int32{3}) {
				t.Errorf("v%d: offline replicas %v, want the fenced broker", version, p.OfflineReplicas)
			}
			if !slices.Equal(p.Replicas, []int32{1, 2, 3}) || !slices.Equal(p.ISR, []int32{1, 2}) {
				t.Errorf("v%d: replicas %v, in sync %v", version, p.Replicas, p.ISR)
			}
		}
	}
}

// The answers are Kafka 4.3.1's.
func TestMetadataOfTopicsThatAreNotThere(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	req := named("orders", "missing", "a/b", "orders", "__transaction_state")
	req.AllowAutoTopicCreation = true
	req.IncludeTopicAuthorizedOperations = true
	resp := ask[*kmsg.MetadataResponse](w, req, 12)
	want := []struct {
		name     string
		code     kerr.Code
		internal bool
	}{{"orders", 0, false}, {"missing", kerr.UnknownTopicOrPartition, false}, {"a/b", kerr.InvalidTopicException, false}, {"__transaction_state", kerr.UnknownTopicOrPartition, true}}
	if len(resp.Topics) != len(want) {
		t.Fatalf("%d answers, want one a topic: %+v", len(resp.Topics), resp.Topics)
	}
	for i, topic := range resp.Topics {
		expect(t, want[i].name, topic.ErrorCode, want[i].code)
		if *topic.Topic != want[i].name || topic.IsInternal != want[i].internal || topic.AuthorizedOperations != 3576 {
			t.Errorf("told as %q, internal %v, operations %d", *topic.Topic, topic.IsInternal, topic.AuthorizedOperations)
		}
	}
}

func TestMetadataCreatesAllButInternalTopics(t *testing.T) {
	w := newWorld(t)
	w.node.Config.Topics.AutoCreate = true
	w.answer = func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, topic := range req.(*kmsg.CreateTopicsRequest).Topics {
			made := kmsg.NewCreateTopicsResponseTopic()
			made.Topic = topic.Topic
			if topic.Topic == "a/b" {
				made.ErrorCode = int16(kerr.InvalidTopicException)
			} else {
				w.apply(&record.Topic{Name: topic.Topic, ID: model.TopicID{8}})
			}
			resp.Topics = append(resp.Topics, made)
		}
		return resp
	}
	req := named("fresh", "a/b", "__consumer_offsets")
	req.AllowAutoTopicCreation = true
	resp := ask[*kmsg.MetadataResponse](w, req, 12)
	for i, want := range []kerr.Code{kerr.None, kerr.InvalidTopicException, kerr.UnknownTopicOrPartition} {
		expect(t, *resp.Topics[i].Topic, resp.Topics[i].ErrorCode, want)
	}
	asked := w.controlled[0].(*kmsg.CreateTopicsRequest)
	if len(asked.Topics) != 2 || asked.Topics[0].NumPartitions != -1 || asked.Topics[0].ReplicationFactor != -1 {
		t.Errorf("the controller was asked for %+v, want both topics with the defaults", asked.Topics)
	}
	req.AllowAutoTopicCreation = false
	req.Topics = named("another").Topics
	expect(t, "where the client does not want it", ask[*kmsg.MetadataResponse](w, req, 12).Topics[0].ErrorCode, kerr.UnknownTopicOrPartition)
	if len(w.controlled) != 1 {
		t.Error("the controller was asked although the client does not want it")
	}
}

func TestMetadataByIDIsRefusedWholeBeforeItsTime(t *testing.T) {
	w := newWorld(t)
	id := w.topic("orders", 1)
	req := named("orders", "orders")
	req.Topics[1].TopicID = id
	for _, version := range []int16{10, 11} {
		resp := ask[*kmsg.MetadataResponse](w, req, version)
		for _, topic := range resp.Topics {
			expect(t, "any topic", topic.ErrorCode, kerr.InvalidRequest)
		}
		if len(resp.Topics) != 2 || len(resp.Brokers) != 0 || resp.ControllerID != -1 {
			t.Errorf("v%d: answered %+v, want two errors and no cluster", version, resp)
		}
	}
}

func TestClusterOperationsAreToldWhereTheRequestHasAPlaceForThem(t *testing.T) {
	w := newWorld(t)
	for version := metadata.Min; version <= metadata.Max; version++ {
		req := named()
		req.IncludeClusterAuthorizedOperations = version >= 8 && version <= 10
		want := int32(-2147483648)
		if req.IncludeClusterAuthorizedOperations {
			want = 8096
		}
		if got := ask[*kmsg.MetadataResponse](w, req, version).AuthorizedOperations; got != want {
			t.Errorf("v%d: operations %d, want %d", version, got, want)
		}
	}
}

// The texts are Kafka 4.3.1's.
func TestDescribeClusterHoldsTheEndpointTypeAgainstTheListener(t *testing.T) {
	cases := []struct {
		title      string
		controller bool
		endpoints  int8
		want       kerr.Code
		message    string
	}{
		{"brokers of a broker", false, 1, kerr.None, ""},
		{"controllers of a broker", false, 2, kerr.MismatchedEndpointType, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"},
		{"what nobody is", false, 3, kerr.UnsupportedEndpointType, "Unsupported endpoint type 3"},
		{"nothing", false, 0, kerr.UnsupportedEndpointType, "Unsupported endpoint type 0"},
		{"controllers of a controller", true, 2, kerr.None, ""},
		{"brokers of a controller", true, 1, kerr.MismatchedEndpointType, "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"},
	}
	w := threeBrokers(t)
	w.apply(&record.RegisterController{ControllerID: 1, IncarnationID: model.UUID{1}, Endpoints: []record.Endpoint{{Name: "CONTROLLER", Host: "host-1", Port: 9999}}})
	for _, c := range cases {
		w.client.Controller, w.client.Listener = c.controller, map[bool]string{false: "PLAINTEXT", true: "CONTROLLER"}[c.controller]
		for version := int16(1); version <= describeCluster.Max; version++ {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType = c.endpoints
			resp := ask[*kmsg.DescribeClusterResponse](w, req, version)
			expect(t, c.title, resp.ErrorCode, c.want)
			if told := resp.ErrorMessage != nil; told != (c.message != "") || told && *resp.ErrorMessage != c.message {
				t.Errorf("%s: message %v, want %q", c.title, resp.ErrorMessage, c.message)
			}
			if c.want == kerr.None && (resp.EndpointType != c.endpoints || len(resp.Brokers) != 1 || resp.ClusterID != "the-cluster" || resp.ControllerID != 1) {
				t.Errorf("%s: %+v", c.title, resp)
			}
		}
	}
}

func TestDescribeClusterShowsFencedBrokersOnDemand(t *testing.T) {
	w := threeBrokers(t)
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType, req.IncludeFencedBrokers = brokerEndpoints, true
	resp := ask[*kmsg.DescribeClusterResponse](w, req, 2)
	if len(resp.Brokers) != 2 || resp.Brokers[0].IsFenced || resp.Brokers[1].NodeID != 3 || !resp.Brokers[1].IsFenced {
		t.Errorf("brokers %+v, want 1, and 3 as fenced", resp.Brokers)
	}
}

// paging asks DescribeTopicPartitions.
func paging(limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit, req.Cursor = limit, cursor
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func cursor(topic string, partition int32) *kmsg.DescribeTopicPartitionsRequestCursor {
	return &kmsg.DescribeTopicPartitionsRequestCursor{Topic: topic, Partition: partition}
}

// told is a page as "topic:first-last" with the next cursor.
func told(resp *kmsg.DescribeTopicPartitionsResponse) (page []string) {
	for _, topic := range resp.Topics {
		row := *topic.Topic
		if topic.ErrorCode != 0 {
			row += " " + kerr.Code(topic.ErrorCode).Name()
		}
		for _, p := range topic.Partitions {
			row += " " + string(rune('0'+p.Partition))
		}
		page = append(page, row)
	}
	if next := resp.NextCursor; next != nil {
		page = append(page, "next "+next.Topic+" "+string(rune('0'+next.Partition)))
	}
	return page
}

// The pages are those of Kafka 4.3.1 for the same requests.
func TestTopicPartitionsAreToldPageByPage(t *testing.T) {
	w := newWorld(t)
	w.topic("a1", 1)
	w.topic("b2", 3)
	w.topic("c3", 2)
	cases := []struct {
		title string
		req   *kmsg.DescribeTopicPartitionsRequest
		want  []string
	}{
		{"in order of name, once each", paging(100, nil, "c3", "b2", "nope", "b2", "a/b"),
			[]string{"a/b INVALID_TOPIC_EXCEPTION", "b2 0 1 2", "c3 0 1", "nope UNKNOWN_TOPIC_OR_PARTITION"}},
		{"a page that ends with a topic", paging(3, nil, "c3", "b2", "bb"), []string{"b2 0 1 2", "next bb 0"}},
		{"a page that ends with all", paging(3, nil, "b2"), []string{"b2 0 1 2"}},
		{"a page that ends within a topic", paging(4, nil, "c3", "b2"), []string{"b2 0 1 2", "c3 0", "next c3 1"}},
		{"a limit below one", paging(-4, nil, "b2"), []string{"b2 0", "next b2 1"}},
		{"all topics", paging(2, nil), []string{"a1 0", "b2 0", "next b2 1"}},
		{"all topics from a cursor on", paging(100, cursor("b2", 2)), []string{"b2 2", "c3 0 1"}},
		{"all topics from one that is gone on", paging(100, cursor("b9", 2)), []string{"c3 0 1"}},
		{"a cursor past a topic's partitions", paging(100, cursor("b2", 7), "b2", "c3"), []string{"b2", "c3 0 1"}},
		{"a cursor that leaves topics out", paging(100, cursor("c3", 1), "b2", "c3", "a1"), []string{"c3 1"}},
		{"a cursor below zero", paging(100, cursor("b2", -2), "b2", "c3"), []string{"b2 INVALID_REQUEST", "c3 INVALID_REQUEST"}},
		{"a cursor on another topic", paging(100, cursor("zz", 0), "b2", "c3"), []string{"b2 INVALID_REQUEST", "c3 INVALID_REQUEST"}},
	}
	for _, c := range cases {
		if got := told(ask[*kmsg.DescribeTopicPartitionsResponse](w, c.req, 0)); !slices.Equal(got, c.want) {
			t.Errorf("%s: told %q, want %q", c.title, got, c.want)
		}
	}
	w.node.Config.Topics.DescribeMax = 2
	if got, want := told(ask[*kmsg.DescribeTopicPartitionsResponse](w, paging(100, nil, "b2"), 0)), []string{"b2 0 1", "next b2 2"}; !slices.Equal(got, want) {
		t.Errorf("the broker's limit: told %q, want %q", got, want)
	}
}

func TestTopicPartitionsAreToldWithTheirEligibleLeaders(t *testing.T) {
	w := threeBrokers(t)
	got := ask[*kmsg.DescribeTopicPartitionsResponse](w, paging(100, nil, "spread"), 0).Topics[0].Partitions
	for i, want := range []kerr.Code{kerr.None, kerr.ListenerNotFound, kerr.LeaderNotAvailable, kerr.LeaderNotAvailable} {
		expect(t, "partition", got[i].ErrorCode, want)
	}
	if p := got[0]; p.LeaderID != 1 || p.LeaderEpoch != 4 || !slices.Equal(p.EligibleLeaderReplicas, []int32{3}) || p.LastKnownELR == nil || !slices.Equal(p.OfflineReplicas, []int32{3}) {
		t.Errorf("told as %+v", p)
	}
}
