//go:build unix

package faults

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// admin opens an administrative client that ends with the test.
func (s *stage) admin() *kadm.Client {
	s.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(s.cluster.Bootstrap(), ",")...), kgo.MetadataMinAge(50*time.Millisecond), kgo.AlwaysRetryEOF())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// prefer gives partitions back to the leaders that they had at first.
func prefer(s *stage) {
	s.Helper()
	within, cancel := context.WithTimeout(s.Context(), node.Patience)
	defer cancel()
	topics := kadm.TopicsSet{}
	for p := range int32(partitions) {
		topics.Add(s.load.Topic(), p)
	}
	// What is not elected, since nothing is to do or somebody is not in sync, is asked for again by whoever needs it.
	if _, err := s.admin().ElectLeaders(within, kadm.ElectPreferredReplica, topics); err != nil {
		s.Fatal(err)
	}
}

// answer is what a hung node says to a record that was sent to it meanwhile.
type answer struct {
	code int16
	err  error
}

// askTheZombie sends a record to a chosen node for a partition that it led, whose answer may come when it goes on.
func askTheZombie(s *stage) {
	s.Helper()
	n := s.nodes()[0]
	partition := s.others["led"].(int32)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 60_000
	one := kmsg.NewProduceRequestTopicPartition()
	one.Partition, one.Records = partition, wire.Values(time.Now().UnixMilli(), "zombie:0:").Bytes()
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = s.load.Topic(), append(topic.Partitions, one)
	req.Topics = append(req.Topics, topic)
	wire.Versioned(req, 12)
	s.zombie = make(chan answer, 1)
	go func(told chan answer) {
		resp, err := wire.Try[*kmsg.ProduceResponse](n.Bootstrap, req, 2*node.Patience)
		if err != nil {
			told <- answer{err: err}
			return
		}
		told <- answer{code: resp.Topics[0].Partitions[0].ErrorCode}
	}(s.zombie)
}

// zombieRefuses holds that the record was not acknowledged.
func zombieRefuses(s *stage) {
	s.Helper()
	got := <-s.zombie
	switch {
	case got.err != nil:
		s.Errorf("the zombie did not answer: %v", got.err)
	case got.code == 0:
		s.Error("the zombie acknowledged a record")
	default:
		s.Logf("the zombie answered with error %d", got.code)
	}
}

// remember keeps a partition that the chosen node leads.
func remember(s *stage) {
	s.Helper()
	for p := range int32(partitions) {
		if s.cluster.Leader(s.load.Topic(), p).ID == s.chosen[0] {
			s.others["led"] = p
			return
		}
	}
	s.Fatalf("node %d leads nothing", s.chosen[0])
}

// deposed waits until the chosen node leads the partition that is remembered no more, as the others tell.
func deposed(s *stage) {
	s.Helper()
	asked := s.except(s.chosen)
	node.Eventually(s, "another node leads", func() bool {
		for _, id := range asked {
			if resp, err := s.cluster.Node(id).Metadata(s.load.Topic()); err == nil && len(resp.Topics) == 1 {
				for _, p := range resp.Topics[0].Partitions {
					if p.Partition == s.others["led"].(int32) {
						return p.Leader >= 0 && p.Leader != s.chosen[0]
					}
				}
			}
		}
		return false
	})
}
