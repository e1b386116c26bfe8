package disk

import (
	"maps"

	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// Place writes down where a log stands that is about to get its name in this directory: it must not be read from its first
// batch, nor bring deleted records back, if the process ends then. It blocks.
func (c *Checkpoints) Place(tp model.TopicPartition, recovery, start, watermark model.Offset) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, x := range []struct {
		file string
		at   model.Offset
	}{{checkpoint.RecoveryPoints, recovery}, {checkpoint.LogStarts, start}, {checkpoint.HighWatermarks, watermark}} {
		o := maps.Clone(c.get(x.file))
		if o == nil {
			o = Offsets{}
		}
		if o[tp] = x.at; x.at == 0 {
			delete(o, tp) // as in a checkpoint of every log
		}
		if err := c.replace(x.file, o); err != nil {
			return err
		}
	}
	return nil
}
