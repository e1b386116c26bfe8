package api

import "sync/atomic"

// gather waits for answers that come from any goroutine and then completes the request. What an answer writes before
// it arrives is seen by done.
type gather struct {
	left atomic.Int32
	done func()
}

// newGather expects one arrival, that of the handler itself, so that done is not called before all are asked.
func newGather(done func()) *gather {
	g := &gather{done: done}
	g.left.Store(1)
	return g
}

// expect comes before the message that it counts, whose answer may be there at once.
func (g *gather) expect() { g.left.Add(1) }

func (g *gather) arrive() {
	if g.left.Add(-1) == 0 {
		g.done()
	}
}
