package fetcher

import (
	"bytes"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/actors/throttle"
	"troupe/actors/trace"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// world is three brokers with one partition, on disks in memory, in one order of one seed. Production code are the replicas,
// the fetchers and the handlers of requests; the test is the controller and the network.
type world struct {
	t       *testing.T
	clock   *clock.Manual
	order   *kit.Deterministic
	net     kit.Ref
	brokers map[model.BrokerID]*broker
	ids     []model.BrokerID
	image   *image.Image
	offset  model.Offset
	state   image.Partition
	cut     map[[2]model.BrokerID]bool // links that carry nothing
	sent    []*sent
	config  *replica.Config
	// The rates of the quotas of every broker, in bytes a second.
	leaderRate, followerRate int64
}

// broker is a machine: its disk outlives its processes.
type broker struct {
	id      model.BrokerID
	fs      *vfs.CrashFS
	process *process // nil while it is down
	epoch   model.BrokerEpoch
	// unclean is set by a power cut, until the controller has heard of it.
	unclean bool
}

type process struct {
	*broker
	world *world
	gone  bool
	// registered is the epoch that this process tells leaders.
	registered model.BrokerEpoch
	system     *kit.System
	tracer     *trace.Tracer
	shard      kit.Ref
	node       *api.Node
	handle     *replica.Handle
}

// sent is a record and what became of it.
type sent struct {
	value string
	all   bool // acks=all
	cause trace.Context
	done  bool
	code  kerr.Code
}

const lagMax = 10 * time.Second

var (
	topicID = model.TopicID{7}
	tp      = model.TopicPartition{Topic: "orders"}
)

// happening is something that the network or the controller does next.
type happening struct{ do func() }

func (*happening) MessageKind() string { return "test.happening" }

type network struct{}

func (network) Receive(_ *kit.Context, m kit.Message) { m.(*happening).do() }

func (w *world) soon(do func()) { w.net.Send(&happening{do}) }

func newWorld(t *testing.T, seed uint64, prepare ...func(*world)) *world {
	t.Helper()
	w := &world{
		t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), order: kit.NewDeterministic(seed),
		brokers: map[model.BrokerID]*broker{}, ids: []model.BrokerID{1, 2, 3}, image: image.Empty("the-cluster"), offset: 100,
		cut: map[[2]model.BrokerID]bool{}, config: replicaConfig(), leaderRate: throttle.Unlimited, followerRate: throttle.Unlimited,
	}
	system := kit.NewSystem(kit.Options{Clock: w.clock, Dispatcher: w.order})
	w.net = system.Spawn("net", kit.Props{Kind: "test", New: func() kit.Behavior { return network{} }})
	w.apply(&record.Topic{Name: tp.Topic, ID: topicID})
	w.state = image.Partition{Replicas: w.ids, ISR: w.ids, Leader: 1}
	for _, id := range w.ids {
		b := &broker{id: id, fs: vfs.NewCrashFS(seed+uint64(id), w.clock)}
		if err := b.fs.MkdirAll("/data", 0o755); err != nil {
			t.Fatal(err)
		}
		w.brokers[id] = b
	}
	for _, p := range prepare {
		p(w)
	}
	for _, id := range w.ids {
		w.start(id)
	}
	w.run()
	return w
}

func (w *world) apply(records ...record.Record) {
	w.t.Helper()
	e := w.image.Edit()
	for _, r := range records {
		w.offset++
		if err := e.Apply(w.offset, 1, r); err != nil {
			w.t.Fatal(err)
		}
	}
	w.image, _ = e.Publish()
}

// Image is part of api.ImageSource.
func (w *world) Image() *image.Image { return w.image }

