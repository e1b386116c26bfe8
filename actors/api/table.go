package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/frame"
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

// The listener kinds of facts/apis.csv, and those on which other nodes come in: the controllers' and the one between
// brokers, which may be the clients' too.
const (
	OnBroker Listeners = 1 << iota
	OnController
	OnNodes
)

// Handler is one API.
type Handler struct {
	Key        int16
	Name       string
	Min, Max   int16
	ShownFrom0 bool // ApiVersions shows versions from 0 on, whatever Min is (Produce)
	On         Listeners
	// Peers tells that other nodes alone are answered, who have shaken hands on the connection (Hello); for others there is
	// no such key. They are answered everything else on any of their connections.
	Peers bool
	Order Order
	// Retains tells that the decoded body points into the frame after Handle has returned (record batches).
	Retains bool
	// Coded are the versions whose reply has an error code of its own at the top: kmsg has a field for it in all of them.
	// Unset, all have it, or none.
	Coded Versions
	// Waits tells that the answer is somebody else's, the other members of a group or the controller: the time until it is
	// there counts as Remote.
	Waits  bool
	Access Access
	Handle func(n *Node, r *Request)
}

// Versions is a range, the zero value none that is told.
type Versions struct{ From, To int16 }

// coded tells whether the replies of a version have a code at the top.
func (h *Handler) coded(version int16) bool {
	return h.Coded == Versions{} || version >= h.Coded.From && version <= h.Coded.To
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

// Lookup finds the handler of a key, and tells whether it answers that client.
func Lookup(key int16, c *Client) (*Handler, bool) {
	at := slotOf(key)
	if at < 0 || int(at) >= len(byKey) || byKey[at] == nil {
		return nil, false
	}
	h := byKey[at]
	return h, h.answers(c)
}

// answers tells whether a client finds the API where it came in.
func (h *Handler) answers(c *Client) bool {
	switch {
	case c.Peer != nil:
		return true
	case h.Peers:
		return false
	}
	return h.On&c.listener() != 0
}

// slots is how many APIs there can be: Kafka's keys, then the private ones.
const (
	slots        = firstPrivate + 8
	firstPrivate = 120
)

// slotOf is where an API stands in tables: a table with a place for each number up to the private keys would be mostly empty.
// It is negative, or above slots, for some keys that nobody answers.
func slotOf(key int16) int16 {
	if key >= frame.FirstPrivate {
		return key - frame.FirstPrivate + firstPrivate
	}
	if key >= firstPrivate {
		return -1
	}
	return key
}

// Table lists the handlers by key.
func Table() []*Handler { return slices.Clone(handlers) }

var byKey = index(handlers)

func index(hs []*Handler) []*Handler {
	slices.SortFunc(hs, func(a, b *Handler) int { return int(a.Key) - int(b.Key) })
	idx := make([]*Handler, slots)
	for _, h := range hs {
		idx[slotOf(h.Key)] = h
	}
	return idx
}
