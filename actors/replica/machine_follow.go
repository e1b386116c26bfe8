package replica

import "troupe/internal/model"

// standing is what a follower's decisions go by.
type standing struct {
	start, end model.Offset // end of what is staged
	// epochEnd gives the largest epoch of this log that is not above another one, and where it ends; -1, -1 when none is
	// known.
	epochEnd func(model.LeaderEpoch) (model.LeaderEpoch, model.Offset)
}

// next is what a follower does with what its leader sent.
type next uint8

const (
	takeIn   next = iota // append the batches, go by the marks
	askAgain             // what was asked for is not what this log needs
	cutBack              // remove what the leader does not have
	beginAt              // remove everything
)

// judge decides, and gives the offset of a cut. A log is never cut to its high watermark: that may be older than what is
// committed, or newer than what this leader has (KIP-101). It is cut where the two logs may part at the latest, and the next
// fetch tells whether that was far enough (facts/replication.md 5).
func (f *Fetched) judge(s standing) (next, model.Offset) {
	switch {
	case f.Offset != s.end:
		return askAgain, model.NoOffset
	case f.OutOfRange && f.LogEnd < s.end:
		return s.cut(f.LogEnd)
	case f.OutOfRange && f.LogStart > s.end: // what would come next was deleted
		return beginAt, f.LogStart
	case f.OutOfRange:
		return askAgain, model.NoOffset
	case f.Diverging != nil:
		to := f.Diverging.End
		epoch, end := s.epochEnd(f.Diverging.Epoch)
		switch {
		case end == model.NoOffset: // nothing is known of epochs here
		case epoch != f.Diverging.Epoch: // an older one: beyond its end nothing can be the leader's
			to = end
		default:
			to = min(to, end)
		}
		if to >= s.end {
			return askAgain, model.NoOffset
		}
		return s.cut(to)
	}
	return takeIn, model.NoOffset
}

func (s standing) cut(to model.Offset) (next, model.Offset) {
	if to < s.start {
		return beginAt, to
	}
	return cutBack, to
}
