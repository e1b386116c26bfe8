package membership

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/memberlist"

	"troupe/actors/kit"
	"troupe/internal/model"
)

// delegate is what memberlist calls, on its goroutines and under its locks: it judges what others tell and passes it on.
type delegate struct {
	self Record
	meta []byte
	to   kit.Ref
}

// refuse tells of something that changed nothing.
func (d *delegate) refuse(reason string) { d.to.Send(&Refused{Reason: reason}) }

// doubt passes on that a probe of this node was not answered.
func (d *delegate) doubt(name string) {
	if id, err := strconv.ParseInt(strings.TrimSuffix(name, "@"+d.self.ClusterID), 10, 32); err == nil {
		d.to.Send(&Doubted{ID: model.BrokerID(id)})
	}
}

// NodeMeta is what this node tells of itself (memberlist.Delegate).
func (d *delegate) NodeMeta(int) []byte { return d.meta }

// NotifyMsg takes a message that is not memberlist's own: there are only farewells.
func (d *delegate) NotifyMsg(b []byte) {
	m, err := readFarewell(b)
	if err != nil {
		d.refuse(err.Error())
		return
	}
	d.to.Send(m)
}

// GetBroadcasts, LocalState and MergeRemoteState are of memberlist's user data, of which there is none.
func (d *delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState is part of memberlist.Delegate.
func (d *delegate) LocalState(bool) []byte { return nil }

// MergeRemoteState is part of memberlist.Delegate.
func (d *delegate) MergeRemoteState([]byte, bool) {}

// NotifyAlive lets a node in, or keeps it out of what memberlist knows (memberlist.AliveDelegate).
func (d *delegate) NotifyAlive(n *memberlist.Node) error {
	_, err := admit(&d.self, n.Name, n.Meta)
	if err != nil && !errors.Is(err, errNewcomer) {
		d.refuse(err.Error())
	}
	return err
}

// NotifyMerge takes what another node knows, or nothing of it where that is a node of another cluster: what such a one says of
// nodes that go by names of this cluster is not for it to say (memberlist.MergeDelegate).
func (d *delegate) NotifyMerge(nodes []*memberlist.Node) error {
	for _, n := range nodes {
		if _, err := admit(&d.self, n.Name, n.Meta); errors.Is(err, errOtherCluster) {
			d.refuse(err.Error())
			return err
		}
	}
	return nil
}

// NotifyJoin is part of memberlist.EventDelegate: nodes come here that NotifyAlive has let in.
func (d *delegate) NotifyJoin(n *memberlist.Node) {
	if r, err := admit(&d.self, n.Name, n.Meta); err == nil {
		d.to.Send(&Joined{Record: r})
	}
}

// NotifyUpdate is part of memberlist.EventDelegate.
func (d *delegate) NotifyUpdate(n *memberlist.Node) { d.NotifyJoin(n) }

// NotifyLeave tells of a node that has failed, or left: of the latter its farewell has told (memberlist.EventDelegate).
func (d *delegate) NotifyLeave(n *memberlist.Node) {
	if r, err := admit(&d.self, n.Name, n.Meta); err == nil {
		d.to.Send(&Failed{ID: r.NodeID})
	}
}

// NotifyConflict tells of a node that another one's name is used at another address (memberlist.ConflictDelegate).
func (d *delegate) NotifyConflict(one, other *memberlist.Node) {
	a, errA := parse(one.Meta)
	b, errB := parse(other.Meta)
	if errA == nil && errB == nil && a.Incarnation != b.Incarnation {
		d.to.Send(&Duplicate{One: a, Other: b})
	}
}

// A farewell is a version, the node.id and the incarnation that goes:
//
//	uint8 1, int32, 16 bytes
const farewellSize = 1 + 4 + 16

func sayFarewell(r *Record) []byte {
	b := binary.BigEndian.AppendUint32([]byte{recordVersion}, uint32(r.NodeID))
	return append(b, r.Incarnation[:]...)
}

func readFarewell(b []byte) (*Farewell, error) {
	if len(b) < farewellSize || b[0] != recordVersion {
		return nil, fmt.Errorf("a message of %d bytes is no farewell", len(b))
	}
	return &Farewell{ID: model.BrokerID(binary.BigEndian.Uint32(b[1:])), Incarnation: model.UUID(b[5:farewellSize])}, nil
}