// start begins a process, which finds what the last one left, and registers it.
func (w *world) start(id model.BrokerID) {
	w.t.Helper()
	b := w.brokers[id]
	p := &process{broker: b, world: w}
	log := slog.New(slog.NewTextHandler(testLog{w.t, id}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	p.tracer = trace.New(trace.Options{Clock: w.clock, Broker: id, Seed: uint64(id), Ring: 1000})
	p.system = kit.NewSystem(kit.Options{Clock: w.clock, Dispatcher: w.order, Log: log, Trace: p.tracer})
	warden := p.system.Spawn("warden", kit.Props{Kind: "test", New: func() kit.Behavior { return ignorant{} }})
	dir := disk.Open(p.system, partitionlog.NewEnv(vfs.Mortal{FS: b.fs, Gone: func() bool { return p.gone }}, vfs.NewDescriptors(1000)), "/data", model.DirectoryID{byte(id)}, disk.Lanes{}, warden)
	limits := Limits{WaitMax: 500 * time.Millisecond, Backoff: time.Second, Timeout: 30 * time.Second, MinBytes: 1, PartitionBytes: 1 << 20, ResponseMaxBytes: 10 << 20}
	w.register(p)
	deps := &replica.Deps{
		Self: id, Log: log, ProducerExpiry: func() time.Duration { return time.Hour }, LagMax: lagMax, Eligible: func(_ *replica.Handle, id model.BrokerID, epoch model.BrokerEpoch) bool { return w.eligible(id, epoch) },
		Fetchers: p.system.Spawn("fetchers", New(Deps{
			Self: id, Peers: wire{p}, Epoch: func() model.BrokerEpoch { return p.registered }, Limits: limits, Log: log,
			Quota: quota(&w.followerRate), Counts: &replica.Counts{}, Moves: func(model.TopicPartition) bool { return false },
		})),
		Alterations: p.system.Spawn("alterations", kit.Props{Kind: "test", New: func() kit.Behavior { return controller{p} }}),
	}
	hour := replica.Pace{First: time.Hour, Retention: time.Hour, Producers: time.Hour}
	p.shard = p.system.Spawn("replicas", replica.NewShard(deps, hour))
	p.node = &api.Node{
		ID: id, Config: &configs.Broker{NodeID: id}, Images: w, Replicas: replica.NewDirectory(), Dirs: []*disk.Dir{dir},
		Sessions: api.NewSessions(w.clock, 1000), LeaderQuota: quota(&w.leaderRate), Authorizer: api.AllowAll{}, Clock: w.clock, Log: log, Stats: &api.Stats{},
	}
	p.node.Config.Fetch.MaxBytes = 55 << 20
	p.handle = replica.NewHandle(tp, topicID, dir, w.config)
	p.node.Replicas.Put(p.handle)
	_, err := b.fs.Stat("/data/" + tp.String())
	host := &replica.Host{Handle: p.handle, Fresh: err != nil, Kept: !b.unclean, Done: func() {}}
	host.Lead, host.Follow = w.orders(id)
	b.process = p
	p.shard.Send(host)
	w.recheck()
}

// register gives a process an epoch.
func (w *world) register(p *process) {
	w.t.Helper()
	w.apply(&record.RegisterBroker{BrokerID: p.id, IncarnationID: model.UUID{byte(p.id), byte(w.offset)}})
	p.epoch = model.BrokerEpoch(w.offset)
	p.registered = p.epoch
}

// quota goes by a rate that the test may change.
func quota(rate *int64) *throttle.Quota {
	return throttle.NewQuota(throttle.Windows{Count: 11, Length: time.Second}, func() int64 { return *rate })
}

// replicaConfig is that of a topic with min.insync.replicas=2.
func replicaConfig() *replica.Config {
	return &replica.Config{
		Log:    partitionlog.Config{SegmentBytes: 2000, SegmentMs: math.MaxInt64, IndexBytes: 1 << 20, IndexIntervalBytes: 100, RetentionMs: -1, RetentionBytes: -1},
		MinISR: 2, MaxBatchBytes: 1 << 20, SegmentBytes: 2000, FlushMessages: math.MaxInt64,
	}
}

// eligible is what the metadata of every broker says.
func (w *world) eligible(id model.BrokerID, epoch model.BrokerEpoch) bool {
	b := w.brokers[id]
	return b.process != nil && !b.unclean && (epoch == -1 || epoch == b.epoch)
}

func (w *world) orders(id model.BrokerID) (*replica.BecomeLeader, *replica.BecomeFollower) {
	s := w.state
	switch s.Leader {
	case id:
		return &replica.BecomeLeader{LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.Epoch, ISR: s.ISR, Replicas: s.Replicas}, nil
	case model.NoBroker:
		return nil, nil
	}
	return nil, &replica.BecomeFollower{Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.Epoch, ISR: s.ISR, Replicas: s.Replicas}
}

// tell has every process hear of the partition's state, each in its time.
func (w *world) tell() {
	for _, id := range w.ids {
		p := w.brokers[id].process
		if p == nil {
			continue
		}
		var m kit.Message = &replica.Resign{}
		if lead, follow := w.orders(id); lead != nil {
			m = lead
		} else if follow != nil {
			m = follow
		}
		p.shard.Send(&replica.Order{Handle: p.handle, Message: m})
	}
}

func (w *world) recheck() {
	for _, id := range w.ids {
		if p := w.brokers[id].process; p != nil {
			p.shard.Send(&replica.RecheckAll{})
		}
	}
}

// elect makes a broker the leader, with the ISR that is left.
func (w *world) elect(id model.BrokerID, isr ...model.BrokerID) {
	w.state.Leader, w.state.ISR = id, isr
	w.state.LeaderEpoch++
	w.state.Epoch++
	w.tell()
}

// kill ends a process; its kernel keeps what it wrote. A power cut keeps what was synced.
func (w *world) kill(id model.BrokerID, power bool) {
	b := w.brokers[id]
	b.process.gone, b.process = true, nil
	b.unclean = power
	if power {
		b.fs.Crash()
	} else {
		b.fs.Exit()
	}
}

func (w *world) run() {
	w.t.Helper()
	const limit = 1_000_000
	if w.order.Run(limit) == limit {
		w.t.Fatal("the actors do not come to rest")
	}
}

// pass lets time go by in small steps, so that timers fall in the order of their times.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	const step = 5 * time.Millisecond
	for ; d > 0; d -= step {
		w.clock.Advance(step)
		w.run()
	}
}

// produce sends records of one value each to the broker that the controller says leads.
func (w *world) produce(values ...string) {
	w.t.Helper()
	for _, v := range values {
		w.produceTo(w.state.Leader, v, true)
	}
}

func (w *world) produceTo(id model.BrokerID, value string, all bool) *sent {
	w.t.Helper()
	s := &sent{value: value, all: all}
	w.produceIn(s, id)
	return s
}

func (w *world) produceIn(s *sent, id model.BrokerID) {
	w.t.Helper()
	w.sent = append(w.sent, s)
	value, all := s.value, s.all
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Timestamp: 1, Value: []byte(value)}).Build()
	if err != nil {
		w.t.Fatal(err)
	}
	p := w.brokers[id].process
	if p == nil {
		s.done, s.code = true, kerr.NotLeaderOrFollower
		return
	}
	p.handle.SendCaused(s.cause, &replica.Append{Batch: v, AllAcks: all, Version: 9, Deadline: w.clock.Now().Add(time.Minute), Sink: sink{p, s}})
}

