package controller

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/metadata"
	"troupe/actors/peer"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/cluster/controller"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/private"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// world is several controllers with what belongs to them, on one clock, each with a disk in memory, between which requests
// travel as bytes. Each has a dispatcher of its own, so that a process can end in the middle of anything.
type world struct {
	t      *testing.T
	clock  *clock.Manual
	seed   uint64
	random *rand.Rand
	nodes  []*node
	voters []configs.Voter
	// first are the voters of a cluster whose voters may change, and seeds where it is found.
	first, seeds []batch.Voter
	// cut tells of links that let nothing pass, by the two ends.
	cut map[[2]model.BrokerID]bool
	// spoil changes an answer on its way; nil for none.
	spoil func(to model.BrokerID, resp kmsg.Response)
	// tune changes the configuration of a node that starts.
	tune  []func(*configs.Broker)
	fatal func(error)
}

// node is one process and its disk.
type node struct {
	w      *world
	id     model.BrokerID
	fs     *vfs.CrashFS
	order  *kit.Deterministic // nil while the process does not run
	paused bool
	slow   time.Duration // of each turn of a lane
	system *kit.System
	source *metadata.Source
	board  *Board
	actor  kit.Ref
	dir    *disk.Dir
	known  []peer.Node
	told   map[string][]peer.Node // by who told it
	probed []model.BrokerID
	missed map[model.BrokerID]*peer.Missed
	// settled tells that a process of it has had all of the metadata.
	settled bool
	log     *slog.Logger // of its controller; nil for none
	// observes tells that the node is no controller; joined that its directory is newer than the cluster.
	observes, joined bool
	// strange tells that the node reaches only those whose addresses it was told.
	strange bool
	disks   int // that were wiped
}

// latency is what a request takes from one node to another; refusedAfter how long the others need to notice a dead process.
const latency, refusedAfter = time.Millisecond, 3 * time.Millisecond

// newWorld has voters that are named by the configuration (kraft.version 0); dynamic ones may change.
func newWorld(t *testing.T, seed uint64, voters int, tune ...func(*configs.Broker)) *world {
	t.Helper()
	w := emptyWorld(t, seed, voters, tune...)
	w.start()
	return w
}

func newDynamicWorld(t *testing.T, seed uint64, voters int, tune ...func(*configs.Broker)) *world {
	t.Helper()
	w := emptyWorld(t, seed, voters, tune...)
	for _, v := range w.voters {
		w.first = append(w.first, batch.Voter{ID: v.ID, DirectoryID: model.DirectoryID{15: byte(v.ID)}, MostKRaftVersion: 1})
	}
	w.seeds = w.first
	w.start()
	return w
}

func (w *world) start() {
	w.t.Helper()
	for _, v := range w.voters {
		w.add(v.ID).start()
	}
}

func emptyWorld(t *testing.T, seed uint64, voters int, tune ...func(*configs.Broker)) *world {
	t.Helper()
	w := &world{
		t: t, clock: clock.NewManual(time.Unix(1_700_000_000, 0)), seed: seed, random: rand.New(rand.NewPCG(seed, 1)),
		cut: map[[2]model.BrokerID]bool{}, tune: tune, fatal: func(err error) { t.Errorf("the process ends: %v", err) },
	}
	for i := range voters {
		w.voters = append(w.voters, configs.Voter{ID: model.BrokerID(i + 1), Endpoint: configs.Endpoint{Host: "h", Port: uint16(i + 1)}})
	}
	return w
}

func (w *world) add(id model.BrokerID) *node {
	n := &node{w: w, id: id, fs: vfs.NewCrashFS(w.seed+uint64(id), w.clock), board: NewBoard()}
	w.nodes = append(w.nodes, n)
	return n
}

func (w *world) node(id model.BrokerID) *node {
	i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.id == id })
	if i < 0 {
		return nil
	}
	return w.nodes[i]
}

// quiet is a shard without replicas, and the `peers` actor.
type quiet struct{ n *node }

func (q quiet) Receive(_ *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *replica.Host:
		m.Done()
	case *peer.Know:
		q.n.known = m.Nodes
		if q.n.told == nil {
			q.n.told = map[string][]peer.Node{}
		}
		q.n.told[m.Source] = m.Nodes
	case *peer.Probe:
		q.n.probed = append(q.n.probed, m.ID)
	}
}

// anything takes every configuration.
type anything struct{}

