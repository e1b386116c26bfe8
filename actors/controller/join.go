package controller

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// considerJoining has a controller that follows the log ask for a vote, where controller.quorum.auto.join.enable says so. A
// voter with its node.id is the one that had its disk before: that one is removed first, or its lost votes and
// acknowledgements might be counted with those of the new one. So it asks when its own process is registered under that number:
// while another one lives, as a configuration that was copied has it, that one keeps its vote.
func (a *Actor) considerJoining(ctx *kit.Context) {
	c := a.deps.Config
	if a.observer == nil || !c.Roles.Controller || !c.Quorum.AutoJoin || a.kraftVersion == 0 || !a.complete || a.observer.asking {
		return
	}
	if !a.registered() {
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
		if !c.Roles.Broker && !a.observer.replaces {
			a.askWhetherAlive(ctx, v)
			return
		}
		a.observer.replaces = false
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

// registered tells whether the metadata has this process as the node of its number: as the broker, or, where it is none, as the
// controller.
func (a *Actor) registered() bool {
	c := a.deps.Config
	if c.Roles.Broker {
		b, ok := a.applied.Broker(c.NodeID)
		return ok && b.IncarnationID == a.deps.Incarnation
	}
	for reg := range a.applied.Controllers() {
		if reg.ControllerID == c.NodeID {
			return reg.IncarnationID == a.deps.Incarnation
		}
	}
	return a.applied.MetadataVersion() < record.ControllerRegistrations
}

// askWhetherAlive asks the leader when it has heard last of the voter that this node would replace. A broker's registration is
// refused while another process of its number lives; that of a controller alone is not.
func (a *Actor) askWhetherAlive(ctx *kit.Context, before batch.Voter) {
	req, o := kmsg.NewPtrDescribeQuorumRequest(), a.observer
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic, topic.Partitions = metadataTopic.Topic, []kmsg.DescribeQuorumRequestTopicPartition{{}}
	req.Version, req.Topics = req.MaxVersion(), []kmsg.DescribeQuorumRequestTopic{topic}
	o.asking = true
	a.request(ctx, &Request{Body: req, Done: func(resp kmsg.Response) {
		o.asking = false
		age, known := lastHeard(resp.(*kmsg.DescribeQuorumResponse), before)
		o.replaces = known && age > a.deps.Config.Membership.SessionTimeout
		if o.refusals++; known && !o.replaces && o.refusals == int(2*a.deps.Config.Membership.SessionTimeout/tickEvery) {
			a.deps.Log.Warn("this node has no vote: a voter of its node.id lives", "node", before.ID, "directory", a.deps.Dir.ID.String(),
				"incarnation", a.deps.Incarnation.String(), "voter", before.DirectoryID.String(), "endpoints", fmt.Sprint(before.Endpoints))
		}
	}})
}

// lastHeard is how long ago the leader has heard of a voter, by its own clock: it has always just heard of itself.
func lastHeard(resp *kmsg.DescribeQuorumResponse, of batch.Voter) (age time.Duration, known bool) {
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		return 0, false
	}
	p := &resp.Topics[0].Partitions[0]
	now, heard := int64(-1), int64(-1)
	for _, v := range p.CurrentVoters {
		switch {
		case v.ReplicaID == int32(of.ID) && v.ReplicaDirectoryID == of.DirectoryID:
			heard = v.LastFetchTimestamp
		case v.ReplicaID == p.LeaderID:
			now = v.LastFetchTimestamp
		}
	}
	return time.Duration(now-heard) * time.Millisecond, now >= 0
}

// duplicate tells whether a controller would be registered in place of another process that this node is connected to. One that
// is a broker too has had its registration as that one judged.
func (a *Actor) duplicate(r *kmsg.ControllerRegistrationRequest) bool {
	id := model.BrokerID(r.ControllerID)
	other, lives := a.met[id]
	_, serves := a.applied.Broker(id)
	return lives && !serves && other != r.IncarnationID
}
