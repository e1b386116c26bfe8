package replica

import (
	"slices"

	"troupe/actors/kit"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// durable is what a replica's actor must find again after a restart: it lives outside the instance and is touched by
// the actor's goroutine alone, and by its shard when the actor has ended.
type durable struct {
	handle *Handle
	role   role // by the last order of the controller
	// fresh is true until the directory was asked for: the log never held a record and needs no opening.
	fresh bool
	// renewed is true until the directory's checkpoints have forgotten a former log of the name.
	renewed       bool
	highWatermark model.Offset
	recoveryPoint model.Offset
	logStart      model.Offset
	noting        noting
	cleaned       model.Offset // as it was at the start
	clean, kept   bool
	// swapping is a move to another log directory that may have come to any step.
	swapping *swapping
	// worked is true once jobs of a log may be on their way: they must have ended before the log is opened anew.
	worked  bool
	opened  func(partitionlog.Recovery, error) // told of the first opening; nil afterwards
	watches []watch
	ends    int // of watches, those that follow the log's end
	ending  ending
	// followers is what each follower said last: one that has nothing new to say does not say it again.
	followers []FollowerFetch
}

// heard keeps what a follower says, but for what comes late, as FollowerFetched has it too.
func (d *durable) heard(f *FollowerFetch) {
	i := slices.IndexFunc(d.followers, func(known FollowerFetch) bool { return known.Replica == f.Replica })
	switch {
	case i < 0:
		d.followers = append(d.followers, *f)
	case f.LeaderEpoch < d.followers[i].LeaderEpoch || f.Epoch != -1 && f.Epoch < d.followers[i].Epoch:
	default:
		d.followers[i] = *f
	}
}

// role is what a replica is to be: a leader, a follower, or neither where nobody leads.
type role struct {
	lead   *BecomeLeader
	follow *BecomeFollower
}

// epoch is the leader epoch of the order; -1 of none.
func (r role) epoch() model.LeaderEpoch {
	switch {
	case r.lead != nil:
		return r.lead.LeaderEpoch
	case r.follow != nil:
		return r.follow.LeaderEpoch
	}
	return model.NoLeaderEpoch
}

// ordered gives the role after an order; one that is older than the last changes nothing.
func (r role) ordered(m kit.Message) role {
	next := role{}
	switch m := m.(type) {
	case *BecomeLeader:
		next.lead = m
	case *BecomeFollower:
		next.follow = m
	default:
		return next
	}
	if next.epoch() < r.epoch() {
		return r
	}
	return next
}

// ending is how the actor is to stop once no job is outstanding.
type ending struct {
	close  *Close
	delete *Delete
}

func (e ending) asked() bool { return e.close != nil || e.delete != nil }

// tell says, once, what became of the opening at the start.
func (d *durable) tell(r partitionlog.Recovery, err error) {
	if tell := d.opened; tell != nil {
		d.opened = nil
		tell(r, err)
	}
}

// settle answers whoever waits for an actor that is given up.
func (d *durable) settle(err error) {
	d.tell(partitionlog.Recovery{}, err)
	if d.ending.delete != nil {
		d.ending.delete.Done(Removal{Path: logDir(d.handle), Err: err})
	}
	if d.ending.close != nil {
		d.ending.close.Done(err)
	}
	d.ending = ending{}
}

type watch struct {
	watcher Watcher
	key     uint32 // beside once: sessions have one of these a partition
	once    bool
	toEnd   bool
}

// watchFor adds a watch; one of the same name is replaced.
func (d *durable) watchFor(m *Watch) {
	d.unwatch(m.Watcher, m.Key)
	d.watches = append(d.watches, watch{m.Watcher, m.Key, m.Once, m.ToEnd})
	d.count()
}

func (d *durable) unwatch(w Watcher, key uint32) {
	d.watches = slices.DeleteFunc(d.watches, func(x watch) bool { return x.watcher == w && x.key == key })
	d.count()
}

func (d *durable) count() {
	d.ends = 0
	for i := range d.watches {
		if d.watches[i].toEnd {
			d.ends++
		}
	}
}

// notify calls every watcher and drops those that wanted one call.
func (d *durable) notify(t *kit.Turn) { d.call(t, func(watch) bool { return true }) }

// notifyFollowers calls those that wait for the log's end to move. Where nobody follows it costs nothing.
func (d *durable) notifyFollowers(t *kit.Turn) {
	if d.ends > 0 {
		d.call(t, func(w watch) bool { return w.toEnd })
	}
}

func (d *durable) call(t *kit.Turn, wanted func(watch) bool) {
	kept := d.watches[:0]
	for _, w := range d.watches {
		called := wanted(w)
		if called {
			w.watcher.Changed(t, w.key)
		}
		if !called || !w.once {
			kept = append(kept, w)
		}
	}
	if len(kept) < len(d.watches) {
		clear(d.watches[len(kept):])
		d.watches = kept
		d.count()
	}
}
