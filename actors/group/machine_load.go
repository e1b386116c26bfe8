package group

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Replay takes a record at loading. Kinds that are not known are passed over.
func (m *Machine) Replay(o coordinator.Origin, r coordinator.Record) error {
	e, err := record.Decode(r)
	switch {
	case errors.Is(err, record.ErrUnknownType):
		return nil
	case err != nil:
		return err
	}
	m.line.At(o.Offset)
	var c *committed
	if e.Committed != nil {
		c = committedOf(e.Committed)
	}
	switch {
	case e.Offset != nil && o.ProducerID != model.NoProducerID:
		m.pending.add(o.ProducerID, *e.Offset, c)
	case e.Offset != nil:
		m.replayOffset(*e.Offset, c)
	case e.Consumer != nil:
		m.replayConsumer(*e.Consumer, e.Value)
	case e.State != nil:
		m.loadGroup(e.Group, e.State)
	default:
		m.replayDeletion(e.Group, classicKind)
	}
	return nil
}

// ReplayMarker makes the offsets of a transaction count, or drops them.
func (m *Machine) ReplayMarker(o coordinator.Origin, commit bool) {
	m.line.At(o.Offset)
	for _, p := range m.pending[o.ProducerID] {
		if commit {
			m.replayOffset(p.key, p.value)
		}
	}
	delete(m.pending, o.ProducerID)
}

// replayOffset puts an offset in, or takes it out with nil. Whoever commits without having joined makes a group without
// a protocol type by it.
func (m *Machine) replayOffset(key record.Offset, c *committed) {
	g, there := m.groups.Get(key.Group)
	at := partition{m.name(key.Topic), key.Partition}
	switch {
	case c == nil && there:
		g.base().offsets.Delete(at)
	case c == nil:
	case !there:
		g = m.newClassic(m.newCore(key.Group))
		m.groups.Set(key.Group, g)
		g.base().offsets.Set(at, c)
	default:
		g.base().offsets.Set(at, c)
	}
}

// name gives the one copy of a topic's name. Names that are gone stay, which is little: they are those of topics.
func (m *Machine) name(topic string) string {
	if known, there := m.names[topic]; there {
		return known
	}
	m.names[topic] = topic
	return topic
}

// recordState gives out the record of a group as its members stand.
func (m *Machine) recordState(g *classic) model.Offset {
	return m.record(g, func(p *member) []byte { return p.assigned })
}

// record gives out a group's state with an assignment. The members are soft state, so that its replay only makes sure
// of the group.
func (m *Machine) record(g *classic, assigned func(*member) []byte) model.Offset {
	v := kmsg.NewGroupMetadataValue()
	v.ProtocolType, v.Generation, v.CurrentStateTimestamp = g.protocolType, g.generation, g.since.UnixMilli()
	if len(g.members) > 0 {
		v.Protocol = &g.chosen
		if !g.due {
			v.Leader = &g.leader
		}
	}
	for _, p := range g.members {
		out := kmsg.NewGroupMetadataValueMember()
		out.MemberID, out.InstanceID, out.ClientID, out.ClientHost = p.id, p.instance, p.client.ID, p.client.Host
		out.RebalanceTimeoutMillis, out.SessionTimeoutMillis = int32(p.rebalance.Milliseconds()), int32(p.session.Milliseconds())
		out.Subscription, out.Assignment = p.metadata(g.chosen), assigned(p)
		v.Members = append(v.Members, out)
	}
	o := m.append(record.StoreGroup(g.id, v))
	if known, _ := m.groups.Get(g.id); known != group(g) {
		m.groups.Set(g.id, g)
	}
	return o
}

// loadGroup makes a classic group as it was recorded: with members it was stable. Of each member's protocols the record has the
// chosen one alone; the others come back when it joins again.
func (m *Machine) loadGroup(id string, v *kmsg.GroupMetadataValue) {
	g := m.newClassic(m.coreOf(id))
	g.since = time.Time{}
	if v.CurrentStateTimestamp >= 0 { // version 1 and older have none
		g.since = time.UnixMilli(v.CurrentStateTimestamp)
	}
	g.protocolType, g.generation = v.ProtocolType, v.Generation
	if v.Protocol != nil {
		g.chosen = *v.Protocol
	}
	for i := range v.Members {
		r := &v.Members[i]
		p := &member{
			id: r.MemberID, instance: r.InstanceID, client: coordinator.Client{ID: r.ClientID, Host: r.ClientHost},
			session: millis(r.SessionTimeoutMillis), rebalance: millis(r.RebalanceTimeoutMillis), assigned: r.Assignment,
			protocols: []kmsg.JoinGroupRequestProtocol{{Name: g.chosen, Metadata: r.Subscription}},
		}
		if r.RebalanceTimeoutMillis < 0 { // version 0 has none
			p.rebalance = p.session
		}
		g.add(p, v.ProtocolType)
		g.state = stable
	}
	if v.Leader != nil {
		g.leader = *v.Leader
	}
	g.due = v.Leader == nil && len(g.members) > 0
	g.topics = g.subscriptions()
	m.groups.Set(id, g)
}

