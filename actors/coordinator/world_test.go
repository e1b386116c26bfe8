package coordinator_test

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/disk"
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// world is the group coordinator of one partition over a real replica on a disk in memory, in one order of one seed.
type world struct {
	t         testing.TB
	clock     *clock.Manual
	order     *kit.Deterministic
	system    *kit.System
	shard     kit.Ref
	host      kit.Ref
	directory *coordinator.Directory
	handle    *replica.Handle
	epoch     model.LeaderEpoch
	loadings  int // machines that were made
}

const self model.BrokerID = 1

func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	w := &world{t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), order: kit.NewDeterministic(seed), directory: coordinator.NewDirectory()}
	fs := vfs.NewCrashFS(seed, w.clock)
	if err := fs.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	w.system = kit.NewSystem(kit.Options{Clock: w.clock, Dispatcher: w.order})
	nobody := w.system.Spawn("nobody", kit.Props{Kind: "test", New: func() kit.Behavior { return ignorant{} }})
	dir := disk.Open(w.system, partitionlog.NewEnv(fs, vfs.NewDescriptors(1000)), "/data", model.DirectoryID{1}, disk.Lanes{}, nobody)
	log := slog.New(slog.DiscardHandler)
	deps := &replica.Deps{Self: self, Log: log, ProducerExpiry: func() time.Duration { return time.Hour }}
	w.shard = w.system.Spawn("replicas", replica.NewShard(deps, replica.Pace{First: time.Hour, Retention: time.Hour, Producers: time.Hour}))
	w.handle = replica.NewHandle(model.TopicPartition{Topic: "__consumer_offsets"}, model.TopicID{9}, dir, w.config(1))
	random := rand.NewChaCha8([32]byte{byte(seed)})
	w.host = w.system.Spawn("groups", coordinator.NewHost(&coordinator.Deps{
		Kind: "group", Directory: w.directory, Refuse: group.Refuse, LoadBytes: 256, CommitTimeout: 5 * time.Second, Log: log,
		New: func() coordinator.Machine {
			w.loadings++
			return group.New(group.Options{
				SessionMin: time.Second, SessionMax: time.Hour, InitialDelay: 3 * time.Second, MembersMax: 100, MetadataMax: 4096,
				Retention: time.Hour, RetentionCheck: time.Hour, Random: random,
			})
		},
	}))
	w.shard.Send(&replica.Host{Handle: w.handle, Fresh: true, Lead: w.leadership(self), Done: func() {}})
	return w
}

type ignorant struct{}

func (ignorant) Receive(*kit.Context, kit.Message) {}

func (w *world) config(minISR int32) *replica.Config {
	w.t.Helper()
	topic, err := configs.Layers{Static: map[string]string{"node.id": "1", "log.dirs": "/data"}}.Topic(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	topic.MinInsyncReplicas = minISR
	return replica.ConfigOf(topic)
}

// leadership has two replicas, of which those given are in sync.
func (w *world) leadership(isr ...model.BrokerID) *replica.BecomeLeader {
	return &replica.BecomeLeader{LeaderEpoch: w.epoch, ISR: isr, Replicas: []model.BrokerID{self, 2}}
}

// lead gives the leadership of the next epoch to the replica and to the coordinator.
func (w *world) lead() {
	w.epoch++
	w.shard.Send(&replica.Order{Handle: w.handle, Message: w.leadership(self)})
	w.leadCoordinator()
}

// leadCoordinator gives it to the coordinator alone.
func (w *world) leadCoordinator() {
	w.host.Send(&coordinator.Lead{LeaderEpoch: w.epoch, Handle: w.handle})
}

func (w *world) coordinator() kit.Ref {
	w.t.Helper()
	ref, there := w.system.Find("groups/0")
	if !there {
		w.t.Fatal("no coordinator runs")
	}
	return ref
}

func (w *world) resign() {
	w.shard.Send(&replica.Order{Handle: w.handle, Message: &replica.Resign{}})
	w.host.Send(&coordinator.Resign{TopicID: w.handle.TopicID})
}

// settle lets the actors work for a while: timers of up to that long come due.
func (w *world) settle(d time.Duration) {
	w.t.Helper()
	const step = 5 * time.Millisecond
	for w.rest(); d > 0; d -= step {
		w.clock.Advance(step)
		w.rest()
	}
}

func (w *world) rest() {
	w.t.Helper()
	const forever = 1_000_000
	if w.order.Run(forever) == forever {
		w.t.Fatal("the actors do not come to rest")
	}
}

// answer is where a request's reply comes, once.
type answer[R kmsg.Response] struct {
	resp  R
	count int
}

func send[R kmsg.Response](w *world, body kmsg.Request, version int16) *answer[R] {
	body.SetVersion(version)
	a := &answer[R]{}
	w.directory.Send(trace.Context{}, 0, coordinator.NewRequest(coordinator.Call{Body: body}, group.Refuse, func(resp kmsg.Response) {
		a.resp = resp.(R)
		a.count++
	}))
	return a
}

func commit(w *world, id string, offset int64) *answer[*kmsg.OffsetCommitResponse] {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = id, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = "t", append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return send[*kmsg.OffsetCommitResponse](w, req, 8)
}

func commitCode(t testing.TB, a *answer[*kmsg.OffsetCommitResponse]) kerr.Code {
	t.Helper()
	if a.count != 1 {
		t.Fatalf("a commit has %d answers", a.count)
	}
	return kerr.Code(a.resp.Topics[0].Partitions[0].ErrorCode)
}

func fetch(w *world, id string) *answer[*kmsg.OffsetFetchResponse] {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = id
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	return send[*kmsg.OffsetFetchResponse](w, req, 7)
}

// expectOffset fetches after the actors have come to rest.
func (w *world) expectOffset(id string, want int64) {
	w.t.Helper()
	a := fetch(w, id)
	w.rest()
	if a.count != 1 || a.resp.ErrorCode != 0 || a.resp.Topics[0].Partitions[0].Offset != want {
		w.t.Fatalf("fetched %+v (%d answers), want offset %d", a.resp, a.count, want)
	}
}
