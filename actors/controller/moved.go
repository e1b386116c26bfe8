package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Moved tells where a voter is reached now, in its own words after the handshake. It is acted on before it is recorded: a voter
// that the leader does not reach hears of nobody who could record it, and of two voters none could be elected.
type Moved struct {
	Voter     quorum.VoterKey
	Endpoints []batch.VoterEndpoint
}

// MessageKind is part of kit.Message.
func (*Moved) MessageKind() string { return "controller.moved" }

// moved goes by what a voter says, until the voters are recorded anew.
func (a *Actor) moved(ctx *kit.Context, m *Moved) {
	if a.raft == nil || slices.Equal(a.elsewhere[m.Voter], m.Endpoints) {
		return
	}
	if i := findVoter(a.raft.Voters(), m.Voter); i >= 0 && !slices.Equal(a.raft.Voters()[i].Endpoints, m.Endpoints) {
		a.elsewhere[m.Voter] = m.Endpoints
		a.follow(ctx)
	}
}

func findVoter(voters []batch.Voter, k quorum.VoterKey) int {
	return slices.IndexFunc(voters, func(v batch.Voter) bool { return v.ID == k.ID && v.DirectoryID == k.Directory })
}

// considerMoving has a voter whose listeners, or whose software, are not those on record tell so (KIP-853). It tells every other
// voter, since it may not find out who leads, again and again until the record is right.
func (a *Actor) considerMoving(ctx *kit.Context) {
	if a.raft == nil || a.kraftVersion == 0 {
		return
	}
	me := a.asVoter()
	i := findVoter(a.raft.Voters(), quorum.VoterKey{ID: me.ID, Directory: me.DirectoryID})
	if i < 0 || len(me.Endpoints) == 0 || sameVoter(a.raft.Voters()[i], me) {
		return
	}
	body := a.moveRequest(me)
	if a.leading().Self {
		if a.machine.Leading() && a.revision == nil {
			a.request(ctx, &Request{Body: body, Local: true, Done: func(kmsg.Response) {}})
		}
		return
	}
	for _, v := range a.raft.Voters() {
		if v.ID != me.ID {
			a.deps.Peers.SendCaused(ctx.Cause(), v.ID, &peer.Call{Link: peer.Controller, Body: body, Done: func(kmsg.Response, error) {}})
		}
	}
}

func sameVoter(x, y batch.Voter) bool {
	return slices.Equal(x.Endpoints, y.Endpoints) && x.LeastKRaftVersion == y.LeastKRaftVersion && x.MostKRaftVersion == y.MostKRaftVersion
}

// moveRequest names no epoch (-1): whoever is not reached does not know it.
func (a *Actor) moveRequest(me batch.Voter) *kmsg.UpdateRaftVoterRequest {
	req := kmsg.NewPtrUpdateRaftVoterRequest()
	req.ClusterID, req.CurrentLeaderEpoch, req.VoterID, req.VoterDirectoryID = &a.deps.ClusterID, -1, int32(me.ID), me.DirectoryID
	for _, e := range me.Endpoints {
		l := kmsg.NewUpdateRaftVoterRequestListener()
		l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
		req.Listeners = append(req.Listeners, l)
	}
	req.KRaftVersionFeature.MinSupportedVersion, req.KRaftVersionFeature.MaxSupportedVersion = me.LeastKRaftVersion, me.MostKRaftVersion
	return req
}

// UpdatedVoter reads what a request says of its voter.
func UpdatedVoter(body *kmsg.UpdateRaftVoterRequest) batch.Voter {
	v := batch.Voter{
		ID: model.BrokerID(body.VoterID), DirectoryID: body.VoterDirectoryID,
		LeastKRaftVersion: body.KRaftVersionFeature.MinSupportedVersion, MostKRaftVersion: body.KRaftVersionFeature.MaxSupportedVersion,
	}
	for _, l := range body.Listeners {
		v.Endpoints = append(v.Endpoints, batch.VoterEndpoint{Name: l.Name, Host: l.Host, Port: l.Port})
	}
	return v
}

// updateVoter records the listeners and the versions of a voter. What is on record already is not written again.
func (a *Actor) updateVoter(r *Request, body *kmsg.UpdateRaftVoterRequest) {
	updated, next := UpdatedVoter(body), slices.Clone(a.raft.Voters())
	key := quorum.VoterKey{ID: updated.ID, Directory: updated.DirectoryID}
	i := findVoter(next, key)
	named := slices.ContainsFunc(updated.Endpoints, func(e batch.VoterEndpoint) bool { return e.Name == a.deps.Config.Quorum.Listener })
	err := a.revisable(body.ClusterID)
	switch code := a.serves(body.CurrentLeaderEpoch); {
	case err != nil:
	case code != kerr.None:
		err = code
	case !named:
		err = &kerr.Error{Code: kerr.InvalidRequest, Detail: fmt.Sprintf("%s has no listener %s, at which the quorum's nodes reach each other", key, a.deps.Config.Quorum.Listener)}
	case a.kraftVersion < updated.LeastKRaftVersion || a.kraftVersion > updated.MostKRaftVersion:
		err = &kerr.Error{Code: kerr.InvalidRequest, Detail: fmt.Sprintf("%s does not support kraft.version %d", key, a.kraftVersion)}
	case i < 0:
		err = &kerr.Error{Code: kerr.VoterNotFound, Detail: fmt.Sprintf("%s is no voter", key)}
	case sameVoter(next[i], updated):
		r.Reply(votersReply(body, nil))
		return
	default:
		next[i] = updated
	}
	a.revising(r, next, err)
}