func (anything) Check(image.ConfigResource, []controller.ConfigChange) error { return nil }

func (anything) Alter(_ image.ConfigResource, stored image.Config, changes []controller.ConfigChange) (image.Config, error) {
	for _, c := range changes {
		stored = stored.With(c.Key, *c.Value)
	}
	return stored, nil
}

func (anything) DescribeTopic(*image.Image, image.Config) []kmsg.CreateTopicsResponseTopicConfig {
	return nil
}

func (anything) TopicValue(_ *image.Image, _, key string) string {
	return map[string]string{"min.insync.replicas": "1", "unclean.leader.election.enable": "false"}[key]
}

func (n *node) start() {
	n.w.t.Helper()
	n.order = kit.NewDeterministic(n.w.random.Uint64())
	n.order.Lanes(func(run func()) {
		if n.slow == 0 {
			run()
			return
		}
		n.w.clock.AfterFunc(n.slow, run)
	})
	n.system = kit.NewSystem(kit.Options{Clock: n.w.clock, Dispatcher: n.order, OnGiveUp: func(g kit.GaveUp) { n.w.t.Errorf("%v", g.Err) }})
	silent := slog.New(slog.DiscardHandler)
	cfg := &configs.Broker{NodeID: n.id}
	cfg.Roles.Broker, cfg.Roles.Controller = true, !n.observes
	if n.w.first == nil {
		cfg.Quorum.Voters = n.w.voters
	}
	cfg.Quorum.AutoJoin = true
	cfg.Quorum.ElectionTimeout, cfg.Quorum.RequestTimeout = 200*time.Millisecond, 2*time.Second
	cfg.Quorum.SnapshotMaxBytes, cfg.Quorum.FetchMaxBytes = 256, 1<<20
	cfg.Metadata.SegmentBytes, cfg.Metadata.SnapshotBytes = 1<<30, 1<<30
	cfg.Membership.SessionTimeout = 9 * time.Second
	cfg.Topics.Partitions, cfg.Topics.ReplicationFactor, cfg.Topics.Deletable = 1, 1, true
	for _, tune := range n.w.tune {
		tune(cfg)
	}
	if err := errors.Join(n.fs.MkdirAll("/data", 0o755), n.fs.SyncDir("/")); err != nil {
		n.w.t.Fatal(err)
	}
	other := n.system.Spawn("others", kit.Props{Kind: "test", New: func() kit.Behavior { return quiet{n} }})
	env := partitionlog.NewEnv(n.fs, vfs.NewDescriptors(1000))
	n.dir = disk.Open(n.system, env, "/data", model.DirectoryID{14: byte(n.disks), 15: byte(n.id)}, disk.Lanes{}, other)
	n.source = metadata.NewSource("cluster", configs.Layers{Static: map[string]string{}}, cfg)
	applier := n.system.Spawn("applier", metadata.New(metadata.Deps{
		Self: n.id, Source: n.source, Replicas: replica.NewDirectory(), Shards: []kit.Ref{other}, Dirs: []*disk.Dir{n.dir},
		Log: silent, Settled: func(int) { n.settled = true },
	}))
	deps := Deps{
		Config: cfg, ClusterID: "cluster", Incarnation: n.incarnation(), Clock: n.w.clock, First: n.w.first, Joined: n.joined, Seeds: n.w.seeds, Random: rand.NewChaCha8([32]byte{byte(n.w.seed), byte(n.id)}), Peers: n, Links: other,
		Dir: n.dir, Log: silent, Source: n.source, Metadata: applier, Rules: anything{}, Fatal: n.w.fatal,
	}
	if n.log != nil {
		deps.Log = n.log
	}
	if n.joined { // it was not there when they were chosen
		deps.First = nil
	}
	n.actor = n.system.Spawn("controller", kit.Props{Kind: "controller", New: func() kit.Behavior { return New(deps, n.board) }})
	n.tellOthers(&peer.Up{ID: n.id, Link: peer.Controller})
}

// incarnation is another one with each disk; of more the tests need no difference.
func (n *node) incarnation() model.UUID { return model.UUID{1, 14: byte(n.disks), 15: byte(n.id)} }

// kill ends the process; what it had not synced is lost when the power goes too. The others find out a moment later.
func (n *node) kill(power bool) {
	n.order = nil
	n.board.clear()
	if power {
		n.fs.Crash()
	} else {
		n.fs.Exit()
	}
	n.w.clock.AfterFunc(refusedAfter, func() {
		if n.order == nil {
			n.tellOthers(&peer.Down{ID: n.id, Link: peer.Controller, Refused: true})
		}
	})
}

