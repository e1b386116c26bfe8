package replica

import (
	"slices"

	"troupe/internal/model"
	"troupe/partitionlog"
)

// durable is what a replica's actor must find again after a restart: it lives outside the instance and is touched by
// the actor's goroutine alone, and by its shard when the actor has ended.
type durable struct {
	handle *Handle
	lead   *BecomeLeader // last order from the controller
	// fresh is true until the directory was asked for: the log never held a record and needs no opening.
	fresh bool
	// renewed is true until the directory's checkpoints have forgotten a former log of the name.
	renewed       bool
	highWatermark model.Offset
	recoveryPoint model.Offset
	logStart      model.Offset
	clean, kept   bool
	// worked is true once jobs of a log may be on their way: they must have ended before the log is opened anew.
	worked  bool
	opened  func(partitionlog.Recovery, error) // told of the first opening; nil afterwards
	watches []watch
	ending  ending
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
}

// watchFor adds a watch; one of the same name is replaced.
func (d *durable) watchFor(m *Watch) {
	d.unwatch(m.Watcher, m.Key)
	d.watches = append(d.watches, watch{m.Watcher, m.Key, m.Once})
}

func (d *durable) unwatch(w Watcher, key uint32) {
	d.watches = slices.DeleteFunc(d.watches, func(x watch) bool { return x.watcher == w && x.key == key })
}

// notify calls every watcher and drops those that wanted one call.
func (d *durable) notify() {
	kept := d.watches[:0]
	for _, w := range d.watches {
		w.watcher.Changed(w.key)
		if !w.once {
			kept = append(kept, w)
		}
	}
	clear(d.watches[len(kept):])
	d.watches = kept
}
