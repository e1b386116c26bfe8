package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// A crash may come between the steps of a truncation or of an installation. What is here lets a start finish either.

// headFile holds the part of a batch that a truncation takes away too much: logs are cut between batches, and what stands
// before the cut may have been acknowledged. It is there from before the cut until that part is in the log again.
const headFile = "truncated.batch"

// keepHead makes the records durable that stand before an offset in the batch round it. Nothing is returned, nor written,
// where a batch begins at the offset.
func (s *store) keepHead(v *partitionlog.View, at model.Offset) (batch.View, error) {
	if at <= v.LogStart {
		return nil, nil
	}
	var found batch.View
	stop := errors.New("found")
	if err := s.each(v, at-1, func(b batch.View) error { found = b; return stop }); !errors.Is(err, stop) {
		return nil, errors.Join(err, fmt.Errorf("no batch at offset %d", at-1))
	}
	if found.NextOffset() <= at {
		return nil, nil
	}
	b := batch.NewBuilder(batch.Options{BaseOffset: found.BaseOffset(), LeaderEpoch: found.LeaderEpoch(), Control: found.Control()})
	err := found.Each(func(r batch.Record) error {
		if r.Offset < at {
			b.Add(r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	head, err := b.Build()
	if err != nil {
		return nil, err
	}
	return head, checkpoint.Replace(s.env.FS, filepath.Join(s.path, headFile), head)
}

// dropHead removes what keepHead wrote. Were it undone by a power cut, mend would find the log past it.
func (s *store) dropHead() error { return s.env.FS.Remove(filepath.Join(s.path, headFile)) }

// mend finishes what a crash interrupted, before anything is read from the log.
func (s *store) mend(log *partitionlog.Log, from quorum.Boundary) error {
	if err := s.restoreHead(log); err != nil {
		return err
	}
	v := log.View()
	if from.End == 0 || v.LogStart >= from.End || v.LogEnd >= from.End && v.EpochAt(from.End-1) == from.Epoch {
		return nil
	}
	// A checkpoint was installed that this log has not come to, or that another leader's log stands in.
	job := log.Reset(from.End)
	err := job.Run()
	log.Done(job, err)
	return err
}

// restoreHead writes again what a truncation took too much. A log that ends anywhere else has it, or was cut further.
func (s *store) restoreHead(log *partitionlog.Log) error {
	data, err := s.readFile(headFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	head, _, err := batch.First(data)
	if err == nil {
		err = head.CheckCRC()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", headFile, err)
	}
	if head.BaseOffset() == log.LogEnd() {
		_, job, err := log.Stage(head, partitionlog.StageOptions{
			NowMs: head.MaxTimestamp(), LeaderEpoch: head.LeaderEpoch(), Origin: partitionlog.FromLeader,
		})
		if err != nil {
			return err
		}
		err = job.Run()
		log.Done(job, err)
		if err != nil {
			return err
		}
		if flush := log.Flush(); flush != nil {
			err := flush.Run()
			log.Done(flush, err)
			if err != nil {
				return err
			}
		}
	}
	return s.dropHead()
}

// takeCheckpoint makes a file of a checkpoint that was fetched, and reads it. From then on it counts at a start, whatever
// the log holds.
func (s *store) takeCheckpoint(b quorum.Boundary, data []byte, empty *image.Image) (*image.Image, error) {
	name := quorum.CheckpointName(b.End, b.Epoch)
	_, img, err := parseCheckpoint(name, data, b.End, b.Epoch, empty)
	if err != nil {
		return nil, err
	}
	return img, checkpoint.Replace(s.env.FS, filepath.Join(s.path, name), data)
}
