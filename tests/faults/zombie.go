//go:build interop && unix

package faults

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// stranger is the producer of records that are no part of the load.
const stranger = "stranger"

// answer is what a node says to a record that was sent to it.
type answer struct {
	code int16
	err  error
}

// remember keeps a partition that the chosen node leads.
func remember(s *stage) {
	s.Helper()
	for p := range int32(partitions) {
		if s.cluster.Leader(s.load.Topic(), p).ID == s.chosen[0] {
			s.led = p
			return
		}
	}
	s.Fatalf("node %d leads nothing", s.chosen[0])
}

// tell sends a record to the chosen node for the partition that it led.
func (s *stage) tell(acks int16) answer {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 60_000
	one := kmsg.NewProduceRequestTopicPartition()
	one.Partition, one.Records = s.led, wire.Values(time.Now().UnixMilli(), stranger+":0:").Bytes()
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = s.load.Topic(), append(topic.Partitions, one)
	req.Topics = append(req.Topics, topic)
	resp, err := wire.Try[*kmsg.ProduceResponse](s.nodes()[0].Bootstrap, wire.Versioned(req, 12), 2*node.Patience)
	if err != nil {
		return answer{err: err}
	}
	return answer{code: resp.Topics[0].Partitions[0].ErrorCode}
}

// askTheZombie sends it a record with acks=all, to which it may answer when it goes on.
func askTheZombie(s *stage) {
	told := make(chan answer, 1)
	s.zombie = told
	go func() { told <- s.tell(-1) }()
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

// zombieKeeps is for a leader whose followers still got the record before they turned to the next one: what they had asked for
// arrives when the link is whole, and tells that all have it. It may acknowledge what is there in the end.
func zombieKeeps(s *stage) {
	s.Helper()
	got := <-s.zombie
	if got.err != nil {
		s.Errorf("the zombie did not answer: %v", got.err)
	}
	if got.code == 0 {
		s.promised++
	}
	s.Logf("the zombie answered with error %d", got.code)
}

// zombieDiverges has it take records with acks=1 that nobody else gets.
func zombieDiverges(s *stage) {
	s.Helper()
	for range 20 {
		if got := s.tell(1); got != (answer{}) {
			s.Fatalf("a leader that does not know better refuses a record with acks=1: %+v", got)
		}
	}
}

// deposed waits until the chosen node leads the partition that is remembered no more, as the others tell.
func deposed(s *stage) {
	s.Helper()
	asked := s.except(s.chosen)
	node.Eventually(s, "another node leads", func() bool {
		for _, id := range asked {
			resp, err := s.cluster.Node(id).Metadata(s.load.Topic())
			if err != nil || len(resp.Topics) != 1 {
				continue
			}
			for _, p := range resp.Topics[0].Partitions {
				if p.Partition == s.led && p.Leader >= 0 && p.Leader != s.chosen[0] {
					return true
				}
			}
		}
		return false
	})
}
