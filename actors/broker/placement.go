package broker

import (
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
func (p *placement) misplaced(i *image.Image, self model.BrokerID) (map[*disk.Dir]map[model.TopicID][]int32, int) {
	if i == p.told || i.MetadataVersion() < record.Directories {
		return nil, 0
	}
	found, n := map[*disk.Dir]map[model.TopicID][]int32{}, 0
	for _, h := range p.replicas.All() {
		t, ok := i.TopicByID(h.TopicID)
		if !ok || n == placementsMax {
			continue
		}
		of, ok := t.Partition(h.TP.Partition)
		if !ok {
			continue
		}
		at := slices.Index(of.Replicas, self)
		if at < 0 || at < len(of.Directories) && of.Directories[at] == h.Dir.ID {
			continue
		}
		if found[h.Dir] == nil {
			found[h.Dir] = map[model.TopicID][]int32{}
		}
		found[h.Dir][h.TopicID] = append(found[h.Dir][h.TopicID], h.TP.Partition)
		n++
	}
	if n == 0 {
		p.told = i
	}
	return found, n
}

// place asks for the assignments that are missing. While one is under way the next waits, but for a failed directory,
// whose replicas must be known before the heartbeat that follows.
func (l *lifecycle) place(ctx *kit.Context) {
	p := l.placement
	if p.asking && len(p.failed()) == 0 {
		return
	}
	found, n := p.misplaced(l.source.Image(), l.state.id)
	if n == 0 {
		return
	}
	p.asking = true
	req := kmsg.NewPtrAssignReplicasToDirsRequest()
	req.BrokerID, req.BrokerEpoch = int32(l.state.id), int64(l.state.epoch())
	for d, topics := range found {
		dir := kmsg.NewAssignReplicasToDirsRequestDirectory()
		dir.ID = d.ID
		for id, partitions := range topics {
			topic := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
			topic.TopicID = id
			for _, n := range partitions {
				topic.Partitions = append(topic.Partitions, kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{Partition: n})
			}
			dir.Topics = append(dir.Topics, topic)
		}
		req.Directories = append(req.Directories, dir)
	}
	self := ctx.Self()
	ctx.Send(l.controller, &controller.Request{Body: req, Done: func(kmsg.Response) { self.Send(&placed{}) }})
}
