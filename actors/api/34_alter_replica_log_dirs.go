package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/disk"
	"troupe/actors/move"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// AlterReplicaLogDirs (key 34), versions 1-2: moves replicas of this broker to other log directories (KIP-113). It is answered
// when DescribeLogDirs shows them on their way, and how far they are from then on; a move to where a replica is ends one that is
// under way. The directory of a replica that is not here is kept in mind for when it comes. A barrier on its connection.
//
// Errors a partition: 9 REPLICA_NOT_AVAILABLE, 17 INVALID_TOPIC_EXCEPTION for a name too long for the directory of a copy, 31
// CLUSTER_AUTHORIZATION_FAILED, 39 INVALID_REPLICA_ASSIGNMENT for a cordoned directory, 56 KAFKA_STORAGE_ERROR for a directory
// that is offline, 57 LOG_DIR_NOT_FOUND.
var alterReplicaLogDirs = &Handler{
	Key: 34, Name: "AlterReplicaLogDirs", Min: 1, Max: 2, On: OnBroker,
	Access: Access{Alter, OnCluster},
	Handle: handleAlterReplicaLogDirs,
}

// dirNameMax is the longest name of a directory.
const dirNameMax = 255

func handleAlterReplicaLogDirs(n *Node, r *Request) {
	req := r.Body.(*kmsg.AlterReplicaLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	type wish struct {
		tp   model.TopicPartition
		path string
		at   [2]int // in the response
	}
	var wishes []wish
	for i := range req.Dirs {
		for j := range req.Dirs[i].Topics {
			t := &req.Dirs[i].Topics[j]
			at := slices.IndexFunc(resp.Topics, func(o kmsg.AlterReplicaLogDirsResponseTopic) bool { return o.Topic == t.Topic })
			if at < 0 {
				out := kmsg.NewAlterReplicaLogDirsResponseTopic()
				out.Topic = t.Topic
				resp.Topics, at = append(resp.Topics, out), len(resp.Topics)
			}
			for _, p := range t.Partitions {
				wishes = append(wishes, wish{model.TopicPartition{Topic: t.Topic, Partition: p}, req.Dirs[i].Dir, [2]int{at, len(resp.Topics[at].Partitions)}})
				out := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
				out.Partition = p
				resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, out)
			}
		}
	}
	g := newGather(func() { r.Reply(resp) })
	for _, w := range wishes {
		out := &resp.Topics[w.at[0]].Partitions[w.at[1]]
		g.expect()
		n.moveReplica(w.tp, w.path, func(code kerr.Code) {
			out.ErrorCode = int16(code)
			g.arrive()
		})
	}
	g.arrive()
}

// moveReplica checks in Kafka's order. While a directory is offline nothing is moved, since a log there may be half moved.
func (n *Node) moveReplica(tp model.TopicPartition, path string, done func(kerr.Code)) {
	at := slices.IndexFunc(n.Dirs, func(d *disk.Dir) bool { return d.Path == path })
	switch h := n.Replicas.Get(tp); {
	case len(partitionlog.FutureName(tp, model.UUID{})) > dirNameMax:
		done(kerr.InvalidTopicException)
	case at < 0:
		done(kerr.LogDirNotFound)
	case n.Dirs[at].Err() != nil:
		done(kerr.KafkaStorageError)
	case n.cordoned(n.Dirs[at].ID):
		done(kerr.InvalidReplicaAssignment)
	case h == nil:
		n.Replicas.Prefer(tp, n.Dirs[at])
		done(kerr.ReplicaNotAvailable)
	case h.Dir().Err() != nil:
		done(kerr.KafkaStorageError)
	case h.Dir() != n.Dirs[at] && slices.ContainsFunc(n.Dirs, func(d *disk.Dir) bool { return d.Err() != nil }):
		done(kerr.KafkaStorageError)
	default:
		n.Moves.Send(&move.Begin{Handle: h, To: n.Dirs[at], Done: func(err error) {
			if err != nil {
				done(kerr.KafkaStorageError)
				return
			}
			done(kerr.None)
		}})
	}
}
