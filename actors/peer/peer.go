// Package peer is a node's way to the other nodes of its cluster. There is an actor for each of them, which owns two
// connections: the links to its controller listener and to its inter-broker listener. Both speak Kafka's framed protocol, and
// begin with a handshake (private.HelloRequest). Calls are answered in any order; a link that breaks fails all of its calls
// at once.
package peer

import (
	"errors"
	"log/slog"
	"time"

	"troupe/actors/kit"
	"troupe/codec/private"
	"troupe/configs"
	"troupe/internal/model"
)

// Link is one of the two connections to a node.
type Link uint8

const (
	// Controller leads to the node's controller listener: raft, forwarded requests, registrations, heartbeats,
	// AlterPartition, fetches of observers.
	Controller Link = iota
	// Broker leads to its inter-broker listener: fetches of followers, questions between brokers.
	Broker

	linkCount
)

// String names the listener that the link leads to.
func (l Link) String() string {
	if l == Controller {
		return "controller"
	}
	return "broker"
}

// Address is where a listener is reached. The zero Address says that there is none.
type Address = configs.Endpoint

// The errors of calls. An error that is none of them tells of a reply that cannot be read.
var (
	// ErrDown fails the calls of a link that broke, and those that come while it is broken.
	ErrDown = errors.New("the link to the node is down")
	// ErrTimeout fails a call that was not answered by its deadline. It may have been carried out.
	ErrTimeout = errors.New("the node has not answered in time")
	// ErrUnknown fails a call to a node, or to a listener of it, that nobody has told of.
	ErrUnknown = errors.New("no address of the node is known")
	// ErrCrowded fails a call that finds too many others waiting for the same link.
	ErrCrowded = errors.New("too many calls to the node are waiting")
)

// Deps is what the peers of a node share. Those without a default are required.
type Deps struct {
	Directory *Directory
	Transport Transport
	// Self is what this node says of itself in a handshake; it is asked at each, since a node may come to belong to a
	// cluster while it runs.
	Self func() private.Identity
	Log  *slog.Logger
	// Timeout is the deadline of calls that name none, 10 s.
	Timeout time.Duration
}

// Node is where another node is reached. An address that is zero says that it has no such listener, or that it is not known.
type Node struct {
	ID         model.BrokerID
	Controller Address
	Broker     Address
}

// Know tells the `peers` actor which nodes there are. A source replaces with it what it has told before. Where sources know
// different addresses of one node, the one whose name comes first in the alphabet is believed first ("image" before
// "voters"): what a node has registered is newer than what stands in a file. The others are tried where the node is not met.
// This node itself may be among them and is left out.
type Know struct {
	Source string
	Nodes  []Node
	// Hint says that these are addresses to try after those of all other sources.
	Hint bool
}

// Probe has the links to a node that stand asked whether anybody is there: one that is silent from then on is given up after
// a second, and made anew, which may be refused.
type Probe struct{ ID model.BrokerID }

// Watch has an actor told of all links from now on, beginning with how they stand: an Up for each that is up, a Down for
// each whose node refused the reconnection.
type Watch struct{ Watcher kit.Ref }

// Up tells watchers that a link stands and the node was recognized.
type Up struct {
	ID   model.BrokerID
	Link Link
	Node private.Identity // as the node introduced itself
}

// Down tells watchers that a link that was up is down. A second one with Refused follows where a reconnection is refused:
// nobody listens there any more, the process has ended.
type Down struct {
	ID      model.BrokerID
	Link    Link
	Refused bool
}

func (*Know) MessageKind() string  { return "peer.know" }
func (*Probe) MessageKind() string { return "peer.probe" }
func (*Watch) MessageKind() string { return "peer.watch" }
func (*Up) MessageKind() string    { return "peer.up" }
func (*Down) MessageKind() string  { return "peer.down" }
