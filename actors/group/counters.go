package group

import "sync/atomic"

// Counters count the events of all machines of a broker: they outlive a machine, which is thrown away when its partition
// moves. The zero value is ready, and safe for concurrent use.
type Counters [events]atomic.Int64

// Count is for Options.
func (c *Counters) Count(e Event, n int) { c[e].Add(int64(n)) }
