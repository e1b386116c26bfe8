package broker

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/actors/configrules"
	"troupe/actors/controller"
	"troupe/actors/disk"
	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/actors/listener"
	"troupe/actors/metadata"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/configs"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// shardCount bounds the children of one supervisor to a few hundred of ten thousand replicas.
const shardCount = 16

// spawn starts the actors in the order of who needs whom.
func (b *Broker) spawn(o Options, serving func()) {
	cfg, loaded := b.cfg, o.Config
	b.tracer = trace.New(trace.Options{Clock: b.clock, Broker: cfg.NodeID, Seed: rand.Uint64(), Ring: int(cfg.Trace.Spans)})
	b.tracer.SetRule(trace.Rule{OneIn: int(cfg.Trace.SampleEvery)})
	b.system = kit.NewSystem(kit.Options{Clock: b.clock, Log: b.log, Trace: b.tracer, Dispatcher: o.Dispatcher, OnGiveUp: func(g kit.GaveUp) {
		b.fail(fmt.Errorf("actor %s keeps failing: %w", g.Actor.Name(), g.Err))
	}})
	b.descriptors = vfs.NewDescriptors(descriptorLimit(int(cfg.Budgets.OpenFiles)))
	b.env = partitionlog.NewEnv(b.fs, b.descriptors)
	b.env.Dirty.Hold()
	b.env.Index = partitionlog.NewIndexBudget(b.cfg.Budgets.IndexBytes)
	// First, since the lanes tell it of a directory that fails.
	b.refs.warden = b.system.Spawn("warden", kit.Props{Kind: "warden", New: func() kit.Behavior { return &warden{broker: b} }})
	b.journal = journal.To(b.system.Spawn("journal", journal.New(b.log)))
	b.spawnDisks()
	b.source = metadata.NewSource(b.identity.clusterID, loaded.Layers, cfg)
	b.quotas = b.newQuotas()
	b.spawnPeers(o)
	b.lifecycle, b.stats, b.opening, b.quorum = &lifecycleState{id: cfg.NodeID}, &api.Stats{}, newOpening(), controller.NewBoard()
	if cfg.Roles.Broker {
		b.spawnReplication()
		// Lanes and replicas, which tell it what the controller is to hear, have nothing to do before the controller's first image.
		b.spawnLifecycle(serving)
		b.spawnReplicas()
	} else {
		b.spawnAttendance(serving)
	}
	b.spawnMetadata()
	// Its first image may order replicas about, so the metadata actor and the shards stand before it.
	b.spawnController(loaded)
	for _, speaker := range []kit.Ref{b.refs.alterations, b.refs.lifecycle} {
		if !speaker.IsZero() {
			speaker.Send(&controllerSpawned{b.refs.controller})
		}
	}
	if cfg.Roles.Broker {
		b.spawnProducerIDs()
	}
	b.connect()
	b.refs.gates = b.listenAt(true)
	b.spawnGossip(o)
	b.openConsole()
}

// spawnDisks makes the lanes of each directory. The metadata log may have one of its own, in which no partitions are put.
func (b *Broker) spawnDisks() {
	lanes := disk.Lanes{Appends: int(b.cfg.Disk.AppendLanes), Cold: int(b.cfg.Disk.ReadLanes), Bulk: int(b.cfg.Log.RecoveryPerDirMax)}
	if lanes.Appends <= 0 {
		// More lanes than processors only take turns; four write what a disk takes.
		lanes.Appends = min(4, runtime.GOMAXPROCS(0))
	}
	taken := map[string]bool{}
	for _, d := range b.directories {
		name := filepath.Base(d.path)
		for n := 2; taken[name]; n++ { // /a/data and /b/data
			name = fmt.Sprintf("%s-%d", filepath.Base(d.path), n)
		}
		taken[name] = true
		under := prefixed{b.system, "disks/" + name + "/"}
		dir := disk.Open(under, b.env, d.path, d.id, lanes, b.refs.warden)
		if d.path == b.cfg.MetadataDir {
			b.metadataDir = dir
		}
		if slices.Contains(b.cfg.LogDirs, d.path) {
			b.dirs = append(b.dirs, dir)
		}
		for file, found := range map[string]disk.Offsets{
			checkpoint.RecoveryPoints: d.recovery, checkpoint.LogStarts: d.starts, checkpoint.HighWatermarks: d.watermarks,
		} {
			dir.Checkpoints.Found(file, found)
		}
		b.clear(dir, d.doomed)
	}
}

// clear removes what deleted topics left behind in a crash.
func (b *Broker) clear(dir *disk.Dir, doomed []string) {
	for _, path := range doomed {
		dir.BulkLane(model.TopicPartition{}).Send(&disk.Task{
			Name: "remove " + path, Deferrable: true, Do: func() error { return b.fs.RemoveAll(path) },
			Done: func(err error) {
				if err != nil && !errors.Is(err, disk.ErrPutOff) {
					b.log.Error("directory of a deleted log cannot be removed", "dir", path, "err", err)
				}
			},
		})
	}
}

