package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/codec/kerr"
)

// replaceStatic gives a static member that came back without its member id a new one (KIP-345). The old id is fenced. A
// stable group goes on as it is, unless the members would now choose another protocol.
func (m *Machine) replaceStatic(w *waiter, c coordinator.Client, g *classic, p *member, id string, r *kmsg.JoinGroupRequest) {
	formerLeader := g.leader
	m.release(p, kerr.FencedInstanceID)
	p.fresh = false
	m.rename(g, p, id)
	m.extend(g, p) // by the session timeout of before; a new one counts from the next heartbeat (measured)
	p.client = c
	m.rejoin(g, p, w, r)
	switch g.state {
	case stable:
		if g.elect() != g.chosen {
			m.prepare(g)
			return
		}
		p.joining = nil
		g.topics = g.subscriptions()
		m.recordState(g)
		m.reply(w, g.staticReply(r, p, formerLeader))
	case completing:
		// The leader may be assigning to the old id.
		m.prepare(g)
	default:
		m.maybeCompleteJoin(g)
	}
}

// rename gives a member another id. It keeps its place: what it was assigned, whether it leads, whether it has synced.
func (m *Machine) rename(g *classic, p *member, id string) {
	m.timers.Cancel(timer{sessionTimer, g.id, p.id})
	delete(g.byID, p.id)
	if g.unsynced[p.id] {
		delete(g.unsynced, p.id)
		g.unsynced[id] = true
	}
	if g.leader == p.id {
		g.leader = id
	}
	p.id = id
	g.byID[id], g.instances[*p.instance] = p, id
}

// staticReply lets a leader that came back go on leading without an assignment since version 9 (KIP-814). Older ones
// are told that the leader is somebody else, their own former id, so that they do not assign.
func (g *classic) staticReply(r *kmsg.JoinGroupRequest, p *member, formerLeader string) *kmsg.JoinGroupResponse {
	leads := g.leader == p.id
	if r.Version < 9 {
		resp := g.joinReply(r, p, false)
		resp.LeaderID = formerLeader
		return resp
	}
	resp := g.joinReply(r, p, leads)
	resp.SkipAssignment = leads
	return resp
}
