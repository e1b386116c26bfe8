package topics

import (
	"bytes"
	"encoding/json"
	"testing"
)

func text(s string) *string { return &s }

func TestATopicIsDescribedInTheScriptsLines(t *testing.T) {
	d := topic{
		Name: "orders", ID: "M6EpudxcQiaQo9KbgMHdcw", PartitionCount: 2, ReplicationFactor: 3, printSummary: true,
		Configs: configs{{"cleanup.policy", text("compact")}, {"retention.ms", text("1000")}, {"secret", nil}},
		Partitions: []partition{
			{Partition: 0, Leader: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2}, ELR: []int32{}, LastKnownELR: []int32{3}},
			{Partition: 1, Leader: -1, Replicas: []int32{2, 3}, ISR: nil, Reassignment: &reassignment{Adding: []int32{4}, Removing: []int32{3}}},
		},
	}
	var b bytes.Buffer
	d.print(&b)
	// The form of the lines is that of kafka-topics 4.3.1.
	want := "Topic: orders\tTopicId: M6EpudxcQiaQo9KbgMHdcw\tPartitionCount: 2\tReplicationFactor: 3\t" +
		"Configs: cleanup.policy=compact,retention.ms=1000,secret=null\n" +
		"\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\tElr: \tLastKnownElr: 3\n" +
		"\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,3\tIsr: \tAdding Replicas: 4\tRemoving Replicas: 3\tElr: N/A\tLastKnownElr: N/A\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestAPartitionOnTheMoveKeepsItsReplicationFactor(t *testing.T) {
	moving := partition{Replicas: []int32{1, 2, 4}, Reassignment: &reassignment{Adding: []int32{4}, Removing: []int32{1}, replicas: []int32{1, 2, 4}}}
	if got := moving.factor(); got != 2 {
		t.Errorf("one of three replicas is being added: factor %d", got)
	}
	done := partition{Replicas: []int32{2, 4}, Reassignment: &reassignment{Adding: []int32{7}, Removing: []int32{9}, replicas: []int32{7, 8, 9}}}
	if got := done.factor(); got != 2 {
		t.Errorf("a move that is over counts the replicas: factor %d", got)
	}
}

func TestConfigsAreAnObjectInJSON(t *testing.T) {
	got, err := json.Marshal(configs{{"b", text("2")}, {"a", nil}})
	if err != nil || string(got) != `{"a":null,"b":"2"}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestTheLastValueOfAConfigCounts(t *testing.T) {
	got, err := newConfigs([]string{"a = 1", "a=2", "b=3"})
	if err != nil || len(got) != 2 || got[0].Name != "a" || *got[0].Value != "2" || *got[1].Value != "3" {
		t.Errorf("%+v, %v", got, err)
	}
}
