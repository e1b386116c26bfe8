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
