package broker

import (
	"context"

	"troupe/actors/founding"
	"troupe/actors/kit"
	"troupe/actors/listener"
	"troupe/actors/peer"
	"troupe/codec/private"
)

// replyMax bounds a reply of another node: a fetch may be larger than its bounds by one batch.
const replyMax = 256 << 20

// spawnPeers makes this node's way to the others. A node that is alone has nobody to connect to.
func (b *Broker) spawnPeers(o Options) {
	if o.Transport == nil {
		o.Transport = &peer.TCP{Log: b.log, FrameMax: replyMax}
	}
	b.peers = peer.NewDirectory()
	b.refs.peers = b.system.Spawn("peers", peer.New(peer.Deps{Directory: b.peers, Transport: o.Transport, Self: b.introduction, Log: b.log}))
}

// searching gives the search for a cluster of a node that is not one by itself; nil for the others, and in a simulation, which
// tells its nodes. Begin waits for it: no part of a node can be there before it belongs to a cluster.
func (b *Broker) searching(o Options) func() (founding.Found, error) {
	if !founding.Needed(b.cfg) || o.Dispatcher != nil {
		return nil
	}
	if o.until == nil {
		o.until = context.Background()
	}
	return func() (founding.Found, error) {
		// The search has ports of its own, and may last.
		if err := tryPorts(b.cfg); err != nil {
			return founding.Found{}, err
		}
		return founding.Search(o.until, founding.Options{
			FS: b.fs, Dir: b.cfg.MetadataDir, Config: b.cfg, Incarnation: b.incarnation, ClusterID: o.ClusterID, Log: b.log, Scout: b.scouting(),
		})
	}
}

// introduction is what this node says of itself to others.
func (b *Broker) introduction() private.Identity {
	return private.Identity{
		ClusterID: b.identity.clusterID, NodeID: b.cfg.NodeID, Directory: b.metadataDir.ID, Incarnation: b.incarnation,
		MinVersion: private.Version, MaxVersion: private.Version,
	}
}

// nodeCredits are set apart for the requests of other nodes. They are fewer than those of clients: each has few callers, who
// wait for their answers.
const nodeCredits = 64 << 20

// listenAt begins to accept on the sockets of one kind: other nodes are let in at the start, since it takes them to elect a
// controller, clients when this broker serves.
func (b *Broker) listenAt(controllers bool) []kit.Ref {
	var begun []kit.Ref
	for _, s := range b.sockets {
		if s.socket == nil || s.Controller != controllers {
			continue
		}
		a := &listener.Actor{
			Deps: b.connections, Name: s.Name, Controller: s.Controller, Nodes: s.Controller || s.Name == b.cfg.InterBroker, Socket: s.socket,
		}
		begun = append(begun, b.system.Spawn("listeners/"+s.Name, kit.Props{Kind: "listener", New: func() kit.Behavior { return a }}))
	}
	return begun
}
