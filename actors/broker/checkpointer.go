package broker

import (
	"hash/maphash"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// checkpointer writes down, now and then, where the logs of each directory stand, so that a restart reads only what was
// written since. It reads what the replicas publish and asks nobody.
type checkpointer struct {
	log      *slog.Logger
	replicas *replica.Directory
	dirs     []*disk.Dir
	offsets  time.Duration // log.flush.offset.checkpoint.interval.ms, and of log starts
	marks    time.Duration // replica.high.watermark.checkpoint.interval.ms
	written  map[string]uint64
}

// offsetsDue and marksDue are the timers; checkpointNow asks for all at once.
type (
	offsetsDue    struct{}
	marksDue      struct{}
	checkpointNow struct{ done func() }
)

func (*offsetsDue) MessageKind() string    { return "checkpointer.offsets-due" }
func (*marksDue) MessageKind() string      { return "checkpointer.high-watermarks-due" }
func (*checkpointNow) MessageKind() string { return "checkpointer.now" }

// Fail lets a shutdown go on without the checkpoint.
func (m *checkpointNow) Fail(error) { m.done() }

func (c *checkpointer) Start(ctx *kit.Context) {
	c.written = map[string]uint64{}
	ctx.After(c.offsets, &offsetsDue{})
	ctx.After(c.marks, &marksDue{})
}

func (c *checkpointer) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *offsetsDue:
		c.writeOffsets(ctx, nil)
		ctx.After(c.offsets, &offsetsDue{})
	case *marksDue:
		c.writeMarks(ctx, nil)
		ctx.After(c.marks, &marksDue{})
	case *checkpointNow:
		left := newCountdown(2*len(c.dirs), m.done)
		c.writeOffsets(ctx, left.step)
		c.writeMarks(ctx, left.step)
	}
}

// countdown calls done at the last of its steps, which come from several lanes.
type countdown struct {
	left atomic.Int32
	done func()
}

func newCountdown(n int, done func()) *countdown {
	c := &countdown{done: done}
	c.left.Store(int32(n))
	return c
}

func (c *countdown) step() {
	if c.left.Add(-1) == 0 {
		c.done()
	}
}

// fingerprint is equal for equal contents, whatever the order of the map.
func fingerprint(o offsets) uint64 {
	sum := uint64(len(o))
	for tp, at := range o {
		sum += maphash.Comparable(fingerprintSeed, entry{tp, at})
	}
	return sum
}

type entry struct {
	tp model.TopicPartition
	at model.Offset
}

var fingerprintSeed = maphash.MakeSeed()

type offsets = map[model.TopicPartition]model.Offset

func (c *checkpointer) writeOffsets(ctx *kit.Context, then func()) {
	for _, d := range c.dirs {
		points, starts := offsets{}, offsets{}
		for _, h := range c.replicas.All() {
			v := h.View()
			if h.Dir != d || v == nil || v.LogEnd == 0 {
				continue
			}
			points[h.TP] = h.RecoveryPoint()
			if v.LogStart > 0 {
				starts[h.TP] = v.LogStart
			}
		}
		c.write(ctx, d, then, map[string]offsets{checkpoint.RecoveryPoints: points, checkpoint.LogStarts: starts})
	}
}

func (c *checkpointer) writeMarks(ctx *kit.Context, then func()) {
	for _, d := range c.dirs {
		marks := offsets{}
		for _, h := range c.replicas.All() {
			if v := h.View(); h.Dir == d && v != nil && v.LogEnd > 0 {
				marks[h.TP] = v.HighWatermark
			}
		}
		c.write(ctx, d, then, map[string]offsets{checkpoint.HighWatermarks: marks})
	}
}

// write has the bulk lane replace the files that differ from what was written last.
func (c *checkpointer) write(ctx *kit.Context, d *disk.Dir, then func(), files map[string]offsets) {
	changed := map[string]offsets{}
	for name, o := range files {
		sum := fingerprint(o)
		if key := filepath.Join(d.Path, name); c.written[key] != sum {
			c.written[key] = sum
			changed[name] = o
		}
	}
	if len(changed) == 0 {
		if then != nil {
			then()
		}
		return
	}
	ctx.Send(d.BulkLane(model.TopicPartition{}), &disk.Task{
		Name: "checkpoint offsets",
		Do: func() error {
			for name, o := range changed {
				if err := checkpoint.WriteOffsets(d.Env.FS, filepath.Join(d.Path, name), o); err != nil {
					return err
				}
			}
			return nil
		},
		Done: func(err error) {
			if err != nil {
				c.log.Error("offset checkpoint failed", "dir", d.Path, "err", err)
			}
			if then != nil {
				then()
			}
		},
	})
}
