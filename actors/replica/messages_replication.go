package replica

import (
	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// BecomeFollower has the replica copy the log of a leader at an epoch.
type BecomeFollower struct {
	Leader         model.BrokerID
	LeaderEpoch    model.LeaderEpoch
	PartitionEpoch model.PartitionEpoch
	ISR            []model.BrokerID
	Replicas       []model.BrokerID
}

// FollowerFetch tells a leader that a follower asks for what comes after Offset: it has all before, written by its flush
// policy. Whoever sends it has made sure that the two logs agree up to there.
type FollowerFetch struct {
	Replica     model.BrokerID
	Epoch       model.BrokerEpoch // of the follower's process; -1 when it is not known
	LeaderEpoch model.LeaderEpoch
	Offset      model.Offset
	LogStart    model.Offset // of its log
}

// Recheck says that brokers came, went or changed their state: who may be in an ISR is judged anew.
type Recheck struct{}

// Fetched is what a leader sent for a follower's replica. The bytes are the replica's.
type Fetched struct {
	Handle      *Handle
	LeaderEpoch model.LeaderEpoch // under which it was asked
	Offset      model.Offset      // that was asked for
	Batches     []byte
	Loan        *Loan // of the memory of Batches; nil where the collector has it
	// The leader's marks.
	HighWatermark, LogStart model.Offset
	// Diverging tells where the leader's log leaves this one.
	Diverging *EpochEnd
	// OutOfRange says that the leader's log, from LogStart to LogEnd, does not hold Offset.
	OutOfRange bool
	LogEnd     model.Offset
	// Fetcher waits for a Progress, unless there were only marks.
	Fetcher kit.Ref
}

// Loan is memory in which several replicas have what a leader sent. It belongs to the fetcher, which returns it for each of
// them, and is used again when none has a part of it any more. A loan that is lost costs nothing but the memory's reuse.
type Loan struct {
	left int
	back func()
}

// NewLoan lends memory to so many replicas.
func NewLoan(replicas int, back func()) *Loan { return &Loan{replicas, back} }

// Return says that one of them has no part of it any more.
func (l *Loan) Return() {
	if l.left--; l.left == 0 {
		l.back()
	}
}

// EpochEnd is the largest epoch of a leader that is not above one that was asked for, and the offset where it ends.
type EpochEnd struct {
	Epoch model.LeaderEpoch
	End   model.Offset
}

// Position is where a follower's log stands: what to ask its leader for next.
type Position struct {
	LeaderEpoch model.LeaderEpoch
	Offset      model.Offset      // the end of what is written, by the flush policy
	LastEpoch   model.LeaderEpoch // of the last record; -1 in an empty log
	LogStart    model.Offset
}

// Following is told to Deps.Fetchers: records are to be fetched from the leader.
type Following struct {
	Handle *Handle
	Leader model.BrokerID
	Position
}

// Unfollowed is told to Deps.Fetchers: nothing more is to be fetched.
type Unfollowed struct{ Handle *Handle }

// Progress is told to the fetcher that sent a Fetched: go on from there. With an error the replica did not take it.
type Progress struct {
	Handle *Handle
	Position
	Err error
	// Loan is that of a Fetched which is written, or was not wanted; nil when what became of its bytes is not known.
	Loan *Loan
}

// Alter is told to Deps.Alterations; the answer is an Altered for the handle.
type Alter struct {
	Handle *Handle
	Proposal
}

// isrDue is the timer of replica.lag.time.max.ms.
type isrDue struct{}

// lowered says that the checkpoint of recovery points knows of a truncation.
type lowered struct {
	incarnation uint32
	err         error
}

func (*BecomeFollower) MessageKind() string { return "replica.become-follower" }
func (*FollowerFetch) MessageKind() string  { return "replica.follower-fetch" }
func (*Recheck) MessageKind() string        { return "replica.recheck" }
func (*Fetched) MessageKind() string        { return "replica.fetched" }
func (*Altered) MessageKind() string        { return "replica.altered" }
func (*Following) MessageKind() string      { return "replica.following" }
func (*Unfollowed) MessageKind() string     { return "replica.unfollowed" }
func (*Progress) MessageKind() string       { return "replica.progress" }
func (*Alter) MessageKind() string          { return "replica.alter" }
func (*isrDue) MessageKind() string         { return "replica.isr-due" }
func (*lowered) MessageKind() string        { return "replica.lowered" }

// MessageBytes is part of kit.Sized.
func (m *Fetched) MessageBytes() int { return len(m.Batches) }

// Fail has the fetcher ask again in a while.
func (m *Fetched) Fail(err error) { m.Fetcher.Send(&Progress{Handle: m.Handle, Err: err}) }

// Fail has the leader ask again.
func (m *Alter) Fail(error) {
	m.Handle.Send(&Altered{Asked: m.Proposal, Code: kerr.UnknownServerError})
}
