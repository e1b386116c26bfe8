package partitionlog

import "sync/atomic"

// IndexBudget bounds the memory that all logs of a broker use for their indexes: entries not written yet, samples of
// what is written, and recent positions. When it grows scarce, entries are written in smaller blocks and samples are
// not extended. It is safe for concurrent use.
type IndexBudget struct {
	limit int64
	used  atomic.Int64
}

// NewIndexBudget bounds index memory to limit bytes.
func NewIndexBudget(limit int64) *IndexBudget { return &IndexBudget{limit: limit} }

// Used is the bytes in use.
func (b *IndexBudget) Used() int64 { return b.used.Load() }

func (b *IndexBudget) charge(bytes int) { b.used.Add(int64(bytes)) }

// scarce tells that what can be read from disk should not be kept.
func (b *IndexBudget) scarce() bool { return b.used.Load() > b.limit/2 }

// block is the size in bytes at which unwritten entries are to be written.
func (b *IndexBudget) block() int {
	switch used := b.used.Load(); {
	case used <= b.limit/2:
		return 4096
	case used <= b.limit/8*7:
		return 512
	}
	return 64
}

// DirtyBudget bounds the bytes that a start after kill -9 has to read: those behind the recovery points of all logs of
// a broker. Each log moves its recovery point when its own part exceeds a fair share. It is safe for concurrent use.
type DirtyBudget struct {
	limit int64
	bytes atomic.Int64
	logs  atomic.Int64 // that have any
	held  atomic.Bool
}

// A recovery reads and checks about 2 GB a second and core, from the page cache: 2 GiB take a second on two cores, and so do
// 5,000 logs of the least share each. It is done after a power cut alone (OpenParams.Kept). A smaller budget was measured to
// cost a tenth of the CPU of producing, and a fifth of its rate: who syncs early writes back what the kernel would.
const (
	// leastShare keeps many busy logs from syncing for little; a start reads it in well under a millisecond.
	leastShare = 256 << 10
	// quietShare is synced when it is old, less is left to the kernel.
	quietShare = 64 << 10
	quietMs    = 60_000
)

// NewDirtyBudget bounds the unsynced bytes to about limit, as long as that leaves each log leastShare.
func NewDirtyBudget(limit int64) *DirtyBudget { return &DirtyBudget{limit: limit} }

// Bytes is what a start would have to read now.
func (b *DirtyBudget) Bytes() int64 { return b.bytes.Load() }

// Hold keeps logs from moving their recovery points for the sake of the budget until Release. It is for the start: what
// was left unsynced would be synced log by log, between those that clients are waiting for.
func (b *DirtyBudget) Hold() { b.held.Store(true) }

// Release ends Hold.
func (b *DirtyBudget) Release() { b.held.Store(false) }

// share is the part of one log.
func (b *DirtyBudget) share() int64 { return max(leastShare, b.limit/max(1, b.logs.Load())) }

// move changes the bytes of one log from old to now.
func (b *DirtyBudget) move(old, now int64) {
	b.bytes.Add(now - old)
	switch {
	case old == 0 && now > 0:
		b.logs.Add(1)
	case old > 0 && now == 0:
		b.logs.Add(-1)
	}
}
