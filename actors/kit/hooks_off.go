//go:build notrace

package kit

import "troupe/actors/trace"

type mark struct{}

func (mark) traced() bool { return false }

type activeSpan = struct{}

func (c *cell) traces(trace.Context) bool { return false }

func (c *cell) markFor(Message, trace.Context, *cell) mark { return mark{} }

func (c *cell) handTraced(entry) {}

func (c *cell) endSpan() {}

type links = struct{}

// Link is without effect in a build without tracing.
func (x *Context) Link(Message) {}

// SendFor is Send in a build without tracing.
func (x *Context) SendFor(_ Message, to Ref, answer Message) {
	to.cell.post(entry{msg: answer}, x.cell.turn)
}

func (c *cell) callEndBatch(b BatchEnder) { b.EndBatch(c.ctx) }

func (c *cell) endLinks() {}
