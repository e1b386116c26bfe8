// Package controller decides changes of the cluster's metadata: the active controller of KRaft as a pure state machine.
//
// The shell runs it so:
//
//	effects := machine.Handle(at, token, request)
//	if len(effects.Append) > 0 {
//		base, err := propose(effects.Append)      // to the metadata quorum, which this node leads
//		machine.Appended(base) or machine.Refused()
//	}
//	send(effects.Replies)
//	… later, when the quorum has committed up to an offset …
//	send(machine.Committed(offset))
//
// An operation gives records and a reply. The state changes only by replaying the records, when they are appended; the
// reply is parked until they are committed, and a reply without records until everything that it was decided on is.
package controller

import (
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// Token is the shell's name for a request; it comes back with the reply.
type Token uint64

// At is when an event happens, in time and in the log.
type At struct {
	Time time.Time
	// Next is the offset that the first appended record would get.
	Next model.Offset
	// Quorum tells of a controller whether it votes, or follows the log; nil says so of all that ever registered.
	Quorum func(model.BrokerID) bool
}

// Effects is what the shell has to do after an event.
type Effects struct {
	// Append must be proposed as one run of the log from At.Next on, and Appended or Refused be called before any
	// other event.
	Append []record.Record
	// Level decides the versions in which Append is encoded.
	Level record.MetadataVersion
	// Replies may be sent at once, whatever becomes of Append.
	Replies []Reply
}

// Reply answers the request of the token.
type Reply struct {
	Token    Token
	Response kmsg.Response
}

// Options is what does not change while the machine lives.
type Options struct {
	// NodeID is this node, whose broker is never fenced for want of heartbeats: the machine runs, so it lives.
	NodeID    model.BrokerID
	ClusterID string
	// Random gives topic ids and where placement starts; the simulator seeds it.
	Random io.Reader
	Rules  Rules
	// Partitions and ReplicationFactor stand for -1 in CreateTopics: num.partitions, default.replication.factor.
	Partitions        int32
	ReplicationFactor int16
	// SessionTimeout fences a broker that sent no heartbeat for so long: broker.session.timeout.ms.
	SessionTimeout time.Duration
	// BalanceEvery parts the rounds in which leaderships go back to first replicas: leader.imbalance.check.interval.seconds; 0
	// is never (auto.leader.rebalance.enable).
	BalanceEvery time.Duration
	// UncleanEvery parts the looks for partitions that may elect uncleanly: unclean.leader.election.interval.ms; 0 is never.
	UncleanEvery time.Duration
	// KRaftVersion is the finalized kraft.version of the quorum.
	KRaftVersion int16
	// DeleteTopics is delete.topic.enable.
	DeleteTopics bool
	// Initial is the configuration of all brokers that a new cluster begins with (configs.Layers.Initial).
	Initial map[string]string
	// Levels are the levels that a new cluster begins with. metadata.version is the latest where it is not among them, of
	// other features it is 0.
	Levels map[string]int16
	// Features is what this node can run of each feature beside metadata.version.
	Features []record.FeatureRange
}

// Machine is the active controller, or a node that could become it.
//
// Invariants:
//  1. the state changes only by replay in Appended; Lead and Resign replace it whole;
//  2. one append is outstanding at the most (checked by every event);
//  3. no reply is given before the records it depends on are committed (kept by settle).
type Machine struct {
	options Options
	// leading is false while another node, or none, is the controller: every request is refused.
	leading bool
	epoch   model.LeaderEpoch
	// state replays what was appended; current is its latest image.
	state   *image.Editor
	current *image.Image
	// committed is the last offset that the quorum has committed.
	committed model.Offset
	pending   *proposal
	// parked replies wait for committed to reach them, in order of offset.
	parked    []parked
	sessions  map[model.BrokerID]*session
	inherited inherited
	rounds    rounds
	counts    Counts
}

// Counts are what happened since the machine was made, while it led.
type Counts struct {
	// Unclean leaders were none of the ISR, FromELR none of the ISR but eligible (KIP-966).
	Unclean, FromELR int64
	// Silent brokers were fenced for want of a heartbeat.
	Silent int64
}

// proposal is an append that the shell has not reported back. Its reply was made with its records, from the state that
// they lead to; it is thrown away with them when they are refused.
type proposal struct {
	records []record.Record
	token   Token
	request kmsg.Request // nil for the machine's own changes
	reply   kmsg.Response
}

// parked is a reply that waits for the quorum; the request is kept to refuse it when leadership is lost.
type parked struct {
	after   model.Offset
	request kmsg.Request
	reply   Reply
}

// outcome is what an operation decides: a reply alone, or records and the reply to give when they are committed.
type outcome struct {
	records  []record.Record
	response kmsg.Response
}

// New gives a machine that does not lead.
func New(o Options) *Machine {
	return &Machine{options: o, current: image.Empty(o.ClusterID), committed: model.NoOffset, epoch: model.NoLeaderEpoch}
}

// Leading tells whether the machine is the active controller.
func (m *Machine) Leading() bool { return m.leading }

// Plus adds what another machine has counted.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Unclean + o.Unclean, c.FromELR + o.FromELR, c.Silent + o.Silent}
}

