package metadata

import (
	"cmp"
	"slices"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// introduce tells where the other nodes are reached, before the orders to follow them.
func (a *applier) introduce(ctx *kit.Context, d image.Delta) {
	if len(d.Brokers) == 0 && !d.Controllers || a.deps.Peers.IsZero() {
		return
	}
	nodes := map[model.BrokerID]peer.Node{}
	for b := range d.To.Brokers() {
		n := peer.Node{ID: b.ID}
		if e, ok := b.Endpoint(a.deps.InterBroker); ok {
			n.Broker = peer.Address{Host: e.Host, Port: e.Port}
		}
		nodes[b.ID] = n
	}
	for c := range d.To.Controllers() {
		n := nodes[c.ControllerID]
		n.ID = c.ControllerID
		i := slices.IndexFunc(c.Endpoints, func(e record.Endpoint) bool { return e.Name == a.deps.Controllers })
		if i >= 0 {
			n.Controller = peer.Address{Host: c.Endpoints[i].Host, Port: c.Endpoints[i].Port}
		}
		nodes[c.ControllerID] = n
	}
	know := &peer.Know{Source: "image"}
	for _, n := range nodes {
		if n.ID != a.deps.Self && n != (peer.Node{ID: n.ID}) {
			know.Nodes = append(know.Nodes, n)
		}
	}
	slices.SortFunc(know.Nodes, func(x, y peer.Node) int { return cmp.Compare(x.ID, y.ID) })
	ctx.Send(a.deps.Peers, know)
}
