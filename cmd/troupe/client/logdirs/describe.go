package logdirs

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
)

// The script prints JSON; the fields stand in the order of the hash maps it builds it from.
type document struct {
	Brokers []broker `json:"brokers"`
	Version int      `json:"version"`
}

// broker is one broker's directories.
type broker struct {
	Broker  int32 `json:"broker"`
	LogDirs []dir `json:"logDirs"`
}

type dir struct {
	Partitions []replica `json:"partitions"`
	Error      *string   `json:"error"` // a Java class
	LogDir     string    `json:"logDir"`
}

type replica struct {
	Partition string `json:"partition"`
	Size      int64  `json:"size"`
	OffsetLag int64  `json:"offsetLag"`
	IsFuture  bool   `json:"isFuture"`

	topic string
	hash  int32
}

// describe asks each broker by itself: a directory is known to the broker that has it (KIP-113).
func describe(ctx context.Context, client *connection.Client, ids []int32, topics []string) ([]broker, error) {
	var found []broker
	for _, id := range ids {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		resp, err := connection.AskNode(ctx, client, client.Broker(int(id)), "describeLogDirs", req.RequestWith)
		if err != nil {
			return nil, err
		}
		if err := kafkatext.Answer(resp.ErrorCode, nil); err != nil {
			return nil, err
		}
		b := broker{id, []dir{}}
		for _, d := range resp.Dirs {
			b.LogDirs = append(b.LogDirs, dirOf(d, topics))
		}
		b.LogDirs = kafkatext.HashOrderBy(b.LogDirs, len(b.LogDirs), func(d dir) int32 { return kafkatext.StringHash(d.LogDir) })
		found = append(found, b)
	}
	return found, nil
}

// dirOf keeps the replicas of the given topics, or all.
func dirOf(answer kmsg.DescribeLogDirsResponseDir, topics []string) dir {
	d := dir{Partitions: []replica{}, LogDir: answer.Dir}
	// A directory that failed is listed with the error, and without replicas.
	if failure, ok := kafkatext.Answer(answer.ErrorCode, nil).(*kafkatext.Failure); ok {
		class := failure.QualifiedClass()
		d.Error = &class
	}
	// A future replica is one that moves to this directory from another of the same broker (KIP-113).
	var replicas []replica
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			replicas = append(replicas, replica{
				t.Topic + "-" + strconv.Itoa(int(p.Partition)), p.Size, p.OffsetLag, p.IsFuture,
				t.Topic, kafkatext.PartitionHash(t.Topic, p.Partition),
			})
		}
	}
	hash := func(r replica) int32 { return r.hash }
	// The script copies the chosen replicas from one hash map into another.
	chosen := kafkatext.HashOrderBy(replicas, 0, hash)
	chosen = slices.DeleteFunc(chosen, func(r replica) bool { return len(topics) > 0 && !slices.Contains(topics, r.topic) })
	d.Partitions = append(d.Partitions, kafkatext.HashOrderBy(chosen, 0, hash)...)
	return d
}
