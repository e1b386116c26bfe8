package partitionlog

import (
	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// View is the log at one moment: immutable, and good for any goroutine, also after the log has moved on. What a view
// says was written stays readable until retention or a truncation removes it; reads then return ErrStale, and a newer
// view has the answer.
//
// It costs one allocation, since it shares with the log what only ever grows at the end (marks) or is replaced as a whole
// (segments, epochs): the owner may publish one after each write.
type View struct {
	TopicID       model.TopicID
	LogStart      model.Offset
	HighWatermark model.Offset
	LastStable    model.Offset
	LogEnd        model.Offset
	LatestEpoch   model.LeaderEpoch

	epochs   checkpoint.Epochs
	settled  model.Offset // files before it are complete and synced, and a snapshot shows it
	segments []*segment
	size     int64  // of the last segment
	marks    []mark // in the last segment, rising
}

// View gives the present view. It is made anew only when something changed since.
func (l *Log) View() *View {
	if l.view == nil {
		l.view = &View{
			TopicID: l.topic, LogStart: l.start, HighWatermark: l.hw, LastStable: l.LastStable(), LogEnd: l.end,
			LatestEpoch: l.LatestEpoch(), epochs: l.epochs, settled: min(l.recovered, l.snapshot),
			segments: l.segments[:l.visible], size: l.size, marks: l.marks,
		}
	}
	return l.view
}

// Segments is how many segments the view covers.
func (v *View) Segments() int { return len(v.segments) }

// EpochEnd answers OffsetForLeaderEpoch (checkpoint.Epochs.End).
func (v *View) EpochEnd(e model.LeaderEpoch) (model.LeaderEpoch, model.Offset) {
	return v.epochs.End(e, v.LogEnd)
}

// EpochAt is the leader epoch of the record at an offset; model.NoLeaderEpoch before the first that is known.
func (v *View) EpochAt(o model.Offset) model.LeaderEpoch {
	e, _ := v.epochs.At(o)
	return e
}

// extent is the part of a segment that the view covers.
type extent struct {
	*segment
	size int64
	end  model.Offset // the offset after it
	last bool
}

func (v *View) extent(i int) extent {
	s := v.segments[i]
	if i == len(v.segments)-1 {
		return extent{s, v.size, v.LogEnd, true}
	}
	return extent{s, s.size, v.segments[i+1].base, false}
}
