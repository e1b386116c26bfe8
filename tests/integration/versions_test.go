package integration

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// served are the APIs of a broker without groups and transactions, with the ranges of Kafka 4.3.
var served = []struct {
	key      kmsg.Key
	min, max int16
}{
	{kmsg.Produce, 0, 13}, {kmsg.Fetch, 4, 18}, {kmsg.ListOffsets, 1, 11}, {kmsg.Metadata, 0, 13},
	{kmsg.ApiVersions, 0, 4}, {kmsg.CreateTopics, 2, 7}, {kmsg.DeleteTopics, 1, 6}, {kmsg.DeleteRecords, 0, 2},
	{kmsg.InitProducerID, 0, 5}, {kmsg.OffsetForLeaderEpoch, 2, 4}, {kmsg.DescribeConfigs, 1, 4}, {kmsg.AlterConfigs, 0, 2},
	{kmsg.DescribeLogDirs, 1, 5}, {kmsg.CreatePartitions, 0, 3}, {kmsg.IncrementalAlterConfigs, 0, 1},
	{kmsg.ListPartitionReassignments, 0, 0}, {kmsg.DescribeCluster, 0, 2}, {kmsg.DescribeProducers, 0, 0},
	{kmsg.DescribeTopicPartitions, 0, 0},
}

func TestApiVersionsTellsTheRangesOfKafka(t *testing.T) {
	address := broker(t)
	for version := range int16(5) {
		resp := wire.Ask[*kmsg.ApiVersionsResponse](t, address, wire.Versioned(apiVersionsRequest(), version))
		expectCode(t, resp.ErrorCode, 0)
		ranges := map[int16][2]int16{}
		for _, k := range resp.ApiKeys {
			ranges[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
		}
		for _, s := range served {
			if got, want := ranges[s.key.Int16()], [2]int16{s.min, s.max}; got != want {
				t.Errorf("v%d: %s is %v, want %v", version, s.key.Name(), got, want)
			}
		}
	}
}

func TestApiVersionsTellsTheFeatures(t *testing.T) {
	resp := wire.Ask[*kmsg.ApiVersionsResponse](t, broker(t), wire.Versioned(apiVersionsRequest(), 4))
	if resp.FinalizedFeaturesEpoch < 0 {
		t.Errorf("the features are of epoch %d", resp.FinalizedFeaturesEpoch)
	}
	for _, f := range resp.FinalizedFeatures {
		if f.Name == "metadata.version" && f.MaxVersionLevel == 30 { // 4.3-IV0
			return
		}
	}
	t.Errorf("metadata.version is not finalized at 30: %+v", resp.FinalizedFeatures)
}

// Kafka 4.3.1 tells of 1 where its directory was formatted with --standalone, and of none with controller.quorum.voters.
func TestApiVersionsTellsWhetherTheVotersMayChange(t *testing.T) {
	for _, dynamic := range []bool{true, false} {
		c := node.StartCluster(t, node.ClusterOptions{Nodes: 1, Dynamic: dynamic})
		resp := wire.Ask[*kmsg.ApiVersionsResponse](t, c.Bootstrap(), wire.Versioned(apiVersionsRequest(), 4))
		level := int16(0)
		for _, f := range resp.FinalizedFeatures {
			if f.Name == "kraft.version" {
				level = f.MaxVersionLevel
			}
		}
		if want := map[bool]int16{true: 1}[dynamic]; level != want {
			t.Errorf("voters that may change: %v, and kraft.version is finalized at %d, want %d", dynamic, level, want)
		}
	}
}

// What is advertised is handled: every version of every API that the broker lists gets a reply that can be read.
func TestEveryAdvertisedVersionAnswers(t *testing.T) {
	address := broker(t)
	resp := wire.Ask[*kmsg.ApiVersionsResponse](t, address, wire.Versioned(apiVersionsRequest(), 4))
	for _, k := range resp.ApiKeys {
		for version := k.MinVersion; version <= k.MaxVersion; version++ {
			if k.ApiKey == kmsg.Produce.Int16() && version < 3 {
				continue // listed for old clients, refused since 4.0
			}
			req := kmsg.RequestForKey(k.ApiKey)
			if req == nil || version > req.MaxVersion() {
				continue // kmsg cannot encode it
			}
			if !plausible(req, version) {
				continue
			}
			t.Run(fmt.Sprintf("%s v%d", kmsg.NameForKey(k.ApiKey), version), func(t *testing.T) {
				req.SetVersion(version)
				wire.Dial(t, address).Call(req)
			})
		}
	}
}

// plausible fills in what an empty request lacks to be answered, and tells whether it is one at all.
func plausible(req kmsg.Request, version int16) bool {
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		req.Acks = 1
	case *kmsg.DescribeACLsRequest:
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	case *kmsg.AddPartitionsToTxnRequest:
		return version < 4 // from there on brokers ask, and Kafka leaves an empty request without an answer
	}
	return true
}
