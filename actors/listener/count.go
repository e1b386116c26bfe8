package listener

import (
	"maps"
	"slices"

	"troupe/actors/api"
)

// Count gives the open connections by the name of their listener, and how many were ever accepted on any.
func (d *Deps) Count() (open map[string]int, accepted uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	open = make(map[string]int)
	for c := range d.open {
		open[c.client.Listener]++
	}
	return open, d.ids.Load()
}

// Waiting gives the requests that have no outcome yet: what they wait for, a disk, replicas, records, members of a group or
// the controller, depends on the API. It walks over all connections, so that no request is counted as it comes and goes.
func (d *Deps) Waiting() map[*api.Handler]int {
	d.mu.Lock()
	open := slices.Collect(maps.Keys(d.open))
	d.mu.Unlock()
	waiting := make(map[*api.Handler]int)
	for _, c := range open {
		c.mu.Lock()
		for _, p := range c.queue[c.head:] {
			if p.state == working || p.state == deferred {
				waiting[p.handler]++
			}
		}
		c.mu.Unlock()
	}
	return waiting
}