// replayDeletion takes a group out. Offsets that it leaves behind, or that were committed after that, are a group's
// without members.
func (m *Machine) replayDeletion(id, kind string) {
	old, there := m.groups.Get(id)
	if !there || old.kind() != kind {
		return // the id has gone over to the other protocol
	}
	m.groups.Delete(id)
	if c := old.base(); c.offsets.Len() > 0 {
		m.groups.Set(id, m.newClassic(c))
	}
}

// Loaded begins every session anew: nobody could send a heartbeat meanwhile. Member ids that were given out and not used
// are forgotten; their holders are told so, and ask for others.
func (m *Machine) Loaded(at coordinator.At) coordinator.Effects {
	m.begin(at)
	m.timers.Set(timer{kind: retentionTimer}, m.now.Add(m.options.RetentionCheck))
	for _, id := range m.groupIDs() {
		m.resume(id)
		if g, is := m.classicGroup(id); is && (g.due || len(g.members) > m.options.MembersMax) {
			m.prepare(g) // as many as may stay join again
		}
	}
	return m.end()
}

// resume begins all sessions of a group anew.
func (m *Machine) resume(id string) {
	switch g, _ := m.groups.Get(id); g := g.(type) {
	case *consumer:
		m.resumeConsumer(g)
	case *classic:
		for _, p := range g.members {
			m.extend(g, p)
		}
	}
}

// Committed makes what was written final.
func (m *Machine) Committed(at coordinator.At, next model.Offset) coordinator.Effects {
	m.begin(at)
	m.line.Commit(next)
	m.settle(next)
	return m.end()
}

// Rollback takes back what the log refused. Soft state needs repair where it had counted on a record. Members whose
// assignment was not recorded join again; who waits in a group that is not there any more is refused, and a group that is
// there again goes on.
func (m *Machine) Rollback(at coordinator.At, from model.Offset, code kerr.Code) coordinator.Effects {
	m.begin(at)
	m.line.Rollback(from)
	if cut := slices.IndexFunc(m.unsettled, func(u unsettled) bool { return u.offset >= from }); cut >= 0 {
		undone := m.unsettled[cut:]
		m.unsettled = m.unsettled[:cut]
		for _, u := range undone {
			m.repair(u, code)
		}
	}
	m.resumeConsumers()
	return m.end()
}

func (m *Machine) repair(u unsettled, code kerr.Code) {
	g := u.group
	there, _ := m.classicGroup(g.id)
	switch {
	case u.created:
		m.dissolve(g, code)
	case u.left && there == g:
		m.comeBack(g)
	case u.generation > 0 && g.state == completing && g.generation == u.generation:
		m.resetAssignment(g, code)
		m.prepare(g)
	}
}

func (m *Machine) resumeConsumers() {
	for _, id := range m.groupIDs() {
		if g, is := m.consumerGroup(id); is {
			m.resumeConsumer(g)
		}
	}
}

// comeBack takes up a group that had gone over to the other protocol. Nobody waits in it: all were told to join again.
func (m *Machine) comeBack(g *classic) {
	for _, id := range slices.Sorted(maps.Keys(g.given)) {
		m.timers.Set(timer{knownTimer, g.id, id}, m.now.Add(newMemberTimeout))
	}
	m.resume(g.id)
	switch g.state {
	case completing:
		m.prepare(g)
	case preparing:
		m.timers.Set(timer{kind: joinTimer, group: g.id}, m.now.Add(g.rebalanceTimeout()))
	}
}

// dissolve refuses everybody who waits in a group, and ends its timers.
func (m *Machine) dissolve(g *classic, code kerr.Code) {
	for _, p := range append([]*member(nil), g.members...) {
		m.release(p, code)
		m.drop(g, p)
	}
	m.cancelPhases(g)
}

// cancelPhases ends the timers of a group beside its sessions.
func (m *Machine) cancelPhases(g *classic) {
	for _, id := range slices.Sorted(maps.Keys(g.given)) {
		m.timers.Cancel(timer{knownTimer, g.id, id})
	}
	for _, kind := range []timerKind{joinTimer, initialTimer, syncTimer} {
		m.timers.Cancel(timer{kind: kind, group: g.id})
	}
}

var _ coordinator.Machine = (*Machine)(nil)
