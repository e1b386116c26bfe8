package assignment

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// Replica is one of a partition on one broker.
type Replica struct {
	model.TopicPartition
	Broker int32
}

// String gives it as Kafka prints it.
func (r Replica) String() string { return fmt.Sprintf("%s-%d", r.TopicPartition, r.Broker) }

// CompareReplicas orders by broker, then by partition.
func CompareReplicas(a, b Replica) int {
	return cmp.Or(cmp.Compare(a.Broker, b.Broker), Compare(a.TopicPartition, b.TopicPartition))
}

// Directory is where a replica lies on its broker, and where to it is being moved; empty for neither.
type Directory struct{ Current, Future string }

// Directories asks the brokers of some replicas, each by itself, where those lie (KIP-113). One of which its broker tells
// nothing is in no directory that works.
func Directories(ctx context.Context, client *connection.Client, replicas []Replica) (map[Replica]Directory, error) {
	found := map[Replica]Directory{}
	for _, of := range byBroker(replicas) {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
		for _, r := range of {
			at := slices.IndexFunc(req.Topics, func(t kmsg.DescribeLogDirsRequestTopic) bool { return t.Topic == r.Topic })
			if at < 0 {
				at = len(req.Topics)
				req.Topics = append(req.Topics, kmsg.DescribeLogDirsRequestTopic{Topic: r.Topic})
			}
			req.Topics[at].Partitions = append(req.Topics[at].Partitions, r.Partition)
		}
		id := of[0].Broker
		resp, err := connection.AskNode(ctx, client, client.Broker(int(id)), "describeReplicaLogDirs", req.RequestWith)
		if err == nil {
			err = kafkatext.Answer(resp.ErrorCode, nil)
		}
		if err != nil {
			return nil, err
		}
		for _, dir := range resp.Dirs {
			if dir.ErrorCode != 0 {
				continue // it holds nothing that can be read
			}
			for _, t := range dir.Topics {
				for _, p := range t.Partitions {
					r := Replica{model.TopicPartition{Topic: t.Topic, Partition: p.Partition}, id}
					in := found[r]
					if p.IsFuture {
						in.Future = dir.Dir
					} else {
						in.Current = dir.Dir
					}
					found[r] = in
				}
			}
		}
	}
	return found, nil
}

// AlterDirectories has replicas moved to other log directories of their brokers, which is begun when it is answered. Those that
// are not on their brokers yet are left out of started. The first that is refused is the error, a *Refused.
func AlterDirectories(ctx context.Context, client *connection.Client, to map[Replica]string) (started []Replica, err error) {
	all := make([]Replica, 0, len(to))
	for r := range to {
		all = append(all, r)
	}
	for _, of := range byBroker(all) {
		req := kmsg.NewPtrAlterReplicaLogDirsRequest()
		for _, r := range of {
			addMove(req, to[r], r.TopicPartition)
		}
		id := of[0].Broker
		resp, err := connection.AskNode(ctx, client, client.Broker(int(id)), "alterReplicaLogDirs", req.RequestWith)
		if err != nil {
			return nil, &Refused{of[0], err}
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				r := Replica{model.TopicPartition{Topic: t.Topic, Partition: p.Partition}, id}
				switch err := kafkatext.Answer(p.ErrorCode, nil); {
				case err == nil:
					started = append(started, r)
				case p.ErrorCode != kerr.ReplicaNotAvailable.Code:
					return nil, &Refused{r, err}
				}
			}
		}
	}
	slices.SortFunc(started, CompareReplicas)
	return started, nil
}

func addMove(req *kmsg.AlterReplicaLogDirsRequest, path string, tp model.TopicPartition) {
	d := slices.IndexFunc(req.Dirs, func(d kmsg.AlterReplicaLogDirsRequestDir) bool { return d.Dir == path })
	if d < 0 {
		d = len(req.Dirs)
		dir := kmsg.NewAlterReplicaLogDirsRequestDir()
		dir.Dir = path
		req.Dirs = append(req.Dirs, dir)
	}
	dir := &req.Dirs[d]
	t := slices.IndexFunc(dir.Topics, func(t kmsg.AlterReplicaLogDirsRequestDirTopic) bool { return t.Topic == tp.Topic })
	if t < 0 {
		t = len(dir.Topics)
		topic := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
		topic.Topic = tp.Topic
		dir.Topics = append(dir.Topics, topic)
	}
	dir.Topics[t].Partitions = append(dir.Topics[t].Partitions, tp.Partition)
}

// Refused says which replica is not moved, in the words of Kafka's script, which tells why in the stack trace below them.
type Refused struct {
	Replica Replica
	Cause   error
}

func (e *Refused) Error() string { return "Failed to alter dir for " + e.Replica.String() }

// byBroker groups replicas, in order.
func byBroker(replicas []Replica) (groups [][]Replica) {
	sorted := slices.Clone(replicas)
	slices.SortFunc(sorted, CompareReplicas)
	for _, r := range slices.Compact(sorted) {
		if n := len(groups); n > 0 && groups[n-1][0].Broker == r.Broker {
			groups[n-1] = append(groups[n-1], r)
		} else {
			groups = append(groups, []Replica{r})
		}
	}
	return groups
}
