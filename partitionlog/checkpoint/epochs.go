package checkpoint

import (
	"slices"
	"sort"

	"troupe/internal/model"
)

// Epoch is the first offset that a leader wrote in its epoch.
type Epoch struct {
	Epoch model.LeaderEpoch
	Start model.Offset
}

// Epochs is the history of a partition's leaderships, by which replicas find where their logs part (KIP-101, KIP-279,
// facts/replication.md 5). The zero value is a log without a batch.
//
// Invariants: epochs and starts both rise strictly from entry to entry; an Epochs never changes, so that a view may
// hold one while the log goes on: every change gives a new one.
type Epochs struct {
	entries []Epoch
}

// All lists the entries, oldest first. The caller leaves the slice as it is.
func (e Epochs) All() []Epoch { return e.entries }

// Latest is the newest epoch; false when there is none.
func (e Epochs) Latest() (Epoch, bool) {
	if len(e.entries) == 0 {
		return Epoch{model.NoLeaderEpoch, model.NoOffset}, false
	}
	return e.entries[len(e.entries)-1], true
}

// At is the epoch in which the record at an offset was written; false for offsets before the first known epoch.
func (e Epochs) At(offset model.Offset) (model.LeaderEpoch, bool) {
	i := sort.Search(len(e.entries), func(i int) bool { return e.entries[i].Start > offset })
	if i == 0 {
		return model.NoLeaderEpoch, false
	}
	return e.entries[i-1].Epoch, true
}

// End answers OffsetForLeaderEpoch: the largest epoch that is not above the one asked for, and the offset where it
// ends. The newest epoch ends at logEnd. An epoch above all known, and -1, give (-1, -1); one below all known gives
// itself and the start of the first that is known.
func (e Epochs) End(asked model.LeaderEpoch, logEnd model.Offset) (model.LeaderEpoch, model.Offset) {
	latest, ok := e.Latest()
	switch {
	case !ok || asked == model.NoLeaderEpoch || asked > latest.Epoch:
		return model.NoLeaderEpoch, model.NoOffset
	case asked == latest.Epoch:
		return asked, logEnd
	}
	next := e.above(asked)
	if next == 0 {
		return asked, e.entries[0].Start
	}
	return e.entries[next-1].Epoch, e.entries[next].Start
}

// Assign notes that an epoch begins at an offset; changed is false when that is known already. Entries that contradict
// it, with an epoch or a start not below the new one's, give way: their records are gone from the log.
func (e Epochs) Assign(epoch model.LeaderEpoch, start model.Offset) (next Epochs, changed bool) {
	if latest, ok := e.Latest(); ok && latest.Epoch == epoch && latest.Start <= start {
		return e, false
	}
	keep := len(e.entries)
	for keep > 0 && (e.entries[keep-1].Epoch >= epoch || e.entries[keep-1].Start >= start) {
		keep--
	}
	return Epochs{append(slices.Clip(e.entries[:keep]), Epoch{epoch, start})}, true
}

// TruncateEnd forgets the epochs that begin at or after the new log end.
func (e Epochs) TruncateEnd(end model.Offset) (next Epochs, changed bool) {
	keep := sort.Search(len(e.entries), func(i int) bool { return e.entries[i].Start >= end })
	if keep == len(e.entries) {
		return e, false
	}
	return Epochs{slices.Clip(e.entries[:keep])}, true
}

// TruncateStart forgets the epochs that end at or before the new log start; the one in which it lies begins there from
// now on.
func (e Epochs) TruncateStart(start model.Offset) (next Epochs, changed bool) {
	drop := sort.Search(len(e.entries), func(i int) bool { return e.entries[i].Start > start }) - 1
	if drop < 0 || drop == 0 && e.entries[0].Start == start {
		return e, false
	}
	entries := slices.Clone(e.entries[drop:])
	entries[0].Start = start
	return Epochs{entries}, true
}

// above is the index of the first entry with a greater epoch.
func (e Epochs) above(epoch model.LeaderEpoch) int {
	return sort.Search(len(e.entries), func(i int) bool { return e.entries[i].Epoch > epoch })
}
