// Package quorum keeps the metadata log in agreement among the voters: etcd's raft as a pure state machine whose log is
// Kafka's (docs/formats/metadata-log.md).
//
// The shell runs it so, after every event (Propose, Step, Tick, Appended, …):
//
//	effects := machine.Take(now)
//	send(effects.Send)
//	for each effects.Appends, in order: write it, sync it, then machine.Appended(it)
//	apply(effects.Committed)
//
// Several Appends may be on their way to the disk at once; they must be finished in order.
package quorum

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// ErrNotLeader refuses a proposal: this node does not lead, or is handing leadership on.
var ErrNotLeader = errors.New("this node does not lead the metadata quorum")

// Options is what does not change while the machine lives. Zero values are replaced by the defaults named here.
type Options struct {
	Self VoterKey
	// ElectionTicks without a word from the leader start an election (10); HeartbeatTicks part two heartbeats (1).
	ElectionTicks, HeartbeatTicks int
	// BatchBytesMax bounds a batch in the log (8 MiB, internal.metadata.max.batch.size.in.bytes).
	BatchBytesMax int
	// Log gets raft's own remarks; nil drops them.
	Log func(text string)
}

// HardState is what a voter must never forget; it stands in the file quorum-state.
type HardState struct {
	Epoch model.LeaderEpoch
	// Voted is whom this node voted for in Epoch, NoVoter for none.
	Voted VoterKey
	// Leader is the leader of Epoch if known, for the file's readers; raft does not need it.
	Leader model.BrokerID
}

// Effects is what has to happen after an event.
type Effects struct {
	// Send may leave at once, before anything of Appends is written.
	Send []Message
	// Appends are written in order. What raft sends because of one comes out of a later Take, after Appended.
	Appends []*Append
	// Committed entries follow each other without a gap over all Takes; they are on a majority's disks.
	Committed []Entry
	// Leadership is set when leader or epoch changed.
	Leadership *Leadership
}

// Append is one step of the log. Durability order: the three parts are made durable in the order of the fields, all
// before Appended is called; nothing else waits for them.
type Append struct {
	// Hard replaces quorum-state, when set.
	Hard *HardState
	// Install is a checkpoint that replaces the whole log, when set: it is fetched from the leader first.
	Install *Boundary
	// Batches go to the log's end. When Truncate is set the log is first cut so that it ends at the first one's base
	// offset: a new leader's entries replace those of an older one.
	Truncate bool
	Batches  []batch.View

	// entries are what Batches hold.
	entries []*raftpb.Entry
	// responses are raft's own, to itself and to others, that say that all this is durable, and a candidate's requests for votes.
	responses []*raftpb.Message
}

// Empty tells that there is nothing to write: Appended still has to wait for its turn.
func (a *Append) Empty() bool { return a.Hard == nil && a.Install == nil && len(a.Batches) == 0 }

// Leadership is who leads in an epoch; Leader is NoVoter while nobody is known to.
type Leadership struct {
	Leader VoterKey
	Epoch  model.LeaderEpoch
	// Self is set from the moment that this node leads, before the first entry of its epoch is committed: the
	// controller may begin when it sees that entry (a LeaderChange of this epoch) committed.
	Self bool
}

// Message is for another voter. Payload is raft's own encoding.
type Message struct {
	To      VoterKey
	Payload []byte
}

// Machine is one voter, or a node that follows the voters.
//
// Invariants:
//  1. offsets of entries rise by one from the checkpoint's end on (checked where they are appended);
//  2. a message that depends on an entry or a vote leaves after the Append that makes it durable (kept by Appended);
//  3. committed entries never change (raft);
//  4. raft goes by the set before the last change of voters in the log, or by that change (queue, Restorer.Add): the one before was
//     committed when it was proposed, and an older set might share no majority with the present one.
type Machine struct {
	options Options
	node    *raft.RawNode
	storage *storage
	// voters is the set of the applied configuration; known finds the keys behind raft's numbers.
	voters []batch.Voter
	// since is the offset of their record, NoOffset where it is before the checkpoint's end; change is the last one in the log behind
	// it, nil for none.
	since  model.Offset
	change *raftpb.Entry
	known  map[uint64]VoterKey
	// end is the offset after the last entry, durable or not; written is that of the last Append handed out.
	end, written model.Offset
	hard         HardState
	leadership   Leadership
	// leader, leaderTerm and granted are what a LEADER_CHANGE record of that term says.
	leader     VoterKey
	leaderTerm uint64
	granted    []VoterKey
	// settling is where Settled is reached, NoOffset while that is not known; not before the end of what was on the disk when the
	// machine began and has not been replaced since.
	settling, before model.Offset
	// outstanding are the Appends handed out and not finished, in order.
	outstanding []*Append
	// asked and confirmed count the questions of Confirm, and those up to which a majority has answered.
	asked, confirmed uint64
	effects          Effects
}

