package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// metadataTopic names the metadata log; its id is fixed (KIP-595).
var (
	metadataTopic   = model.TopicPartition{Topic: "__cluster_metadata"}
	metadataTopicID = model.TopicID{15: 1}
)

// store is the directory of the metadata log. Its methods block and run on the metadata lane; one at a time.
type store struct {
	env  *partitionlog.Env
	path string
	cfg  partitionlog.Config
	now  func() time.Time
	// committed is an offset up to which the log was committed, and synced, before this start.
	committed model.Offset
}

// loaded is what a start finds on disk.
type loaded struct {
	log   *partitionlog.Log
	raft  *quorum.Machine
	image *image.Image // of the checkpoint; the log behind it comes out of raft as it is committed
	// kraftVersion is the finalized kraft.version.
	kraftVersion int16
	// reader and entries are there instead of raft on a node that does not vote; bare tells that there is nothing at all.
	reader    *quorum.Reader
	entries   []quorum.Entry
	bare      bool
	formatted map[string]int16 // levels of a new cluster, see formattedLevels
}

// load brings back the log and raft's state. A directory that does not exist is a new node's. observe tells that the node
// does not vote unless a log of kraft.version 1 names it with its directory; retired, that it does not whatever the log says.
func (s *store) load(o quorum.Options, first quorum.Checkpoint, clusterID string, observe, retired bool) (*loaded, error) {
	if _, err := s.env.FS.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		if s.committed > 0 {
			return nil, fmt.Errorf("metadata log %s is gone: it had come to offset %d", s.path, s.committed)
		}
		if err := s.format(first); err != nil {
			return nil, err
		}
	}
	from, img, err := s.latestCheckpoint(image.Empty(clusterID), first)
	if err != nil {
		return nil, err
	}
	required := model.Offset(0)
	if s.committed > from.End { // what a checkpoint holds, the log may do without
		required = s.committed
	}
	log, report, err := partitionlog.Open(s.env, s.path, metadataTopic, s.cfg, partitionlog.OpenParams{
		// What the checkpoint holds is not needed any more; all behind it is checked batch by batch.
		RecoveryPoint: from.End, HighWatermark: from.End, LogStart: model.NoOffset, TopicID: metadataTopicID,
		// Without its topics a broker would set their logs aside as nobody's.
		Required: required,
	})
	if err != nil {
		return nil, fmt.Errorf("metadata log is damaged, and is left as it is: %w", err)
	}
	if report.DeletedSegments > 0 {
		// Entries are synced before anything depends on them, so only a torn last write may be missing.
		return nil, fmt.Errorf("metadata log %s is damaged before its end: %w", s.path, report.Reason)
	}
	if err := s.mend(log, from.Boundary); err != nil {
		return nil, fmt.Errorf("metadata log %s: %w", s.path, err)
	}
	if log.LogEnd() == 0 && from.End == 0 {
		if err := s.begin(first); err != nil { // a start that was cut off may not have come so far
			return nil, err
		}
	}
	// What was read may stand in the page cache alone, after a kill: raft takes it for safe.
	if job := log.Flush(); job != nil {
		err := job.Run()
		log.Done(job, err)
		if err != nil {
			return nil, fmt.Errorf("metadata log: %w", err)
		}
	}
	r := quorum.Restore(o, from.Boundary)
	if err := s.each(log.View(), from.End, r.Add); err != nil {
		return nil, err
	}
	if retired || observe && (from.KRaftVersion == 0 || !r.Votes()) || !observe && !r.Votes() {
		found := &loaded{log: log, image: img, kraftVersion: from.KRaftVersion}
		found.bare = log.LogEnd() == 0 && len(from.Voters) == 0
		found.reader, found.entries, err = r.Observe()
		return found, err
	}
	// After the log: a vote or term that is lost is worse than a log that is, so it must be whole or the start fails.
	hard, err := s.hardState()
	if err != nil {
		return nil, err
	}
	m, err := r.Start(hard)
	if err != nil {
		return nil, err
	}
	out := &loaded{log: log, raft: m, image: img, kraftVersion: from.KRaftVersion}
	if from.End == 0 { // the first records may not be in the log yet
		out.formatted, err = s.formattedLevels()
	}
	return out, err
}

