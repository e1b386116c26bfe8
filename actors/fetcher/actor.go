// Package fetcher brings the records of leaders to the replicas that follow them here: one actor for each broker that leads
// some, which has one fetch at a time on its way for all of its partitions (facts/replication.md 11). What comes goes to the
// replicas as it came, and a partition is asked for again when its replica has written it.
package fetcher

import (
	"log/slog"
	"slices"
	"strconv"
	"time"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/actors/replica"
	"troupe/actors/throttle"
	"troupe/actors/trace"
	"troupe/internal/model"
)

// Deps is what the fetchers of a broker share.
type Deps struct {
	Self  model.BrokerID
	Peers Peers
	// Epoch is the broker epoch of this process: by it leaders tell it from one that was here before (KIP-903).
	Epoch  func() model.BrokerEpoch
	Limits Limits
	// Quota bounds what throttled partitions fetch.
	Quota *throttle.Quota
	Log   *slog.Logger
	// Counts gets the bytes that are copied; Moves tells of which partitions they are a move to this broker.
	Counts *replica.Counts
	Moves  func(model.TopicPartition) bool
}

// Limits is the configuration.
type Limits struct {
	WaitMax          time.Duration // replica.fetch.wait.max.ms
	Backoff          time.Duration // replica.fetch.backoff.ms
	Timeout          time.Duration // replica.socket.timeout.ms
	MinBytes         int32         // replica.fetch.min.bytes
	PartitionBytes   int32         // replica.fetch.max.bytes
	ResponseMaxBytes int32         // replica.fetch.response.max.bytes
}

// Peers makes calls to other brokers; a *peer.Directory does.
type Peers interface {
	SendCaused(cause trace.Context, id model.BrokerID, c *peer.Call)
}

// New makes the `fetchers` actor, which hears of replicas that follow and has a fetcher for each leader.
func New(d Deps) kit.Props {
	kept := &roster{follows: map[*replica.Handle]*replica.Following{}}
	return kit.Props{Kind: "fetchers", New: func() kit.Behavior {
		return &supervisor{deps: &d, roster: kept, fetchers: map[model.BrokerID]kit.Ref{}}
	}}
}

// roster outlives the supervisor's instances: replicas say once whom they follow.
type roster struct {
	follows map[*replica.Handle]*replica.Following
}

// of lists what follows a leader, in one order, so that a run can be repeated.
func (r *roster) of(leader model.BrokerID) []*replica.Following {
	var all []*replica.Following
	for _, f := range r.follows {
		if f.Leader == leader {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *replica.Following) int { return a.Handle.TP.Compare(b.Handle.TP) })
	return all
}

type supervisor struct {
	deps *Deps
	*roster
	fetchers map[model.BrokerID]kit.Ref
}

// restarted asks for what follows a leader: a fetcher that begins anew knows nothing. Offsets that are out of date are put
// right by the replicas.
type restarted struct{ leader model.BrokerID }

func (*restarted) MessageKind() string { return "fetcher.restarted" }

// Start brings back the fetchers that ended with the last instance.
func (s *supervisor) Start(ctx *kit.Context) {
	var leaders []model.BrokerID
	for _, f := range s.follows {
		leaders = append(leaders, f.Leader)
	}
	slices.Sort(leaders)
	for _, id := range slices.Compact(leaders) {
		s.resume(ctx, id)
	}
}

// Receive passes on who follows whom.
func (s *supervisor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *replica.Following:
		s.unfollow(ctx, m.Handle, m.Leader)
		s.follows[m.Handle] = m
		ctx.Send(s.fetcher(ctx, m.Leader), m)
	case *replica.Unfollowed:
		s.unfollow(ctx, m.Handle, model.NoBroker)
		delete(s.follows, m.Handle)
	case *restarted:
		s.resume(ctx, m.leader)
	case kit.GaveUp:
		s.deps.Log.Error("a fetcher keeps failing and is stopped", "actor", m.Actor.Name(), "err", m.Err)
	}
}

// unfollow tells the fetcher of another leader than the next one.
func (s *supervisor) unfollow(ctx *kit.Context, h *replica.Handle, next model.BrokerID) {
	if f := s.follows[h]; f != nil && f.Leader != next {
		ctx.Send(s.fetcher(ctx, f.Leader), &replica.Unfollowed{Handle: h})
	}
}

func (s *supervisor) resume(ctx *kit.Context, leader model.BrokerID) {
	ref := s.fetcher(ctx, leader)
	for _, f := range s.of(leader) {
		ctx.Send(ref, f)
	}
}

func (s *supervisor) fetcher(ctx *kit.Context, leader model.BrokerID) kit.Ref {
	ref, ok := s.fetchers[leader]
	if !ok {
		deps := s.deps
		ref = ctx.Spawn(strconv.Itoa(int(leader)), kit.Props{Kind: "fetcher", New: func() kit.Behavior {
			return &fetcher{deps: deps, leader: leader, machine: newMachine(deps.Self, deps.Limits, deps.Quota)}
		}})
		s.fetchers[leader] = ref
	}
	return ref
}
