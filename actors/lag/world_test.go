package lag_test

import (
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/disk"
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/actors/lag"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

const self model.BrokerID = 1

// world is a broker's logs and one group coordinator, with what measures lag.
type world struct {
	t            testing.TB
	clock        clock.Clock
	system       *kit.System
	dir          *disk.Dir
	shard, host  kit.Ref
	coordinators *coordinator.Directory
	replicas     *replica.Directory
	elsewhere    map[string]bool // topics that another broker leads
	held         []*lag.Question // to another broker, which does not answer
	refuses      bool            // it says at once that it does not
	board        lag.Board
}

// newWorld has its logs in /data of a file system.
func newWorld(t testing.TB, c clock.Clock, fs vfs.FS, path string, every time.Duration, o lag.Options, d *kit.Deterministic) *world {
	t.Helper()
	w := &world{t: t, clock: c, coordinators: coordinator.NewDirectory(), replicas: replica.NewDirectory(), elsewhere: map[string]bool{}}
	options := kit.Options{Clock: c}
	if d != nil {
		options.Dispatcher = d
	}
	w.system = kit.NewSystem(options)
	nobody := w.system.Spawn("nobody", kit.Props{Kind: "test", New: func() kit.Behavior { return ignorant{} }})
	w.dir = disk.Open(w.system, partitionlog.NewEnv(fs, vfs.NewDescriptors(10_000)), path, model.DirectoryID{1}, disk.Lanes{}, nobody)
	log := slog.New(slog.DiscardHandler)
	w.shard = w.system.Spawn("replicas", replica.NewShard(
		&replica.Deps{Self: self, Log: log, ProducerExpiry: func() time.Duration { return time.Hour }},
		replica.Pace{First: time.Hour, Retention: time.Hour, Producers: time.Hour}))
	w.host = w.system.Spawn("groups", coordinator.NewHost(&coordinator.Deps{
		Kind: "group", Directory: w.coordinators, Refuse: group.Refuse, LoadBytes: 1 << 20, CommitTimeout: 5 * time.Second, Log: log,
		New: func() coordinator.Machine {
			return group.New(group.Options{MembersMax: 100, MetadataMax: 4096, Retention: 1000 * time.Hour, RetentionCheck: time.Hour, Random: rand.Reader})
		},
	}))
	leader := w.system.Spawn("lag-leader", lag.NewLeader(w.replicas))
	w.system.Spawn("lag", lag.New(&lag.Deps{
		Coordinators: w.coordinators, Every: every, Board: &w.board, Options: o,
		Leader: func(at model.TopicPartition) model.BrokerID {
			if w.elsewhere[at.Topic] {
				return self + 1
			}
			return self
		},
		Ask: func(id model.BrokerID, q *lag.Question) {
			if id == self {
				leader.Send(q)
				return
			}
			if w.held = append(w.held, q); w.refuses {
				q.Fail(kit.ErrStopped)
			}
		},
	}))
	return w
}

type ignorant struct{}

func (ignorant) Receive(*kit.Context, kit.Message) {}

// lead makes a log that this broker leads alone.
func (w *world) lead(at model.TopicPartition) *replica.Handle {
	w.t.Helper()
	topic, err := configs.Layers{Static: map[string]string{"node.id": "1", "log.dirs": "/data"}}.Topic(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	h := replica.NewHandle(at, model.TopicID{9}, w.dir, replica.ConfigOf(topic))
	lead := &replica.BecomeLeader{ISR: []model.BrokerID{self}, Replicas: []model.BrokerID{self}}
	w.shard.Send(&replica.Host{Handle: h, Fresh: true, Lead: lead, Done: func() {}})
	w.replicas.Put(h)
	return h
}

// coordinate begins to coordinate groups.
func (w *world) coordinate() {
	w.host.Send(&coordinator.Lead{Handle: w.lead(model.TopicPartition{Topic: "__consumer_offsets"})})
}

// ends hears of appends.
type ends func(kerr.Code)

func (e ends) AppendDone(_ int, r replica.AppendResult) { e(r.Code) }

// append appends one batch of a record a second from a time on.
func (w *world) append(h *replica.Handle, from, count int64, done func()) {
	w.t.Helper()
	b := batch.NewBuilder(batch.Options{})
	for i := range count {
		b.Add(batch.Record{Timestamp: (from + i) * 1000, Value: make([]byte, 50)})
	}
	v, err := b.Build()
	if err != nil {
		w.t.Fatal(err)
	}
	h.Send(&replica.Append{Batch: v, AllAcks: true, Deadline: w.clock.Now().Add(time.Hour), Sink: ends(func(code kerr.Code) {
		if code != kerr.None {
			w.t.Errorf("append: %v", code)
		}
		done()
	})})
}

// commit commits offsets of a group as one request.
func (w *world) commit(id string, done func(kerr.Code), commits ...group.Commit) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 8, id, -1
	for _, c := range commits {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = c.At.Partition, int64(c.Offset)
		req.Topics = append(req.Topics, kmsg.OffsetCommitRequestTopic{
			Topic: c.At.Topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p},
		})
	}
	w.coordinators.Send(trace.Context{}, 0, coordinator.NewRequest(coordinator.Call{Body: req}, group.Refuse, func(resp kmsg.Response) {
		done(kerr.Code(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode))
	}))
}
