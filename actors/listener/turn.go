package listener

import "troupe/actors/kit"

// A connection's replies are given out by whoever is at hand: by the reader when it has dealt with what it has read, by
// another connection's reader that has appended what a long poll waits for, else by the writer goroutine. One at a time is
// the writer (conn.writing). Who is not the writer goroutine never waits for the peer.

// write is the writer goroutine.
func (c *conn) write() {
	var t kit.Turn
	defer c.endWriter()
	defer t.Leave()
	for on := true; on; {
		<-c.wake
		on = c.giveOut(&t, true)
		t.Finish()
	}
}

func (c *conn) endWriter() {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.writer.abandon()
}

// giveOut makes the calling goroutine the writer for a while; false when the connection is over.
func (c *conn) giveOut(t *kit.Turn, patient bool) bool {
	if patient {
		c.writing.Lock()
	} else if !c.writing.TryLock() {
		c.signal() // whoever has it may be done looking
		return true
	}
	defer c.writing.Unlock()
	c.writer.turn, c.writer.patient = t, patient
	return c.writer.replies()
}

// endTurn does what the requests read so far led to, before the reader waits for anything. Its own replies come first.
func (c *conn) endTurn() {
	if !c.turning.Load() {
		return
	}
	c.turn.Run()
	c.turning.Store(false)
	if c.due() {
		c.giveOut(&c.turn, false)
	}
	c.turn.Finish()
}

// Block is part of kit.Lender: what is ready meanwhile is the writer's.
func (c *conn) Block() {
	c.lent = c.turning.Swap(false)
	if c.due() {
		c.signal()
	}
}

// Resume is part of kit.Lender. After the last look at the queue there is no other before the reader waits: the writer stays
// in charge then.
func (c *conn) Resume() { c.turning.Store(c.lent) }

// Here is part of kit.Errand: another connection's goroutine gives out what it has made ready.
func (c *conn) Here(t *kit.Turn) { c.guard(writerName, func() { c.giveOut(t, false) }) }

// Elsewhere is part of kit.Errand.
func (c *conn) Elsewhere() { c.signal() }

// due tells whether there is something for a writer.
func (c *conn) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unordered {
		p, _ := c.firstReady()
		return p != nil
	}
	return c.head < len(c.queue) && c.queue[c.head].state != working
}
