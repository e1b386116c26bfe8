package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/kerr"
)

// watchQuorum tells the operator of a quorum without a leader while that lasts, and when it is over: nothing is created or
// elected meanwhile, and a node that starts does not serve.
func (a *Actor) watchQuorum(ctx *kit.Context) {
	if l := a.leading(); l.Leader != quorum.NoVoter {
		a.board.lacks.Store(nil)
		if lasted, told := a.vigil.Over(ctx.Now()); told {
			a.deps.Log.Info("the leader of the metadata quorum is reached", "leader", l.Leader.ID, "epoch", l.Epoch, "after", lasted.Round(time.Second).String())
		}
		return
	}
	text := a.lacks()
	a.board.lacks.Store(&text)
	if lasted, due := a.vigil.Due(ctx.Now(), text); due {
		a.deps.Log.Warn("no leader of the metadata quorum is reached", "reason", text, "for", lasted.Round(time.Second).String())
	}
}

// lacks says why there is no leader, as far as this node can see.
func (a *Actor) lacks() string {
	if o := a.observer; o != nil && o.namesake != nil {
		return fmt.Sprintf("another process with the node.id %d leads it, at %s: one node.id is one node's", a.deps.Config.NodeID, o.namesake)
	}
	voters := a.voters()
	if len(voters) == 0 {
		return "none of its voters is known"
	}
	there, foreign, configured := 0, false, false
	var nobody []string
	for _, v := range voters {
		configured = configured || slices.Contains(a.deps.Config.Quorum.Bootstrap, a.addressOf(v))
		if _, met := a.met[v.ID]; met || a.raft != nil && v.ID == a.deps.Config.NodeID {
			there++
			continue
		}
		text, err := a.unmet(v)
		var judged *kerr.Error
		foreign = foreign || errors.As(err, &judged) && judged.Code == kerr.InconsistentClusterID
		nobody = append(nobody, text)
	}
	text := fmt.Sprintf("%d of its %d voters are there, and it takes %d", there, len(voters), len(voters)/2+1)
	if there > len(voters)/2 {
		text = fmt.Sprintf("%d of its %d voters are there, and none is elected yet", there, len(voters))
	}
	if len(nobody) > 0 {
		text += "; nobody at " + strings.Join(nobody, ", ")
	}
	switch {
	case foreign:
		text += fmt.Sprintf("; the data of this node says that it is of the cluster %s (%s/meta.properties): to join another cluster it needs empty log directories",
			a.deps.ClusterID, a.deps.Dir.Path)
	case !configured && len(a.deps.Config.Quorum.Bootstrap) > 0:
		text += fmt.Sprintf("; these are the voters of the cluster %s by the metadata log in %s, none of them at an address of controller.quorum.bootstrap.servers",
			a.deps.ClusterID, a.deps.Dir.Path)
	}
	return text
}

// unmet says where a voter was looked for, and why it was not met.
func (a *Actor) unmet(v batch.Voter) (string, error) {
	m := a.deps.Peers.Missed(v.ID, peer.Controller)
	if m == nil {
		return fmt.Sprintf("node %d, %s", v.ID, a.addressOf(v)), nil
	}
	return fmt.Sprintf("node %d, %s (%v)", v.ID, m.At, m.Err), m.Err
}
