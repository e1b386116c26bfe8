package group

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/codec/kerr"
)

// state is where a classic group stands in its rebalance.
//
//	Empty ──join──▶ PreparingRebalance ──all joined, or time──▶ CompletingRebalance ──leader's sync──▶ Stable
//	  ▲                  │        ▲                                      │                               │
//	  └───nobody joined──┘        └───────────join, leave, silence───────┴───────────────────────────────┘
type state uint8

const (
	empty state = iota
	preparing
	completing
	stable
)

// String is the state's name in replies.
func (s state) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}[s]
}

// consumerType is the protocol type whose subscriptions and assignments the coordinator can read.
const consumerType = "consumer"

// classic is a group of the classic protocol, or one that only commits offsets (no protocol type).
type classic struct {
	*core

	state        state
	since        time.Time // of the state
	previous     state
	protocolType string
	generation   int32
	chosen       string // protocol; empty but in Completing and Stable
	leader       string
	// due says that members of the consumer protocol left it behind, and that it has to assign anew. It stands in the
	// record as a missing leader: a coordinator that is loaded meanwhile goes on with it.
	due bool
	// members stand in the order in which they joined first.
	members   []*member
	byID      map[string]*member
	instances map[string]string // group.instance.id to member id
	supported map[string]int    // protocol to the number of members that name it
	// given are member ids that were given out and wait to be used (KIP-394).
	given map[string]bool
	// unsynced are the members of this generation that have not asked for their assignment.
	unsynced map[string]bool
	// newcomer says that somebody joined since the initial delay was last extended. What is left of the longest rebalance
	// timeout, initialLeft, bounds the extensions.
	newcomer    bool
	initialLeft time.Duration
	// topics are what the members of a consumer group subscribe to; nil where that is not known.
	topics map[string]bool
}

// member of a classic group.
type member struct {
	id        string
	instance  *string
	client    coordinator.Client
	session   time.Duration
	rebalance time.Duration
	protocols []kmsg.JoinGroupRequestProtocol
	assigned  []byte
	// joining and syncing are the requests that the member waits for.
	joining, syncing *waiter
	// fresh members have not got their first answer: they can not send heartbeats while they wait.
	fresh bool
	ends  *coordinator.Deadline // of the session, once it has been extended
}

func (m *Machine) newClassic(c *core) *classic {
	return &classic{
		core: c, byID: map[string]*member{},
		instances: map[string]string{}, supported: map[string]int{}, given: map[string]bool{}, unsynced: map[string]bool{},
		since: m.now,
	}
}

func (g *classic) kind() string     { return classicKind }
func (g *classic) protocol() string { return g.protocolType }
func (g *classic) status() string   { return g.state.String() }
func (g *classic) vacant() bool     { return g.state == empty }

// move changes the state. The time of it is what offsets.retention.minutes counts from when the group is empty.
func (m *Machine) move(g *classic, to state) {
	g.previous, g.state, g.since = g.state, to, m.now
}

// add makes a member, the first one the leader. The first member of an empty group decides on the protocol type: a group
// that Connect has left may be taken by consumers.
func (g *classic) add(p *member, protocolType string) {
	if len(g.members) == 0 {
		g.protocolType = protocolType
	}
	if g.leader == "" {
		g.leader = p.id
	}
	g.members = append(g.members, p)
	g.byID[p.id] = p
	if p.instance != nil {
		g.instances[*p.instance] = p.id
	}
	g.count(p, 1)
	delete(g.given, p.id)
}

// count keeps supported right; a protocol that nobody names any more must not look like one that all of none have.
func (g *classic) count(p *member, n int) {
	for _, each := range p.protocols {
		if g.supported[each.Name] += n; g.supported[each.Name] == 0 {
			delete(g.supported, each.Name)
		}
	}
}

// remove forgets a member; leadership goes to the one that joined first of the others.
func (g *classic) remove(p *member) {
	g.count(p, -1)
	delete(g.byID, p.id)
	delete(g.unsynced, p.id)
	if p.instance != nil && g.instances[*p.instance] == p.id {
		delete(g.instances, *p.instance)
	}
	g.members = slices.DeleteFunc(g.members, func(x *member) bool { return x == p })
	if g.leader == p.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
}

// validate finds the member that a request names (facts/groups-txn.md, B; a member id with the wrong instance is not
// known, measured).
func (g *classic) validate(id string, instance *string) (*member, kerr.Code) {
	if instance != nil {
		holder, there := g.instances[*instance]
		switch {
		case !there:
			return nil, kerr.UnknownMemberID
		case holder != id:
			return nil, kerr.FencedInstanceID
		}
	}
	if p := g.byID[id]; p != nil {
		return p, kerr.None
	}
	return nil, kerr.UnknownMemberID
}

// supports tells whether somebody with these protocols may join: the group must keep a protocol that all its members
// have, or the next election could choose none.
func (g *classic) supports(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if len(g.members) == 0 {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == g.protocolType && slices.ContainsFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		return g.supported[p.Name] == len(g.members)
	})
}

// elect chooses the protocol: each member votes for the first it names of those that all have. Votes being equal, the
// one that the oldest member likes best wins.
func (g *classic) elect() string {
	votes := map[string]int{}
	for _, p := range g.members {
		for _, each := range p.protocols {
			if g.supported[each.Name] == len(g.members) {
				votes[each.Name]++
				break
			}
		}
	}
	best := ""
	for _, each := range g.members[0].protocols {
		if votes[each.Name] > votes[best] {
			best = each.Name
		}
	}
	return best
}

// joined tells whether everybody waits for the next generation.
func (g *classic) joined() bool {
	return len(g.given) == 0 && !slices.ContainsFunc(g.members, func(p *member) bool { return p.joining == nil })
}

// joiningCount is how many members wait for the next generation. While members join it is the size that
// group.max.size is held against: those that do not come will not be in.
func (g *classic) joiningCount() (n int) {
	for _, p := range g.members {
		if p.joining != nil {
			n++
		}
	}
	return n
}

// rebalanceTimeout is the longest that a member asked for: the join phase must leave time for the one that needs most to
// finish what it has, such as committing (KIP-62).
func (g *classic) rebalanceTimeout() (longest time.Duration) {
	for _, p := range g.members {
		longest = max(longest, p.rebalance)
	}
	return longest
}

// metadata is what a member says of itself under a protocol.
func (p *member) metadata(protocol string) []byte {
	for _, each := range p.protocols {
		if each.Name == protocol {
			return each.Metadata
		}
	}
	return nil
}

// matches tells whether a member says the same as before, byte by byte: a consumer that owns other partitions or has
// another subscription says so in its metadata, and wants a new assignment.
func (p *member) matches(protocols []kmsg.JoinGroupRequestProtocol) bool {
	return sameProtocols(p.protocols, protocols)
}

func sameProtocols(a, b []kmsg.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(a, b, func(a, b kmsg.JoinGroupRequestProtocol) bool {
		return a.Name == b.Name && string(a.Metadata) == string(b.Metadata)
	})
}
