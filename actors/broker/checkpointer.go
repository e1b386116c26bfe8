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
	points   time.Duration // log.flush.offset.checkpoint.interval.ms
	starts   time.Duration // log.flush.start.offset.checkpoint.interval.ms
	marks    time.Duration // replica.high.watermark.checkpoint.interval.ms
	// ready tells that every log that was found is known: a checkpoint before that would forget the others.
	ready   func() bool
	written map[string]uint64
}

// checkpointDue is the timer of one file; checkpointNow asks for all.
type (
	checkpointDue struct {
		file  string
		every time.Duration
	}
	checkpointNow struct{ done func() }
	// notWritten says that a file is not what it was to become.
	notWritten struct{ file string }
)

func (*checkpointDue) MessageKind() string { return "checkpointer.due" }
func (*checkpointNow) MessageKind() string { return "checkpointer.now" }
func (*notWritten) MessageKind() string    { return "checkpointer.not-written" }

// Fail lets a shutdown go on without the checkpoint.
func (m *checkpointNow) Fail(error) { m.done() }

// Start forgets what was written: after a panic each file is written once more.
func (c *checkpointer) Start(ctx *kit.Context) {
	c.written = map[string]uint64{}
	for file, every := range map[string]time.Duration{
		checkpoint.RecoveryPoints: c.points, checkpoint.LogStarts: c.starts, checkpoint.HighWatermarks: c.marks,
	} {
		ctx.After(every, &checkpointDue{file, every})
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
		ctx.After(m.every, m)
	case *notWritten:
		delete(c.written, m.file)
	case *checkpointNow:
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

// fingerprint is equal for equal contents, whatever the order of the map.
func fingerprint(o offsets) uint64 {
	sum := uint64(len(o))
	for tp, at := range o {
		sum += maphash.Comparable(fingerprintSeed, entry{tp, at})
	}
	return sum
}

// entry is what is summed up; hashes of entries are added, since addition has no order.
type entry struct {
	tp model.TopicPartition
	at model.Offset
}

var fingerprintSeed = maphash.MakeSeed()

type offsets = map[model.TopicPartition]model.Offset

// read gathers what a file holds of a directory's logs. Logs without a record are left out.
func (c *checkpointer) read(d *disk.Dir, file string) offsets {
	o := offsets{}
	for _, h := range c.replicas.All() {
		at, ok := h.Checkpoint()
		if h.Dir != d || !ok {
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

// write has the bulk lane replace a file, if it differs from what was written last.
func (c *checkpointer) write(ctx *kit.Context, d *disk.Dir, file string, then func()) {
	o, name := c.read(d, file), filepath.Join(d.Path, file)
	sum := fingerprint(o)
	if c.written[name] == sum {
		then()
		return
	}
	c.written[name] = sum
	self := ctx.Self()
	ctx.Send(d.BulkLane(model.TopicPartition{}), &disk.Task{
		Name: "write " + file,
		Do:   func() error { return checkpoint.WriteOffsets(d.Env.FS, name, o) },
		Done: func(err error) {
			if err != nil {
				c.log.Error("checkpoint failed", "file", name, "err", err)
				self.Send(&notWritten{name})
			}
			then()
		},
	})
}
