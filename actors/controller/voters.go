package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// revision is a change of the set of voters that is not committed yet; there is one at a time (KIP-853).
type revision struct {
	request *Request
	at      model.Offset // of its KRAFT_VOTERS record
	epoch   model.LeaderEpoch
}

// caughtUpWithin is how long ago a node must have had the whole log to become a voter: one that is behind would count towards
// the majority that nothing is committed without.
const caughtUpWithin = 5 * time.Second

// addVoter takes a node into the quorum that has followed it as an observer.
func (a *Actor) addVoter(ctx *kit.Context, r *Request, body *kmsg.AddRaftVoterRequest) {
	key := quorum.VoterKey{ID: model.BrokerID(body.VoterID), Directory: body.VoterDirectoryID}
	next := slices.Clone(a.raft.Voters())
	added := batch.Voter{ID: key.ID, DirectoryID: key.Directory, MostKRaftVersion: 1}
	for _, l := range body.Listeners {
		added.Endpoints = append(added.Endpoints, batch.VoterEndpoint{Name: l.Name, Host: l.Host, Port: l.Port})
	}
	err := a.revisable(body.ClusterID)
	switch {
	case err != nil:
	case slices.ContainsFunc(next, func(v batch.Voter) bool { return v.ID == key.ID }):
		err = &kerr.Error{Code: kerr.DuplicateVoter, Detail: fmt.Sprintf("The voter id for %s is already part of the set of voters.", key)}
	case !a.copies.fresh(key, ctx.Now()):
		err = &kerr.Error{Code: kerr.RequestTimedOut, Detail: fmt.Sprintf("%s does not follow the metadata log, or has not caught up with it", key)}
	}
	a.revising(r, append(next, added), err)
}

// removeVoter takes a voter out of the quorum. A leader has another one lead first, which takes it out then: were it to remove
// itself, the others would need it until they have heard that this is committed, and of two voters the one that stays hears
// that from nobody else.
func (a *Actor) removeVoter(ctx *kit.Context, r *Request, body *kmsg.RemoveRaftVoterRequest) {
	key := quorum.VoterKey{ID: model.BrokerID(body.VoterID), Directory: body.VoterDirectoryID}
	next := slices.Clone(a.raft.Voters())
	i := slices.IndexFunc(next, func(v batch.Voter) bool { return v.ID == key.ID && v.DirectoryID == key.Directory })
	err := a.revisable(body.ClusterID)
	switch {
	case err != nil:
	case i < 0:
		err = &kerr.Error{Code: kerr.VoterNotFound, Detail: fmt.Sprintf("Cannot remove voter %s from the set of voters.", key)}
	case len(next) == 1:
		err = &kerr.Error{Code: kerr.InvalidRequest, Detail: "the last voter cannot be removed"}
	case key == a.raft.Self() && a.raft.HandOver():
		a.park(ctx, r)
		a.retryLater(ctx)
		return
	default:
		next = slices.Delete(next, i, i+1)
	}
	a.revising(r, next, err)
}

// revisable tells whether the set of voters can be changed now.
func (a *Actor) revisable(clusterID *string) error {
	switch {
	case clusterID != nil && *clusterID != a.deps.ClusterID:
		return kerr.InconsistentClusterID
	case a.kraftVersion == 0:
		return &kerr.Error{Code: kerr.UnsupportedVersion, Detail: "the voters are named by controller.quorum.voters (kraft.version 0) and cannot be changed"}
	case a.revision != nil:
		return &kerr.Error{Code: kerr.RequestTimedOut, Detail: "another change of the voters is under way"}
	}
	return nil
}

// revising proposes the next set, or answers why not. The answer comes when it is committed.
func (a *Actor) revising(r *Request, next []batch.Voter, err error) {
	at := a.raft.End()
	if err == nil {
		err = a.raft.ProposeVoters(next)
	}
	if err != nil {
		r.Reply(votersReply(r.Body, err))
		return
	}
	a.revision = &revision{r, at, a.leading().Epoch}
}

// revised answers the change if it is committed now. It comes before the news that this node leads no more, since a leader
// that is removed steps down as soon as that is committed.
func (a *Actor) revised(committed []quorum.Entry) {
	for _, e := range committed {
		if v := a.revision; v != nil && v.at == e.Offset && v.epoch == e.Epoch {
			a.revision = nil
			v.request.Reply(votersReply(v.request.Body, nil))
		}
	}
}

// votersReply is the reply to a change of voters.
func votersReply(body kmsg.Request, err error) kmsg.Response {
	code, text := kerr.Of(err)
	var message *string
	if err == nil {
		code = kerr.None
	} else if message = &text; text == "" {
		message = kmsg.StringPtr(code.Error())
	}
	resp := body.ResponseKind()
	resp.SetVersion(body.GetVersion())
	switch resp := resp.(type) {
	case *kmsg.AddRaftVoterResponse:
		resp.ErrorCode, resp.ErrorMessage = int16(code), message
	case *kmsg.RemoveRaftVoterResponse:
		resp.ErrorCode, resp.ErrorMessage = int16(code), message
	case *kmsg.UpdateRaftVoterResponse:
		resp.ErrorCode = int16(code)
	}
	return resp
}

// fresh tells whether a node had the whole log a moment ago.
func (c *copies) fresh(k quorum.VoterKey, now time.Time) bool {
	return slices.ContainsFunc(c.list, func(r *logCopy) bool {
		return r.key == k && !r.caughtUp.IsZero() && now.Sub(r.caughtUp) < caughtUpWithin
	})
}
