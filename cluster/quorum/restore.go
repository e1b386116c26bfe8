package quorum

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"troupe/codec/batch"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// Boundary is where a checkpoint ends and the log goes on.
type Boundary struct {
	// End is the offset after the last record that the checkpoint stands for; Epoch is that record's.
	End   model.Offset
	Epoch model.LeaderEpoch
	// Voters is the set at that point; a checkpoint of kraft.version 0 does not name it, and it comes from
	// controller.quorum.voters.
	Voters []batch.Voter
}

// Restorer rebuilds a Machine from what is on disk: a checkpoint, the log behind it, and the hard state. How far the log
// is committed is not on disk: it begins as unknown, and the next leader's first entry settles it.
type Restorer struct {
	options Options
	storage *storage
	// latest is the set at the end of the log, committed or not. The one before it is: a change is proposed when the one before
	// it was applied. Raft begins with that one. An older set, such as the checkpoint's, might share no majority with the present one.
	latest, voters []batch.Voter
	// changed is the offset of latest's record, since that of voters'; NoOffset before the checkpoint's end.
	changed, since model.Offset
	known          map[uint64]VoterKey
}

// Restore begins at a checkpoint, or at the zero End with the first voters where there is none.
func Restore(o Options, from Boundary) *Restorer {
	r := &Restorer{
		options: o.withDefaults(), latest: from.Voters, voters: from.Voters, changed: model.NoOffset, since: model.NoOffset,
		known: map[uint64]VoterKey{},
	}
	if findVoter(from.Voters, o.Self) < 0 {
		// In a quorum of kraft.version 0 voters are named without directories, this node among them.
		if static := (VoterKey{ID: o.Self.ID}); findVoter(from.Voters, static) >= 0 {
			r.options.Self = static
		}
	}
	r.storage = &storage{start: indexOf(from.End - 1), startTerm: uint64(from.Epoch), checkpoint: from}
	return r
}

// Add takes the next batch of the log; batches that the checkpoint covers are passed over.
// Errors name the offset: a gap, a batch that does not parse, a record of a newer software (*record.UnknownError).
func (r *Restorer) Add(v batch.View) error {
	set := r.latest
	entries, err := entriesOf(v, &r.latest)
	if err != nil {
		return err
	}
	for len(entries) > 0 && entries[0].GetIndex() <= r.storage.start {
		set = votersAfter(entries[0], set)
		entries = entries[1:]
	}
	if len(entries) == 0 {
		return nil
	}
	if next := r.storage.last() + 1; entries[0].GetIndex() != next {
		return fmt.Errorf("metadata log: offset %d follows %d", offsetOf(entries[0].GetIndex()), offsetOf(next)-1)
	}
	if epoch, _ := r.storage.Term(r.storage.last()); entries[0].GetTerm() < epoch {
		return fmt.Errorf("metadata log: epoch %d at offset %d follows epoch %d", entries[0].GetTerm(), offsetOf(entries[0].GetIndex()), epoch)
	}
	r.storage.append(entries)
	for _, e := range entries {
		if isVoters(e) { // one of several of its batch, where a follower got them together
			r.voters, r.since, r.changed = set, r.changed, offsetOf(e.GetIndex())
			set = votersAfter(e, set)
		}
	}
	for _, k := range keysOf(r.latest) {
		r.known[k.raftID()] = k
	}
	return nil
}

// votersAfter is the set after an entry of the log, of the one before it.
func votersAfter(e *raftpb.Entry, before []batch.Voter) []batch.Voter {
	if !isVoters(e) {
		return before
	}
	entry, err := committed(e)
	invariant.Check(err == nil, "quorum: a change of voters that was read does not decode: %v", err)
	return entry.Control.(batch.Voters).Voters
}

// Start gives the machine. What the log holds behind the checkpoint comes out as Committed when it is known to be: at
// once after the election where this node is the only voter, which it holds without waiting for a timeout.
func (r *Restorer) Start(h HardState) (*Machine, error) {
	last, _ := r.storage.Term(r.storage.last())
	if uint64(h.Epoch) < last {
		// A log ahead of quorum-state was copied, or the file was lost: the node has voted in no later epoch.
		h = HardState{Epoch: model.LeaderEpoch(last), Voted: NoVoter, Leader: model.NoBroker}
	}
	m := &Machine{
		options: r.options, storage: r.storage, known: r.known, hard: h, leader: NoVoter,
		leadership: Leadership{Leader: NoVoter, Epoch: h.Epoch},
		end:        offsetOf(r.storage.last()) + 1, settling: model.NoOffset,
	}
	m.written, m.before = m.end, m.end
	m.known[r.options.Self.raftID()] = r.options.Self
	m.known[h.Voted.raftID()] = h.Voted
	m.setVoters(r.voters)
	m.since = r.since
	if r.changed != model.NoOffset {
		m.change = r.storage.entries[indexOf(r.changed)-r.storage.start-1]
	}
	r.storage.initial = confState(r.voters)
	r.storage.hard = &raftpb.HardState{Term: new(uint64(h.Epoch)), Vote: new(h.Voted.raftID()), Commit: new(r.storage.start)}
	var err error
	m.node, err = raft.NewRawNode(&raft.Config{
		ID: r.options.Self.raftID(), ElectionTick: r.options.ElectionTicks, HeartbeatTick: r.options.HeartbeatTicks,
		Storage: r.storage, Applied: r.storage.start, AsyncStorageWrites: true,
		MaxSizePerMsg: 1 << 20, MaxCommittedSizePerReady: 8 << 20, MaxInflightMsgs: 256,
		CheckQuorum: true, PreVote: true, DisableProposalForwarding: true, StepDownOnRemoval: true,
		Logger: logger{r.options.Log},
	})
	if err != nil {
		return nil, fmt.Errorf("start raft: %w", err)
	}
	if m.Alone() {
		err = m.Campaign()
	}
	return m, err
}

// withDefaults: a follower that hears nothing for ten ticks asks for votes; a leader shows itself at each.
func (o Options) withDefaults() Options {
	if o.ElectionTicks == 0 {
		o.ElectionTicks = 10
	}
	if o.HeartbeatTicks == 0 {
		o.HeartbeatTicks = 1
	}
	if o.BatchBytesMax == 0 {
		o.BatchBytesMax = 8 << 20
	}
	return o
}

// boundaryOf reads a snapshot message. One without voters is from a quorum of kraft.version 0.
func boundaryOf(s *raftpb.Snapshot) Boundary {
	meta := s.GetMetadata()
	b := Boundary{End: offsetOf(meta.GetIndex()) + 1, Epoch: model.LeaderEpoch(meta.GetTerm())}
	if c, err := parseControl(batch.VotersType, s.GetData()); err == nil {
		b.Voters = c.(batch.Voters).Voters
	}
	return b
}