// sink hears of one record; what a dead process says is not heard.
type sink struct {
	p *process
	s *sent
}

func (k sink) AppendDone(_ int, r replica.AppendResult) {
	if !k.p.gone {
		k.s.done, k.s.code = true, r.Code
	}
}

// controller takes the leaders' proposals, by the rules of facts/replication.md 6.
type controller struct{ *process }

func (c controller) Receive(_ *kit.Context, m kit.Message) {
	a := m.(*replica.Alter)
	if c.gone {
		return
	}
	w := c.world
	out := &replica.Altered{Asked: a.Proposal}
	isr := make([]model.BrokerID, 0, len(a.ISR))
	switch {
	case a.LeaderEpoch < w.state.LeaderEpoch:
		out.Code = kerr.FencedLeaderEpoch
	case a.PartitionEpoch < w.state.Epoch:
		out.Code = kerr.InvalidUpdateVersion
	default:
		for _, member := range a.ISR {
			isr = append(isr, member.ID)
			if !w.eligible(member.ID, member.Epoch) {
				out.Code = kerr.IneligibleReplica
			}
		}
	}
	if out.Code == kerr.None {
		w.state.ISR = isr
		w.state.Epoch++
		out.LeaderEpoch, out.PartitionEpoch, out.ISR = w.state.LeaderEpoch, w.state.Epoch, isr
		w.soon(w.tell)
	}
	w.soon(func() { a.Handle.Send(out) })
}

