package partitionlog

import (
	"fmt"
	"math"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog/producer"
)

// Stage takes a batch that the caller has validated: it decides where the batch stands and gives the job that writes it.
// It sets the base offset and the leader epoch in v, unless they come from a leader, and the time on topics with
// LogAppendTime. v's bytes are the log's until the job is done.
//
// Errors that refuse the batch and leave the log as it was: those of producer.State.Check, RECORD_LIST_TOO_LARGE for
// one that fits no segment, ErrUnexpectedOffset; and ErrPoisoned, ErrBusy.
func (l *Log) Stage(v batch.View, o StageOptions) (Staged, *Job, error) {
	if err := l.usable(); err != nil {
		return Staged{}, nil, err
	}
	p, err := parseProducer(v)
	if err != nil {
		return Staged{}, nil, err
	}
	if o.Origin == FromLeader {
		if err := l.checkCopied(v); err != nil {
			return Staged{}, nil, err
		}
		return l.stage(v, &p, o.NowMs)
	}
	original, again, err := l.judge(v, &p, o)
	if err != nil {
		return Staged{}, nil, err
	}
	if again {
		return l.repeated(original), nil, nil
	}
	v.SetBaseOffset(l.next)
	v.SetLeaderEpoch(o.LeaderEpoch)
	if l.cfg.LogAppendTime && !v.LogAppendTime() {
		v.SetLogAppendTime(o.NowMs)
	}
	return l.stage(v, &p, o.NowMs)
}

// stage places a batch that nothing speaks against any more. It is the hot path: the job is its only allocation, but for
// a roll, a new epoch, a growing index and a marker.
func (l *Log) stage(v batch.View, p *produced, nowMs int64) (Staged, *Job, error) {
	base, last := v.BaseOffset(), v.LastOffset()
	s := l.segmentFor(v, nowMs)
	pos, size := s.size, int64(len(v))
	j := &Job{Kind: KindAppend, log: l.broken, seg: s, data: v, pos: pos, first: pos == 0}
	if j.first && l.cfg.Preallocate {
		j.room = l.cfg.SegmentBytes
	}
	timestamp := v.MaxTimestamp()
	if pos == 0 {
		s.roll.firstMs = timestamp
	}
	// The batch is not counted yet, so a segment's first batch never has an entry: position 0 is implied.
	entry := s.roll.sinceEntry > l.cfg.IndexIntervalBytes
	if entry {
		s.roll.sinceEntry = 0
	}
	s.index.note(last, pos, timestamp, entry)
	s.roll.sinceEntry += size
	s.roll.modifiedMs = nowMs
	s.size += size
	l.total += size
	l.maintenance.staged += size
	// From here on memory is ahead of the file. If the write fails the log is poisoned and read anew, so nothing of this
	// has to be taken back.
	l.assignEpoch(v.LeaderEpoch(), base)
	j.txn = l.remember(v, p, s)
	l.next = last + 1
	l.outstanding++
	staged := Staged{BaseOffset: base, LastOffset: last, LogAppendMs: noTime}
	if v.LogAppendTime() {
		staged.LogAppendMs = timestamp
	}
	return staged, j, nil
}

// judge holds a batch of this leader against the producer state, and its size against the segment.
func (l *Log) judge(v batch.View, p *produced, o StageOptions) (producer.Original, bool, error) {
	if int64(len(v)) > l.cfg.SegmentBytes {
		return producer.Original{}, false, &kerr.Error{Code: kerr.RecordListTooLarge, Detail: fmt.Sprintf(
			"a batch of %d bytes fits no segment of %s, which has at most %d", len(v), l.tp, l.cfg.SegmentBytes)}
	}
	switch {
	case p.kind == producesData:
		return l.producers.Check(p.batch, o.Origin.producer())
	case p.kind == producesMarker:
		return producer.Original{}, false, l.producers.CheckMarker(p.marker, o.TransactionV2)
	}
	return producer.Original{}, false, nil
}

func (o Origin) producer() producer.Origin {
	switch o {
	case FromClientV2:
		return producer.ClientV2
	case FromCoordinator:
		return producer.Coordinator
	}
	return producer.Client
}

// checkCopied checks what a leader's checksum does not cover.
func (l *Log) checkCopied(v batch.View) error {
	switch {
	case v.BaseOffset() < l.next:
		return fmt.Errorf("%s: %w: offset %d, the log ends at %d", l.tp, ErrUnexpectedOffset, v.BaseOffset(), l.next)
	case v.LastOffsetDelta() < 0 || v.BaseOffset() > math.MaxInt64-model.Offset(math.MaxInt32):
		return &kerr.Error{Code: kerr.CorruptMessage, Detail: fmt.Sprintf(
			"a batch of %s has the offsets %d to %d", l.tp, v.BaseOffset(), v.LastOffset())}
	}
	return nil
}

func (l *Log) repeated(o producer.Original) Staged {
	s := Staged{BaseOffset: o.BaseOffset, LastOffset: o.LastOffset, LogAppendMs: noTime, Duplicate: true}
	if l.cfg.LogAppendTime {
		s.LogAppendMs = o.TimestampMs
	}
	return s
}
