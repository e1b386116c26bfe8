package api

import (
	"testing"
	"unique"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/internal/model"
)

// A follower asked between the moment in which a replica could be found and that in which its actor ran, was told that nobody
// leads, and heard of no record of that partition for as long as its session lasted.
func TestAReplicaThatDoesNotRunYetIsAskedForAWatchAgain(t *testing.T) {
	set := &fetchSet{follower: true}
	asked := kmsg.NewFetchRequestTopicPartition()
	p := newFetchPart(partKey{unique.Make(topicName{name: "orders"}), 0}, &asked)
	set.add(p)
	set.take(nil)
	h := replica.NewHandle(model.TopicPartition{Topic: "orders"}, model.TopicID{1}, nil, nil)
	set.bind(p, h)
	set.arm(nil, trace.Context{}, []*fetchPart{p}, false)
	if p.watch != unwatched {
		t.Error("the partition counts as watched, and nobody will call")
	}
	if again := set.take(nil); len(again) != 1 || again[0] != p {
		t.Errorf("%d partitions are looked at again", len(again))
	}
}