// Propose appends records to the log of which this node is the leader and gives the offset of the first.
// They are committed when the last of them comes out of Committed; a group that must not be seen in part carries its
// own begin and end records. Errors: ErrNotLeader, record.ErrVersion.
func (m *Machine) Propose(records []record.Record, level record.MetadataVersion) (model.Offset, error) {
	invariant.Check(len(records) > 0, "quorum: nothing was proposed")
	entries := make([]*raftpb.Entry, 0, len(records))
	for _, r := range records {
		data, err := record.Append(nil, r, level)
		if err != nil {
			return model.NoOffset, err
		}
		entries = append(entries, &raftpb.Entry{Data: data})
	}
	base := m.end
	if err := m.step(&raftpb.Message{Type: raftpb.MsgProp.Enum(), From: new(m.options.Self.raftID()), Entries: entries}); err != nil {
		return model.NoOffset, fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	invariant.Check(m.end == base+model.Offset(len(records)), "quorum: %d records proposed at %d end at %d", len(records), base, m.end)
	return base, nil
}

// ProposeVoters changes the set of voters by one voter, or what is recorded of one.
// Errors: ErrNotLeader, or that more than one differs or that a change is under way.
func (m *Machine) ProposeVoters(next []batch.Voter) error {
	change := votersChange(m.voters, next)
	if len(change.Changes) > 1 {
		return fmt.Errorf("change of voters: %d differ, one may", len(change.Changes))
	}
	if !m.leadership.Self {
		return ErrNotLeader
	}
	// raft would write an empty entry in its place and say nothing. So it does before it has committed one of its own epoch, too.
	term, err := m.storage.Term(m.node.BasicStatus().Applied)
	if m.change != nil || err != nil || term != uint64(m.leadership.Epoch) {
		return errors.New("change of voters: another one is under way, or may be")
	}
	before := m.end
	err = m.node.ProposeConfChange(change)
	m.collect()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	invariant.Check(m.end == before+1 && m.change.GetIndex() == indexOf(before), "quorum: a change of voters at %d ends at %d", before, m.end)
	return nil
}

// Step takes a message from another voter. A message that raft refuses is dropped: the network may repeat old ones.
func (m *Machine) Step(from VoterKey, payload []byte) error {
	var message raftpb.Message
	if err := proto.Unmarshal(payload, &message); err != nil {
		return fmt.Errorf("raft message from %v: %w", from, err)
	}
	if message.GetFrom() != from.raftID() {
		return fmt.Errorf("raft message from %v names another sender", from)
	}
	m.known[from.raftID()] = from
	switch message.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		if message.GetTerm() > m.leaderTerm {
			m.leader, m.leaderTerm, m.granted = from, message.GetTerm(), nil
		}
		m.hear(&message)
	case raftpb.MsgVoteResp:
		if !message.GetReject() && !slices.Contains(m.granted, from) {
			m.granted = append(m.granted, from)
		}
	}
	// raft has no use for the error either: it says which old message was ignored.
	_ = m.step(&message)
	return nil
}

// Tick is called at a steady pace, by something that nothing else can hold up; elections and heartbeats count in ticks. A
// lone voter needs none.
func (m *Machine) Tick() {
	m.node.Tick()
	m.collect()
}

// Campaign starts an election without waiting for the timeout; raft asks first whether anybody would vote (PreVote). One
// that has got to the votes is not begun anew.
func (m *Machine) Campaign() error {
	if m.node.BasicStatus().RaftState == raft.StateCandidate {
		return nil
	}
	err := m.node.Campaign()
	m.collect()
	return err
}

// Unreachable tells that messages to a voter are lost, so that the leader probes before it sends more. One of them may
// have been that a checkpoint is to be installed, for which the leader would wait for ever.
func (m *Machine) Unreachable(k VoterKey) {
	m.node.ReportUnreachable(k.raftID())
	m.node.ReportSnapshot(k.raftID(), raft.SnapshotFailure)
	m.collect()
}

// ForgetLeader lets a follower vote for another as soon as its link to the leader was reset and refused.
func (m *Machine) ForgetLeader() {
	// Refused only by a leader, which has nothing to forget.
	_ = m.node.ForgetLeader()
	m.collect()
}

// End is the offset that the next proposed record gets.
func (m *Machine) End() model.Offset { return m.end }

// Leadership is who leads now.
func (m *Machine) Leadership() Leadership { return m.leadership }

// Voters is the set of the applied configuration.
func (m *Machine) Voters() []batch.Voter { return m.voters }

// VotersSince is the offset of the record that made them voters, NoOffset where a checkpoint names them. A checkpoint that ends
// before it cannot.
func (m *Machine) VotersSince() model.Offset { return m.since }

// Take gives what the events since the last Take ask for; now stamps the batches.
// An error means that an entry cannot be read or written: the node must stop.
func (m *Machine) Take(now time.Time) (Effects, error) {
	out := m.effects
	m.effects = Effects{}
	for _, a := range out.Appends {
		var err error
		if a.Batches, err = m.batchesOf(a.entries, now.UnixMilli()); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (m *Machine) step(message *raftpb.Message) error {
	err := m.node.Step(message)
	m.collect()
	return err
}
