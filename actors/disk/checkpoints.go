package disk

import (
	"errors"
	"maps"
	"path/filepath"
	"sync"

	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// Offsets is what a checkpoint file of a log directory holds.
type Offsets = map[model.TopicPartition]model.Offset

// Checkpoints writes the files that say, by name, where a directory's logs stand. The files know no topic ids: what they
// say of a deleted log must be gone before another one of its name holds a record, or the next start would take the
// former's log start for the latter's and drop what was acknowledged. The lanes share it.
//
// Invariant: written[f] has every entry that is in file f, or may be.
type Checkpoints struct {
	dir *Dir

	writing sync.Mutex      // held while a file is written
	unsure  map[string]bool // the last write failed: who knows what is in the file

	mu      sync.Mutex // held for a moment: actors ask too
	written map[string]Offsets
	raised  Offsets // log starts that wait for their turn to be written
}

func newCheckpoints(d *Dir) *Checkpoints {
	return &Checkpoints{dir: d, written: map[string]Offsets{}, unsure: map[string]bool{}}
}

// Found tells what the start read from a file.
func (c *Checkpoints) Found(file string, o Offsets) { c.set(file, o) }

func (c *Checkpoints) set(file string, o Offsets) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written[file] = o
}

func (c *Checkpoints) get(file string) Offsets {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written[file] // never changed, only replaced
}

// Write replaces a file, if that changes it. It blocks. read is called here, so that what it knows of logs is newer than
// what Forget has done.
func (c *Checkpoints) Write(file string, read func() Offsets) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	o := read()
	if !c.unsure[file] && maps.Equal(o, c.get(file)) {
		return nil
	}
	return c.replace(file, o)
}

// replace is for holders of writing.
func (c *Checkpoints) replace(file string, o Offsets) error {
	both := maps.Clone(o)
	maps.Copy(both, c.get(file))
	c.set(file, both)
	err := checkpoint.WriteOffsets(c.dir.Env.FS, filepath.Join(c.dir.Path, file), o)
	if err == nil {
		c.set(file, o)
	}
	c.unsure[file] = err != nil
	return err
}

// Mention tells whether a file may say something of a log of that name.
func (c *Checkpoints) Mention(tp model.TopicPartition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.written {
		if _, there := o[tp]; there {
			return true
		}
	}
	return false
}

// Lower takes the recovery point of a log back, before anything is written where it stood: else, after a power cut, the old
// one vouches for that. It blocks.
func (c *Checkpoints) Lower(tp model.TopicPartition, to model.Offset) error {
	return c.lower(checkpoint.RecoveryPoints, tp, to)
}

// LowerStart does so with where a log begins that begins earlier than it did: by the former start the next process would take for
// deleted what is appended before it. It blocks.
func (c *Checkpoints) LowerStart(tp model.TopicPartition, to model.Offset) error {
	return c.lower(checkpoint.LogStarts, tp, to)
}

func (c *Checkpoints) lower(file string, tp model.TopicPartition, to model.Offset) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	o := c.get(file)
	if o[tp] <= to {
		return nil
	}
	lowered := maps.Clone(o)
	lowered[tp] = to
	return c.replace(file, lowered)
}

// Raise notes where a log begins from now on. It blocks. Those that wait for each other are written together: many
// partitions of one request cost a few writes.
func (c *Checkpoints) Raise(tp model.TopicPartition, start model.Offset) error {
	c.mu.Lock()
	if c.raised == nil {
		c.raised = Offsets{}
	}
	c.raised[tp] = max(c.raised[tp], start)
	c.mu.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	raised := c.raised
	c.raised = nil
	c.mu.Unlock()
	o := c.get(checkpoint.LogStarts)
	if o[tp] >= start && len(raised) == 0 && !c.unsure[checkpoint.LogStarts] {
		return nil
	}
	o = maps.Clone(o)
	if o == nil {
		o = Offsets{}
	}
	o[tp] = max(o[tp], start)
	for tp, start := range raised {
		o[tp] = max(o[tp], start)
	}
	return c.replace(checkpoint.LogStarts, o)
}

// Forget takes out what the files say of a former log of that name. It blocks.
func (c *Checkpoints) Forget(tp model.TopicPartition) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	var errs []error
	for _, file := range []string{checkpoint.RecoveryPoints, checkpoint.LogStarts, checkpoint.HighWatermarks} {
		o := c.get(file)
		if _, there := o[tp]; there {
			rest := maps.Clone(o)
			delete(rest, tp)
			errs = append(errs, c.replace(file, rest))
		}
	}
	return errors.Join(errs...)
}
