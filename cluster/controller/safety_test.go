package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// ledger is what must be true of one partition over time.
type ledger struct {
	leaderEpoch model.LeaderEpoch
	epoch       model.PartitionEpoch
	leader      model.BrokerID
	// holders surely have everything that was acknowledged to acks=all: the ISR as long as it has min.insync.replicas
	// members, and who was in it when it last had; less those that crashed since.
	holders []model.BrokerID
}

// Whatever brokers, leaders and the controller do: a leader that is not marked as recovering has all that was
// acknowledged, leads alive and in the ISR, and epochs only rise.
func TestNoElectionForgetsWhatWasAcknowledged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStage(t)
		s.do("lead")
		s.do("brokers 1 2 3 4")
		s.do(`CreateTopics 7 {"Topics":[{"Topic":"a","NumPartitions":3,"ReplicationFactor":3,"Configs":[{"Name":"min.insync.replicas","Value":"2"}]},{"Topic":"b","NumPartitions":2,"ReplicationFactor":2}]}`)
		books := map[string]*ledger{}
		audit(rt, s, books, model.NoBroker)
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			crashed := step(rt, s, books)
			audit(rt, s, books, crashed)
		}
	})
}

// step lets something happen, and tells which broker came back without having stopped cleanly.
func step(t *rapid.T, s *stage, books map[string]*ledger) model.BrokerID {
	id := model.BrokerID(rapid.Int32Range(1, 4).Draw(t, "broker"))
	b, known := s.machine.current.Broker(id)
	if !known { // it was unregistered, and nothing tells what it has
		s.register(id, -1)
		return id
	}
	eligible := s.machine.current.Feature(image.ELRVersionFeature)
	switch rapid.IntRange(0, 15).Draw(t, "what") {
	case 0, 1:
		s.do(fmt.Sprintf("fence %d", id))
	case 2, 3, 4:
		s.do(fmt.Sprintf(`BrokerHeartbeat 1 {"BrokerID":%d,"BrokerEpoch":%d,"CurrentMetadataOffset":%d}`, id, b.Epoch, s.at.Next))
	case 5:
		s.do(fmt.Sprintf(`BrokerHeartbeat 1 {"BrokerID":%d,"BrokerEpoch":%d,"CurrentMetadataOffset":%d,"WantShutdown":true}`, id, b.Epoch, s.at.Next))
	case 6:
		// Without eligible leaders the last of an ISR leads again, whatever it has lost.
		clean := rapid.Bool().Draw(t, "clean") || eligible == 0
		if !b.Fenced && (id != 1 || clean) {
			return model.NoBroker
		}
		previous := int64(-1)
		if clean && b.Fenced {
			previous = int64(b.Epoch)
		}
		s.register(id, previous)
		if previous < 0 {
			return id
		}
	case 7, 8:
		proposeISR(t, s, books)
	case 9:
		move(t, s)
	case 10:
		s.do(fmt.Sprintf(`UpdateFeatures 2 {"FeatureUpdates":[{"Feature":"eligible.leader.replicas.version","MaxVersionLevel":%d,"UpgradeType":%d}]}`, 1-eligible, 1+eligible))
	case 11:
		s.do(fmt.Sprintf(`IncrementalAlterConfigs 1 {"Resources":[{"ResourceType":"TOPIC","ResourceName":"a","Configs":[{"Name":"min.insync.replicas","Op":"SET","Value":"%d"}]}]}`,
			rapid.IntRange(1, 3).Draw(t, "min.insync.replicas")))
	case 12:
		s.do(fmt.Sprintf(`ElectLeaders 2 {"ElectionType":%d,"Topics":null}`, rapid.IntRange(0, 1).Draw(t, "unclean")))
	case 13:
		s.do("resign")
		s.do("lead")
	case 14:
		if id != 1 && eligible > 0 {
			s.do(fmt.Sprintf(`UnregisterBroker 0 {"BrokerID":%d}`, id))
		}
	case 15:
		s.do(fmt.Sprintf(`IncrementalAlterConfigs 1 {"Resources":[{"ResourceType":"TOPIC","ResourceName":"a","Configs":[{"Name":"unclean.leader.election.enable","Op":"SET","Value":"%t"}]}]}`,
			rapid.Bool().Draw(t, "unclean")))
	}
	return model.NoBroker
}

// register has a process begin, with the epoch that a clean stop left behind.
func (s *stage) register(id model.BrokerID, previous int64) {
	s.token++
	s.do(fmt.Sprintf(`BrokerRegistration 4 {"BrokerID":%d,"ClusterID":"cluster","IncarnationID":"uuid(%d)","LogDirs":["uuid(%d)"],"PreviousBrokerEpoch":%d,"Features":%s}`,
		id, s.token%250, 10*id, previous, `[{"Name":"metadata.version","MinSupportedVersion":7,"MaxSupportedVersion":30},{"Name":"eligible.leader.replicas.version","MinSupportedVersion":0,"MaxSupportedVersion":1}]`))
}

