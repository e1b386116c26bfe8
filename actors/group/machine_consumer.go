package group

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/coordinator/timeline"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// consumer is a group of the consumer protocol (KIP-848): the coordinator assigns, and each member moves to the target at
// its own pace.
//
//	head.epoch        counts changes of members, subscriptions and topics
//	head.targetEpoch  is the epoch that targets were made from; it follows, at most once an assignment interval
//	standing.epoch    is the target that a member has come to; it follows when the member has let go what it must
//
// Invariants, kept by replay and by step.next:
//  1. the three epochs only rise, and standing.epoch <= head.targetEpoch <= head.epoch but for members that left for a
//     while (epoch -2) or that have just come in another's place (epoch 0);
//  2. a partition is held by one member at most (owners): who has it to let go holds it still;
//  3. all of it is replicated, sessions are not: the members' heartbeats make those again.
type consumer struct {
	*core
	head      *timeline.Value[head]
	members   *timeline.Map[string, *subscriber]
	standings *timeline.Map[string, *standing]
	targets   *timeline.Map[string, plan]
	patterns  *timeline.Map[string, *resolved]
	// holders are the member ids of static members, by instance.
	holders *timeline.Map[string, string]
	owners  *timeline.Map[place, string]
	// readers counts, by topic, the members that name it and the patterns that have it.
	readers *timeline.Map[string, int]

	// looked is the state of the metadata that head.hash was last compared with; pending says that patterns are about to
	// be resolved. Both are soft.
	looked  uint64
	pending bool
}

// head are the numbers of a group. The first epoch is 1 without a record.
type head struct {
	epoch       int32
	hash        int64 // of the topics that are subscribed to, see topicsHash
	targetEpoch int32
	targetMs    int64 // when the target was made, 0 for not known
}

// subscriber is what a member says of itself. It is immutable.
type subscriber struct {
	id             string
	instance, rack *string
	client         coordinator.Client
	topics         []string // sorted
	pattern        string   // a regular expression over topics, "" for none
	rebalance      time.Duration
	assignor       string // that it votes for, "" for none
	// classic is what a member of the classic protocol has beside that, nil for others.
	classic *classicMember
}

// classicMember is the part of a subscriber that only the classic protocol has.
type classicMember struct {
	session   time.Duration
	protocols []kmsg.JoinGroupRequestProtocol
}

// plan is a target assignment, or an assignment read as one: partitions by topic, in rising order.
type plan = map[model.TopicID][]int32

// resolved are the topics that a pattern has.
type resolved struct {
	topics  []string // sorted
	version int64    // the offset of the image that they were looked up in
	atMs    int64
}

func (m *Machine) newConsumer(c *core) *consumer {
	return &consumer{
		core: c, head: timeline.NewValue(m.line, head{epoch: 1}),
		members: timeline.NewMap[string, *subscriber](m.line), standings: timeline.NewMap[string, *standing](m.line),
		targets: timeline.NewMap[string, plan](m.line), patterns: timeline.NewMap[string, *resolved](m.line),
		holders: timeline.NewMap[string, string](m.line), owners: timeline.NewMap[place, string](m.line),
		readers: timeline.NewMap[string, int](m.line),
	}
}

// consumerGroup finds a group of the consumer protocol.
func (m *Machine) consumerGroup(id string) (*consumer, bool) {
	g, _ := m.groups.Get(id)
	c, ok := g.(*consumer)
	return c, ok
}

func (g *consumer) kind() string     { return consumerKind }
func (g *consumer) protocol() string { return consumerType }
func (g *consumer) vacant() bool     { return g.members.Len() == 0 }

func (g *consumer) subscribes(topic string) bool {
	_, read := g.readers.Get(topic)
	return read
}

// idle is part of group: a consumer group's offsets age from their commit once nobody is subscribed.
func (g *consumer) idle(key partition, c *committed) (int64, bool) {
	return c.atMs, !g.subscribes(key.topic)
}

// status is part of group.
func (g *consumer) status() string {
	h, state, members := g.head.Committed(), "Stable", 0
	g.members.EachCommitted(func(id string, _ *subscriber) {
		members++
		if s, there := g.standings.Committed(id); !there || !s.reached(h.targetEpoch) {
			state = "Reconciling"
		}
	})
	switch {
	case members == 0:
		return "Empty"
	case h.epoch > h.targetEpoch:
		return "Assigning"
	}
	return state
}

// mustConsumer is for after a record of the group was given out.
func (m *Machine) mustConsumer(id string) *consumer {
	g, there := m.consumerGroup(id)
	invariant.Check(there, "group: %s is no consumer group after a record of one", id)
	return g
}

// standing is never nil: a member whose record is not there yet has nothing.
func (g *consumer) standing(id string) *standing {
	if s, there := g.standings.Get(id); there {
		return s
	}
	return &standing{}
}

// memberIDs are in one order on every machine that replays the same records: assignors and tombstones go by it.
func (g *consumer) memberIDs() []string { return timeline.SortedKeys(g.members) }

// classicCount is how many members are of the classic protocol.
func (g *consumer) classicCount() (n int) {
	for _, id := range g.memberIDs() {
		if p, _ := g.members.Get(id); p.classic != nil {
			n++
		}
	}
	return n
}

// users counts the members with a pattern.
func (g *consumer) users(pattern string) (n int) {
	for _, id := range g.memberIDs() {
		if p, _ := g.members.Get(id); p.pattern == pattern {
			n++
		}
	}
	return n
}

// topicsOf are the names that a member reads: those it gives, and those of its pattern.
func (g *consumer) topicsOf(p *subscriber) []string {
	if p.pattern == "" {
		return p.topics
	}
	found, there := g.patterns.Get(p.pattern)
	if !there {
		return p.topics
	}
	both := append(slices.Clone(p.topics), found.topics...)
	slices.Sort(both)
	return slices.Compact(both)
}

// same compares what two members say of themselves.
func (p *subscriber) same(o *subscriber) bool {
	return p.id == o.id && equal(p.instance, o.instance) && equal(p.rack, o.rack) && p.client == o.client &&
		slices.Equal(p.topics, o.topics) && p.pattern == o.pattern && p.rebalance == o.rebalance && p.assignor == o.assignor &&
		p.classic.same(o.classic)
}

func (l *classicMember) same(o *classicMember) bool {
	if l == nil || o == nil {
		return l == o
	}
	return l.session == o.session && sameProtocols(l.protocols, o.protocols)
}

func equal(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// samePlans compares targets; an empty topic is none.
func samePlans(a, b plan) bool { return maps.EqualFunc(a, b, slices.Equal[[]int32]) }
