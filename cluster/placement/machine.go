// Package placement chooses the brokers of new partitions: striped over racks, then over the brokers of each rack
// (facts/replication.md 9).
package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"troupe/internal/model"
)

// Broker is a candidate.
type Broker struct {
	ID model.BrokerID
	// Rack is empty for brokers without one: they form one rack together.
	Rack string
	// Fenced brokers, which cannot serve now, are used last and never first in a list of replicas.
	Fenced bool
}

// Errors of Place; the message of a *FewBrokersError names the numbers.
var (
	ErrReplicationFactor       = errors.New("the replication factor must be positive")
	ErrAllFenced         error = sentence("All brokers are currently fenced, or have all their log directories cordoned.")
)

// sentence is an error in Kafka's words, which its tools show as they come.
type sentence string

func (s sentence) Error() string { return string(s) }

// FewBrokersError says that there are fewer brokers than replicas.
type FewBrokersError struct {
	ReplicationFactor, Brokers int
}

// Error is Kafka's sentence, which its tools show.
func (e *FewBrokersError) Error() string {
	return fmt.Sprintf("The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers have all their log directories cordoned.",
		e.ReplicationFactor, e.Brokers)
}

// Placer holds where the stripes have come to, so that partitions placed one after the other spread evenly.
//
// Invariants, kept by Next:
//  1. no broker is twice in a list;
//  2. the first broker of a list is not fenced;
//  3. fenced brokers of a rack are used when its others are used up.
type Placer struct {
	racks []*rack
	total int
	// first is the rack of the next partition's first replica.
	first int
}

// rack deals its brokers out in turn, the fenced ones after the others.
type rack struct {
	name             string
	unfenced, fenced dealer
}

// dealer gives each broker once a partition, beginning one further for every partition.
type dealer struct {
	brokers []model.BrokerID
	start   int
	dealt   int
}

// New prepares to place partitions of brokers; draw(n) gives a number in [0, n) and decides where the stripes start.
func New(brokers []Broker, draw func(n int) int) *Placer {
	p := &Placer{total: len(brokers)}
	sorted := slices.SortedFunc(slices.Values(brokers), func(a, b Broker) int {
		return cmp.Or(cmp.Compare(a.Rack, b.Rack), cmp.Compare(a.ID, b.ID))
	})
	for _, b := range sorted {
		if len(p.racks) == 0 || p.racks[len(p.racks)-1].name != b.Rack {
			p.racks = append(p.racks, &rack{name: b.Rack})
		}
		r := p.racks[len(p.racks)-1]
		if b.Fenced {
			r.fenced.brokers = append(r.fenced.brokers, b.ID)
		} else {
			r.unfenced.brokers = append(r.unfenced.brokers, b.ID)
		}
	}
	for _, r := range p.racks {
		r.unfenced.shuffle(draw)
		r.fenced.shuffle(draw)
	}
	if len(p.racks) > 0 {
		p.first = draw(len(p.racks))
	}
	return p
}

// Next gives the replicas of the next partition, the preferred leader first.
// Errors: ErrReplicationFactor, ErrAllFenced, *FewBrokersError.
func (p *Placer) Next(replicationFactor int) ([]model.BrokerID, error) {
	switch {
	case replicationFactor < 1:
		return nil, ErrReplicationFactor
	case !slices.ContainsFunc(p.racks, func(r *rack) bool { return len(r.unfenced.brokers) > 0 }):
		return nil, ErrAllFenced
	case replicationFactor > p.total:
		return nil, &FewBrokersError{replicationFactor, p.total}
	}
	replicas := make([]model.BrokerID, 0, replicationFactor)
	leading := p.first
	for {
		if id, ok := p.racks[leading].unfenced.next(); ok {
			replicas = append(replicas, id)
			break
		}
		leading = p.after(leading)
	}
	for at := p.after(leading); len(replicas) < replicationFactor; at = p.after(at) {
		if id, ok := p.racks[at].next(); ok {
			replicas = append(replicas, id)
		}
	}
	for _, r := range p.racks {
		r.unfenced.turn()
		r.fenced.turn()
	}
	p.first = p.after(p.first)
	return replicas, nil
}

// after goes round the racks.
func (p *Placer) after(rack int) int { return (rack + 1) % len(p.racks) }

// next gives a broker that this partition has not got yet, one that serves if there is any.
func (r *rack) next() (model.BrokerID, bool) {
	if id, ok := r.unfenced.next(); ok {
		return id, true
	}
	return r.fenced.next()
}

// shuffle lets topics of one partition begin at different brokers.
func (d *dealer) shuffle(draw func(n int) int) {
	if len(d.brokers) > 0 {
		d.start = draw(len(d.brokers))
	}
}

// next deals the next broker, false when each had its turn in this partition.
func (d *dealer) next() (model.BrokerID, bool) {
	if d.dealt == len(d.brokers) {
		return model.NoBroker, false
	}
	id := d.brokers[(d.start+d.dealt)%len(d.brokers)]
	d.dealt++
	return id, true
}

// turn ends a partition.
func (d *dealer) turn() {
	if len(d.brokers) > 0 {
		d.start = (d.start + 1) % len(d.brokers)
	}
	d.dealt = 0
}
