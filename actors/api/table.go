package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Order says how a request stands to the others on its connection. Replies always go out in request order; Order is
// about effects: what a later request sees of an earlier one.
type Order struct {
	// Keys appends a hash for each thing the request reads or changes (partition, group, fetch session). Requests of
	// one connection that share a key take effect in arrival order. nil makes the API a barrier: it starts when all
	// earlier requests are answered, and later ones wait for it.
	Keys func(n *Node, dst []uint64, body kmsg.Request) []uint64
	// Pipelined tells that requests of this same API keep their order by themselves (their messages go into one
	// mailbox), so that they need not wait for each other.
	Pipelined bool
}

// Listeners says where an API is answered.
type Listeners uint8

// The listener kinds of facts/apis.csv.
const (
	OnBroker Listeners = 1 << iota
	OnController
)

// Handler is one API.
type Handler struct {
	Key        int16
	Name       string
	Min, Max   int16
	ShownFrom0 bool // ApiVersions shows versions from 0 on, whatever Min is (Produce)
	On         Listeners
	Order      Order
	// Retains tells that the decoded body points into the frame after Handle has returned (record batches).
	Retains bool
	// Waits tells that the answer is somebody else's, the other members of a group or the controller: the time until it is
	// there counts as Remote.
	Waits  bool
	Access Access
	Handle func(n *Node, r *Request)
}

// Supports tells whether a version is answered.
func (h *Handler) Supports(version int16) bool { return version >= h.Min && version <= h.Max }

// Shown is the lowest version that ApiVersions shows.
func (h *Handler) Shown() int16 {
	if h.ShownFrom0 {
		return 0
	}
	return h.Min
}

// Lookup finds the handler of a key on a listener.
func Lookup(key int16, controller bool) (*Handler, bool) {
	if key < 0 || int(key) >= len(byKey) || byKey[key] == nil {
		return nil, false
	}
	h := byKey[key]
	on := OnBroker
	if controller {
		on = OnController
	}
	return h, h.On&on != 0
}

// Table lists the handlers by key.
func Table() []*Handler { return slices.Clone(handlers) }

var byKey = index(handlers)

func index(hs []*Handler) []*Handler {
	slices.SortFunc(hs, func(a, b *Handler) int { return int(a.Key) - int(b.Key) })
	idx := make([]*Handler, hs[len(hs)-1].Key+1)
	for _, h := range hs {
		idx[h.Key] = h
	}
	return idx
}
