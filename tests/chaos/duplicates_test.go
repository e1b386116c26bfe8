//go:build unix

package chaos

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

const segmentBytes = 1 << 20 // the smallest that a topic may have

// partition is partition 0 of a topic, and one idempotent producer's view of it.
type partition struct {
	t        *testing.T
	topic    string
	id       int64
	sequence int32
}

// batch makes the producer's next batch, of one record with a value of so many bytes.
func (p *partition) batch(bytes int) *kmsg.ProduceRequest {
	b := wire.Values(time.Now().UnixMilli(), strings.Repeat("v", bytes))
	b.ProducerID, b.ProducerEpoch, b.Sequence = p.id, 0, p.sequence
	p.sequence++
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	one := kmsg.NewProduceRequestTopicPartition()
	one.Records = b.Bytes()
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = p.topic, append(topic.Partitions, one)
	req.Topics = append(req.Topics, topic)
	return wire.Versioned(req, 12)
}

// end asks for the log's end.
func (p *partition) end(c *wire.Conn) int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	one := kmsg.NewListOffsetsRequestTopicPartition()
	one.Timestamp = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic, topic.Partitions = p.topic, append(topic.Partitions, one)
	req.Topics = append(req.Topics, topic)
	got := wire.On[*kmsg.ListOffsetsResponse](c, wire.Versioned(req, 10)).Topics[0].Partitions[0]
	if got.ErrorCode != 0 {
		return -1
	}
	return got.Offset
}

// newPartition makes the topic and the producer.
func newPartition(t *testing.T, address string) *partition {
	t.Helper()
	c := wire.Dial(t, address)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.TimeoutMillis = 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "unanswered", 1, 1
	size := fmt.Sprint(segmentBytes)
	topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "segment.bytes", Value: &size}}
	create.Topics = append(create.Topics, topic)
	if code := wire.On[*kmsg.CreateTopicsResponse](c, wire.Versioned(create, 7)).Topics[0].ErrorCode; code != 0 {
		t.Fatalf("create: error %d", code)
	}
	p := &partition{t: t, topic: "unanswered"}
	node.Eventually(t, "the partition has its leader and the producer its id", func() bool {
		init := kmsg.NewPtrInitProducerIDRequest()
		init.ProducerID, init.ProducerEpoch = -1, -1
		got := wire.On[*kmsg.InitProducerIDResponse](c, wire.Versioned(init, 4))
		p.id = got.ProducerID
		return got.ErrorCode == 0 && p.end(c) == 0
	})
	return p
}

// The client never learned what became of five batches; when it sends them again, they are known.
func TestBatchesUnansweredAtAStopAreDuplicatesAfterwards(t *testing.T) {
	stops := map[string]func(*node.Node){"SIGTERM": (*node.Node).Terminate, "SIGKILL": (*node.Node).Kill}
	for name, stop := range stops {
		for before := range 6 { // of the five batches so many fit into the old segment
			t.Run(fmt.Sprintf("%s with %d before a roll", name, before), func(t *testing.T) {
				broker := node.Start(t, node.Options{})
				p := newPartition(t, broker.Bootstrap)
				conn, watch := wire.Dial(t, broker.Bootstrap), wire.Dial(t, broker.Bootstrap)
				const size, most = 1000, segmentBytes / 2
				conn.Call(p.batch(most))
				// The segment has room for as many of the five as are to come before the roll.
				conn.Call(p.batch(segmentBytes - most - 2*100 - before*(size+100)))
				begin := p.end(watch)

				var again []*kmsg.ProduceRequest
				for range 5 {
					again = append(again, p.batch(size))
					conn.Send(again[len(again)-1])
				}
				node.Eventually(t, "the five are appended", func() bool { return p.end(watch) == begin+5 })
				stop(broker)
				expectSegments(t, broker.Dir, before < 5)
				broker.Restart()

				conn = wire.Dial(t, broker.Bootstrap)
				node.Eventually(t, "the partition has its leader again", func() bool { return p.end(conn) >= 0 })
				for i, req := range again {
					got := wire.On[*kmsg.ProduceResponse](conn, req).Topics[0].Partitions[0]
					if got.ErrorCode != 0 || got.BaseOffset != begin+int64(i) {
						t.Errorf("batch %d sent again: error %d, offset %d; want 0 and %d", i, got.ErrorCode, got.BaseOffset, begin+int64(i))
					}
				}
				if end := p.end(conn); end != begin+5 {
					t.Errorf("the log ends at %d, want %d", end, begin+5)
				}
			})
		}
	}
}

// expectSegments checks that the log was rolled, or not, so that the test tests what its title says.
func expectSegments(t *testing.T, dir string, rolled bool) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "unanswered-0", "*.log"))
	if err != nil || len(segments) > 1 != rolled {
		t.Fatalf("segments are %v, %v; rolled: %v", segments, err, rolled)
	}
}

func TestProducerIDsAreNotGivenAgainAfterAKill(t *testing.T) {
	broker := node.Start(t, node.Options{})
	seen := map[int64]bool{}
	for range 4 {
		for range 5 {
			p := &partition{t: t}
			c := wire.Dial(t, broker.Bootstrap)
			node.Eventually(t, "a producer id is given", func() bool {
				init := kmsg.NewPtrInitProducerIDRequest()
				init.ProducerID, init.ProducerEpoch = -1, -1
				got := wire.On[*kmsg.InitProducerIDResponse](c, wire.Versioned(init, 4))
				p.id = got.ProducerID
				return got.ErrorCode == 0
			})
			if seen[p.id] {
				t.Errorf("producer id %d was given twice", p.id)
			}
			seen[p.id] = true
		}
		broker.Kill()
		broker.Restart()
	}
}
