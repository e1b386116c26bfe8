package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/cluster/record"
	"troupe/internal/model"
)

// partitioned creates topic t with many partitions that have the same replicas.
func (s *stage) partitioned(n int, replicas string) {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"Partition":%d,"Replicas":%s}`, i, replicas))
	}
	s.do(fmt.Sprintf(`CreateTopics 7 {"Topics":[{"Topic":"t","NumPartitions":-1,"ReplicationFactor":-1,"ReplicaAssignment":[%s]}]}`, strings.Join(list, ",")))
}

// joins has broker 1, which leads all partitions of t, take another broker into their ISRs.
func (s *stage) joins(id int) {
	topic, _ := s.machine.current.Topic("t")
	var list []string
	for i, p := range topic.Partitions {
		list = append(list, fmt.Sprintf(`{"Partition":%d,"LeaderEpoch":%d,"PartitionEpoch":%d,"NewEpochISR":[{"BrokerID":1,"BrokerEpoch":-1},{"BrokerID":%d,"BrokerEpoch":-1}]}`,
			i, p.LeaderEpoch, p.Epoch, id))
	}
	self, _ := s.machine.current.Broker(1)
	s.do(fmt.Sprintf(`AlterPartition 3 {"BrokerID":1,"BrokerEpoch":%d,"Topics":[{"TopicID":"id(t)","Partitions":[%s]}]}`, self.Epoch, strings.Join(list, ",")))
}

func (s *stage) beats(id int) {
	b, _ := s.machine.current.Broker(model.BrokerID(id))
	s.do(fmt.Sprintf(`BrokerHeartbeat 1 {"BrokerID":%d,"BrokerEpoch":%d,"CurrentMetadataOffset":%d}`, id, b.Epoch, s.at.Next))
}

// elections are how many the ticks of one moment hold. As long as there are some the next tick is due at once.
func (s *stage) elections() (sizes []int) {
	for {
		e, next := s.machine.Tick(s.at)
		n := 0
		for _, r := range e.Append {
			if c, ok := r.(*record.PartitionChange); ok && c.Leader >= 0 {
				n++
			}
		}
		if n == 0 {
			return sizes
		}
		if !next.Equal(s.at.Time) {
			s.t.Fatalf("after %d elections the next tick is due in %s", n, next.Sub(s.at.Time))
		}
		sizes = append(sizes, n)
		s.settle(e)
	}
}

// maxElectionsPerImbalance of Kafka is 1,000 (facts/replication.md 7).
func TestARoundIsHeldAThousandElectionsAtATime(t *testing.T) {
	for title, c := range map[string]struct {
		begin func(*stage)
		want  []int
	}{
		"leaderships go back": {func(s *stage) {
			s.do("brokers 1 2")
			s.partitioned(2500, "[2,1]")
			s.do("fence 2")
			s.beats(2)
			s.joins(2)
		}, []int{1000, 1000, 500}},
		"a thousand take one tick": {func(s *stage) {
			s.do("brokers 1 2")
			s.partitioned(1000, "[2,1]")
			s.do("fence 2")
			s.beats(2)
			s.joins(2)
		}, []int{1000}},
		"unclean elections, which the file of the next controller allows": {func(s *stage) {
			s.do("brokers 1 2 3")
			s.partitioned(1500, "[2,3]")
			s.do("fence 2")
			s.do("fence 3")
			s.beats(2)
			s.do("resign")
			s.do("file unclean")
			s.do("lead")
		}, []int{1000, 500}},
	} {
		t.Run(title, func(t *testing.T) {
			s := newStage(t)
			s.do("lead")
			c.begin(s)
			s.at.Time = s.at.Time.Add(299 * time.Second)
			s.beats(2)
			if got := s.elections(); got != nil {
				t.Errorf("before the round %v elections are held", got)
			}
			s.at.Time = s.at.Time.Add(time.Second)
			if got := s.elections(); !slices.Equal(got, c.want) {
				t.Errorf("the round holds %v elections, want %v", got, c.want)
			}
			s.at.Time = s.at.Time.Add(time.Second)
			if got := s.elections(); got != nil {
				t.Errorf("after the round %v elections are held", got)
			}
		})
	}
}
