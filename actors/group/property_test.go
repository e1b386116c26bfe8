package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// participant is a well-behaved member: it joins, syncs, heartbeats and commits as clients do, at a pace of chance.
type participant struct {
	name       string
	id         string
	generation int32
	leading    []string // the members to assign to, of a leader that has not synced
	assigned   string   // the partition numbers that it owns, one character each
	waiting    bool
	rejoin     bool // was told to join again
}

// crowd is a group of consumers over a log that keeps what it is given, with a model of what was promised:
//
//  1. while two members own partitions of one generation, no partition has two owners;
//  2. a member is never told a generation below one that it was assigned in before, in this life of its group;
//  3. an offset that was acknowledged is fetched, until a later one is;
//  4. a request has one answer at most, and has it once time has passed.
type crowd struct {
	t       *testing.T
	stage   *stage
	members []*participant
	owners  map[int32]map[rune]string // by generation
	highest int32
	acked   int64
	offset  int64
	tokens  map[coordinator.Token]func(kmsg.Response)
	next    coordinator.Token
}

func TestAGroupKeepsItsPromisesWhateverItsMembersDo(t *testing.T) {
	assigned := 0
	for seed := range uint64(400) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { assigned += crowded(t, rand.New(rand.NewPCG(seed, 0))) })
	}
	if assigned < 1000 {
		t.Errorf("a generation was assigned %d times in all: nothing is tested", assigned)
	}
}

// crowded runs one crowd, and gives how many generations were assigned.
func crowded(t *testing.T, chance *rand.Rand) int {
	c := &crowd{t: t, stage: &stage{t: t, metadata: newMetadata(t), random: &counter{}, now: time.UnixMilli(1_000_000)}, owners: map[int32]map[rune]string{}, tokens: map[coordinator.Token]func(kmsg.Response){}}
	c.load()
	for i := range 4 {
		c.members = append(c.members, &participant{name: fmt.Sprint("m", i), generation: -1})
	}
	for range 500 {
		some := c.members[chance.IntN(len(c.members))]
		switch n := chance.IntN(200); {
		case n < 110:
			c.act(some)
		case n < 160:
			c.written()
		case n < 185:
			c.wait(time.Duration(chance.IntN(2000)) * time.Millisecond)
		case n < 190:
			c.fetch()
		case n < 192:
			c.join(some)
		case n < 194:
			c.leave(some)
		case n < 195:
			c.wait(time.Duration(chance.IntN(30)) * time.Second)
		case n < 197:
			c.refused()
		default:
			c.restart()
		}
	}
	c.written()
	c.wait(10 * time.Minute)
	c.written()
	c.fetch()
	if len(c.tokens) > 0 {
		t.Fatalf("%d requests have no answer", len(c.tokens))
	}
	return len(c.owners)
}

// act does what the member's client would do next.
func (c *crowd) act(m *participant) {
	switch {
	case m.waiting:
	case m.rejoin || m.generation < 0:
		c.join(m)
	case m.assigned == "":
		c.sync(m)
	default:
		c.heartbeat(m)
		c.commit(m)
	}
}

func (c *crowd) load() {
	s := c.stage
	s.machine = New(Options{
		SessionMin: time.Second, SessionMax: time.Hour, InitialDelay: 3 * time.Second, MembersMax: 10, MetadataMax: 10,
		Retention: 7 * 24 * time.Hour, RetentionCheck: 24 * time.Hour, Random: s.random, Consumer: reporterOptions,
	})
	s.log = s.log[:s.upTo]
	s.machine.Committed(s.at(), s.upTo)
	for i, r := range s.log {
		if err := s.machine.Replay(coordinator.Origin{Offset: model.Offset(i), ProducerID: model.NoProducerID}, r); err != nil {
			c.t.Fatal(err)
		}
	}
	c.take(s.machine.Loaded(s.at()))
	c.take(s.machine.Metadata(s.at(), image.Delta{To: s.metadata.current}))
}

func (c *crowd) ask(body kmsg.Request, version int16, then func(kmsg.Response)) {
	body.SetVersion(version)
	c.next++
	c.tokens[c.next] = then
	c.stage.asked = append(c.stage.asked, asked{body: body})
	c.take(c.stage.machine.Handle(c.stage.at(), c.next, coordinator.Call{Client: coordinator.Client{ID: "c"}, Body: body}))
}

// take parks replies behind what is not committed, as the frame does.
func (c *crowd) take(e coordinator.Effects) {
	s := c.stage
	s.log = append(s.log, e.Append...)
	for _, r := range e.Now {
		c.give(r)
	}
	for _, r := range e.Replies {
		if s.upTo == model.Offset(len(s.log)) {
			c.give(r)
		} else {
			s.parked = append(s.parked, parked{model.Offset(len(s.log)), r})
		}
	}
}

func (c *crowd) give(r coordinator.Reply) {
	then := c.tokens[r.Token]
	if then == nil {
		c.t.Fatalf("token %d is answered twice", r.Token)
	}
	delete(c.tokens, r.Token)
	then(r.Response)
}

func (c *crowd) written() {
	s := c.stage
	for s.upTo < model.Offset(len(s.log)) || len(s.parked) > 0 {
		s.upTo = model.Offset(len(s.log))
		ready := s.parked
		s.parked = nil
		for _, p := range ready {
			c.give(p.reply)
		}
		c.take(s.machine.Committed(s.at(), s.upTo))
	}
}

