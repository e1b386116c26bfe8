package broker

import (
	"context"

	"troupe/actors/membership"
	"troupe/configs"
)

// spawnGossip begins to gossip where that is configured. A node that does not has no part of it, and a simulation tells its
// controllers itself whom to suspect.
func (b *Broker) spawnGossip(o Options) {
	if b.cfg.Gossip.Address == (configs.Endpoint{}) || o.Dispatcher != nil {
		return
	}
	self := b.record()
	b.members = &membership.Board{}
	ref := b.system.Spawn("membership", membership.New(membership.Deps{
		Self: self, Log: b.log, Peers: b.refs.peers, Links: b.peers, Controller: b.refs.controller, Board: b.members,
	}))
	var err error
	if b.gossip, err = membership.Open(membership.Options{Config: &b.cfg.Gossip, Self: self, To: ref, Log: b.log}); err != nil {
		b.fail(err)
	}
}

// record is what this node tells of itself.
func (b *Broker) record() membership.Record {
	r := membership.Record{
		ClusterID: b.identity.clusterID, NodeID: b.cfg.NodeID, Directory: b.metadataDir.ID, Incarnation: b.incarnation, Rack: b.cfg.Rack,
		Votes: b.cfg.Roles.Controller, Serves: b.cfg.Roles.Broker,
	}
	for _, s := range b.sockets {
		switch {
		case s.Controller && s.Name == b.cfg.Quorum.Listener && !configs.Everywhere(s.Advertised.Host):
			r.Controller = s.Advertised
		case s.Name == b.cfg.InterBroker:
			r.Broker = s.Advertised
		}
	}
	return r
}

// scouting gives what asks the seeds of gossip where the controllers of a cluster are; nil where there are none.
func (b *Broker) scouting() func(context.Context) ([]configs.Endpoint, error) {
	if len(b.cfg.Gossip.Seeds) == 0 {
		return nil
	}
	self := membership.Record{NodeID: b.cfg.NodeID, Incarnation: b.incarnation}
	return func(ctx context.Context) ([]configs.Endpoint, error) {
		return membership.Scout(ctx, &b.cfg.Gossip, self, b.log)
	}
}

// sayFarewell lets the others know that this node goes, while it hands over what it has. The channel is closed when it has
// been said.
func (b *Broker) sayFarewell() <-chan struct{} {
	said := make(chan struct{})
	go func() {
		defer close(said)
		if b.gossip != nil {
			b.gossip.Leave()
		}
	}()
	return said
}

// closeGossip ends it without a word.
func (b *Broker) closeGossip() {
	if b.gossip != nil {
		b.gossip.Close()
	}
}