func (n *node) tellOthers(m kit.Message) {
	for _, other := range n.w.nodes {
		if other != n && other.order != nil {
			other.actor.Send(m)
		}
	}
}

// SendCaused is part of Peers: request and reply travel as bytes, and a link that is cut fails the call.
func (n *node) SendCaused(_ trace.Context, id model.BrokerID, c *peer.Call) {
	from, body := n.order, c.Body.AppendTo(nil)
	reply := func(resp kmsg.Response, err error) {
		n.w.clock.AfterFunc(latency, func() {
			if n.order == from { // the process that asked
				c.Done(resp, err)
			}
		})
	}
	n.w.clock.AfterFunc(latency, func() {
		to := n.w.node(id)
		if to == nil || to.order == nil || id == n.id || n.strange && !n.knows(id) || n.w.cut[[2]model.BrokerID{n.id, id}] {
			reply(nil, peer.ErrDown)
			return
		}
		request := kmsg.RequestForKey(c.Body.Key())
		if request == nil {
			request = private.NewRequest(c.Body.Key())
		}
		request.SetVersion(c.Body.GetVersion())
		if err := request.ReadFrom(body); err != nil {
			n.w.t.Errorf("request %d: %v", c.Body.Key(), err)
			return
		}
		to.serve(request, func(resp kmsg.Response) {
			if n.w.spoil != nil {
				n.w.spoil(n.id, resp)
			}
			reply(resp, nil)
		})
	})
}

// Missed is part of Peers.
func (n *node) Missed(id model.BrokerID, _ peer.Link) *peer.Missed { return n.missed[id] }

// knows tells whether somebody has told where a controller is.
func (n *node) knows(id model.BrokerID) bool {
	for _, nodes := range n.told {
		if slices.ContainsFunc(nodes, func(other peer.Node) bool { return other.ID == id && other.Controller != peer.Address{} }) {
			return true
		}
	}
	return false
}

// serve is what the handlers of a controller listener do.
func (n *node) serve(request kmsg.Request, reply func(kmsg.Response)) {
	switch r := request.(type) {
	case *private.RaftRequest:
		n.actor.Send(&Raft{From: quorum.VoterKey{ID: r.FromID, Directory: r.FromDirectory}, Messages: r.Messages})
		reply(r.ResponseKind())
	case *private.ForwardRequest:
		if request := Forwarded(r, n.source.Image, func(resp *private.ForwardResponse) { reply(resp) }); request != nil {
			n.actor.Send(request)
		}
	case *kmsg.FetchRequest:
		n.actor.Send(&Fetch{Body: r, Done: func(resp *kmsg.FetchResponse) { reply(resp) }})
	case *kmsg.FetchSnapshotRequest:
		n.actor.Send(&FetchSnapshot{Body: r, Done: func(resp *kmsg.FetchSnapshotResponse) { reply(resp) }})
	default:
		n.w.t.Errorf("request %T is not served", request)
	}
}

// run lets the time pass.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		w.settle()
		w.clock.Advance(time.Millisecond)
	}
	w.settle()
}

// settle runs what can be run at this moment.
func (w *world) settle() {
	w.t.Helper()
	for busy := true; busy; {
		busy = false
		for _, n := range w.nodes {
			if n.order != nil && !n.paused && n.order.Run(100_000) > 0 {
				busy = true
			}
		}
	}
}

// until lets the time pass until something is so, and tells how long that took.
func (w *world) until(what string, within time.Duration, so func() bool) time.Duration {
	w.t.Helper()
	began := w.clock.Now()
	for !so() {
		if w.clock.Now().Sub(began) > within {
			for _, n := range w.nodes {
				w.t.Logf("node %d runs %v: %+v", n.id, n.order != nil, n.board.Status())
			}
			w.t.Fatalf("not within %s: %s", within, what)
		}
		w.run(time.Millisecond)
	}
	return w.clock.Now().Sub(began)
}

// leader gives the node that leads, as the others see it too; nil while they do not agree.
func (w *world) leader() *node {
	var found *node
	for _, n := range w.nodes {
		if n.order == nil || n.paused {
			continue
		}
		s := n.board.Status()
		if s.Leader == model.NoBroker || found != nil && s.Leader != found.id {
			return nil
		}
		found = w.node(s.Leader)
	}
	if found == nil || found.order == nil || !found.board.Status().Active {
		return nil
	}
	return found
}