// proposeISR lets a leader propose an ISR of replicas that it may take in: they have caught up with it.
func proposeISR(t *rapid.T, s *stage, books map[string]*ledger) {
	topic, n, p := anyPartition(t, s)
	if p.Leader == model.NoBroker {
		return
	}
	leader, _ := s.machine.current.Broker(p.Leader)
	var members []string
	for _, id := range p.Replicas {
		if id == p.Leader || rapid.Bool().Draw(t, "in sync") && s.machine.active(id) {
			members = append(members, fmt.Sprintf(`{"BrokerID":%d,"BrokerEpoch":-1}`, id))
			if l := books[fmt.Sprint(topic.Name, n)]; slices.Contains(l.holders, p.Leader) {
				l.holders = append(l.holders, id)
			}
		}
	}
	if p.LeaderRecoveryState == record.Recovering {
		members = []string{fmt.Sprintf(`{"BrokerID":%d,"BrokerEpoch":-1}`, p.Leader)}
	}
	s.do(fmt.Sprintf(`AlterPartition 3 {"BrokerID":%d,"BrokerEpoch":%d,"Topics":[{"TopicID":"id(%s)","Partitions":[{"Partition":%d,"LeaderEpoch":%d,"PartitionEpoch":%d,"NewEpochISR":[%s]}]}]}`,
		p.Leader, leader.Epoch, topic.Name, n, p.LeaderEpoch, p.Epoch, strings.Join(members, ",")))
}

// move reassigns a partition, or takes that back.
func move(t *rapid.T, s *stage) {
	topic, n, p := anyPartition(t, s)
	var target []int32
	if !p.Reassigning() || rapid.Bool().Draw(t, "again") {
		target = rapid.Permutation([]int32{1, 2, 3, 4}).Draw(t, "target")[:2+n%2]
	}
	list, err := json.Marshal(target)
	if err != nil {
		t.Fatal(err)
	}
	s.do(fmt.Sprintf(`AlterPartitionAssignments 0 {"Topics":[{"Topic":%q,"Partitions":[{"Partition":%d,"Replicas":%s}]}]}`, topic.Name, n, list))
}

func anyPartition(t *rapid.T, s *stage) (*image.Topic, int32, *image.Partition) {
	topic, _ := s.machine.current.Topic(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "topic"))
	n := rapid.IntRange(0, len(topic.Partitions)-1).Draw(t, "partition")
	return topic, int32(n), topic.Partitions[n]
}

func audit(t *rapid.T, s *stage, books map[string]*ledger, crashed model.BrokerID) {
	for topic := range s.machine.current.Topics("") {
		for n, p := range topic.Partitions {
			name := fmt.Sprintf("%s-%d %+v", topic.Name, n, *p)
			key := fmt.Sprint(topic.Name, n)
			l := books[key]
			if l == nil {
				l = &ledger{leader: p.Leader, holders: p.ISR}
				books[key] = l
			}
			l.holders = without(l.holders, crashed)
			if p.Epoch < l.epoch || p.LeaderEpoch < l.leaderEpoch || p.Leader != l.leader && p.LeaderEpoch == l.leaderEpoch {
				t.Fatalf("%s: epochs after %+v", name, *l)
			}
			auditLists(t, s, p, name)
			newTerm := p.LeaderEpoch != l.leaderEpoch
			if newTerm && p.Leader != model.NoBroker && p.LeaderRecoveryState == record.Recovering {
				l.holders = []model.BrokerID{p.Leader}
			}
			if newTerm && p.Leader != model.NoBroker && !slices.Contains(l.holders, p.Leader) {
				t.Fatalf("%s: the leader may lack what was acknowledged; only %v have it", name, l.holders)
			}
			if len(p.ISR) >= min(s.machine.minISR(topic.Name), len(p.Replicas)) {
				l.holders = without(p.ISR, crashed)
				if slices.Contains(p.ISR, crashed) && !newTerm {
					t.Fatalf("%s: broker %d crashed and is in the ISR still", name, crashed)
				}
			}
			l.epoch, l.leaderEpoch, l.leader = p.Epoch, p.LeaderEpoch, p.Leader
		}
	}
}

func auditLists(t *rapid.T, s *stage, p *image.Partition, name string) {
	if p.Leader != model.NoBroker && (!slices.Contains(p.ISR, p.Leader)) {
		t.Fatalf("%s: the leader is not in the ISR", name)
	}
	for _, id := range slices.Concat(p.ISR, p.ELR) {
		if !slices.Contains(p.Replicas, id) {
			t.Fatalf("%s: %d is no replica", name, id)
		}
	}
	for _, id := range p.ELR {
		if slices.Contains(p.ISR, id) {
			t.Fatalf("%s: %d is in the ISR and eligible", name, id)
		}
	}
	if len(p.Directories) != len(p.Replicas) {
		t.Fatalf("%s: directories and replicas differ in number", name)
	}
	if b, ok := s.machine.current.Broker(p.Leader); p.Leader > 1 && (!ok || b.Fenced) {
		t.Fatalf("%s: the leader is fenced, or unknown", name)
	}
}
