package kit

import (
	"context"
	"sync"
)

// Credits bound what is in flight outside mailboxes, in bytes or in requests: they are taken before the next request
// is read, and given back when its answer has left. They are handed out in the order asked for.
//
// Invariant: 0 <= used, and used <= limit unless a single request larger than the limit is alone in flight, or more was
// charged.
type Credits struct {
	limit int64

	mu      sync.Mutex
	used    int64
	waiting []*creditWait
}

type creditWait struct {
	n       int64
	granted chan struct{}
}

// NewCredits has limit credits to give.
func NewCredits(limit int64) *Credits { return &Credits{limit: limit} }

// TryAcquire takes n credits if they are there and nobody waits.
func (c *Credits) TryAcquire(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) > 0 || !c.fits(n) {
		return false
	}
	c.used += n
	return true
}

// Acquire waits for n credits. It is for connections' goroutines, never for actors. The error is the context's.
func (c *Credits) Acquire(ctx context.Context, n int64) error {
	c.mu.Lock()
	if len(c.waiting) == 0 && c.fits(n) {
		c.used += n
		c.mu.Unlock()
		return nil
	}
	w := &creditWait{n: n, granted: make(chan struct{})}
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		c.abandon(w)
		return ctx.Err()
	}
}

// Charge takes n credits at once, whatever the limit: for what exists already, such as a reply's bytes. Those who
// acquire wait until enough was given back.
func (c *Credits) Charge(n int64) {
	c.mu.Lock()
	c.used += n
	c.mu.Unlock()
}

// Release gives n credits back, from any goroutine.
func (c *Credits) Release(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= n
	if c.used < 0 {
		panic("credits: more released than acquired")
	}
	c.grant()
}

// Used is how many credits are out.
func (c *Credits) Used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// fits lets a request that is larger than everything through when it would be alone.
func (c *Credits) fits(n int64) bool { return c.used == 0 || c.used+n <= c.limit }

func (c *Credits) grant() {
	for len(c.waiting) > 0 && c.fits(c.waiting[0].n) {
		w := c.waiting[0]
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		c.used += w.n
		close(w.granted)
	}
}

// abandon takes a wait back; a grant that came at the same moment is returned.
func (c *Credits) abandon(w *creditWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.waiting {
		if other == w {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			c.grant()
			return
		}
	}
	c.used -= w.n
	c.grant()
}
