package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// elder is a member of the classic protocol beside reporters: in a classic group when those are gone, in a consumer group
// else. It is an eager one: it has nothing while it joins.
type elder struct {
	possession
	member     string // the id that it was given
	generation int32
	leads      []string // the members to assign to, of a leader that has not synced
	synced     bool
	waiting    bool
}

func (g *gathering) all() []*possession {
	var all []*possession
	for _, m := range g.members {
		all = append(all, &m.possession)
	}
	for _, m := range g.elders {
		all = append(all, &m.possession)
	}
	return all
}

func (g *gathering) chanceElder(m *elder, leave bool) {
	if leave && m.member != "" && !m.waiting {
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Group, r.MemberID = "g", m.member
		m.reset()
		g.ask(r, 2, func(kmsg.Response) {})
		return
	}
	g.actElder(m)
}

// actElder does what the member's client would do next.
func (g *gathering) actElder(m *elder) {
	switch {
	case m.waiting:
	case m.generation == 0:
		g.joinElder(m)
	case !m.synced:
		g.syncElder(m)
	default:
		g.beatElder(m)
	}
}

func (m *elder) reset() {
	clear(m.owns)
	m.member, m.generation, m.leads, m.synced = "", 0, nil, false
}

// heed follows an error as clients do.
func (m *elder) heed(code int16) {
	switch kerr.Code(code) {
	case kerr.None:
	case kerr.UnknownMemberID:
		m.reset()
	case kerr.IllegalGeneration, kerr.RebalanceInProgress:
		clear(m.owns)
		m.generation, m.leads, m.synced = 0, nil, false
	}
}

func (g *gathering) joinElder(m *elder) {
	s := kmsg.NewConsumerMemberMetadata()
	s.Topics = []string{"t"}
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.ProtocolType = "g", m.member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30_000, int32(reporterRebalance.Milliseconds())
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: s.AppendTo(nil)}}
	m.waiting = true
	sent := g.stage.now
	g.ask(r, 5, func(resp kmsg.Response) {
		m.waiting = false
		j := resp.(*kmsg.JoinGroupResponse)
		m.heed(j.ErrorCode)
		switch kerr.Code(j.ErrorCode) {
		case kerr.MemberIDRequired:
			m.member = j.MemberID
		case kerr.None:
			m.member, m.generation, m.heard = j.MemberID, j.Generation, sent
			for _, each := range j.Members {
				m.leads = append(m.leads, each.MemberID)
			}
		}
	})
}

// syncElder assigns when it leads: each partition that there is to one of the members, in turns.
func (g *gathering) syncElder(m *elder) {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.MemberID, r.Generation = "g", m.member, m.generation
	if topic, there := g.stage.metadata.current.Topic("t"); there {
		for i, id := range m.leads {
			a := kmsg.NewConsumerMemberAssignment()
			one := kmsg.NewConsumerMemberAssignmentTopic()
			one.Topic = "t"
			for n := i; n < len(topic.Partitions); n += len(m.leads) {
				one.Partitions = append(one.Partitions, int32(n))
			}
			a.Topics = append(a.Topics, one)
			r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: a.AppendTo(nil)})
		}
	}
	m.waiting = true
	sent := g.stage.now
	g.ask(r, 3, func(resp kmsg.Response) {
		m.waiting = false
		s := resp.(*kmsg.SyncGroupResponse)
		m.heed(s.ErrorCode)
		if s.ErrorCode != 0 {
			return
		}
		var a kmsg.ConsumerMemberAssignment
		if err := a.ReadFrom(s.MemberAssignment); err != nil && len(s.MemberAssignment) > 0 {
			g.t.Fatalf("an assignment cannot be read: %v", err)
		}
		m.synced, m.heard = true, sent
		for _, t := range a.Topics {
			for _, n := range t.Partitions {
				p := topicPartition{idOf(t.Topic), n}
				m.owns[p] = true
				g.shared++
				g.expectAlone(&m.possession, p)
			}
		}
	})
}

func (g *gathering) beatElder(m *elder) {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = "g", m.member, m.generation
	m.waiting = true
	sent := g.stage.now
	g.ask(r, 4, func(resp kmsg.Response) {
		m.waiting = false
		h := resp.(*kmsg.HeartbeatResponse)
		m.heed(h.ErrorCode)
		if h.ErrorCode == 0 {
			m.heard = sent
		}
	})
}
