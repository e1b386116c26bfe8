package rebalance

import (
	"bytes"
	"testing"

	"troupe/cluster/rebalance"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

func TestAPlanSaysWhatIsCopiedAndWhatOnlyChangesItsLeader(t *testing.T) {
	var out bytes.Buffer
	s := option.Streams{Out: &out}
	if err := tell(s, []rebalance.Move{
		{TopicPartition: model.TopicPartition{Topic: "a", Partition: 0}, From: []model.BrokerID{1, 2}, To: []model.BrokerID{3, 2}},
		{TopicPartition: model.TopicPartition{Topic: "a", Partition: 1}, From: []model.BrokerID{1, 2}, To: []model.BrokerID{2, 1}},
		{TopicPartition: model.TopicPartition{Topic: "b", Partition: 0}, From: []model.BrokerID{1}, To: []model.BrokerID{1, 2, 3}},
	}, []model.TopicPartition{{Topic: "c"}}); err != nil {
		t.Fatal(err)
	}
	want := "a-0\t[1 2] -> [3 2]\tcopied to [3]\na-1\t[1 2] -> [2 1]\tleader\nb-0\t[1] -> [1 2 3]\tcopied to [2 3]\n" +
		"partitions led by another than their first replica, which return to it: 1\n3 partitions change, 3 replicas are copied.\n"
	if out.String() != want {
		t.Errorf("told\n%s\nwant\n%s", out.String(), want)
	}
}

func TestThrottledReplicasAreListedByPartition(t *testing.T) {
	if got := listed(listed("", 0, []int32{1, 2}), 3, []int32{4}); got != "0:1,0:2,3:4" {
		t.Errorf("listed %s", got)
	}
	if got := listed("0:1", 1, nil); got != "0:1" {
		t.Errorf("listed %s", got)
	}
}
