package controller

import (
	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/internal/model"
)

// Suspected is a hint, which may be wrong, that a node answers nobody. It has this node's links to that one asked at once
// instead of when something is sent by them next; whatever comes of that is evidence like any other. The hint itself fences
// nobody, and elects nobody.
type Suspected struct{ Node model.BrokerID }

// MessageKind is part of kit.Message.
func (*Suspected) MessageKind() string { return "controller.suspected" }

func (a *Actor) suspect(ctx *kit.Context, m *Suspected) {
	if !a.deps.Links.IsZero() && m.Node != a.deps.Config.NodeID {
		ctx.Send(a.deps.Links, &peer.Probe{ID: m.Node})
	}
}
