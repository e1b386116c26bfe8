// Package replica holds the actor of one partition replica: the machine that decides, the shell that runs its effects,
// and the handle through which connections read what is committed without a message.
package replica

import (
	"slices"
	"sync"
	"sync/atomic"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Status is what connections may know of a replica without asking it. It is immutable.
type Status struct {
	Leader      bool
	Follower    bool // of the leader of LeaderEpoch; a replica without an order to lead or to follow is neither
	LeaderEpoch model.LeaderEpoch
	Online      bool // false while the log is opened or after its disk failed
	// Replicas are those that the last order named: nobody else is given what is not committed.
	Replicas []model.BrokerID
}

// Handle outlives the actor's restarts and is what other goroutines hold. All its fields are safe for concurrent use.
type Handle struct {
	TP      model.TopicPartition
	TopicID model.TopicID

	dir    atomic.Pointer[disk.Dir]
	future atomic.Pointer[Future]
	actor  atomic.Pointer[kit.Ref]
	shard  atomic.Pointer[kit.Ref] // that the actor is a child of
	view   atomic.Pointer[partitionlog.View]
	status atomic.Pointer[Status]
	config atomic.Pointer[Config]
	size   atomic.Int64
	// lag is how many records a follower lacks of what its leader has committed.
	lag atomic.Int64
	// producers is how many producer ids the log remembers.
	producers atomic.Int64
	// recoveryPoint is the offset before which the log is synced, for the directory's checkpoint.
	recoveryPoint atomic.Int64
	found         atomic.Pointer[Checkpoint] // of the directory, until the log was opened
	traced        atomic.Pointer[[]tracedAppend]
	copies        atomic.Pointer[[]Copy] // while this replica leads, or since it did
}

// tracedAppend is an append that a trace follows to the replicas.
type tracedAppend struct {
	offset model.Offset
	cause  trace.Context
}

// tracedMost is how many are kept: a follower that is further behind copies outside of their traces.
const tracedMost = 8

func (h *Handle) trace(offset model.Offset, cause trace.Context) {
	var all []tracedAppend
	if old := h.traced.Load(); old != nil {
		all = (*old)[max(0, len(*old)-tracedMost+1):]
	}
	all = append(slices.Clip(all), tracedAppend{offset, cause})
	h.traced.Store(&all)
}

// TraceFrom gives the trace of the first traced append in a range of offsets that a follower copies; zero for none.
func (h *Handle) TraceFrom(from, to model.Offset) trace.Context {
	if all := h.traced.Load(); all != nil {
		for _, t := range *all {
			if t.offset >= from && t.offset < to {
				return t.cause
			}
		}
	}
	return trace.Context{}
}

// Checkpoint is what the files of a log directory keep of a log.
type Checkpoint struct {
	RecoveryPoint, LogStart, HighWatermark model.Offset
}

// Checkpoint gives what is to be written down; false for a log without records. Of one that is not open yet it is what
// was found: a start that is cut short must not forget it.
func (h *Handle) Checkpoint() (Checkpoint, bool) {
	v := h.View()
	if v == nil {
		if c := h.found.Load(); c != nil {
			return *c, true
		}
		return Checkpoint{}, false
	}
	return Checkpoint{h.RecoveryPoint(), v.LogStart, v.HighWatermark}, v.LogEnd > 0
}

// NewHandle makes the handle of a replica whose actor is not running yet.
func NewHandle(tp model.TopicPartition, id model.TopicID, dir *disk.Dir, cfg *Config) *Handle {
	h := &Handle{TP: tp, TopicID: id}
	h.dir.Store(dir)
	h.status.Store(&Status{LeaderEpoch: model.NoLeaderEpoch})
	h.config.Store(cfg)
	return h
}

// Send passes a message to the replica's actor; one that is not spawned yet fails the message.
func (h *Handle) Send(m kit.Message) { h.SendCaused(trace.Context{}, m) }

// SendCaused is Send within the trace of a request.
func (h *Handle) SendCaused(cause trace.Context, m kit.Message) { h.SendOn(nil, cause, m) }

// SendOn is SendCaused on a turn.
func (h *Handle) SendOn(t *kit.Turn, cause trace.Context, m kit.Message) {
	if ref := h.actor.Load(); ref != nil {
		t.Send(*ref, cause, m)
		return
	}
	if f, ok := m.(kit.Failable); ok {
		f.Fail(ErrStarting)
	}
}

// Order passes a message on by way of the shard: it comes after the orders that were given before.
func (h *Handle) Order(cause trace.Context, m kit.Message) {
	if ref := h.shard.Load(); ref != nil {
		ref.SendCaused(cause, &Order{Handle: h, Message: m})
	}
}

// View is the last published view of the log, nil until the log was opened.
func (h *Handle) View() *partitionlog.View { return h.view.Load() }

// Status tells the replica's role.
func (h *Handle) Status() *Status { return h.status.Load() }

// Dir is the log directory that the replica lies in. It changes when the replica is moved to another one.
func (h *Handle) Dir() *disk.Dir { return h.dir.Load() }

// Config is the configuration that appends are checked against.
func (h *Handle) Config() *Config { return h.config.Load() }

// Size is the log's size on disk in bytes, as of its last change.
func (h *Handle) Size() int64 { return h.size.Load() }

// Copies tells what a leader knows of its followers; nil where nobody asked for it (Deps.TellCopies).
func (h *Handle) Copies() []Copy {
	if p := h.copies.Load(); p != nil {
		return *p
	}
	return nil
}

// Lag is how many records a follower lacks of what its leader had committed when it answered last.
func (h *Handle) Lag() int64 { return h.lag.Load() }

// SetLag is the fetcher's.
func (h *Handle) SetLag(records int64) { h.lag.Store(max(records, 0)) }

// Producers is how many producer ids the log remembers.
func (h *Handle) Producers() int64 { return h.producers.Load() }

// RecoveryPoint is the offset before which everything is synced.
func (h *Handle) RecoveryPoint() model.Offset { return model.Offset(h.recoveryPoint.Load()) }

// Directory finds the handles of the replicas on this broker.
type Directory struct {
	preferred sync.Map // model.TopicPartition -> *disk.Dir
	shards    [directoryShards]struct {
		sync.RWMutex
		m map[model.TopicPartition]*Handle
	}
}

const directoryShards = 64

// NewDirectory makes an empty directory.
func NewDirectory() *Directory {
	d := &Directory{}
	for i := range d.shards {
		d.shards[i].m = make(map[model.TopicPartition]*Handle)
	}
	return d
}

// ShardOf spreads partitions over n shards.
func ShardOf(tp model.TopicPartition, n int) int {
	h := uint32(tp.Partition) * 0x9e3779b1
	for i := range len(tp.Topic) {
		h = (h ^ uint32(tp.Topic[i])) * 16777619
	}
	return int(h>>16) % n
}

// Prefer keeps in mind where a replica is to be put that is not here yet.
func (d *Directory) Prefer(tp model.TopicPartition, dir *disk.Dir) { d.preferred.Store(tp, dir) }

// Preferred gives what Prefer said, once; nil for nothing.
func (d *Directory) Preferred(tp model.TopicPartition) *disk.Dir {
	if dir, ok := d.preferred.LoadAndDelete(tp); ok {
		return dir.(*disk.Dir)
	}
	return nil
}

// Get finds a replica; nil when this broker has none.
func (d *Directory) Get(tp model.TopicPartition) *Handle {
	s := &d.shards[ShardOf(tp, directoryShards)]
	s.RLock()
	h := s.m[tp]
	s.RUnlock()
	return h
}

// Put makes a replica known.
func (d *Directory) Put(h *Handle) {
	s := &d.shards[ShardOf(h.TP, directoryShards)]
	s.Lock()
	s.m[h.TP] = h
	s.Unlock()
}

// Remove forgets h, unless another incarnation of the topic has taken its place.
func (d *Directory) Remove(h *Handle) {
	s := &d.shards[ShardOf(h.TP, directoryShards)]
	s.Lock()
	if s.m[h.TP] == h {
		delete(s.m, h.TP)
	}
	s.Unlock()
}

// All lists the handles, in no order.
func (d *Directory) All() []*Handle {
	var all []*Handle
	for i := range d.shards {
		s := &d.shards[i]
		s.RLock()
		for _, h := range s.m {
			all = append(all, h)
		}
		s.RUnlock()
	}
	return all
}