// prefixed spawns at the top of the tree under a common path.
type prefixed struct {
	system *kit.System
	prefix string
}

func (p prefixed) Spawn(name string, props kit.Props) kit.Ref {
	return p.system.Spawn(p.prefix+name, props)
}

// spawnReplicas makes the shards, and the actors that work on all replicas. Replicas come with the first image.
func (b *Broker) spawnReplicas() {
	deps := &replica.Deps{
		Self: b.cfg.NodeID, Log: b.log, Journal: b.journal, Dropped: b.dropped, ProducerExpiry: func() time.Duration { return b.source.Broker().Producers.Expiration },
		Fetchers: b.refs.fetchers, Alterations: b.refs.alterations, Eligible: b.eligible, LagMax: b.cfg.Replication.LagMax,
		Held: b.held, Session: b.cfg.Membership.SessionTimeout,
		Moved:      b.movedWithin,
		TellCopies: b.cfg.Replication.Selector == configs.RackAwareSelector,
	}
	pace := replica.Pace{First: b.cfg.Log.InitialTaskDelay, Retention: b.cfg.Log.RetentionCheck, Producers: b.cfg.Producers.ExpirationCheck}
	for i := range shardCount {
		b.shards = append(b.shards, b.system.Spawn(fmt.Sprintf("replicas/%d", i), replica.NewShard(deps, pace)))
	}
	b.spawnMoves()
	b.spawnCleaners()
	b.spawnGroups()
}

// spawnMetadata makes those who follow the metadata. A controller that is no broker leaves the logs alone that one of its number
// may have had.
func (b *Broker) spawnMetadata() {
	md := metadata.Deps{
		Self: b.cfg.NodeID, Incarnation: b.incarnation, Source: b.source, Replicas: b.replicas, Shards: b.shards, Dirs: b.dirs, Log: b.log, Journal: b.journal,
		Peers: b.refs.peers, InterBroker: b.cfg.InterBroker, Controllers: b.cfg.Quorum.Listener, Settled: b.opening.settled, Opened: b.opening.opened,
	}
	if b.cfg.Roles.Broker {
		md.Coordinators = map[string]kit.Ref{api.OffsetsTopic: b.refs.groups}
		md.Found, md.Clean = b.foundLogs()
		md.Copies = b.foundCopies()
		md.Settled = func(logs int) { b.opening.settled(logs); b.resumeMoves() }
	}
	b.refs.metadata = b.system.Spawn("metadata", metadata.New(md))
	dirs := b.dirs
	if !slices.Contains(dirs, b.metadataDir) {
		dirs = append(slices.Clone(dirs), b.metadataDir)
	}
	b.refs.checkpointer = b.system.Spawn("checkpointer", kit.Props{Kind: "checkpointer", New: func() kit.Behavior {
		return &checkpointer{log: b.log, replicas: b.replicas, dirs: dirs, metadata: b.metadataDir, settled: b.metadataCommitted(),
			committed: func() model.Offset { return b.source.Image().Offset + 1 },
			points:    b.cfg.Log.RecoveryPoint, starts: b.cfg.Log.StartOffset, marks: b.cfg.Log.HighWatermark, ready: b.opening.ended}
	}})
}

// foundLogs lists the logs that stand in the directories, with what the checkpoints say of them.
func (b *Broker) foundLogs() (map[model.TopicPartition][]metadata.Found, bool) {
	found, clean := map[model.TopicPartition][]metadata.Found{}, true
	for _, d := range b.directories {
		clean = clean && d.clean
		for _, tp := range d.logs {
			found[tp] = append(found[tp], metadata.Found{
				Dir: b.dirOf(d.path), RecoveryPoint: d.recovery[tp], LogStart: d.starts[tp], HighWatermark: d.watermarks[tp],
				Kept: d.kept && !d.clean, Cleaned: d.cleaned[tp], TopicID: d.topics[tp],
			})
		}
	}
	return found, clean
}

// foundCopies lists those whose logs are nowhere. What the checkpoints say of their names may be of other logs.
func (b *Broker) foundCopies() map[model.TopicPartition][]metadata.Found {
	found := map[model.TopicPartition][]metadata.Found{}
	for _, m := range b.identity.orphans {
		d := b.directories[slices.IndexFunc(b.directories, func(d *directory) bool { return d.path == m.Dir })]
		if tp, ok := parseLogDir(m.Of); ok {
			found[tp] = append(found[tp], metadata.Found{Dir: b.dirOf(d.path), Copy: m.Path, Kept: d.kept && !d.clean})
		}
	}
	return found
}

