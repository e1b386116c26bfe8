package peer

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"troupe/actors/kit"
	"troupe/internal/model"
)

// defaultTimeout is long enough for a disk that is slow for a moment at the other end.
const defaultTimeout = 10 * time.Second

// New makes the `peers` actor, which has an actor for each node that it was told of. It takes Know and Watch.
func New(d Deps) kit.Props {
	d.Timeout = cmp.Or(d.Timeout, defaultTimeout)
	m := &memory{sources: map[string]*Know{}, nodes: map[model.BrokerID]*neighbour{}}
	return kit.Props{Kind: "peers", New: func() kit.Behavior { return &supervisor{deps: d, memory: m} }}
}

// memory outlives the instances of the supervisor, which nobody would tell again.
type memory struct {
	sources  map[string]*Know
	nodes    map[model.BrokerID]*neighbour
	watchers []kit.Ref
}

// neighbour is another node as the supervisor sees it.
type neighbour struct {
	known  atomic.Pointer[places]
	counts [linkCount]counters
	ref    kit.Ref // zero until it is spawned
	gone   bool    // it stops, or has stopped; it may be wanted again
	wanted bool
	// last is what watchers heard last of each link.
	last [linkCount]kit.Message
}

// supervisor keeps an actor for each node.
type supervisor struct {
	deps Deps
	*memory
	ending bool // nodes end for good
}

// Drain keeps nodes from being spawned anew that end with this actor.
func (s *supervisor) Drain(ctx *kit.Context) {
	s.ending = true
	ctx.Drained()
}

// Start spawns the actors anew that ended with the last instance.
func (s *supervisor) Start(ctx *kit.Context) {
	for _, id := range s.ids() {
		s.nodes[id].ref, s.nodes[id].gone = kit.Ref{}, false
	}
	s.settle(ctx)
}

// Receive is part of kit.Behavior.
func (s *supervisor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Know:
		s.sources[m.Source] = m
		s.learn(ctx)
	case *Probe:
		if n := s.nodes[m.ID]; n != nil && n.running() {
			ctx.Send(n.ref, m)
		}
	case *Watch:
		// An actor that was restarted watches again, and has forgotten what it heard.
		if !slices.Contains(s.watchers, m.Watcher) {
			s.watchers = append(s.watchers, m.Watcher)
		}
		s.catchUp(ctx, m.Watcher)
	case *Up:
		s.tell(ctx, m.ID, m.Link, m)
	case *Down:
		s.tell(ctx, m.ID, m.Link, m)
	case *began:
		s.forgetLinks(ctx, m.id)
	case kit.Terminated:
		s.ended(ctx, m.Actor)
	}
}

// ids gives the known nodes in order: the same events lead to the same order of messages.
func (s *supervisor) ids() []model.BrokerID { return slices.Sorted(maps.Keys(s.nodes)) }

// learn puts together what the sources say.
func (s *supervisor) learn(ctx *kit.Context) {
	now := map[model.BrokerID]*places{}
	for _, hint := range []bool{false, true} {
		for _, source := range slices.Sorted(maps.Keys(s.sources)) {
			if s.sources[source].Hint != hint {
				continue
			}
			for _, n := range s.sources[source].Nodes {
				if now[n.ID] == nil {
					now[n.ID] = &places{}
				}
				now[n.ID].add(&n)
			}
		}
	}
	delete(now, s.deps.Self().NodeID)
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if s.nodes[id] == nil {
			s.nodes[id] = &neighbour{}
		}
		before := s.nodes[id].known.Swap(now[id])
		s.nodes[id].wanted = true
		if before != nil && !before.equal(now[id]) && s.nodes[id].running() {
			ctx.Send(s.nodes[id].ref, &moved{})
		}
	}
	for _, id := range s.ids() {
		if _, known := now[id]; !known {
			s.nodes[id].wanted = false
		}
	}
	s.settle(ctx)
}

func (n *neighbour) running() bool { return !n.ref.IsZero() && !n.gone }

// settle starts and stops actors until there is one for each node that is wanted. A name is free when the actor that had it
// has terminated.
func (s *supervisor) settle(ctx *kit.Context) {
	for _, id := range s.ids() {
		n := s.nodes[id]
		switch {
		case n.wanted && n.ref.IsZero() && !s.ending:
			n.ref = ctx.Spawn(strconv.Itoa(int(id)), kit.Props{Kind: "peer", New: func() kit.Behavior {
				return newNode(s.deps, id, &n.known, &n.counts)
			}})
			ctx.Watch(n.ref)
		case !n.wanted && n.running():
			n.gone = true
			s.forgetLinks(ctx, id)
			ctx.Stop(n.ref)
		}
	}
	s.publish()
}

// ended hears of an actor that has stopped: as it was asked to, or because it kept failing, and is given another chance.
func (s *supervisor) ended(ctx *kit.Context, actor kit.Ref) {
	for _, id := range s.ids() {
		n := s.nodes[id]
		if n.ref != actor {
			continue
		}
		n.ref, n.gone = kit.Ref{}, false
		s.forgetLinks(ctx, id)
		if !n.wanted {
			delete(s.nodes, id)
		}
	}
	s.settle(ctx)
}

// publish shows those who make calls the actors there are.
func (s *supervisor) publish() {
	next := map[model.BrokerID]entry{}
	for id, n := range s.nodes {
		if n.running() {
			next[id] = entry{n.ref, &n.counts}
		}
	}
	s.deps.Directory.nodes.Store(&next)
}

// tell passes on what became of a link. An actor that was stopped meanwhile has no say: its links were reported down.
func (s *supervisor) tell(ctx *kit.Context, id model.BrokerID, l Link, m kit.Message) {
	n := s.nodes[id]
	if n == nil || !n.running() {
		return
	}
	n.last[l] = m
	for _, w := range s.watchers {
		ctx.Send(w, m)
	}
}

// forgetLinks reports the links down that an actor left behind.
func (s *supervisor) forgetLinks(ctx *kit.Context, id model.BrokerID) {
	n := s.nodes[id]
	if n == nil {
		return
	}
	for l := range n.last {
		if _, up := n.last[l].(*Up); !up {
			continue
		}
		down := &Down{ID: id, Link: Link(l)}
		n.last[l] = down
		for _, w := range s.watchers {
			ctx.Send(w, down)
		}
	}
}

// catchUp tells a new watcher how things stand.
func (s *supervisor) catchUp(ctx *kit.Context, w kit.Ref) {
	for _, id := range s.ids() {
		for _, m := range s.nodes[id].last {
			switch m := m.(type) {
			case *Up:
				ctx.Send(w, m)
			case *Down:
				if m.Refused {
					ctx.Send(w, m)
				}
			}
		}
	}
}
