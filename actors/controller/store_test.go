package controller

import (
	"testing"
	"time"

	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// A voter gives its first vote before its log has an entry whose sync would make the directory's name durable.
func TestTheFirstVoteOutlivesThePower(t *testing.T) {
	for seed := range uint64(50) {
		began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		fsys := vfs.NewCrashFS(seed, clock.NewManual(began))
		if err := fsys.MkdirAll("/data", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := fsys.SyncAll("/"); err != nil {
			t.Fatal(err)
		}
		s := &store{
			env: partitionlog.NewEnv(fsys, vfs.NewDescriptors(100)), path: "/data/" + metadataTopic.String(),
			cfg: partitionlog.Config{SegmentBytes: 1 << 20}, now: func() time.Time { return began },
		}
		voters := []batch.Voter{{ID: 1}, {ID: 2}, {ID: 3}}
		if err := s.format(quorum.Checkpoint{Boundary: quorum.Boundary{Voters: voters}}); err != nil {
			t.Fatal(err)
		}
		vote := quorum.HardState{Epoch: 1, Voted: quorum.VoterKey{ID: 2}, Leader: model.NoBroker}
		if err := s.writeHardState(vote, 0, voters); err != nil {
			t.Fatal(err)
		}
		fsys.Crash()
		if got, err := s.hardState(); err != nil || got != vote {
			t.Fatalf("seed %d: after a power cut the vote is %+v (%v), given was %+v", seed, got, err, vote)
		}
	}
}
