package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/private"
	"troupe/internal/model"
)

// lost says that messages to a voter did not arrive.
type lost struct {
	term *term
	to   quorum.VoterKey
}

func (*lost) MessageKind() string { return "controller.lost" }

// watchLinks asks to be told of the links to other nodes, in each incarnation.
func (a *Actor) watchLinks(ctx *kit.Context) {
	if !a.deps.Links.IsZero() {
		ctx.Send(a.deps.Links, &peer.Watch{Watcher: ctx.Self()})
	}
}

// follow goes by the present set of voters: with others there are ticks and links, alone there are none.
func (a *Actor) follow(ctx *kit.Context) {
	if !a.deps.Links.IsZero() {
		know := &peer.Know{Source: "voters"}
		for _, v := range a.voters() {
			if at := a.addressOf(v); v.ID != a.deps.Config.NodeID && at != (peer.Address{}) {
				know.Nodes = append(know.Nodes, peer.Node{ID: v.ID, Controller: at})
			}
		}
		ctx.Send(a.deps.Links, know)
	}
	if a.raft == nil || a.raft.Alone() {
		if a.ticker != nil {
			a.ticker.stop()
			a.ticker = nil
		}
		return
	}
	if a.ticker == nil {
		a.ticker = &ticker{clock: a.deps.Clock, every: a.pace(), actor: ctx.Self()}
		a.deps.Clock.AfterFunc(a.ticker.every, a.ticker.fire)
	}
}

// voters are those of this node's log, or nodes that may know them.
func (a *Actor) voters() []batch.Voter {
	if a.raft != nil {
		return a.raft.Voters()
	}
	return a.askable()
}

// addressOf is where a voter's controller listens: as it is recorded, or, with kraft.version 0, configured.
func (a *Actor) addressOf(v batch.Voter) peer.Address {
	endpoints := v.Endpoints
	if told, ok := a.elsewhere[quorum.VoterKey{ID: v.ID, Directory: v.DirectoryID}]; ok {
		endpoints = told
	}
	for _, e := range endpoints {
		if e.Name == a.deps.Config.Quorum.Listener {
			return peer.Address{Host: e.Host, Port: e.Port}
		}
	}
	for _, named := range a.deps.Config.Quorum.Voters {
		if named.ID == v.ID {
			return named.Endpoint
		}
	}
	return peer.Address{}
}

// receive takes another voter's messages. What cannot be read is logged and dropped: raft sends again what matters.
func (a *Actor) receive(ctx *kit.Context, m *Raft) {
	switch {
	case len(m.Messages) == 0:
		a.retire(ctx, m.From)
		return
	case a.raft == nil && a.retired: // whoever leads counts on this node's vote all the same
		a.retired = false
		a.startOver(ctx, 0)
		return
	case a.raft == nil:
		return
	case a.machine.Leading() && a.revision == nil && a.kraftVersion > 0 && !a.isVoter(m.From):
		a.dismiss(ctx, m.From)
		return
	}
	for _, payload := range m.Messages {
		if err := a.raft.Step(m.From, payload); err != nil {
			a.deps.Log.Warn("a message of the quorum is not understood", "from", m.From.String(), "err", err)
		}
	}
	a.hear(m.From, ctx.Now())
}

// dismiss tells a node that asks for votes, or answers, that it has none any more: it was away when that was committed, and
// nobody sends it the log since. A request without a message says so.
func (a *Actor) dismiss(ctx *kit.Context, to quorum.VoterKey) {
	self := a.raft.Self()
	a.deps.Peers.SendCaused(ctx.Cause(), to.ID, &peer.Call{
		Link: peer.Controller, Done: func(kmsg.Response, error) {},
		Body: &private.RaftRequest{FromID: self.ID, FromDirectory: self.Directory, ToID: to.ID, ToDirectory: to.Directory},
	})
}

