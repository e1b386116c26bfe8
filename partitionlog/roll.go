package partitionlog

import (
	"fmt"
	"hash/fnv"
	"math"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/partitionlog/producer"
)

// segmentFor is the segment that a batch goes to.
func (l *Log) segmentFor(v batch.View, nowMs int64) *segment {
	base := l.next
	if v.LastOffset()-base > math.MaxInt32 {
		base = v.BaseOffset() // a follower's gap, too wide for relative offsets
	}
	if len(l.segments) == 0 || l.rolls(l.segments[len(l.segments)-1], v, nowMs) {
		l.beginSegment(base, nowMs)
	}
	return l.segments[len(l.segments)-1]
}

// beginSegment makes the next append the first of a new file.
func (l *Log) beginSegment(base model.Offset, nowMs int64) {
	if len(l.segments) > 0 {
		l.segments[len(l.segments)-1].index.seal()
		l.checkpointAt(base)
	}
	s := newSegment(l.env, l.dir, base)
	s.roll.createdMs, s.roll.modifiedMs, s.roll.jitterMs = nowMs, nowMs, jitter(l.cfg, l.tp, base)
	l.addSegment(s)
}

// addSegment gives the list a new array: views hold the old one.
func (l *Log) addSegment(s *segment) {
	l.segments = append(l.segments[:len(l.segments):len(l.segments)], s)
}

// rolls decides whether a batch begins a new segment (facts/storage-format.md 6).
func (l *Log) rolls(s *segment, v batch.View, nowMs int64) bool {
	switch {
	case v.LastOffset()-s.base > math.MaxInt32:
		return true
	case s.size == 0:
		return false
	case s.size+int64(len(v)) > l.cfg.SegmentBytes:
		return true
	case s.index.full(l.cfg.IndexBytes):
		return true
	}
	age := nowMs - s.roll.createdMs
	if s.roll.firstMs >= 0 && v.MaxTimestamp() >= 0 {
		age = v.MaxTimestamp() - s.roll.firstMs
	}
	return age > l.cfg.segmentMs()-s.roll.jitterMs
}

// learnAge gives the job that reads what the age of the active segment counts from, where a start after a kill has left that
// out: 5,000 logs have it in as many places of the disk, and clients are waiting. Until then the segment counts as young as
// its last write, so that it is not rolled too early. nil when there is nothing to read, or the start goes on.
func (l *Log) learnAge() *Job {
	if len(l.segments) == 0 || l.env.Dirty.held.Load() {
		return nil
	}
	s := l.segments[len(l.segments)-1]
	if !s.roll.unread {
		return nil
	}
	s.roll.unread = false
	return &Job{Kind: KindBulk, task: &ageTask{segment: s}}
}

type ageTask struct {
	segment *segment
	firstMs int64
}

func (t *ageTask) run() error {
	f, err := t.segment.file.pin(useRead)
	if err != nil {
		return err
	}
	defer t.segment.file.unpin()
	t.firstMs, err = firstTimestamp(f)
	return err
}

// done: a file that cannot be read is not rolled for its age, and whoever reads it meets the error.
func (t *ageTask) done(l *Log, err error) {
	if err == nil {
		t.segment.roll.firstMs = t.firstMs
	} else if Passes(err) {
		t.segment.roll.unread, l.backOff = true, true
	}
}

// jitter spreads the rolls of partitions that were created together. It depends on the segment's name alone, so that
// a replay of the same events takes the same course.
func jitter(cfg Config, tp model.TopicPartition, base model.Offset) int64 {
	most := min(cfg.SegmentJitterMs, cfg.segmentMs())
	if most <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, tp, fileID{offset: base})
	return int64(h.Sum64() % uint64(most))
}

// checkpointAt may be called while appends are under way, since the state cannot be copied as of an earlier offset later
// on. It takes a snapshot of the producers as of an offset up to which everything is staged and nothing beyond.
// It is written, and the recovery point moved there, once what is before it is written.
func (l *Log) checkpointAt(o model.Offset) {
	l.maintenance.due = append(l.maintenance.due, snapshot{
		at: o, bytes: producer.AppendSnapshot(nil, l.producers.Entries()), staged: l.maintenance.staged,
	})
}
