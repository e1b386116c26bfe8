package disk

import (
	"sync/atomic"
	"time"
)

// Cleaning counts what the cleaner of a directory does. It is safe for concurrent use.
type Cleaning struct {
	lastRun     atomic.Int64 // Unix milliseconds
	lastTook    atomic.Int64 // nanoseconds
	Uncleanable atomic.Int64 // logs that are set aside
	Dead        atomic.Int64 // lanes that are given up
	Bytes       atomic.Int64 // read and written
}

// Looked notes that the cleaner looked for work.
func (c *Cleaning) Looked(now time.Time) { c.lastRun.Store(now.UnixMilli()) }

// SinceRun is how long ago the cleaner last looked for work; 0 before the first time.
func (c *Cleaning) SinceRun(now time.Time) time.Duration {
	last := c.lastRun.Load()
	if last == 0 {
		return 0
	}
	return max(0, time.Duration(now.UnixMilli()-last)*time.Millisecond)
}

// Took notes how long a log's cleaning was.
func (c *Cleaning) Took(d time.Duration) { c.lastTook.Store(int64(d)) }

// LastTook is how long the last cleaning was.
func (c *Cleaning) LastTook() time.Duration { return time.Duration(c.lastTook.Load()) }
