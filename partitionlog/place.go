package partitionlog

import (
	"errors"

	"troupe/partitionlog/checkpoint"
)

// readEpochs reads the leader epochs; when the file is lost they are gathered from all batches.
func (ld *loader) readEpochs() (err error) {
	if ld.epochsDirty {
		return nil // given by the log that is truncated
	}
	// The file is replaced with care, but a disk may lose it all the same, and every batch bears its epoch.
	name := ld.dir.file(checkpoint.LeaderEpochs)
	ld.epochs, err = checkpoint.ReadEpochs(ld.env.FS, name)
	if errors.As(err, new(*checkpoint.FormatError)) {
		ld.damage(err)
		err = nil
	}
	_, known := ld.epochs.Latest()
	ld.noEpochs = !known && len(ld.bases) > 0
	if !ld.params.Clean {
		// The batches behind the recovery point tell their epochs; the file may be ahead of them, or of a history that
		// an earlier crash took back.
		ld.epochs, ld.epochsDirty = ld.epochs.TruncateEnd(ld.written)
	}
	return err
}

// place derives the offsets of the log from its segments and the checkpoints.
func (ld *loader) place() {
	start := max(ld.params.LogStart, 0)
	first := start // of the files: a raised log start may not be checkpointed yet, and come back lower
	if len(ld.segments) == 0 {
		ld.end, ld.unsynced = start, 0
	} else {
		first = ld.segments[0].base
		start = max(start, first)
		ld.size = ld.segments[len(ld.segments)-1].size
	}
	ld.start, ld.next, ld.visible = start, ld.end, len(ld.segments)
	// A checkpoint may be of a log that was longer, before a power cut, or of one that began earlier.
	ld.hw = min(max(ld.params.HighWatermark, start), ld.end)
	ld.recovered = min(max(ld.trusted, first), ld.end)
	// A clean stop that left damage was none.
	if ld.params.Clean && ld.report.Reason != nil {
		ld.recovered = min(max(ld.params.RecoveryPoint, first), ld.end)
	}
	ld.flushed = ld.recovered
	for _, cut := range []func(checkpoint.Epochs) (checkpoint.Epochs, bool){
		func(e checkpoint.Epochs) (checkpoint.Epochs, bool) { return e.TruncateEnd(ld.end) },
		func(e checkpoint.Epochs) (checkpoint.Epochs, bool) { return e.TruncateStart(start) },
	} {
		if next, changed := cut(ld.epochs); changed {
			ld.epochs, ld.epochsDirty = next, true
		}
	}
}
