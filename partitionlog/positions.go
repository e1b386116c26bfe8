package partitionlog

import (
	"sync"

	"troupe/internal/model"
)

// mark says that offsets below it stand before a position of a segment's file, and the others from there on.
type mark struct {
	offset model.Offset
	pos    int64
}

// cursors remember where readers of old data stopped, so that each of their next reads finds its place at once.
type cursors struct {
	mu   sync.Mutex
	next uint8
	at   [4]mark
}

func (c *cursors) find(o model.Offset) (pos int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.at {
		if m.offset == o && m.pos > 0 {
			return m.pos, true
		}
	}
	return 0, false
}

func (c *cursors) remember(m mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, have := range c.at {
		if have == m {
			return
		}
	}
	c.at[c.next%uint8(len(c.at))] = m
	c.next++
}

// addMark notes where a batch begins. Views share the array, so a full one is left to them, and the later half of it is
// copied: that is 16 bytes an append.
func (l *Log) addMark(m mark) {
	if len(l.marks) == cap(l.marks) {
		most := mostMarks
		if l.env.Index.scarce() {
			most = fewMarks
		}
		// A partition with little traffic pays for a few marks only.
		size := min(max(2*cap(l.marks), firstMarks), most)
		l.setMarks(append(make([]mark, 0, size), l.marks[max(0, len(l.marks)-size/2):]...))
	}
	l.marks = append(l.marks, m)
}

// Recent positions are kept for so many batches, fewer when memory is scarce.
const (
	mostMarks  = 128
	fewMarks   = 16
	firstMarks = 8
	markSize   = 16
)

func (l *Log) setMarks(marks []mark) {
	l.env.Index.charge((cap(marks) - cap(l.marks)) * markSize)
	l.marks = marks
}
