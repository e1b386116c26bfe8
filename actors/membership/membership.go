// Package membership is what nodes tell each other beside the cluster's own protocol, by hashicorp's memberlist: who is
// there and where, and who does not answer. Nothing is decided by it. An address is one more that a link may try, and
// whoever answers there has to introduce himself; a node that is suspected has its links asked at once, and is fenced by the
// controller, on its own evidence, or not at all (docs/adr/0020).
package membership

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/configs"
	"troupe/internal/model"
)

// Address is where a listener is reached.
type Address = configs.Endpoint

// State is what gossip says of a node.
type State uint8

const (
	// Alive: it answers those who ask it.
	Alive State = iota
	// Suspected: it has not answered anybody for a moment. It may be well.
	Suspected
)

// String is the state's name in metrics.
func (s State) String() string {
	if s == Suspected {
		return "suspected"
	}
	return "alive"
}

// Member is another node that gossip knows.
type Member struct {
	Record
	State State
	Since time.Time // it is in that state
}

// Board is where others see how things stand. It is for any goroutine.
type Board struct {
	members atomic.Pointer[[]Member]
	hints   atomic.Uint64
	refused atomic.Uint64
}

// Members are the other nodes, in order of id. They are not to be changed.
func (b *Board) Members() []Member {
	if p := b.members.Load(); p != nil {
		return *p
	}
	return nil
}

// Hints counts the suspicions that were passed on.
func (b *Board) Hints() uint64 { return b.hints.Load() }

// Refused counts packets and states of others that changed nothing: without the key, of another cluster, garbage.
func (b *Board) Refused() uint64 { return b.refused.Load() }

// Deps is what the membership actor works with. All are required.
type Deps struct {
	Self Record
	Log  *slog.Logger
	// Peers is told where nodes are, Links that one is back; Controller hears of suspicions.
	Peers      kit.Ref
	Links      *peer.Directory
	Controller kit.Ref
	Board      *Board
}

// What memberlist tells, as messages to the actor.
type (
	// Joined tells that a node is there: a new one, one that is back, or one that tells something else of itself.
	Joined struct{ Record Record }
	// Doubted tells that a node has not answered this one. Others may know better, and it may say so itself.
	Doubted struct{ ID model.BrokerID }
	// Failed tells that a node answers nobody.
	Failed struct{ ID model.BrokerID }
	// Farewell tells that a node has said that it goes.
	Farewell struct {
		ID          model.BrokerID
		Incarnation model.UUID
	}
	// Refused tells of something that changed nothing.
	Refused struct{ Reason string }
	// Duplicate tells of a second process with the node.id of another one.
	Duplicate struct{ One, Other Record }

	// due is the machine's timer.
	due struct{}
)

func (*Joined) MessageKind() string    { return "membership.joined" }
func (*Doubted) MessageKind() string   { return "membership.doubted" }
func (*Failed) MessageKind() string    { return "membership.failed" }
func (*Farewell) MessageKind() string  { return "membership.farewell" }
func (*Refused) MessageKind() string   { return "membership.refused" }
func (*Duplicate) MessageKind() string { return "membership.duplicate" }
func (*due) MessageKind() string       { return "membership.due" }

var (
	// errNewcomer refuses a node that only looks for a cluster: it is no member, and nothing is wrong with it.
	errNewcomer     = errors.New("the node belongs to no cluster yet")
	errOtherCluster = errors.New("the node is of another cluster")
)

// admit judges a record under the name that memberlist has it by.
func admit(self *Record, name string, meta []byte) (Record, error) {
	r, err := parse(meta)
	switch {
	case err != nil:
		return Record{}, err
	case r.ClusterID == "":
		return Record{}, errNewcomer
	case r.ClusterID != self.ClusterID:
		return Record{}, fmt.Errorf("%w: node %d of %s, this one of %s", errOtherCluster, r.NodeID, r.ClusterID, self.ClusterID)
	case name != r.name():
		return Record{}, fmt.Errorf("node %d goes by the name %q", r.NodeID, name)
	}
	return r, nil
}

// name is what memberlist knows the node by. It holds the cluster's id, so that what is said of a node of another cluster is
// said of nobody here.
func (r *Record) name() string { return fmt.Sprintf("%d@%s", r.NodeID, r.ClusterID) }
