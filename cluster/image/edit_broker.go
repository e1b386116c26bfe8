package image

import (
	"fmt"
	"slices"
	"strings"

	"troupe/cluster/record"
	"troupe/internal/model"
)

// applyBroker replays the records about registrations; done is false for any other record.
func (e *Editor) applyBroker(r record.Record) (reason string, done bool) {
	switch r := r.(type) {
	case *record.RegisterBroker:
		e.setBroker(&Broker{
			ID: r.BrokerID, Epoch: r.BrokerEpoch, IncarnationID: r.IncarnationID, Endpoints: r.Endpoints,
			Features: sortedFeatures(r.Features), Rack: r.Rack, Fenced: r.Fenced, InControlledShutdown: r.InControlledShutdown,
			LogDirs: r.LogDirs, CordonedLogDirs: r.CordonedLogDirs, migrating: r.IsMigratingZkBroker,
		})
	// The registration goes; partitions go on naming the broker as a replica.
	case *record.UnregisterBroker:
		_, reason = e.broker(r.BrokerID, r.BrokerEpoch)
		if reason == "" {
			e.next.brokers = e.next.brokers.without(r.BrokerID)
			e.touched.brokers = append(e.touched.brokers, r.BrokerID)
		}
	case *record.FenceBroker:
		reason = e.changeBroker(r.ID, r.Epoch, func(b *Broker) { b.Fenced = true })
	case *record.UnfenceBroker:
		reason = e.changeBroker(r.ID, r.Epoch, func(b *Broker) { b.Fenced = false })
	case *record.BrokerRegistrationChange:
		reason = e.changeBroker(r.BrokerID, r.BrokerEpoch, func(b *Broker) { b.change(r) })
	case *record.RegisterController:
		// A copy: the record is its decoder's, and images never change.
		controller := *r
		controller.Features = sortedFeatures(r.Features)
		e.next.controllers = e.next.controllers.with(r.ControllerID, &controller)
		e.touched.controllers = true
	default:
		return "", false
	}
	return reason, true
}

// sortedFeatures gives ranges one order: Kafka writes them in that of a hash table, which differs from node to node.
func sortedFeatures(ranges []record.FeatureRange) []record.FeatureRange {
	return slices.SortedFunc(slices.Values(ranges), func(a, b record.FeatureRange) int { return strings.Compare(a.Name, b.Name) })
}

// change applies the fields that say something. A broker leaves the shutdown state only by registering again.
func (b *Broker) change(r *record.BrokerRegistrationChange) {
	switch {
	// The wire has 1 for "becomes so", -1 for "no longer", 0 for "as before" (KIP-841).
	case r.Fenced > 0:
		b.Fenced = true
	case r.Fenced < 0:
		b.Fenced = false
	}
	if r.InControlledShutdown > 0 {
		b.InControlledShutdown = true
	}
	if len(r.LogDirs) > 0 {
		b.LogDirs = r.LogDirs
	}
	// An empty list says that none is cordoned any more, null that nothing changed (KIP-1066).
	if r.CordonedLogDirs != nil {
		b.CordonedLogDirs = r.CordonedLogDirs
	}
}

// broker finds the registration that a record is about; one about an older registration cannot be in a sound log.
func (e *Editor) broker(id model.BrokerID, epoch model.BrokerEpoch) (*Broker, string) {
	b, ok := e.next.brokers.get(id)
	if !ok {
		return nil, fmt.Sprintf("broker %d is not registered", id)
	}
	if b.Epoch != epoch {
		return nil, fmt.Sprintf("broker %d has epoch %d, the record says %d", id, b.Epoch, epoch)
	}
	return b, ""
}

// changeBroker copies, since published images hold the registration.
func (e *Editor) changeBroker(id model.BrokerID, epoch model.BrokerEpoch, change func(*Broker)) string {
	b, reason := e.broker(id, epoch)
	if reason != "" {
		return reason
	}
	changed := *b
	change(&changed)
	e.setBroker(&changed)
	return ""
}

// setBroker notes the id for the delta, which finds out by itself whether anything differs.
func (e *Editor) setBroker(b *Broker) {
	e.next.brokers = e.next.brokers.with(b.ID, b)
	e.touched.brokers = append(e.touched.brokers, b.ID)
}
