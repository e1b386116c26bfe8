package replica

import (
	"slices"

	"troupe/internal/model"
	"troupe/partitionlog"
)

// durable is what a replica's actor must find again after a restart: it lives outside the instance and is touched by
// the actor's goroutine alone.
type durable struct {
	handle *Handle
	lead   *BecomeLeader // last order from the controller
	// fresh is true until the directory was asked for: the log never held a record and needs no opening.
	fresh         bool
	highWatermark model.Offset
	recoveryPoint model.Offset
	logStart      model.Offset
	clean         bool
	opened        func(partitionlog.Recovery, error) // told of the first opening; nil afterwards
	// failed is why the log could not be opened; it is not tried again until the broker restarts.
	failed  error
	watches []watch
}

type watch struct {
	watcher Watcher
	key     uint64
	once    bool
}

// watchFor adds a watch; one of the same name is replaced.
func (d *durable) watchFor(m *Watch) {
	d.unwatch(m.Watcher, m.Key)
	d.watches = append(d.watches, watch{m.Watcher, m.Key, m.Once})
}

func (d *durable) unwatch(w Watcher, key uint64) {
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