// retire has this node follow the log as one without a vote, which can do no harm if the word was an old one. A leader knows
// better, and whom this node's log does not know as a voter has nothing to say.
func (a *Actor) retire(ctx *kit.Context, by quorum.VoterKey) {
	if a.raft == nil || a.raft.Leadership().Self || a.raft.Leadership().Leader != quorum.NoVoter || !a.isVoter(by) {
		return
	}
	a.deps.Log.Info("this node has no vote any more, says the leader of the quorum", "leader", by.String())
	a.retired = true
	a.startOver(ctx, 0)
}

// send passes on what has gathered, all that goes to one voter in one call.
func (a *Actor) send(ctx *kit.Context) {
	for len(a.outbox) > 0 {
		to := a.outbox[0].To
		call := &private.RaftRequest{ToID: to.ID, ToDirectory: to.Directory}
		rest := a.outbox[:0]
		for _, m := range a.outbox {
			if m.To == to {
				call.Messages = append(call.Messages, m.Payload)
			} else {
				rest = append(rest, m)
			}
		}
		a.outbox = rest
		if to == quorum.NoVoter {
			continue
		}
		self := a.raft.Self()
		call.FromID, call.FromDirectory = self.ID, self.Directory
		actor, now := ctx.Self(), a.term
		a.deps.Peers.SendCaused(ctx.Cause(), to.ID, &peer.Call{Link: peer.Controller, Body: call, Done: func(_ kmsg.Response, err error) {
			if err != nil {
				actor.Send(&lost{now, to})
			}
		}})
	}
}

func (a *Actor) lose(m *lost) {
	if m.term == a.term && a.raft != nil {
		a.raft.Unreachable(m.to)
	}
}

// absences are the nodes whose links were reset and whose reconnection was refused: their process has ended. It outlives
// the terms, since it is told once.
type absences struct{ ids []model.BrokerID }

func (s *absences) add(id model.BrokerID) {
	if !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
}

func (s *absences) remove(id model.BrokerID) {
	s.ids = slices.DeleteFunc(s.ids, func(other model.BrokerID) bool { return other == id })
}

// linkUp goes on with what waited for the node.
func (a *Actor) linkUp(ctx *kit.Context, m *peer.Up) {
	a.absent.remove(m.ID)
	if m.Link == peer.Controller {
		a.met[m.ID] = m.Node.Incarnation
	}
	if a.observer != nil && m.ID == a.observer.leader {
		a.desk.news = true
	}
	if a.raft != nil && m.Link == peer.Controller && a.raft.Leadership().Leader.ID == m.ID {
		a.desk.news = true
	}
}

// linkDown acts on the evidence that a node's process has ended: a follower forgets it as its leader, and the active
// controller fences it.
func (a *Actor) linkDown(ctx *kit.Context, m *peer.Down) {
	if m.Link == peer.Controller {
		delete(a.met, m.ID)
	}
	if !m.Refused || m.ID == a.deps.Config.NodeID {
		return
	}
	a.absent.add(m.ID) // for later, where this node does not lead, or has not read its files yet
	a.desk.news = a.desk.news || a.bereft()
	if a.raft == nil {
		return
	}
	if l := a.raft.Leadership(); !l.Self && l.Leader.ID == m.ID && m.Link == peer.Controller && a.raft.Votes() {
		a.raft.ForgetLeader()
		a.prepareToStand(ctx, m.ID)
	}
	if a.machine.Leading() {
		a.effects(ctx, a.machine.Fence(m.ID))
	}
}

// bereft tells that the processes of so many voters have ended that nobody can be elected before one is started again.
func (a *Actor) bereft() bool {
	if a.log == nil || len(a.absent.ids) == 0 {
		return false
	}
	voters, gone := a.voters(), 0
	for _, v := range voters {
		if slices.Contains(a.absent.ids, v.ID) {
			gone++
		}
	}
	return len(voters)-gone <= len(voters)/2
}

// fenceAbsent fences who went before this node led, such as the leader before it.
func (a *Actor) fenceAbsent(ctx *kit.Context) {
	for _, id := range a.absent.ids {
		a.effects(ctx, a.machine.Fence(id))
	}
}
