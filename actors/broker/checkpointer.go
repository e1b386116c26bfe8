package broker

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/internal/model"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// checkpointer writes down, now and then, where the logs of each directory stand, so that a restart reads only what was
// written since. It reads what the replicas publish and asks nobody.
type checkpointer struct {
	log      *slog.Logger
	replicas *replica.Directory
	dirs     []*disk.Dir
	metadata *disk.Dir // that of the metadata log
	// committed gives the end of what is committed of the metadata log.
	committed func() model.Offset
	// settled is what committed gave a round ago: by now it is synced here too, whoever it was that committed it.
	settled model.Offset
	points  time.Duration // log.flush.offset.checkpoint.interval.ms
	starts  time.Duration // log.flush.start.offset.checkpoint.interval.ms
	marks   time.Duration // replica.high.watermark.checkpoint.interval.ms
	// ready tells that every log that was found is known: a checkpoint before that would forget the others.
	ready func() bool
}

// checkpointDue is the timer of one file; checkpointNow asks for all.
type (
	checkpointDue struct {
		file  string
		every time.Duration
	}
	checkpointNow struct{ done func() }
)

func (*checkpointDue) MessageKind() string { return "checkpointer.due" }
func (*checkpointNow) MessageKind() string { return "checkpointer.now" }

// Fail lets a shutdown go on without the checkpoint.
func (m *checkpointNow) Fail(error) { m.done() }

// Start begins the rounds.
func (c *checkpointer) Start(ctx *kit.Context) {
	for _, due := range []*checkpointDue{
		{checkpoint.RecoveryPoints, c.points}, {checkpoint.LogStarts, c.starts}, {checkpoint.HighWatermarks, c.marks},
	} {
		ctx.After(due.every, due)
	}
}

// Receive writes on time, and all of it when the broker stops.
func (c *checkpointer) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *checkpointDue:
		if c.ready() {
			for _, d := range c.dirs {
				c.write(ctx, d, m.file, func() {})
			}
		}
		if m.file == checkpoint.HighWatermarks {
			c.settled = max(c.settled, c.committed())
		}
		ctx.After(m.every, m)
	case *checkpointNow:
		c.settled = max(c.settled, c.committed()) // nothing is committed any more
		files := []string{checkpoint.RecoveryPoints, checkpoint.LogStarts, checkpoint.HighWatermarks}
		left := newCountdown(len(files)*len(c.dirs), m.done)
		for _, d := range c.dirs {
			for _, f := range files {
				c.write(ctx, d, f, left.step)
			}
		}
	}
}

// countdown calls done at the last of its steps, which come from several lanes.
type countdown struct {
	left atomic.Int32
	done func()
}

// newCountdown counts from n, which is known beforehand: a step that comes early cannot be the last.
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

// read gathers what a file holds of a directory's logs. Logs without a record are left out. It is called on a lane.
func (c *checkpointer) read(d *disk.Dir, file string, settled model.Offset) disk.Offsets {
	o := disk.Offsets{}
	if d == c.metadata && file == checkpoint.HighWatermarks && settled > 0 {
		o[metadataPartition] = settled
	}
	for _, h := range c.replicas.All() {
		at, ok := h.Checkpoint()
		f := h.Future()
		if !ok || h.Dir() != d && (f == nil || !f.Naming || f.Dir != d) { // where a copy is about to get the name it has it
			continue
		}
		switch file {
		case checkpoint.RecoveryPoints:
			o[h.TP] = at.RecoveryPoint
		case checkpoint.HighWatermarks:
			o[h.TP] = at.HighWatermark
		case checkpoint.LogStarts:
			if at.LogStart > 0 {
				o[h.TP] = at.LogStart
			}
		}
	}
	return o
}

// write has the bulk lane replace a file, if it differs from what stands in it.
func (c *checkpointer) write(ctx *kit.Context, d *disk.Dir, file string, then func()) {
	settled := c.settled
	ctx.Send(d.BulkLane(model.TopicPartition{}), &disk.Task{
		Name: "write " + file,
		Do: func() error {
			return d.Checkpoints.Write(file, func() disk.Offsets { return c.read(d, file, settled) })
		},
		Done: func(err error) {
			// Of a disk that is full, or has failed, the warden tells. The next round tries again.
			if err != nil && !partitionlog.Passes(err) && !errors.Is(err, disk.ErrFenced) {
				c.log.Error("checkpoint failed", "file", filepath.Join(d.Path, file), "err", err)
			}
			then()
		},
	})
}
