package quorum

import (
	"time"
)

// CheckpointPolicy says when the log has grown enough to be summed up.
type CheckpointPolicy struct {
	// BytesMax of records since the last checkpoint: metadata.log.max.record.bytes.between.snapshots.
	BytesMax int64
	// AgeMax of the oldest record since: metadata.log.max.snapshot.interval.ms; 0 is no limit.
	AgeMax time.Duration
}

// Growth counts what was committed since the last checkpoint. The zero value begins at none.
type Growth struct {
	bytes int64
	since time.Time
	any   bool
}

// Add counts a committed record of so many bytes.
func (g *Growth) Add(bytes int, now time.Time) {
	if !g.any {
		g.any, g.since = true, now
	}
	g.bytes += int64(bytes)
}

// Reset begins anew after a checkpoint.
func (g *Growth) Reset() { *g = Growth{} }

// Due tells whether a checkpoint should be taken now. The caller waits for the end of an open transaction.
func (p CheckpointPolicy) Due(g Growth, now time.Time) bool {
	return g.any && (g.bytes >= p.BytesMax || p.AgeMax > 0 && now.Sub(g.since) >= p.AgeMax)
}
