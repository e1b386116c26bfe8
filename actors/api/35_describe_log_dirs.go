package api

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/disk"
	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// DescribeLogDirs (key 35), versions 1-5: the log directories, their space and the logs in them. Null topics ask for
// all; what is not here is left out. A barrier on its connection.
//
// Errors: 31 CLUSTER_AUTHORIZATION_FAILED; a directory: 56 KAFKA_STORAGE_ERROR when it is offline.
var describeLogDirs = &Handler{
	Key: 35, Name: "DescribeLogDirs", Min: 1, Max: 5, On: OnBroker, Coded: Versions{3, 5},
	Access: Access{Describe, OnCluster},
	Handle: handleDescribeLogDirs,
}

// handleDescribeLogDirs takes sizes from what replicas publish; only the space of the file system is asked of the disk,
// on a lane, where a network mount may hang without holding up a connection.
func handleDescribeLogDirs(n *Node, r *Request) {
	req := r.Body.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	logs := n.logsByDir(req.Topics)
	resp.Dirs = make([]kmsg.DescribeLogDirsResponseDir, len(n.Dirs))
	g := newGather(func() { r.Reply(resp) })
	for i, d := range n.Dirs {
		out := &resp.Dirs[i]
		*out = kmsg.NewDescribeLogDirsResponseDir()
		out.Dir = d.Path
		if d.Err() != nil {
			out.ErrorCode = int16(kerr.KafkaStorageError)
			continue
		}
		out.Topics, out.IsCordoned = describedLogs(d, logs[d]), n.cordoned(d.ID)
		g.expect()
		d.ColdLane(model.TopicPartition{}).SendCaused(r.Cause, &disk.Task{
			Name: "space of " + d.Path,
			Do: func() (err error) {
				out.TotalBytes, out.UsableBytes, err = d.Env.FS.Usage(d.Path)
				return err
			},
			Done: func(err error) {
				if err != nil {
					n.Log.Warn("space of a log directory is not known", "dir", d.Path, "err", err)
					out.ErrorCode, out.Topics = int16(kerr.KafkaStorageError), nil
				}
				g.arrive()
			},
		})
	}
	g.arrive()
}

// logsByDir finds the logs that are asked for.
func (n *Node) logsByDir(topics []kmsg.DescribeLogDirsRequestTopic) map[*disk.Dir][]*replica.Handle {
	found := map[*disk.Dir][]*replica.Handle{}
	add := func(h *replica.Handle) {
		found[h.Dir()] = append(found[h.Dir()], h)
		if f := h.Future(); f != nil && f.Dir != h.Dir() {
			found[f.Dir] = append(found[f.Dir], h)
		}
	}
	if topics == nil {
		for _, h := range n.Replicas.All() {
			add(h)
		}
		return found
	}
	// Repeats are told once and what is not here not at all (measured).
	seen := map[model.TopicPartition]bool{}
	for _, t := range topics {
		for _, p := range t.Partitions {
			tp := model.TopicPartition{Topic: t.Topic, Partition: p}
			if h := n.Replicas.Get(tp); h != nil && !seen[tp] {
				add(h)
			}
			seen[tp] = true
		}
	}
	return found
}

// describedLogs lists the logs of one directory by topic. One that is in use does not lag; the copy of one that is being moved
// here lacks what it has still to copy.
func describedLogs(d *disk.Dir, logs []*replica.Handle) []kmsg.DescribeLogDirsResponseDirTopic {
	slices.SortFunc(logs, func(a, b *replica.Handle) int {
		return cmp.Or(cmp.Compare(a.TP.Topic, b.TP.Topic), cmp.Compare(a.TP.Partition, b.TP.Partition))
	})
	var topics []kmsg.DescribeLogDirsResponseDirTopic
	for _, h := range logs {
		if len(topics) == 0 || topics[len(topics)-1].Topic != h.TP.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = h.TP.Topic
			topics = append(topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size = h.TP.Partition, h.Size()
		if f := h.Future(); f != nil && f.Dir == d && h.Dir() != d {
			p.Size, p.IsFuture = f.Size, true
			if v := h.View(); v != nil {
				p.OffsetLag = int64(max(v.LogEnd-f.End, 0))
			}
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return topics
}

// cordoned tells whether a directory gets no new replicas (KIP-1066).
func (n *Node) cordoned(id model.DirectoryID) bool {
	b, ok := n.Image().Broker(n.ID)
	return ok && slices.Contains(b.CordonedLogDirs, id)
}
