// Package integration looks at a broker from its port: every answer here was first had from Apache Kafka 4.3.1, and
// the same tests run against it when INTEROP_BOOTSTRAP names one.
package integration

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// broker gives the address of a broker of its own to a test, or of the one that the environment names.
func broker(t *testing.T) string {
	t.Helper()
	if address := os.Getenv(node.BootstrapVar); address != "" {
		return address
	}
	return node.Start(t, node.Options{}).Bootstrap
}

var topicCount atomic.Int64

// freshName gives a topic name that no test has used, on a broker that outlives the tests too.
func freshName() string {
	return fmt.Sprintf("t%d-%d", time.Now().UnixNano(), topicCount.Add(1))
}

// topic is one that a test made.
type topic struct {
	name string
	id   [16]byte
}

// createTopic makes a topic of a fresh name and waits until every partition has its leader. Settings are key=value.
func createTopic(t *testing.T, address string, partitions int32, settings ...string) topic {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = freshName(), partitions, 1
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = key, &value
		one.Configs = append(one.Configs, c)
	}
	req.Topics = append(req.Topics, one)
	resp := wire.Ask[*kmsg.CreateTopicsResponse](t, address, wire.Versioned(req, 7))
	if got := resp.Topics[0]; got.ErrorCode != 0 {
		t.Fatalf("create %s: %v", one.Topic, kerr.ErrorForCode(got.ErrorCode))
	}
	awaitLeaders(t, address, one.Topic, int(partitions))
	return topic{name: one.Topic, id: resp.Topics[0].TopicID}
}

// awaitLeaders asks until the broker has taken up every partition of the topic: creation is answered when the
// record is committed, and the replicas follow.
func awaitLeaders(t *testing.T, address, name string, partitions int) {
	t.Helper()
	c := wire.Dial(t, address)
	node.Eventually(t, "every partition has a leader", func() bool {
		leaders := 0
		for _, p := range metadata(c, name).Topics[0].Partitions {
			if p.ErrorCode == 0 && p.Leader >= 0 {
				leaders++
			}
		}
		return leaders == partitions && listOffset(c, name, 0, -1).ErrorCode == 0
	})
}

func metadata(c *wire.Conn, name string) *kmsg.MetadataResponse {
	req := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &name
	req.Topics = append(req.Topics, asked)
	return wire.On[*kmsg.MetadataResponse](c, wire.Versioned(req, 12))
}

func listOffset(c *wire.Conn, name string, partition int32, time int64) kmsg.ListOffsetsResponseTopicPartition {
	return listOffsetAt(c, 10, name, partition, time)
}

func listOffsetAt(c *wire.Conn, version int16, name string, partition int32, time int64) kmsg.ListOffsetsResponseTopicPartition {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, time
	one := kmsg.NewListOffsetsRequestTopic()
	one.Topic, one.Partitions = name, append(one.Partitions, p)
	req.Topics = append(req.Topics, one)
	return wire.On[*kmsg.ListOffsetsResponse](c, wire.Versioned(req, version)).Topics[0].Partitions[0]
}

// expectCode compares a code of the protocol and names both.
func expectCode(t *testing.T, got, want int16) {
	t.Helper()
	if got != want {
		t.Errorf("error %d (%v), want %d (%v)", got, kerr.ErrorForCode(got), want, kerr.ErrorForCode(want))
	}
}

// now is the time as records carry it: milliseconds since 1970.
func now() int64 { return time.Now().UnixMilli() }

// began is one time for records that are to be the same in every topic, new enough to outlive retention.
var began = now()
