package broker

import (
	"bytes"
	"cmp"
	"errors"
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
	again  bool         // something moved since it was sent
	coming []*relocation
}

// relocation is a replica that is about to lie in another directory, when the metadata says so.
type relocation struct {
	handle *replica.Handle
	to     *disk.Dir
	done   func(error)
}

// errNotMoving answers for a replica that does not move there any more, or is not this broker's.
var errNotMoving = errors.New("the replica does not move there any more")

// placed is the controller's answer to an assignment.
type placed struct{}

func (*placed) MessageKind() string { return "lifecycle.placed" }

// replicaMoved tells of a replica that lies, or with a relocation is to lie, in another directory than the metadata says: the
// controller hears of it at once.
type replicaMoved struct{ *relocation }

func (*replicaMoved) MessageKind() string { return "lifecycle.replica-moved" }

// Fail has the mover ask again.
func (m *replicaMoved) Fail(err error) {
	if m.relocation != nil {
		m.done(err)
	}
}

func (l *lifecycle) onReplicaMoved(ctx *kit.Context, m *replicaMoved) {
	p := l.placement
	p.told, p.again = nil, p.asking
	if m.relocation != nil {
		p.coming = append(p.coming, m.relocation)
	}
	if l.registered {
		l.place(ctx)
	}
}

// onPlaced goes on with what came meanwhile. What was refused is told again with the next heartbeat.
func (l *lifecycle) onPlaced(ctx *kit.Context) {
	p := l.placement
	p.asking = false
	if !p.again {
		p.settle(l.source.Image(), l.state.id)
		return
	}
	p.again = false
	l.place(ctx)
}

// settle answers relocations that the metadata knows, or that are no more.
func (p *placement) settle(i *image.Image, self model.BrokerID) {
	p.coming = slices.DeleteFunc(p.coming, func(r *relocation) bool {
		of, at := replicaIn(i, r.handle, self)
		switch f := r.handle.Future(); {
		case f == nil || f.Dir != r.to || at < 0:
			r.done(errNotMoving)
		case i.MetadataVersion() < record.Directories || directoryAt(of, at) == r.to.ID:
			r.done(nil)
		default:
			return false
		}
		return true
	})
}

// abandon answers relocations when the actor ends that they were asked of.
func (p *placement) abandon(err error) {
	for _, r := range p.coming {
		r.done(err)
	}
	p.coming = nil
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

// cordoned lists the directories of these paths, as heartbeats do: an empty list says that there are none.
func (p *placement) cordoned(paths []string) [][16]byte {
	ids := [][16]byte{}
	for _, d := range p.dirs {
		if slices.Contains(paths, d.Path) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// misplaced is a replica of which the image says another directory than the one that it belongs in.
type misplaced struct {
	*replica.Handle
	in model.DirectoryID
}

// belongs is where a replica lies, or where it is about to.
func belongs(h *replica.Handle) model.DirectoryID {
	if f := h.Future(); f != nil && f.Assigned && f.Dir.Err() == nil && h.Dir().Err() == nil {
		return f.Dir.ID
	}
	return h.Dir().ID
}

// replicaIn finds a replica of this broker in an image; a negative index for none.
func replicaIn(i *image.Image, h *replica.Handle, self model.BrokerID) (*image.Partition, int) {
	if t, ok := i.TopicByID(h.TopicID); ok {
		if of, ok := t.Partition(h.TP.Partition); ok {
			return of, slices.Index(of.Replicas, self)
		}
	}
	return nil, -1
}

func directoryAt(p *image.Partition, at int) (id model.DirectoryID) {
	if at < len(p.Directories) {
		id = p.Directories[at]
	}
	return id
}

// misplaced lists replicas of which the image says another directory, or none, by the directory that they belong in. An
// image is compared once: a broker whose metadata does not move looks at nothing.
func (p *placement) misplaced(i *image.Image, self model.BrokerID) (found []misplaced) {
	if i == p.told || i.MetadataVersion() < record.Directories {
		return nil
	}
	for _, h := range p.replicas.All() {
		of, at := replicaIn(i, h, self)
		if in := belongs(h); at >= 0 && directoryAt(of, at) != in {
			found = append(found, misplaced{h, in})
		}
	}
	if len(found) == 0 {
		p.told = i
	}
	// Sorted, so that those of a directory and of a topic follow each other, and the same state gives the same request.
	slices.SortFunc(found, func(a, b misplaced) int {
		return cmp.Or(bytes.Compare(a.in[:], b.in[:]), a.TopicID.Compare(b.TopicID), cmp.Compare(a.TP.Partition, b.TP.Partition))
	})
	return found[:min(len(found), placementsMax)]
}

// place asks for the assignments that are missing. While one is under way the next waits, but for a failed directory,
// whose replicas must be known before the heartbeat that follows.
func (l *lifecycle) place(ctx *kit.Context) {
	p := l.placement
	p.settle(l.source.Image(), l.state.id)
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
		apart := i == 0 || found[i-1].in != h.in
		if apart {
			dir := kmsg.NewAssignReplicasToDirsRequestDirectory()
			dir.ID = h.in
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
