package broker

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// placement tells the controller in which directory each replica of this broker lies (KIP-858). The controller knows it by
// itself only where a broker has a single directory; without it, a directory that fails would take down nothing.
type placement struct {
	dirs     []*disk.Dir
	replicas *replica.Directory

	told   *image.Image // the last image with which everything agreed
	asking bool         // an assignment is under way
}

// placed is the controller's answer to an assignment. What it refused is told again with the next heartbeat.
type placed struct{}

func (*placed) MessageKind() string { return "lifecycle.placed" }

// replicaMoved tells of a replica that lies in another directory now: the controller hears of it at once.
type replicaMoved struct{}

func (*replicaMoved) MessageKind() string { return "lifecycle.replica-moved" }

func (l *lifecycle) onReplicaMoved(ctx *kit.Context) {
	l.placement.told = nil
	if l.registered {
		l.place(ctx)
	}
}

// placementsMax bounds one request, and with it one transaction of the metadata log. It is Kafka's number.
const placementsMax = 2250

// failed lists the directories that are offline, as heartbeats do.
func (p *placement) failed() [][16]byte {
	var ids [][16]byte
	for _, d := range p.dirs {
		if d.Err() != nil {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// misplaced lists replicas of which the image says another directory, or none, by the directory that they lie in. An
// image is compared once: a broker whose metadata does not move looks at nothing.
func (p *placement) misplaced(i *image.Image, self model.BrokerID) (found []*replica.Handle) {
	if i == p.told || i.MetadataVersion() < record.Directories {
		return nil
	}
	for _, h := range p.replicas.All() {
		t, ok := i.TopicByID(h.TopicID)
		if !ok {
			continue
		}
		of, ok := t.Partition(h.TP.Partition)
		if !ok {
			continue
		}
		at := slices.Index(of.Replicas, self)
		if at < 0 || at < len(of.Directories) && of.Directories[at] == h.Dir().ID {
			continue
		}
		found = append(found, h)
	}
	if len(found) == 0 {
		p.told = i
	}
	// Sorted, so that those of a directory and of a topic follow each other, and the same state gives the same request.
	slices.SortFunc(found, func(a, b *replica.Handle) int {
		return cmp.Or(bytes.Compare(a.Dir().ID[:], b.Dir().ID[:]), a.TopicID.Compare(b.TopicID), cmp.Compare(a.TP.Partition, b.TP.Partition))
	})
	return found[:min(len(found), placementsMax)]
}

// place asks for the assignments that are missing. While one is under way the next waits, but for a failed directory,
// whose replicas must be known before the heartbeat that follows.
func (l *lifecycle) place(ctx *kit.Context) {
	p := l.placement
	if p.asking && len(p.failed()) == 0 {
		return
	}
	found := p.misplaced(l.source.Image(), l.state.id)
	if len(found) == 0 {
		return
	}
	p.asking = true
	req := kmsg.NewPtrAssignReplicasToDirsRequest()
	req.BrokerID, req.BrokerEpoch = int32(l.state.id), int64(l.state.epoch())
	for i, h := range found {
		apart := i == 0 || found[i-1].Dir() != h.Dir()
		if apart {
			dir := kmsg.NewAssignReplicasToDirsRequestDirectory()
			dir.ID = h.Dir().ID
			req.Directories = append(req.Directories, dir)
		}
		dir := &req.Directories[len(req.Directories)-1]
		if apart || found[i-1].TopicID != h.TopicID {
			topic := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
			topic.TopicID = h.TopicID
			dir.Topics = append(dir.Topics, topic)
		}
		topic := &dir.Topics[len(dir.Topics)-1]
		topic.Partitions = append(topic.Partitions, kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{Partition: h.TP.Partition})
	}
	self := ctx.Self()
	ctx.Send(l.state.controller, &controller.Request{Body: req, Done: func(kmsg.Response) { self.Send(&placed{}) }})
}