func (c *crowd) refused() {
	s := c.stage
	if s.upTo == model.Offset(len(s.log)) {
		return
	}
	lost := s.parked
	s.parked, s.log = nil, s.log[:s.upTo]
	for _, p := range lost {
		c.give(coordinator.Reply{Token: p.reply.Token, Response: Refuse(c.body(p.reply.Token), kerr.CoordinatorNotAvailable)})
	}
	c.take(s.machine.Rollback(s.at(), s.upTo, kerr.CoordinatorNotAvailable))
}

func (c *crowd) body(t coordinator.Token) kmsg.Request { return c.stage.asked[t-1].body }

// restart loses what is not committed and everybody who waits.
func (c *crowd) restart() {
	c.stage.parked = nil
	var open []coordinator.Token
	for t := range c.tokens {
		open = append(open, t)
	}
	slices.Sort(open)
	for _, t := range open {
		c.give(coordinator.Reply{Token: t, Response: Refuse(c.body(t), kerr.NotCoordinator)})
	}
	c.highest = 0 // a generation that was told but not recorded may come again
	c.load()
}

func (c *crowd) wait(d time.Duration) {
	s := c.stage
	for end := s.now.Add(d); ; {
		next := s.machine.Next()
		if next.IsZero() || next.After(end) {
			s.now = end
			return
		}
		s.now = next
		c.take(s.machine.Due(s.at()))
	}
}

func (c *crowd) join(m *participant) {
	if m.waiting {
		return
	}
	m.waiting, m.rejoin = true, false
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = "g", m.id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 20_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte(m.name)}}
	c.ask(req, 9, func(r kmsg.Response) {
		m.waiting = false
		resp := r.(*kmsg.JoinGroupResponse)
		switch kerr.Code(resp.ErrorCode) {
		case kerr.None:
			m.generation, m.assigned, m.leading = resp.Generation, "", nil
			if resp.LeaderID == resp.MemberID {
				for _, each := range resp.Members {
					m.leading = append(m.leading, each.MemberID)
				}
			}
			if resp.Generation < c.highest {
				c.t.Fatalf("generation %d comes after %d", resp.Generation, c.highest)
			}
		case kerr.MemberIDRequired:
			m.id = resp.MemberID
		case kerr.UnknownMemberID:
			m.reset()
		}
	})
}

// heed follows an error as clients do.
func (m *participant) heed(code int16) {
	switch kerr.Code(code) {
	case kerr.UnknownMemberID:
		m.reset()
	case kerr.IllegalGeneration, kerr.RebalanceInProgress:
		m.rejoin = true
	}
}

func (m *participant) reset() { m.id, m.generation, m.assigned, m.leading = "", -1, "", nil }

// partitions are those of the topic.
const partitions = "012345"

func (c *crowd) sync(m *participant) {
	if m.waiting || m.generation < 0 || m.assigned != "" {
		return
	}
	m.waiting = true
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = "g", m.id, m.generation
	share := map[string]string{}
	for i, p := range partitions {
		if len(m.leading) > 0 {
			share[m.leading[i%len(m.leading)]] += string(p)
		}
	}
	for _, id := range m.leading {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(share[id])})
	}
	c.ask(req, 3, func(r kmsg.Response) {
		m.waiting = false
		resp := r.(*kmsg.SyncGroupResponse)
		m.heed(resp.ErrorCode)
		if resp.ErrorCode == 0 {
			m.assigned = string(resp.MemberAssignment)
			c.own(m)
		}
	})
}

// own checks that nobody else was given the same in this generation.
func (c *crowd) own(m *participant) {
	c.highest = max(c.highest, m.generation)
	if c.owners[m.generation] == nil {
		c.owners[m.generation] = map[rune]string{}
	}
	for _, p := range m.assigned {
		if other := c.owners[m.generation][p]; other != "" && other != m.id {
			c.t.Fatalf("in generation %d partition %c belongs to %s and to %s", m.generation, p, other, m.id)
		}
		c.owners[m.generation][p] = m.id
	}
}

func (c *crowd) heartbeat(m *participant) {
	if m.generation < 0 {
		return
	}
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = "g", m.id, m.generation
	c.ask(req, 4, func(r kmsg.Response) {
		if !m.waiting {
			m.heed(r.(*kmsg.HeartbeatResponse).ErrorCode)
		}
	})
}

// commit commits ever higher offsets of one partition, if the member owns it.
func (c *crowd) commit(m *participant) {
	if len(m.assigned) == 0 || m.assigned[0] != partitions[0] {
		return
	}
	c.offset++
	offset := c.offset
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = "g", m.id, m.generation
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: offset}}}}
	c.ask(req, 8, func(r kmsg.Response) {
		if r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode == 0 {
			c.acked = max(c.acked, offset)
		}
	})
}

func (c *crowd) leave(m *participant) {
	if m.id == "" || m.waiting {
		return
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = "g", m.id
	m.reset()
	c.ask(req, 2, func(kmsg.Response) {})
}

func (c *crowd) fetch() {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Topics = "g", []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	c.ask(req, 7, func(r kmsg.Response) {
		got := r.(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0].Offset
		if got < c.acked && !(c.acked == 0 && got == -1) {
			c.t.Fatalf("offset %d was acknowledged, %d is fetched", c.acked, got)
		}
	})
}
