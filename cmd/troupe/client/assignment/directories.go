package assignment

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// Directories are the log directories of one broker that work, and in which of them its replicas lie.
type Directories struct {
	All []string
	Of  map[model.TopicPartition]string
}

// ReadDirectories asks each broker by itself for its directories (KIP-113).
func ReadDirectories(ctx context.Context, client *connection.Client, brokers []int32) (map[int32]Directories, error) {
	found := map[int32]Directories{}
	for _, id := range brokers {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		resp, err := connection.AskNode(ctx, client, client.Broker(int(id)), "describeReplicaLogDirs", req.RequestWith)
		if err == nil {
			err = kafkatext.Answer(resp.ErrorCode, nil)
		}
		if err != nil {
			return nil, err
		}
		d := Directories{Of: map[model.TopicPartition]string{}}
		for _, dir := range resp.Dirs {
			if dir.ErrorCode != 0 {
				continue // it holds nothing that can be read
			}
			d.All = append(d.All, dir.Dir)
			for _, t := range dir.Topics {
				for _, p := range t.Partitions {
					if !p.IsFuture {
						d.Of[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = dir.Dir
					}
				}
			}
		}
		found[id] = d
	}
	return found, nil
}