// format makes the directory of a new node: an empty log and the checkpoint that names the first voters.
func (s *store) format(first quorum.Checkpoint) error {
	log := partitionlog.New(s.env, s.path, metadataTopic, s.cfg, metadataTopicID)
	job := log.Create()
	err := job.Run()
	log.Done(job, err)
	if err != nil {
		return fmt.Errorf("metadata log %s cannot be made: %w", s.path, err)
	}
	// The first vote stands in the directory, perhaps before the first entry that would have its name synced.
	if err := s.env.FS.SyncDir(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("metadata log %s cannot be made: %w", s.path, err)
	}
	return s.begin(first)
}

// begin writes the checkpoint that the log begins with, unless it is there: nodes that come later ask for it.
func (s *store) begin(first quorum.Checkpoint) error {
	if len(first.Voters) == 0 {
		return nil // it comes from the leader
	}
	if _, err := s.env.FS.Stat(filepath.Join(s.path, quorum.CheckpointName(0, 0))); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.writeCheckpoint(first, image.Empty(""))
}

// latestCheckpoint reads the newest whole checkpoint; first is the boundary of a log that never had one.
func (s *store) latestCheckpoint(empty *image.Image, first quorum.Checkpoint) (quorum.Checkpoint, *image.Image, error) {
	entries, err := s.env.FS.ReadDir(s.path)
	if err != nil {
		return quorum.Checkpoint{}, nil, err
	}
	for i := len(entries) - 1; i >= 0; i-- { // names rise with offsets
		end, epoch, ok := quorum.ParseCheckpointName(entries[i].Name())
		if !ok {
			continue
		}
		found, img, err := s.readCheckpoint(entries[i].Name(), end, epoch, empty)
		if errors.Is(err, quorum.ErrTruncated) {
			continue // cut off before it was complete; the log still holds all that it stood for
		}
		if len(found.Voters) == 0 {
			found.Voters = first.Voters
		}
		return found, img, err
	}
	return first, empty, nil
}

// readCheckpoint reads a file whole: header, records, footer (KIP-630). A missing footer is ErrTruncated.
func (s *store) readCheckpoint(name string, end model.Offset, epoch model.LeaderEpoch, empty *image.Image) (quorum.Checkpoint, *image.Image, error) {
	data, err := s.readFile(name)
	if err != nil {
		return quorum.Checkpoint{}, nil, err
	}
	return parseCheckpoint(name, data, end, epoch, empty)
}

