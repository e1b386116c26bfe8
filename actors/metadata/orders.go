package metadata

import (
	"cmp"
	"slices"

	"troupe/actors/coordinator"
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// order turns what changed into orders for replicas.
//
// An image that lacks some of what was committed before this start orders nothing: a topic in it may have been deleted and
// made again since, and the log that is here be that of the later one.
func (a *applier) order(ctx *kit.Context, m *Apply) {
	if !a.kept.settled && !m.Complete {
		a.introduce(ctx, deltaFrom(a.deps.Source.Image(), m.Delta))
		return
	}
	d := deltaFrom(a.kept.ordered, m.Delta)
	a.kept.ordered = d.To
	if a.kept.settled { // what a start replays was told when it happened
		a.tell(d)
	}
	a.inform(ctx, d)
	a.introduce(ctx, d)
	appears := a.appears(d.To)
	// Settings come first: a leader that hears of a smaller ISR before it hears of a larger min.insync.replicas would commit
	// alone what the controller counts on others to have, who are eligible leaders then.
	a.configure(ctx, d)
	for _, t := range d.Topics {
		if t.After == nil {
			a.drop(ctx, t.Before)
			continue
		}
		a.topic(ctx, d.To, t)
	}
	if appears {
		a.takeUp(ctx, d.To)
	}
	if !a.kept.settled {
		a.kept.settled = true
		a.clearAside(ctx)
		a.tellCopies()
		a.deps.Settled(a.kept.claimed)
	}
}

// deltaFrom gives the changes since an image, which is not always the one before.
func deltaFrom(from *image.Image, d image.Delta) image.Delta {
	if d.From != from {
		d = image.Diff(from, d.To)
	}
	return d
}

// topic orders each partition that changed, by whether this broker is among its replicas and has a log of it.
func (a *applier) topic(ctx *kit.Context, i *image.Image, t image.TopicDelta) {
	if len(a.deps.Shards) == 0 { // a controller that is no broker, whatever one of its number had
		return
	}
	cfg := a.config(i, t.After.Name)
	for n, p := range t.Partitions() {
		tp := model.TopicPartition{Topic: t.After.Name, Partition: n}
		at := slices.Index(p.Replicas, a.deps.Self)
		h := a.deps.Replicas.Get(tp)
		switch {
		case at < 0 && h != nil:
			a.dropReplica(ctx, h)
		case at < 0:
		// The same topic: only leadership may have changed. Under another id it was deleted and made again in one step.
		case h != nil && h.TopicID == t.After.ID:
			a.pass(ctx, h, a.role(p))
		default:
			a.host(ctx, tp, t.After.ID, p, at, cfg)
		}
		a.coordinate(ctx, tp, t.After.ID, a.leads(p), p.LeaderEpoch)
	}
}

// appears goes by whether this process is a broker that may lead, and tells whether it has just become one. Until then it leads
// nothing, even what the image says: that is of the process before this one, whose log may have been longer. To lead on in its
// epoch would be to write other records at offsets that its followers have, and they would be taken for equal. A broker that
// is alone has nobody to disagree with.
func (a *applier) appears(i *image.Image) bool {
	a.kept.alone = i.BrokerCount() <= 1
	b, ok := i.Broker(a.deps.Self)
	if a.kept.present || !ok || b.IncarnationID != a.deps.Incarnation || b.Fenced {
		return false
	}
	a.kept.present = true
	return !a.kept.alone // else it leads already
}

// takeUp gives the orders to lead that were held back.
func (a *applier) takeUp(ctx *kit.Context, i *image.Image) {
	for t := range i.Topics("") {
		for n, p := range t.Partitions {
			tp := model.TopicPartition{Topic: t.Name, Partition: int32(n)}
			if h := a.deps.Replicas.Get(tp); a.leads(p) && h != nil && h.TopicID == t.ID {
				a.pass(ctx, h, a.role(p))
				a.coordinate(ctx, tp, t.ID, true, p.LeaderEpoch)
			}
		}
	}
}

// leads tells whether a partition is this process's to lead.
func (a *applier) leads(p *image.Partition) bool {
	return p.Leader == a.deps.Self && (a.kept.present || a.kept.alone)
}

// pass sends an order through the shard, which keeps it for a replica that is not running yet.
func (a *applier) pass(ctx *kit.Context, h *replica.Handle, m kit.Message) {
	ctx.Send(a.shard(h.TP), &replica.Order{Handle: h, Message: m})
}

// role is the order for a replica that this broker has.
func (a *applier) role(p *image.Partition) kit.Message {
	switch {
	case a.leads(p):
		return &replica.BecomeLeader{LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch, ISR: p.ISR, Replicas: p.Replicas}
	case p.Leader == model.NoBroker || p.Leader == a.deps.Self:
		return &replica.Resign{}
	}
	return &replica.BecomeFollower{Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch, ISR: p.ISR, Replicas: p.Replicas}
}

// host has a replica started, on the log that was found or on a new one.
func (a *applier) host(ctx *kit.Context, tp model.TopicPartition, id model.TopicID, p *image.Partition, at int, cfg *replica.Config) {
	found, old := a.claim(tp, id)
	if !old {
		found, old = a.claimCopy(tp, p.Directories, at)
	}
	dir := found.Dir
	if !old {
		dir = a.place(tp, p.Directories, at)
	}
	var opened func(partitionlog.Recovery, error)
	if old {
		a.kept.claimed++
		opened = a.deps.Opened
	}
	h := replica.NewHandle(tp, id, dir, cfg)
	app, self, cause := a.current, ctx.Self(), ctx.Cause()
	// Counted before the order is sent: its answer may come at once.
	app.left++
	a.deps.Replicas.Put(h)
	role := a.role(p)
	lead, _ := role.(*replica.BecomeLeader)
	follow, _ := role.(*replica.BecomeFollower)
	ctx.Send(a.shard(tp), &replica.Host{
		Handle: h, Lead: lead, Follow: follow, Fresh: !old, Clean: a.deps.Clean && old && found.Copy == "", Kept: found.Kept, Copy: found.Copy,
		RecoveryPoint: found.RecoveryPoint, LogStart: found.LogStart, HighWatermark: found.HighWatermark, Cleaned: found.Cleaned, Opened: opened,
		Done: func() { self.SendCaused(cause, &hosted{app}) },
	})
}

// claim takes a log out of those that were found; what is left afterwards is nobody's. Where several have the name the topic
// id tells. One of another id is claimed too: the replica sets it aside before it begins in its place.
func (a *applier) claim(tp model.TopicPartition, id model.TopicID) (f Found, old bool) {
	all := a.kept.found[tp]
	if len(all) == 0 {
		return Found{}, false
	}
	i := max(0, slices.IndexFunc(all, func(f Found) bool { return f.TopicID == id }))
	f = all[i]
	if all = slices.Delete(all, i, i+1); len(all) == 0 {
		delete(a.kept.found, tp)
	} else {
		a.kept.found[tp] = all
	}
	return f, true
}

// place gives the directory that the metadata names, or AlterReplicaLogDirs did before the replica was here, or the healthy one
// with the fewest replicas that is not cordoned (KIP-1066), if there is one: a replica may be on its way here when the last one is.
func (a *applier) place(tp model.TopicPartition, assigned []model.DirectoryID, at int) *disk.Dir {
	if at < len(assigned) {
		for _, d := range a.deps.Dirs {
			if d.ID == assigned[at] {
				return d
			}
		}
	}
	if d := a.deps.Replicas.Preferred(tp); d != nil && d.Err() == nil {
		return d
	}
	// Kafka's rule, too: directories fill evenly by number of replicas, not by bytes.
	counts := make(map[*disk.Dir]int, len(a.deps.Dirs))
	if len(a.deps.Dirs) > 1 {
		for _, h := range a.deps.Replicas.All() {
			counts[h.Dir()]++
		}
	}
	return slices.MinFunc(a.deps.Dirs, func(x, y *disk.Dir) int {
		return cmp.Or(a.avoids(x)-a.avoids(y), counts[x]-counts[y])
	})
}

// avoids ranks directories for new replicas: 0 is one that takes them.
func (a *applier) avoids(d *disk.Dir) int {
	self, known := a.kept.ordered.Broker(a.deps.Self)
	switch {
	case d.Err() != nil:
		return 2
	case known && slices.Contains(self.CordonedLogDirs, d.ID):
		return 1
	}
	return 0
}

// shard finds the supervisor of a partition; it is the same one for the life of the process.
func (a *applier) shard(tp model.TopicPartition) kit.Ref {
	return a.deps.Shards[replica.ShardOf(tp, len(a.deps.Shards))]
}

// drop deletes the replicas of a topic that is gone, and ends its coordinators: the offsets that they keep are no more.
func (a *applier) drop(ctx *kit.Context, t *image.Topic) {
	for n := range t.Partitions {
		h := a.deps.Replicas.Get(model.TopicPartition{Topic: t.Name, Partition: int32(n)})
		// One of another id belongs to a topic of the same name that came after.
		if h != nil && h.TopicID == t.ID {
			a.dropReplica(ctx, h)
		}
		a.coordinate(ctx, model.TopicPartition{Topic: t.Name, Partition: int32(n)}, t.ID, false, model.NoLeaderEpoch)
	}
}

// inform brings coordinators what they go by, before the orders to lead: one that is started has the image that it was
// started under.
func (a *applier) inform(ctx *kit.Context, d image.Delta) {
	if len(d.Topics) == 0 && len(d.Brokers) == 0 && len(d.Configs) == 0 {
		return
	}
	for _, host := range a.deps.Coordinators {
		ctx.Send(host, &coordinator.Metadata{Delta: d})
	}
}

// coordinate has a partition's coordinator run where its leader is.
func (a *applier) coordinate(ctx *kit.Context, tp model.TopicPartition, id model.TopicID, leads bool, epoch model.LeaderEpoch) {
	host, coordinated := a.deps.Coordinators[tp.Topic]
	switch {
	case !coordinated:
	case leads:
		ctx.Send(host, &coordinator.Lead{LeaderEpoch: epoch, Handle: a.deps.Replicas.Get(tp)})
	default:
		ctx.Send(host, &coordinator.Resign{Partition: tp.Partition, TopicID: id})
	}
}

// dropReplica takes the replica out of the directory first: from then on requests are told that there is no such partition.
func (a *applier) dropReplica(ctx *kit.Context, h *replica.Handle) {
	a.deps.Replicas.Remove(h)
	// Its name is free at once: a topic of the same name can come back.
	ctx.Send(a.shard(h.TP), &replica.Drop{Handle: h, Unique: model.RandomUUID()})
}

// configure passes changed topic configurations on; a change of the brokers' defaults concerns every topic.
func (a *applier) configure(ctx *kit.Context, d image.Delta) {
	all := false
	changed := map[string]bool{}
	for _, r := range d.Configs {
		all = all || r.Type == image.BrokerResource
		if r.Type == image.TopicResource {
			changed[r.Name] = true
		}
	}
	if !all && len(changed) == 0 {
		return
	}
	for t := range d.To.Topics("") {
		if !all && !changed[t.Name] {
			continue
		}
		cfg := a.config(d.To, t.Name)
		for n := range t.Partitions {
			if h := a.deps.Replicas.Get(model.TopicPartition{Topic: t.Name, Partition: int32(n)}); h != nil {
				a.pass(ctx, h, &replica.Configure{Config: cfg})
			}
		}
	}
}

// config resolves a topic's configuration. A stored value that does not parse was written by newer software; the
// defaults serve until it is corrected.
func (a *applier) config(i *image.Image, topic string) *replica.Config {
	layers := a.deps.Source.LayersOf(i)
	t, err := TopicConfig(layers, i, topic)
	if err != nil {
		a.deps.Log.Error("topic configuration is not understood, defaults are used", "topic", topic, "err", err)
		if t, err = layers.Topic(nil); err != nil {
			t, _ = a.deps.Source.static.Topic(nil) // was checked at the start
		}
	}
	return replica.ConfigOf(t)
}
