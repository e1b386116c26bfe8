package connection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/internal/model"
)

// positions settles where a member begins with the partitions that its group has no offset of, and commits that at once.
// The Java consumer commits where it stands and not only what it has read: a member that was sent to the end of a
// partition and went before anything came is followed by one that reads what came in between.
type positions struct {
	client    *kgo.Client // known from OnOffsetsFetched, which comes before begin on the same goroutine
	commits   bool        // whether the member commits by itself; otherwise kgo may settle the positions
	committed bool        // whether only records of committed transactions are read
}

func (p *positions) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.OnOffsetsFetched(func(_ context.Context, client *kgo.Client, _ *kmsg.OffsetFetchResponse) error {
			p.client = client
			return nil
		}),
		kgo.AdjustFetchOffsetsFn(p.begin),
	}
}

// begin implements AdjustFetchOffsetsFn. What cannot be settled now is left to kgo, which tries again and again; only where
// nothing may be settled (auto.offset.reset=none) it is an error, which kgo gives to the next poll.
func (p *positions) begin(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	if lost := undefined(offsets); len(lost) > 0 {
		return nil, fmt.Errorf("Undefined offset with no reset policy for partitions: [%s]", strings.Join(lost, ", "))
	}
	if !p.commits {
		return offsets, nil
	}
	req := kmsg.NewPtrListOffsetsRequest()
	if p.committed {
		req.IsolationLevel = 1 // READ_COMMITTED: the end is the last stable offset (KIP-98)
	}
	for name, partitions := range offsets {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for number, o := range partitions {
			// Below 0 it is the timestamp that asks for the end or the beginning.
			if at := o.EpochOffset().Offset; at < 0 {
				partition := kmsg.NewListOffsetsRequestTopicPartition()
				partition.Partition, partition.Timestamp = number, at
				topic.Partitions = append(topic.Partitions, partition)
			}
		}
		if len(topic.Partitions) > 0 {
			req.Topics = append(req.Topics, topic)
		}
	}
	if len(req.Topics) == 0 {
		return offsets, nil
	}
	answer, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return offsets, nil
	}
	commit := map[string]map[int32]kgo.EpochOffset{}
	for _, topic := range answer.Topics {
		commit[topic.Topic] = map[int32]kgo.EpochOffset{}
		for _, partition := range topic.Partitions {
			if partition.ErrorCode == 0 && partition.Offset >= 0 {
				offsets[topic.Topic][partition.Partition] = kgo.NewOffset().At(partition.Offset)
				commit[topic.Topic][partition.Partition] = kgo.EpochOffset{Epoch: partition.LeaderEpoch, Offset: partition.Offset}
			}
		}
	}
	// A commit that fails because the group rebalances is made by the next owner.
	p.client.CommitOffsetsSync(ctx, commit, nil)
	return offsets, nil
}

// undefined names the partitions whose position nothing tells.
func undefined(offsets map[string]map[int32]kgo.Offset) []string {
	var lost []string
	for topic, partitions := range offsets {
		for number, o := range partitions {
			if o == kgo.NoResetOffset() {
				lost = append(lost, model.TopicPartition{Topic: topic, Partition: number}.String())
			}
		}
	}
	slices.Sort(lost)
	return lost
}
