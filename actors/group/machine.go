// Package group coordinates consumer groups: the machine that decides, for one partition of __consumer_offsets, over the
// frame of package coordinator. Members come by the classic protocol, where one of them assigns, or by the consumer
// protocol (KIP-848), where the coordinator does; a group may go from one to the other while it lives (machine_migrate.go).
//
// Requirements: facts/groups-txn.md, B and C; measured answers of Kafka 4.3.1 there.
package group

import (
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/coordinator/timeline"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// Options is what does not change while the machine lives; the names of the keys stand in configs.Groups.
type Options struct {
	SessionMin, SessionMax time.Duration
	InitialDelay           time.Duration // group.initial.rebalance.delay.ms
	MembersMax             int           // group.max.size
	MetadataMax            int           // offset.metadata.max.bytes, counted in UTF-16 units as Kafka does
	Retention              time.Duration // offsets.retention.minutes
	RetentionCheck         time.Duration
	Consumer               ConsumerOptions
	// Random gives member ids; a test seeds it.
	Random io.Reader
	// Count is told of events for metrics; nil tells nobody.
	Count func(e Event, n int)
	// MayDescribe asks the authorizer about a topic; nil allows all.
	MayDescribe func(who Asker, topic string) bool
	// Misread is told of settings that cannot be read, by the group, "" for the cluster's standard; nil tells nobody.
	Misread func(group, key, text string)
}

// Machine is the group coordinator of one partition.
//
// Invariants:
//  1. which groups there are and what they committed is changed by replay alone, so that it can be taken back;
//  2. members, who waits and when sessions end is soft: it is made again from the last stable state that was recorded;
//  3. generations of a live group only rise; an emptied group records the one it used up (completeJoin);
//  4. an assignment is handed out when its record is committed (settle): a group that is loaded anew knows it, and no
//     generation is handed out with two assignments.
type Machine struct {
	options Options
	line    *timeline.Timeline
	groups  *timeline.Map[string, group]
	pending pendingOffsets
	// names has each topic's name once: a million offsets are of few topics.
	names  map[string]string
	timers *coordinator.Deadlines[timer]
	topics topics
	// told are the settings that Misread was told of.
	told map[setting]string
	// unsettled are the records that something beside their request waits for, by rising offset.
	unsettled []unsettled

	// now, next, out and asker belong to the event that is being worked on; asker is empty where it is no request.
	now   time.Time
	next  model.Offset
	out   coordinator.Effects
	asker Asker
}

// Asker is who sent a request, as the authorizer knows them.
type Asker struct{ Principal, Host string }

// unsettled is a record of a group whose commit or refusal moves the group on.
type unsettled struct {
	offset  model.Offset
	group   *classic
	created bool // it made the group
	left    bool // it ended the group, whose id went over to the other protocol
	// generation is the one whose assignment it holds, 0 for none.
	generation int32
	assigned   map[string][]byte
}

// timer names a deadline.
type timer struct {
	kind   timerKind
	group  string
	member string
}

type timerKind uint8

const (
	sessionTimer   timerKind = iota // a member, of either protocol, is silent for its session timeout
	knownTimer                      // a member id was given out and not used
	joinTimer                       // members have had their rebalance timeout to join again
	initialTimer                    // an empty group has waited for more members
	syncTimer                       // members have had their rebalance timeout to sync
	retentionTimer                  // expired offsets are looked for

	// Of groups of the consumer protocol:

	revokeTimer  // a member has had its rebalance timeout to let partitions go
	rejoinTimer  // a member of the classic protocol has had its rebalance timeout to join again
	resyncTimer  // a member of the classic protocol has had its rebalance timeout to sync
	patternTimer // patterns are to be resolved
)

// New gives a machine with nothing in it; the frame loads it.
func New(o Options) *Machine {
	if o.Count == nil {
		o.Count = func(Event, int) {}
	}
	if o.MayDescribe == nil {
		o.MayDescribe = func(Asker, string) bool { return true }
	}
	if o.Misread == nil {
		o.Misread = func(string, string, string) {}
	}
	line := timeline.New(0)
	return &Machine{
		options: o, line: line, groups: timeline.NewMap[string, group](line), timers: coordinator.NewDeadlines[timer](),
		pending: pendingOffsets{}, names: map[string]string{}, topics: topics{image: image.Empty("")}, told: map[setting]string{},
	}
}

// waiter is a request that is answered later. Its token is with the machine and not with the shell: when the machine is
// thrown away the shell refuses it, since it knows all tokens that are open.
type waiter struct {
	token   coordinator.Token
	request kmsg.Request
}

// Handle works on a request of one of the kinds that have files here.
func (m *Machine) Handle(at coordinator.At, t coordinator.Token, c coordinator.Call) coordinator.Effects {
	m.begin(at)
	m.asker = Asker{c.Principal, c.Client.Host}
	w := &waiter{t, c.Body}
	switch r := c.Body.(type) {
	case *kmsg.JoinGroupRequest:
		m.join(w, c.Client, r)
	case *kmsg.SyncGroupRequest:
		m.sync(w, r)
	case *kmsg.HeartbeatRequest:
		m.heartbeat(w, r)
	case *kmsg.LeaveGroupRequest:
		m.leave(w, r)
	case *kmsg.OffsetCommitRequest:
		m.commitOffsets(w, r)
	case *kmsg.OffsetFetchRequest:
		m.fetchOffsets(w, r)
	case *kmsg.OffsetDeleteRequest:
		m.deleteOffsets(w, r)
	case *kmsg.ConsumerGroupHeartbeatRequest:
		m.consumerHeartbeat(w, c.Client, r)
	case *kmsg.ConsumerGroupDescribeRequest:
		m.consumerDescribe(w, r)
	case *kmsg.DescribeGroupsRequest:
		m.describe(w, r)
	case *kmsg.ListGroupsRequest:
		m.list(w, r)
	case *kmsg.DeleteGroupsRequest:
		m.deleteGroups(w, r)
	default:
		invariant.Check(false, "group: api key %d is not its own", c.Body.Key())
	}
	return m.end()
}

// Next is the earliest time that Due has something to do.
func (m *Machine) Next() time.Time { return m.timers.Next() }

// Due does one thing after the other that time has brought. A timer may outlive what it was set for: the group was deleted
// and came back, the member has left. Each handler looks for itself whether there is still something to do.
func (m *Machine) Due(at coordinator.At) coordinator.Effects {
	m.begin(at)
	for {
		t, ok := m.timers.Take(at.Time)
		if !ok {
			return m.end()
		}
		if t.kind == retentionTimer {
			m.expireOffsets()
			continue
		}
		switch g, _ := m.groups.Get(t.group); g := g.(type) {
		case *classic:
			m.dueClassic(g, t)
		case *consumer:
			m.dueConsumer(g, t)
		}
	}
}

func (m *Machine) dueClassic(g *classic, t timer) {
	switch t.kind {
	case sessionTimer:
		m.sessionOver(g, t.member)
	case knownTimer:
		m.unusedOver(g, t.member)
	case joinTimer:
		m.completeJoin(g)
	case initialTimer:
		m.initialOver(g)
	case syncTimer:
		m.syncOver(g)
	}
}

func (m *Machine) dueConsumer(g *consumer, t timer) {
	switch t.kind {
	case sessionTimer:
		m.timedOut(g, t.member)
	case rejoinTimer, resyncTimer:
		m.classicOver(g, t.member)
	case revokeTimer:
		m.revokeOver(g, t.member)
	case patternTimer:
		m.resolvePatterns(g)
	}
}

// begin opens an event. The fields that belong to it spare every method three parameters; no event runs within another.
func (m *Machine) begin(at coordinator.At) {
	m.now, m.next, m.out, m.asker = at.Time, at.Next, coordinator.Effects{}, Asker{}
}

func (m *Machine) end() coordinator.Effects {
	out := m.out
	m.out = coordinator.Effects{}
	return out
}

// append gives a record out whose replay follows at once, at the offset that is returned. The shell appends it at that
// offset or takes all of it back, so the next decision of the same batch may build on it.
func (m *Machine) append(r coordinator.Record) model.Offset {
	o := m.next
	m.line.At(o)
	m.out.Append = append(m.out.Append, r)
	m.next++
	return o
}

// reply answers when everything so far is committed: also where the answer has no record of its own, since it may have
// been decided on one that is still on its way.
func (m *Machine) reply(w *waiter, r kmsg.Response) {
	m.out.Replies = append(m.out.Replies, coordinator.Reply{Token: w.token, Response: r})
}

// replyNow answers from committed state.
func (m *Machine) replyNow(w *waiter, r kmsg.Response) {
	m.out.Now = append(m.out.Now, coordinator.Reply{Token: w.token, Response: r})
}

// refuse answers with an error.
func (m *Machine) refuse(w *waiter, code kerr.Code) { m.reply(w, m.Refuse(w.request, code)) }

// response makes the empty response of a request, in its version.
func response[R kmsg.Response](request kmsg.Request) R {
	r := request.ResponseKind()
	r.SetVersion(request.GetVersion())
	return r.(R)
}
