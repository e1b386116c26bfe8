package quorum

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"troupe/codec/batch"
	"troupe/internal/invariant"
)

// storage is what raft may read back: the entries that are durable and not yet dropped. It holds no more than is needed
// to apply them and to serve followers; everything older is in checkpoints and in the log on disk.
//
// Invariants, kept by append and compact:
//  1. entries[i] has index start + 1 + i;
//  2. start is at or below the applied index.
type storage struct {
	// hard and initial are asked for once, when the node starts; raft keeps its own from then on.
	hard    *raftpb.HardState
	initial *raftpb.ConfState
	// start and startTerm name the entry before the first one held.
	start, startTerm uint64
	entries          []*raftpb.Entry
	// checkpoint is the newest one, which a follower that is too far behind gets instead of entries.
	checkpoint Boundary
}

// last is the index of the last entry that was ever held, whether it still is or not.
func (s *storage) last() uint64 { return s.start + uint64(len(s.entries)) }

// append adds entries once they are durable, not when they are handed out: until then raft keeps them itself. They replace
// what they overlap, as a new leader's do.
func (s *storage) append(entries []*raftpb.Entry) {
	if len(entries) == 0 {
		return
	}
	first := entries[0].GetIndex()
	invariant.Check(first > s.start && first <= s.last()+1, "quorum: entry %d does not follow %d to %d", first, s.start, s.last())
	if keep := first - s.start - 1; keep < uint64(len(s.entries)) {
		// raft may still hold what Entries gave it: replaced entries are left alone.
		s.entries = s.entries[:keep:keep]
	}
	s.entries = append(s.entries, entries...)
}

// compact drops the entries up to index.
func (s *storage) compact(index uint64) {
	if index <= s.start {
		return
	}
	n := index - s.start
	s.startTerm = s.entries[n-1].GetTerm()
	s.start = index
	// A copy lets go of the dropped entries.
	s.entries = append([]*raftpb.Entry(nil), s.entries[n:]...)
}

// InitialState is raft.Storage's.
func (s *storage) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	return s.hard, s.initial, nil
}

// Entries is raft.Storage's.
func (s *storage) Entries(lo, hi, maxSize uint64) ([]*raftpb.Entry, error) {
	if lo <= s.start {
		return nil, raft.ErrCompacted
	}
	if hi > s.last()+1 {
		return nil, raft.ErrUnavailable
	}
	from := s.entries[lo-s.start-1 : hi-s.start-1]
	var size uint64
	for i, e := range from {
		size += uint64(proto.Size(e))
		if i > 0 && size > maxSize {
			return from[:i:i], nil
		}
	}
	return from[:len(from):len(from)], nil
}

// Term is raft.Storage's.
func (s *storage) Term(i uint64) (uint64, error) {
	switch {
	case i == s.start:
		return s.startTerm, nil
	case i < s.start:
		return 0, raft.ErrCompacted
	case i > s.last():
		return 0, raft.ErrUnavailable
	}
	return s.entries[i-s.start-1].GetTerm(), nil
}

// LastIndex is raft.Storage's.
func (s *storage) LastIndex() (uint64, error) { return s.last(), nil }

// FirstIndex is raft.Storage's.
func (s *storage) FirstIndex() (uint64, error) { return s.start + 1, nil }

// Snapshot is raft.Storage's. The message names a checkpoint, which the follower then fetches as a file.
func (s *storage) Snapshot() (*raftpb.Snapshot, error) {
	if indexOf(s.checkpoint.End-1) < s.start {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return s.checkpoint.snapshot(), nil
}

// snapshot carries the voters twice: as raft's numbers, and as records for whoever installs it.
func (b Boundary) snapshot() *raftpb.Snapshot {
	return &raftpb.Snapshot{
		Data: batch.Voters{Voters: b.Voters}.AppendValue(nil),
		Metadata: &raftpb.SnapshotMetadata{
			ConfState: confState(b.Voters), Index: new(indexOf(b.End - 1)), Term: new(uint64(b.Epoch)),
		},
	}
}

// confState is what raft knows of a set of voters. There are no learners: who does not vote fetches the log as a follower.
func confState(voters []batch.Voter) *raftpb.ConfState {
	c := &raftpb.ConfState{}
	for _, k := range keysOf(voters) {
		c.Voters = append(c.Voters, k.raftID())
	}
	return c
}