// logs gives the whole content of each log, checked batch by batch.
func (w *world) log(id model.BrokerID) (raw []byte, values []string) {
	w.t.Helper()
	v := w.brokers[id].process.handle.View()
	for at := v.LogStart; at < v.LogEnd; {
		region, err := v.Read(at, v.LogEnd, 1<<20, true)
		if err != nil {
			w.t.Fatalf("broker %d: %v", id, err)
		}
		b := make([]byte, region.Len)
		if _, err := region.File.ReadAt(b, region.Pos); err != nil {
			w.t.Fatalf("broker %d: %v", id, err)
		}
		region.Release()
		raw = append(raw, b...)
		for len(b) > 0 {
			one, rest, err := batch.First(b)
			if err != nil || one.CheckCRC() != nil || one.BaseOffset() != at {
				w.t.Fatalf("broker %d: offset %d: a batch of offset %d, %v", id, at, one.BaseOffset(), err)
			}
			_ = one.Each(func(r batch.Record) error { values = append(values, string(r.Value)); return nil })
			at, b = one.NextOffset(), rest
		}
	}
	return raw, values
}

// converged checks that all three are in sync, that their logs are the same to the byte, and that nothing that was
// acknowledged is missing.
func (w *world) converged() {
	w.t.Helper()
	isr := slices.Sorted(slices.Values(w.state.ISR))
	if !slices.Equal(isr, w.ids) {
		w.t.Errorf("the ISR is %v", isr)
	}
	first, values := w.log(1)
	for _, id := range w.ids {
		raw, got := w.log(id)
		if !bytes.Equal(raw, first) {
			w.t.Errorf("broker %d has %q, broker 1 has %q", id, got, values)
		}
		if v := w.brokers[id].process.handle.View(); v.HighWatermark != v.LogEnd {
			w.t.Errorf("broker %d: the high watermark is %d, the log ends at %d", id, v.HighWatermark, v.LogEnd)
		}
	}
	for _, s := range w.sent {
		if s.all && s.done && s.code == kerr.None && !slices.Contains(values, s.value) {
			w.t.Errorf("%q was acknowledged and is lost; there is %q", s.value, values)
		}
	}
}

func (w *world) acknowledged(n int) {
	w.t.Helper()
	got := 0
	for _, s := range w.sent {
		if s.done && s.code == kerr.None {
			got++
		} else {
			w.t.Logf("%q: %v %s", s.value, s.done, s.code.Name())
		}
	}
	if got != n {
		w.t.Errorf("%d records are acknowledged, want %d", got, n)
	}
}

type ignorant struct{}

func (ignorant) Receive(*kit.Context, kit.Message) {}

type testLog struct {
	t  *testing.T
	id model.BrokerID
}

func (l testLog) Write(b []byte) (int, error) {
	l.t.Logf("broker %d: %s", l.id, bytes.TrimSpace(b))
	return len(b), nil
}
