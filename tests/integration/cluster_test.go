package integration

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

func TestMetadataCreatesTopicsThatAreAskedFor(t *testing.T) {
	conn, name := wire.Dial(t, broker(t)), freshName()
	node.Eventually(t, "the topic is there", func() bool {
		got := wire.On[*kmsg.MetadataResponse](conn, autoCreate(name, true)).Topics[0]
		return got.ErrorCode == 0 && len(got.Partitions) == 1 && got.TopicID != [16]byte{}
	})
	expectCode(t, wire.On[*kmsg.MetadataResponse](conn, autoCreate("no good", true)).Topics[0].ErrorCode, kerr.InvalidTopicException.Code)
	expectCode(t, wire.On[*kmsg.MetadataResponse](conn, autoCreate(freshName(), false)).Topics[0].ErrorCode, kerr.UnknownTopicOrPartition.Code)
}

func autoCreate(name string, allowed bool) *kmsg.MetadataRequest {
	req := metadataOf(name, 12).(*kmsg.MetadataRequest)
	req.AllowAutoTopicCreation = allowed
	return req
}

func TestMetadataByID(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	ask := func(version int16, one kmsg.MetadataRequestTopic) *kmsg.MetadataResponse {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = append(req.Topics, one)
		return wire.On[*kmsg.MetadataResponse](conn, wire.Versioned(req, version))
	}
	if got := ask(12, kmsg.MetadataRequestTopic{TopicID: to.id}).Topics[0]; got.ErrorCode != 0 || got.Topic == nil || *got.Topic != to.name {
		t.Errorf("asked by id: %+v", got)
	}
	expectCode(t, ask(12, kmsg.MetadataRequestTopic{TopicID: [16]byte{1, 2}}).Topics[0].ErrorCode, kerr.UnknownTopicID.Code)
	if got := ask(13, kmsg.MetadataRequestTopic{TopicID: to.id}); got.ErrorCode != 0 || got.Topics[0].ErrorCode != 0 {
		t.Errorf("v13: errors %d, %d", got.ErrorCode, got.Topics[0].ErrorCode)
	}
	expectCode(t, ask(12, kmsg.MetadataRequestTopic{}).Topics[0].ErrorCode, kerr.UnknownServerError.Code)
	for _, version := range []int16{10, 11} {
		expectCode(t, ask(version, kmsg.MetadataRequestTopic{TopicID: to.id}).Topics[0].ErrorCode, kerr.InvalidRequest.Code)
	}
}

func TestMetadataOfAllTopicsOrNone(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 2)
	all := func(version int16, topics []kmsg.MetadataRequestTopic) []kmsg.MetadataResponseTopic {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = topics
		return wire.On[*kmsg.MetadataResponse](conn, wire.Versioned(req, version)).Topics
	}
	named := func(topics []kmsg.MetadataResponseTopic) bool {
		return slices.ContainsFunc(topics, func(one kmsg.MetadataResponseTopic) bool {
			return one.Topic != nil && *one.Topic == to.name && len(one.Partitions) == 2
		})
	}
	if !named(all(0, []kmsg.MetadataRequestTopic{})) {
		t.Error("v0 with an empty list does not tell all topics")
	}
	for _, version := range []int16{1, 8, 9, 12, 13} {
		if !named(all(version, nil)) {
			t.Errorf("v%d with null does not tell all topics", version)
		}
		if got := all(version, []kmsg.MetadataRequestTopic{}); len(got) != 0 {
			t.Errorf("v%d with an empty list tells %d topics", version, len(got))
		}
	}
}

func TestMetadataTellsTheBrokerAndItsReplicas(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	got := metadata(conn, to.name)
	if len(got.Brokers) != 1 || got.Brokers[0].NodeID != 1 || got.ControllerID != 1 || got.ClusterID == nil || *got.ClusterID == "" {
		t.Errorf("brokers %+v, controller %d, cluster %v", got.Brokers, got.ControllerID, got.ClusterID)
	}
	p := got.Topics[0].Partitions[0]
	one := []int32{1}
	if p.Leader != 1 || p.LeaderEpoch != 0 || !slices.Equal(p.Replicas, one) || !slices.Equal(p.ISR, one) || len(p.OfflineReplicas) != 0 {
		t.Errorf("partition %+v", p)
	}
}