// besides is another node than one.
func (w *world) besides(one *node) *node {
	if w.nodes[0] == one {
		return w.nodes[1]
	}
	return w.nodes[0]
}

func (w *world) elected(within time.Duration) *node {
	w.t.Helper()
	w.until("somebody leads", within, func() bool { return w.leader() != nil })
	return w.leader()
}

// create asks a node for a topic; the answer comes into the channel that is returned.
func (n *node) create(name string) <-chan kmsg.Response {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	req.Topics = []kmsg.CreateTopicsRequestTopic{topic}
	return n.ask(req)
}

func (n *node) ask(body kmsg.Request) <-chan kmsg.Response {
	answers := make(chan kmsg.Response, 2)
	n.actor.Send(&Request{Body: body, Done: func(resp kmsg.Response) { answers <- resp }})
	return answers
}

// created waits for the answer and gives its code.
func (w *world) created(answer <-chan kmsg.Response, within time.Duration) int16 {
	w.t.Helper()
	w.until("the topic's creation is answered", within, func() bool { return len(answer) > 0 })
	return (<-answer).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode
}

// register makes a node an unfenced broker, as its lifecycle does.
func (w *world) register(n *node) {
	w.t.Helper()
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = 4
	req.BrokerID, req.ClusterID, req.IncarnationID = int32(n.id), "cluster", n.incarnation()
	req.LogDirs = [][16]byte{n.dir.ID}
	req.PreviousBrokerEpoch = -1
	for _, f := range SupportedFeatures {
		r := kmsg.NewBrokerRegistrationRequestFeature()
		r.Name, r.MinSupportedVersion, r.MaxSupportedVersion = f.Name, f.MinSupportedVersion, f.MaxSupportedVersion
		req.Features = append(req.Features, r)
	}
	registered := n.ask(req)
	w.until("the broker is registered", time.Second, func() bool { return len(registered) > 0 })
	resp := (<-registered).(*kmsg.BrokerRegistrationResponse)
	if resp.ErrorCode != 0 {
		w.t.Fatalf("registration of %d: code %d", n.id, resp.ErrorCode)
	}
	w.until("the broker is unfenced", time.Second, func() bool {
		beat := kmsg.NewPtrBrokerHeartbeatRequest()
		beat.Version, beat.BrokerID, beat.BrokerEpoch = 1, int32(n.id), resp.BrokerEpoch
		beat.CurrentMetadataOffset = int64(n.source.Image().Offset)
		answer := n.ask(beat)
		w.until("the heartbeat is answered", time.Second, func() bool { return len(answer) > 0 })
		return !(<-answer).(*kmsg.BrokerHeartbeatResponse).IsFenced
	})
}

// names are the topics of a node's image.
func (n *node) names() (names []string) {
	for t := range n.source.Image().Topics("") {
		names = append(names, t.Name)
	}
	return names
}

// same checks that all running nodes have applied the same.
func (w *world) same() {
	w.t.Helper()
	lead := w.elected(2 * time.Second)
	w.until("all have applied the same", 2*time.Second, func() bool {
		for _, n := range w.nodes {
			if n.order != nil && n.source.Image().Offset != lead.source.Image().Offset {
				return false
			}
		}
		return true
	})
	for _, n := range w.nodes {
		if n.order != nil && !n.source.Image().Equal(lead.source.Image()) {
			w.t.Errorf("node %d has topics %v, the leader %v", n.id, n.names(), lead.names())
		}
	}
}

// isolate cuts all links of a node, both ways.
func (w *world) isolate(n *node) {
	for _, other := range w.nodes {
		w.cut[[2]model.BrokerID{n.id, other.id}], w.cut[[2]model.BrokerID{other.id, n.id}] = true, true
	}
}

// checkpoints are those of a node's directory, but for the one that it began with.
func (n *node) checkpoints() (names []string) {
	entries, err := n.fs.ReadDir("/data/__cluster_metadata-0")
	if err != nil {
		n.w.t.Fatal(err)
	}
	for _, e := range entries {
		if end, _, ok := quorum.ParseCheckpointName(e.Name()); ok && end > 0 {
			names = append(names, e.Name())
		}
	}
	return names
}