// metadataCommitted is how far the metadata log had come at the last checkpoint, 0 when there was none.
func (b *Broker) metadataCommitted() model.Offset {
	for _, d := range b.directories {
		if d.path == b.cfg.MetadataDir {
			return d.watermarks[metadataPartition]
		}
	}
	return 0
}

// dirOf falls back on the directory of the metadata log, which holds no partitions but may be scanned for them.
func (b *Broker) dirOf(path string) *disk.Dir {
	for _, d := range b.dirs {
		if d.Path == path {
			return d
		}
	}
	return b.metadataDir
}

// spawnController makes the quorum's actor and gives it the rules for configurations, which cluster/ does not know.
func (b *Broker) spawnController(loaded *configs.Loaded) {
	deps := controller.Deps{
		Config: b.cfg, ClusterID: b.identity.clusterID, Incarnation: b.incarnation, Clock: b.clock, Random: crand.Reader, Peers: b.peers, Links: b.refs.peers,
		First: b.identity.past.First, Joined: b.identity.past.Joined, Seeds: b.identity.past.Seeds,
		Dir: b.metadataDir, Committed: b.metadataCommitted(), Log: b.log, Source: b.source, Metadata: b.refs.metadata,
		Rules: configrules.New(b.source.LayersOf), Initial: loaded.Layers.Initial(), Fatal: b.fail,
	}
	b.refs.controller = b.system.Spawn("controller", kit.Props{Kind: "controller", New: func() kit.Behavior { return controller.New(deps, b.quorum) }})
}

// controllerSpawned tells those who speak to the controller where it is: they stand before it.
type controllerSpawned struct{ controller kit.Ref }

func (*controllerSpawned) MessageKind() string { return "broker.controller-spawned" }

// spawnLifecycle makes the actor that speaks for this broker to the controller. Others do, too; they share the broker epoch by
// an atomic number: each of their requests must carry the present one.
func (b *Broker) spawnLifecycle(serving func()) {
	registration := b.registrationRequest()
	b.refs.lifecycle = b.system.Spawn("lifecycle", kit.Props{Kind: "lifecycle", New: func() kit.Behavior {
		return &lifecycle{
			state: b.lifecycle, request: registration, enlistment: b.enlistment(), source: b.source,
			placement: &placement{dirs: b.dirs, replicas: b.replicas},
			every:     b.cfg.Membership.Heartbeat, session: b.cfg.Membership.SessionTimeout, judge: b.recheckAll, within: b.cfg.Membership.RegistrationTimeout, log: b.log, note: b.noteEpoch, quorum: b.quorum, serving: serving, fatal: b.fail,
		}
	}})
}

// recheckAll has leaders judge anew who is in sync, and whether they are cut off.
func (b *Broker) recheckAll() {
	for _, shard := range b.shards {
		shard.Send(&replica.RecheckAll{})
	}
}

func (b *Broker) spawnProducerIDs() {
	b.refs.producerIDs = b.system.Spawn("producer-ids", kit.Props{Kind: "producer-ids", New: func() kit.Behavior {
		return &producerIDs{lifecycle: b.lifecycle, controller: b.refs.controller}
	}})
}

// connect makes what handlers and connections share.
func (b *Broker) connect() {
	cfg := b.cfg
	b.node = &api.Node{
		ID: cfg.NodeID, Self: b.introduction, Peers: b.peers, Config: cfg, Layers: b.source.Layers, Images: b.source, Replicas: b.replicas, Dirs: b.dirs,
		Controller: b.refs.controller, Sessions: api.NewSessions(b.clock, int(cfg.Fetch.SessionSlots)),
		LeaderQuota: b.quotas.leader, Moves: b.refs.moves, Producers: idSource{b.refs.producerIDs}, Groups: b.groups, Authorizer: api.AllowAll{}, APIs: api.Table(),
		Quorum: b.quorum.Status, Clock: b.clock, Log: b.log, Stats: b.stats,
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.stopNow = cancel
	b.connections = &listener.Deps{
		Node: b.node, Log: b.log, Trace: b.tracer, Context: ctx, Credits: kit.NewCredits(inFlight(cfg.Budgets)),
		NodeCredits:     kit.NewCredits(nodeCredits),
		ConnectionBytes: cfg.Budgets.ConnectionBytes, RequestMax: int(cfg.Socket.RequestMaxBytes), IdleMax: cfg.Socket.IdleMax,
		SendBuffer: int(cfg.Socket.SendBufferBytes), ReceiveBuffer: int(cfg.Socket.ReceiveBufferBytes),
		Limits: func() *configs.Socket { return &b.source.Broker().Socket }, Descriptors: b.descriptors,
		Observe: b.node.Stats.Observe,
	}
}

// inFlight is the smaller of the two bounds on requests that are not answered yet.
func inFlight(b configs.Budgets) int64 {
	if b.QueuedBytes > 0 {
		return min(b.InFlightBytes, b.QueuedBytes)
	}
	return b.InFlightBytes
}
