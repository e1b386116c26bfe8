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
//	group epoch       counts changes of members, subscriptions and topics
//	assignment epoch  is the group epoch that the target assignment was made from; it follows, at most once an assignment interval
//	member epoch      is the assignment epoch that a member has come to; it follows when the member has let go what it must
//
// Invariants, kept by replay and by reconciliation.next:
//  1. the three epochs only rise, and member epoch <= assignment epoch <= group epoch but for members that left for a
//     while (epoch -2) or that have just come in another's place (epoch 0);
//  2. a partition is held by one member at most (owners): who has it to let go holds it still;
//  3. all of it is replicated, sessions are not: the members' heartbeats make those again.
type consumer struct {
	*core
	epochs   *timeline.Value[groupEpochs]
	members  *timeline.Map[string, *subscriber]
	currents *timeline.Map[string, *currentAssignment]
	targets  *timeline.Map[string, assignment]
	patterns *timeline.Map[string, *resolved]
	// holders are the member ids of static members, by instance.
	holders *timeline.Map[string, string]
	owners  *timeline.Map[topicPartition, string]
	// readers counts, by topic, the members that name it and the patterns that have it.
	readers *timeline.Map[string, int]

	// looked is the state of the metadata that metadataHash was last compared with. unresolved says that a member has a
	// pattern that nobody has looked up, pending that all are about to be, for asker. All are soft.
	looked     uint64
	unresolved bool
	pending    bool
	asker      Asker
}

// groupEpochs are the numbers of a group. The first group epoch is 1 without a record.
type groupEpochs struct {
	groupEpoch      int32
	metadataHash    int64 // of the topics that are subscribed to, see topicsHash
	assignmentEpoch int32
	assignmentMs    int64 // when the target was made, 0 for not known
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

// assignment is a target, or what a member has read as one: partitions by topic, in rising order.
type assignment = map[model.TopicID][]int32

// resolved are the topics that a pattern has.
type resolved struct {
	topics  []string // sorted
	version int64    // the offset of the image that they were looked up in
	atMs    int64
}

func (m *Machine) newConsumer(c *core) *consumer {
	return &consumer{
		core: c, epochs: timeline.NewValue(m.line, groupEpochs{groupEpoch: 1}),
		members: timeline.NewMap[string, *subscriber](m.line), currents: timeline.NewMap[string, *currentAssignment](m.line),
		targets: timeline.NewMap[string, assignment](m.line), patterns: timeline.NewMap[string, *resolved](m.line),
		holders: timeline.NewMap[string, string](m.line), owners: timeline.NewMap[topicPartition, string](m.line),
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
	h, state, members := g.epochs.Committed(), "Stable", 0
	g.members.EachCommitted(func(id string, _ *subscriber) {
		members++
		if s, there := g.currents.Committed(id); !there || !s.reached(h.assignmentEpoch) {
			state = "Reconciling"
		}
	})
	switch {
	case members == 0:
		return "Empty"
	case h.groupEpoch > h.assignmentEpoch:
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

// current is never nil: a member whose record is not there yet has nothing.
func (g *consumer) current(id string) *currentAssignment {
	if s, there := g.currents.Get(id); there {
		return s
	}
	return &currentAssignment{}
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

// sameAssignments compares targets; an empty topic is none.
func sameAssignments(a, b assignment) bool { return maps.EqualFunc(a, b, slices.Equal[[]int32]) }
