package peer

import "troupe/actors/kit"

// New makes the `peers` actor, which has an actor for each node that it was told of. It takes Know and Watch.
func New(d Deps) kit.Props {
	return kit.Props{Kind: "peers", New: func() kit.Behavior { return &supervisor{deps: d} }}
}

// supervisor keeps an actor for each node.
type supervisor struct{ deps Deps }

// Receive is part of kit.Behavior.
func (s *supervisor) Receive(*kit.Context, kit.Message) {}