// parseCheckpoint reads what a file holds.
func parseCheckpoint(name string, data []byte, end model.Offset, epoch model.LeaderEpoch, empty *image.Image) (quorum.Checkpoint, *image.Image, error) {
	r := quorum.CheckpointReader{}
	r.End, r.Epoch = end, epoch
	e := empty.Edit()
	apply := func(m record.Record) error { return e.Apply(end-1, epoch, m) }
	for len(data) > 0 {
		v, rest, err := batch.First(data)
		if errors.Is(err, batch.ErrIncomplete) {
			return quorum.Checkpoint{}, nil, quorum.ErrTruncated
		}
		if err == nil {
			err = v.CheckCRC()
		}
		if err != nil {
			return quorum.Checkpoint{}, nil, fmt.Errorf("checkpoint %s: %w", name, err)
		}
		if err := r.Add(v, apply); err != nil {
			return quorum.Checkpoint{}, nil, fmt.Errorf("checkpoint %s: %w", name, err)
		}
		data = rest
	}
	if err := r.Done(); err != nil {
		return quorum.Checkpoint{}, nil, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	// The image stands where the checkpoint ends, though its last record may be older.
	if end > 0 {
		e.Skip(end-1, epoch)
	}
	img, _ := e.Publish()
	return r.Checkpoint, img, nil
}

// readFile reads a whole file; checkpoints are as large as the metadata, which is in memory anyway.
func (s *store) readFile(name string) ([]byte, error) {
	return vfs.ReadFile(s.env.FS, filepath.Join(s.path, name), math.MaxInt64)
}

// writeCheckpoint makes a checkpoint file: whole under its name, or not there.
func (s *store) writeCheckpoint(c quorum.Checkpoint, img *image.Image) error {
	var data []byte
	for v, err := range c.Batches(img.Records(), s.now()) {
		if err != nil {
			return err
		}
		data = append(data, v...)
	}
	return checkpoint.Replace(s.env.FS, filepath.Join(s.path, quorum.CheckpointName(c.End, c.Epoch)), data)
}

// removeCheckpoints drops those that end before the offset.
func (s *store) removeCheckpoints(before model.Offset) error {
	entries, err := s.env.FS.ReadDir(s.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if end, _, ok := quorum.ParseCheckpointName(e.Name()); ok && end < before {
			if err := s.env.FS.Remove(filepath.Join(s.path, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// each walks the batches of the log from an offset on.
func (s *store) each(v *partitionlog.View, from model.Offset, do func(batch.View) error) error {
	// Bounds the memory of a start, whatever the log's length.
	const step = 1 << 20
	for from < v.LogEnd {
		region, err := v.Read(from, v.LogEnd, step, true)
		if err != nil {
			return fmt.Errorf("metadata log, offset %d: %w", from, err)
		}
		data := make([]byte, region.Len)
		n, err := region.File.ReadAt(data, region.Pos)
		region.Release()
		if n < len(data) {
			return fmt.Errorf("metadata log, offset %d: %w", from, err)
		}
		before := from
		for len(data) > 0 {
			b, rest, err := batch.First(data)
			if errors.Is(err, batch.ErrIncomplete) {
				break // cut at the step; it is read whole next
			}
			if err == nil {
				err = b.CheckCRC()
			}
			if err != nil {
				return fmt.Errorf("metadata log, offset %d: %w", from, err)
			}
			if err := do(b); err != nil {
				return err
			}
			from, data = b.NextOffset(), rest
		}
		if from == before {
			return fmt.Errorf("metadata log: nothing can be read at offset %d of %d", from, v.LogEnd)
		}
	}
	return nil
}

// hardState reads quorum-state; a node that has none never voted.
func (s *store) hardState() (quorum.HardState, error) {
	q, ok, err := checkpoint.ReadQuorumState(s.env.FS, filepath.Join(s.path, checkpoint.QuorumFile))
	if err != nil || !ok {
		return quorum.HardState{Voted: quorum.NoVoter, Leader: model.NoBroker}, err
	}
	return quorum.HardState{
		Epoch: q.LeaderEpoch, Voted: quorum.VoterKey{ID: q.VotedID, Directory: q.VotedDirectoryID}, Leader: q.LeaderID,
	}, nil
}

// writeHardState replaces quorum-state, synced before it returns. Voters stand in it only with kraft.version 0; later they
// are records of the log (KIP-853).
func (s *store) writeHardState(h quorum.HardState, kraftVersion int16, voters []batch.Voter) error {
	q := checkpoint.QuorumState{
		Version: kraftVersion, LeaderID: h.Leader, LeaderEpoch: h.Epoch, VotedID: h.Voted.ID, VotedDirectoryID: h.Voted.Directory,
	}
	if kraftVersion == 0 {
		for _, v := range voters {
			q.CurrentVoters = append(q.CurrentVoters, v.ID)
		}
	}
	return checkpoint.WriteQuorumState(s.env.FS, filepath.Join(s.path, checkpoint.QuorumFile), q)
}
