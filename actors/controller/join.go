package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/codec/kerr"
)

// considerJoining has a controller that follows the log ask for a vote, where controller.quorum.auto.join.enable says so. A
// voter with its node.id is the one that had its disk before: that one is removed first, or its lost votes and
// acknowledgements might be counted with those of the new one. So it asks when its own process is registered as that broker: while
// another one of the number lives, as a configuration that was copied has it, that one keeps its vote.
func (a *Actor) considerJoining(ctx *kit.Context) {
	c := a.deps.Config
	if a.observer == nil || !c.Roles.Controller || !c.Quorum.AutoJoin || a.kraftVersion == 0 || !a.complete || a.observer.asking {
		return
	}
	if b, ok := a.applied.Broker(c.NodeID); !ok || b.IncarnationID != a.deps.Incarnation {
		return
	}
	me := a.asVoter()
	var body kmsg.Request
	for _, v := range a.observer.reader.Voters() {
		if v.ID != me.ID {
			continue
		}
		if v.DirectoryID == me.DirectoryID {
			return
		}
		remove := kmsg.NewPtrRemoveRaftVoterRequest()
		remove.ClusterID, remove.VoterID, remove.VoterDirectoryID = &a.deps.ClusterID, int32(v.ID), v.DirectoryID
		body = remove
	}
	if body == nil {
		add := kmsg.NewPtrAddRaftVoterRequest()
		add.ClusterID, add.VoterID, add.VoterDirectoryID = &a.deps.ClusterID, int32(me.ID), me.DirectoryID
		for _, e := range me.Endpoints {
			l := kmsg.NewAddRaftVoterRequestListener()
			l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
			add.Listeners = append(add.Listeners, l)
		}
		body = add
	}
	o := a.observer
	o.asking = true
	a.request(ctx, &Request{Body: body, Done: func(resp kmsg.Response) {
		o.asking = false
		var code int16
		switch resp := resp.(type) {
		case *kmsg.AddRaftVoterResponse:
			code = resp.ErrorCode
		case *kmsg.RemoveRaftVoterResponse:
			code = resp.ErrorCode
		}
		if code != 0 && code != o.refused {
			a.deps.Log.Info("this node has no vote yet", "code", kerr.Code(code).Name())
		}
		o.refused = code
	}})
}