// Counts gives what has been counted.
func (m *Machine) Counts() Counts { return m.counts }

// Handle works on a request of one of the kinds that Handles names.
func (m *Machine) Handle(at At, token Token, request kmsg.Request) Effects {
	m.idle()
	if !m.leading {
		return Effects{Replies: []Reply{{token, Refuse(request, kerr.NotController)}}}
	}
	out := m.decide(at, request)
	if len(out.records) == 0 {
		return m.settle(m.current.Offset, request, Reply{token, out.response})
	}
	return m.propose(&proposal{records: out.records, token: token, request: request, reply: out.response})
}

// propose makes a change of several records atomic, unless the cluster is too old for that.
func (m *Machine) propose(p *proposal) Effects {
	if len(p.records) == 0 {
		return Effects{}
	}
	p.records = atomic(p.records, m.level())
	m.pending = p
	return Effects{Append: p.records, Level: m.level()}
}

// atomic wraps several records in a transaction: each is a raft entry of its own, and a leader may die between two.
func atomic(records []record.Record, level record.MetadataVersion) []record.Record {
	if len(records) < 2 || level < record.Transactions {
		return records
	}
	wrapped := make([]record.Record, 0, len(records)+2)
	wrapped = append(wrapped, &record.BeginTransaction{})
	wrapped = append(wrapped, records...)
	return append(wrapped, &record.EndTransaction{})
}

// level is the finalized metadata.version, or that of a new cluster before its first records.
func (m *Machine) level() record.MetadataVersion {
	if m.current.Feature(image.MetadataVersionFeature) == 0 {
		if level, set := m.options.Levels[image.MetadataVersionFeature]; set {
			return record.MetadataVersion(level)
		}
		return record.LatestMetadataVersion
	}
	return m.current.MetadataVersion()
}

// Appended replays the proposed records, which the quorum put into the log from base on. The next operation is decided on
// this state although it is not committed: leadership lost before that takes both back.
func (m *Machine) Appended(base model.Offset) {
	p := m.pending
	invariant.Check(p != nil, "controller: appended without a proposal")
	m.pending = nil
	m.count(p.records)
	for i, r := range p.records {
		err := m.state.Apply(base+model.Offset(i), m.epoch, r)
		invariant.Check(err == nil, "controller: its own record does not replay: %v", err)
	}
	m.current, _ = m.state.Publish()
	m.trackSessions()
	if p.request != nil {
		m.parked = append(m.parked, parked{m.current.Offset, p.request, Reply{p.token, p.reply}})
	}
}

// Refused drops the proposed records: the quorum did not take them.
func (m *Machine) Refused() []Reply {
	p := m.pending
	invariant.Check(p != nil, "controller: refused without a proposal")
	m.pending = nil
	if p.request == nil {
		return nil
	}
	return []Reply{{p.token, Refuse(p.request, kerr.NotController)}}
}

// Committed gives the replies whose records are now committed; upTo is the last committed offset.
func (m *Machine) Committed(upTo model.Offset) []Reply {
	m.committed = max(m.committed, upTo)
	var ready []Reply
	for len(m.parked) > 0 && m.parked[0].after <= m.committed {
		ready = append(ready, m.parked[0].reply)
		m.parked = m.parked[1:]
	}
	return ready
}

// settle gives a reply at once when all that it was decided on is committed, and parks it otherwise.
func (m *Machine) settle(after model.Offset, request kmsg.Request, r Reply) Effects {
	if after <= m.committed {
		return Effects{Replies: []Reply{r}}
	}
	m.parked = append(m.parked, parked{after, request, r})
	return Effects{}
}

// idle checks invariant 2: an event in between would be decided on a state that lacks the records under way.
func (m *Machine) idle() {
	invariant.Check(m.pending == nil, "controller: an event came before the outcome of the last append")
}
