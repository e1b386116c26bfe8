package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// member is a member of a group of the consumer protocol (KIP-848): it consumes what it is given, commits as it goes, and
// lets go of what it is asked to, after its last commit. No reading is done: what counts is where a group goes on.
type member struct {
	*client
	group       *consumerGroup
	id          string
	coordinator int
	epoch       int32
	// positions are where it has come in the partitions that it has; -1 until it knows where to begin.
	positions map[int32]int64
	target    []int32 // what it was given last
	busy      bool    // a commit is under way: nothing is let go of meanwhile
	life      int     // counts how often it joined; answers to an earlier one do not matter
}

// consumerGroup is what all members of a group share: the truth about what was committed.
//
// Invariant: what a member is told to begin at is not below what any member was told is committed.
type consumerGroup struct {
	world     *World
	name      string
	topic     string
	committed map[int32]int64
	members   []*member
}

func newConsumerGroup(w *World, topic string, size int) *consumerGroup {
	g := &consumerGroup{world: w, name: "consumers-" + topic, topic: topic, committed: map[int32]int64{}}
	for i := range size {
		m := &member{client: newClient(w, firstClient+w.random.IntN(clientMachines)), group: g, id: fmt.Sprintf("m%d", i), positions: map[int32]int64{}}
		g.members = append(g.members, m)
		w.after(w.between(0, 3*time.Second), m.find)
	}
	return g
}

// find asks any broker for the coordinator, and goes on as the member that it was.
func (m *member) find() {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKeys = 4, []string{m.group.name}
	m.call(m.anyBroker(), req, func(resp kmsg.Response, err error) {
		if err != nil {
			m.world.after(m.pause(), m.find)
			return
		}
		c := resp.(*kmsg.FindCoordinatorResponse).Coordinators[0]
		if c.ErrorCode != 0 {
			m.expect(kerr.Code(c.ErrorCode))
			m.world.after(m.pause(), m.find)
			return
		}
		m.coordinator = int(c.NodeID)
		m.refresh(m.beat)
	})
}

func (m *member) pause() time.Duration {
	return m.world.between(50*time.Millisecond, 300*time.Millisecond)
}

// rejoin begins anew after the coordinator has given the member up: all that it had may be somebody else's.
func (m *member) rejoin() {
	m.world.note("group", "%s joins again", m.name())
	m.epoch, m.positions, m.target, m.busy = 0, map[int32]int64{}, nil, false
	m.life++
	m.world.after(m.pause(), m.find)
}

func (m *member) name() string { return m.group.name + "/" + m.id }

// beat sends a heartbeat: it joins, reports what is held, and hears what to hold.
func (m *member) beat() {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, m.group.name, m.id, m.epoch
	if m.epoch == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 5000, []string{m.group.topic}
	}
	held := kmsg.NewConsumerGroupHeartbeatRequestTopic()
	held.TopicID, held.Partitions = m.ids[m.group.topic], slices.Sorted(maps.Keys(m.positions))
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if len(held.Partitions) > 0 {
		req.Topics = append(req.Topics, held)
	}
	life := m.life
	m.call(m.coordinator, req, func(resp kmsg.Response, err error) {
		if life != m.life {
			return
		}
		if err != nil {
			m.world.after(m.pause(), m.find)
			return
		}
		m.heard(resp.(*kmsg.ConsumerGroupHeartbeatResponse))
	})
}

func (m *member) heard(resp *kmsg.ConsumerGroupHeartbeatResponse) {
	switch code := kerr.Code(resp.ErrorCode); code {
	case kerr.None:
	case kerr.UnknownMemberID, kerr.FencedMemberEpoch:
		m.rejoin()
		return
	default:
		m.expect(code)
		m.world.after(m.pause(), m.find)
		return
	}
	m.epoch = resp.MemberEpoch
	if a := resp.Assignment; a != nil {
		m.target = nil
		for _, t := range a.Topics {
			m.target = append(m.target, t.Partitions...)
		}
	}
	m.adopt()
	m.consume()
	life := m.life
	m.world.after(m.world.between(200*time.Millisecond, time.Second), func() {
		if life == m.life {
			m.beat()
		}
	})
}

// adopt takes what is new and lets go of what is no longer given, unless a commit of it is under way.
func (m *member) adopt() {
	for _, p := range slices.Sorted(maps.Keys(m.positions)) {
		if !slices.Contains(m.target, p) && !m.busy {
			delete(m.positions, p)
		}
	}
	for _, p := range m.target {
		if _, has := m.positions[p]; !has {
			m.positions[p] = -1
		}
	}
}

// consume goes on in one of the partitions, or asks where to begin in one that is new.
func (m *member) consume() {
	mine := slices.DeleteFunc(slices.Sorted(maps.Keys(m.positions)), func(p int32) bool { return !slices.Contains(m.target, p) })
	if m.busy || len(mine) == 0 {
		return
	}
	p := mine[m.world.random.IntN(len(mine))]
	if m.positions[p] < 0 {
		m.begin(p)
		return
	}
	m.commit(p, m.positions[p]+1+m.world.random.Int64N(5))
}

// ours tells whether the answer to a request of the member is still its own business.
func (m *member) ours(life int) bool {
	if life == m.life {
		m.busy = false
	}
	return life == m.life
}

func (m *member) begin(p int32) {
	least := m.group.committed[p]
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 9, true
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group, group.MemberID, group.MemberEpoch = m.group.name, &m.id, m.epoch
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = m.group.topic, []int32{p}
	group.Topics = append(group.Topics, t)
	req.Groups = append(req.Groups, group)
	m.busy = true
	life := m.life
	m.call(m.coordinator, req, func(resp kmsg.Response, err error) {
		if !m.ours(life) || err != nil {
			return
		}
		got := resp.(*kmsg.OffsetFetchResponse).Groups[0]
		if got.ErrorCode != 0 || got.Topics[0].Partitions[0].ErrorCode != 0 {
			return // the next heartbeat tells what it is about
		}
		at := max(0, got.Topics[0].Partitions[0].Offset)
		if at < least && !m.world.checks.losses.offsets {
			m.world.fail("%s: partition %d is begun at %d, committed was %d", m.name(), p, at, least)
		}
		if _, has := m.positions[p]; has {
			m.positions[p] = at
		}
	})
}

func (m *member) commit(p int32, at int64) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation, req.MemberID = 9, m.group.name, m.epoch, m.id
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Partition, part.Offset, part.LeaderEpoch = p, at, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = m.group.topic, append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	m.busy = true
	life := m.life
	m.positions[p] = at
	m.call(m.coordinator, req, func(resp kmsg.Response, err error) {
		if err == nil && resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode == 0 {
			if at < m.group.committed[p] && !m.world.checks.losses.offsets {
				m.world.fail("%s: a commit of partition %d at %d is taken after one at %d", m.name(), p, at, m.group.committed[p])
			}
			m.group.committed[p] = at
		}
		m.ours(life)
	})
}
