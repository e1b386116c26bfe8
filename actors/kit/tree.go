package kit

import (
	"cmp"
	"slices"
)

// ActorInfo is one actor in the tree, for /actors.
type ActorInfo struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Parent      string `json:"parent,omitempty"`
	Depth       int    `json:"depth"`           // messages waiting, that being handled included
	Bytes       int64  `json:"bytes,omitempty"` // of the Sized ones
	Handled     uint64 `json:"handled"`
	Incarnation uint32 `json:"incarnation"` // 1 more than its restarts
	Restarts    uint32 `json:"restarts"`
	LastError   string `json:"lastError,omitempty"`
	Busy        bool   `json:"busy"`
	Suspended   bool   `json:"suspended,omitempty"` // panicked and not restarted yet
	Stopping    bool   `json:"stopping,omitempty"`
}

// Tree lists all actors by name. Each line is true of its actor at one moment, the whole is not of one moment.
func (s *System) Tree() []ActorInfo {
	cells := s.living()
	infos := make([]ActorInfo, 0, len(cells))
	for _, c := range cells {
		infos = append(infos, c.info())
	}
	slices.SortFunc(infos, func(a, b ActorInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos
}

// Stats sums up by kind, ordered by kind.
func (s *System) Stats() []KindStats {
	byKind := make(map[*kindStats]*KindStats)
	s.mu.Lock()
	for _, k := range s.kinds {
		byKind[k] = &KindStats{Kind: k.name, Handled: k.retiredHandled, Restarts: k.retiredRestarts}
	}
	for _, c := range s.cells {
		sum := byKind[c.kind]
		info := c.info()
		sum.Actors++
		sum.Depth += info.Depth
		sum.Bytes += info.Bytes
		sum.Handled += info.Handled
		sum.Restarts += uint64(info.Restarts)
	}
	s.mu.Unlock()
	out := make([]KindStats, 0, len(byKind))
	const microsecond, perNanosecond = 1e-6, 1e-9
	for k, sum := range byKind {
		sum.DeadLetters = k.deadLetters.Load()
		sum.Handling = k.handling.read(microsecond, perNanosecond)
		sum.Queueing = k.queueing.read(microsecond, perNanosecond)
		sum.Batches = k.batches.read(1, 1)
		out = append(out, *sum)
	}
	slices.SortFunc(out, func(a, b KindStats) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// DeadLetters counts the messages that no actor handled.
func (s *System) DeadLetters() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n uint64
	for _, k := range s.kinds {
		n += k.deadLetters.Load()
	}
	return n
}

// living copies the cells, so that their own locks are taken without the system's.
func (s *System) living() []*cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	cells := make([]*cell, 0, len(s.cells))
	for _, c := range s.cells {
		cells = append(cells, c)
	}
	return cells
}

// info reads counters that the owner may be moving: depth can be off by the message in hand.
func (c *cell) info() ActorInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := ActorInfo{
		Name: c.name, Kind: c.kind.name, Parent: Ref{c.parent}.Name(),
		Depth: int(c.posted - c.handled.Load()), Bytes: c.bytes.Load(), Handled: c.handled.Load(),
		Incarnation: c.restarts.Load() + 1, Restarts: c.restarts.Load(),
		Busy: c.scheduled, Suspended: c.suspended, Stopping: c.asked || c.phase != alive,
	}
	if err := c.lastErr.Load(); err != nil {
		info.LastError = err.Error()
	}
	return info
}