func TestDescribeCluster(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	ask := func(version int16, endpoint int8) *kmsg.DescribeClusterResponse {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = endpoint
		return wire.On[*kmsg.DescribeClusterResponse](conn, wire.Versioned(req, version))
	}
	for version := int16(0); version <= 2; version++ {
		got := ask(version, 1)
		if got.ErrorCode != 0 || len(got.Brokers) != 1 || got.Brokers[0].NodeID != 1 || got.ClusterID == "" {
			t.Errorf("v%d: %+v", version, got)
		}
	}
	expectCode(t, ask(1, 2).ErrorCode, kerr.MismatchedEndpointType.Code)
	expectCode(t, ask(1, 3).ErrorCode, kerr.UnsupportedEndpointType.Code)
}

func TestDescribeTopicPartitionsGoesPageByPage(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 3)
	ask := func(limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, names ...string) *kmsg.DescribeTopicPartitionsResponse {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit, req.Cursor = limit, cursor
		for _, name := range names {
			one := kmsg.NewDescribeTopicPartitionsRequestTopic()
			one.Topic = name
			req.Topics = append(req.Topics, one)
		}
		return wire.On[*kmsg.DescribeTopicPartitionsResponse](conn, req)
	}
	all := ask(2000, nil, to.name)
	if len(all.Topics) != 1 || len(all.Topics[0].Partitions) != 3 || all.NextCursor != nil {
		t.Errorf("without a limit: %+v", all)
	}
	for _, limit := range []int32{1, 0, -4} {
		page := ask(limit, nil, to.name)
		if len(page.Topics[0].Partitions) != 1 || page.NextCursor == nil || page.NextCursor.Topic != to.name || page.NextCursor.Partition != 1 {
			t.Errorf("with a limit of %d: %+v, next %+v", limit, page.Topics, page.NextCursor)
		}
	}
	rest := ask(2000, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: to.name, Partition: 1}, to.name)
	if len(rest.Topics) != 1 || len(rest.Topics[0].Partitions) != 2 || rest.Topics[0].Partitions[0].Partition != 1 {
		t.Errorf("from the cursor on: %+v", rest.Topics)
	}
	unknown := ask(10, nil, freshName())
	expectCode(t, unknown.Topics[0].ErrorCode, kerr.UnknownTopicOrPartition.Code)
	strange := ask(10, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: "another", Partition: 0}, to.name)
	for _, one := range strange.Topics {
		expectCode(t, one.ErrorCode, kerr.InvalidRequest.Code)
	}
}

func TestDescribeLogDirs(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 2)
	sent := wire.Values(now(), "sized").Bytes()
	produce(conn, produceRequest(nameVersion, to, 1, sent))
	for version := int16(1); version <= 4; version++ {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		one := kmsg.NewDescribeLogDirsRequestTopic()
		one.Topic, one.Partitions = to.name, []int32{0, 1}
		req.Topics = append(req.Topics, one)
		got := wire.On[*kmsg.DescribeLogDirsResponse](conn, wire.Versioned(req, version))
		if len(got.Dirs) != 1 || got.Dirs[0].ErrorCode != 0 || len(got.Dirs[0].Topics) != 1 {
			t.Fatalf("v%d: %+v", version, got)
		}
		var bytes int64
		for _, p := range got.Dirs[0].Topics[0].Partitions {
			bytes += p.Size
		}
		if bytes != int64(len(sent)) {
			t.Errorf("v%d: the partitions hold %d bytes, want the batch's %d", version, bytes, len(sent))
		}
		if version >= 4 && (got.Dirs[0].TotalBytes <= 0 || got.Dirs[0].UsableBytes <= 0) {
			t.Errorf("v%d: total %d, usable %d", version, got.Dirs[0].TotalBytes, got.Dirs[0].UsableBytes)
		}
	}
}

func TestNothingIsBeingReassigned(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	got := wire.On[*kmsg.ListPartitionReassignmentsResponse](conn, kmsg.NewPtrListPartitionReassignmentsRequest())
	if got.ErrorCode != 0 || len(got.Topics) != 0 {
		t.Errorf("%+v", got)
	}
}
