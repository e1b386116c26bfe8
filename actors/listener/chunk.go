package listener

import (
	"sync"
	"sync/atomic"
)

// Frames are parsed where they were read: a chunk is a read buffer that lives until the last request in it has been
// answered. Chunks start small and grow while the peer fills them, so an idle or slow connection pins little.
const (
	smallChunk = 16 << 10
	largeChunk = 256 << 10
)

// chunk counts who needs it: the reader, and each request whose bytes stand in it.
type chunk struct {
	buf  []byte
	refs atomic.Int32
	pool *sync.Pool // nil for one made for a single large frame
}

var (
	smallChunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, smallChunk)} }}
	largeChunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, largeChunk)} }}
)

// newChunk gives a chunk of at least size bytes with one reference, the caller's.
func newChunk(size int) *chunk {
	var c *chunk
	switch {
	case size <= smallChunk:
		c = smallChunks.Get().(*chunk)
		c.pool = &smallChunks
	case size <= largeChunk:
		c = largeChunks.Get().(*chunk)
		c.pool = &largeChunks
	default:
		c = &chunk{buf: make([]byte, size)}
	}
	c.refs.Store(1)
	return c
}

// retain and release bracket a request; the last release gives the buffer to the next connection.
func (c *chunk) retain() { c.refs.Add(1) }

func (c *chunk) release() {
	if c.refs.Add(-1) == 0 && c.pool != nil {
		c.pool.Put(c)
	}
}
