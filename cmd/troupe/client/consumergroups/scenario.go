package consumergroups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// offsets that a scenario asks for, by partition.
type wished map[model.TopicPartition]int64

// plan gives the new offsets of the scenario that is asked for. Offsets that are named, or reckoned from those committed,
// are kept within the log.
func (c *command) plan(ctx context.Context, id string, partitions []model.TopicPartition) (wished, error) {
	switch {
	case c.has("to-offset"):
		offset, err := c.toOffset.Int(64, 0)
		if err != nil {
			return nil, option.Fail("%s", err)
		}
		named := wished{}
		for _, tp := range partitions {
			named[tp] = offset
		}
		return c.within(ctx, named)
	case c.has("to-earliest"):
		return c.at(ctx, partitions, earliest)
	case c.has("to-latest"):
		return c.at(ctx, partitions, latest)
	case c.has("shift-by"):
		return c.shifted(ctx, id, partitions)
	case c.has("to-datetime"), c.has("by-duration"):
		since, err := c.since(time.Now())
		if err != nil {
			return nil, err
		}
		return c.from(ctx, partitions, since)
	case c.has("from-file"):
		return c.fromFile(ctx, id)
	case c.has("to-current"):
		return c.current(ctx, id, partitions)
	}
	text := ""
	for _, scenario := range scenarios {
		text += ", [" + scenario + "]"
	}
	return nil, option.Fail("Option '[reset-offsets]' requires one of the following scenarios: [%s]", text[2:])
}

// at gives the offsets of a time or an end. A partition that fails fails the whole.
func (c *command) at(ctx context.Context, partitions []model.TopicPartition, timestamp int64) (wished, error) {
	found, err := c.offsetsAt(ctx, partitions, timestamp)
	if err != nil {
		return nil, inRuntime(err)
	}
	offsets := wished{}
	for tp, p := range found {
		if p.err != nil {
			return nil, inRuntime(p.err)
		}
		offsets[tp] = p.offset
	}
	return offsets, nil
}

// within moves offsets beyond an end of the log to that end, and warns.
func (c *command) within(ctx context.Context, offsets wished) (wished, error) {
	partitions := slices.SortedFunc(maps.Keys(offsets), model.TopicPartition.Compare)
	starts, err := c.at(ctx, partitions, earliest)
	if err != nil {
		return nil, err
	}
	ends, err := c.at(ctx, partitions, latest)
	if err != nil {
		return nil, err
	}
	for _, tp := range partitions {
		bound, side := offsets[tp], ""
		// The end first: of a log that is emptied meanwhile it is the later news.
		if bound > ends[tp] {
			bound, side = ends[tp], "higher than latest"
		} else if bound < starts[tp] {
			bound, side = starts[tp], "lower than earliest"
		}
		if side != "" {
			fmt.Fprintf(c.streams.Err, "WARN New offset (%d) is %s offset for topic partition %s-%d. Value will be set to %d.\n",
				offsets[tp], side, tp.Topic, tp.Partition, bound)
		}
		offsets[tp] = bound
	}
	return offsets, nil
}

// shifted reckons from what is committed, so a partition without a commit cannot be shifted. Less than no records before
// the first is the first: within sees to it.
func (c *command) shifted(ctx context.Context, id string, partitions []model.TopicPartition) (wished, error) {
	by, err := c.shiftBy.Int(64, 0)
	if err != nil {
		return nil, option.Fail("%s", err)
	}
	commits, err := c.committed(ctx, id)
	if err != nil {
		return nil, inRuntime(err)
	}
	offsets := wished{}
	for _, tp := range partitions {
		now, ok := commits[tp]
		if !ok {
			return nil, option.Fail("Cannot shift offset for partition %s-%d since there is no current committed offset", tp.Topic, tp.Partition)
		}
		offsets[tp] = now.offset + by
	}
	return c.within(ctx, offsets)
}

// from gives the first record of a time or after it, in milliseconds. Where there is none the end is taken: everything
// is older.
func (c *command) from(ctx context.Context, partitions []model.TopicPartition, since int64) (wished, error) {
	offsets, err := c.at(ctx, partitions, since)
	if err != nil {
		return nil, err
	}
	var none []model.TopicPartition
	for _, tp := range partitions {
		if offsets[tp] == int64(model.NoOffset) {
			none = append(none, tp)
		}
	}
	if !option.JSON(c.fs) {
		for _, tp := range kafkatext.HashOrderPartitions(none) {
			// The script calls it empty, though it may hold older records.
			fmt.Fprintf(c.streams.Out, "\nWarn: Partition %d from topic %s is empty. Falling back to latest known offset.\n", tp.Partition, tp.Topic)
		}
	}
	ends, err := c.at(ctx, none, latest)
	maps.Copy(offsets, ends)
	return offsets, err
}

// current keeps what is committed; where nothing is, it commits the end.
func (c *command) current(ctx context.Context, id string, partitions []model.TopicPartition) (wished, error) {
	commits, err := c.committed(ctx, id)
	if err != nil {
		return nil, inRuntime(err)
	}
	offsets := wished{}
	var none []model.TopicPartition
	for _, tp := range partitions {
		if now, ok := commits[tp]; ok {
			offsets[tp] = now.offset
		} else {
			none = append(none, tp)
		}
	}
	ends, err := c.at(ctx, none, latest)
	maps.Copy(offsets, ends)
	return offsets, err
}

// since reads the time of --to-datetime or --by-duration as a timestamp in milliseconds.
func (c *command) since(now time.Time) (int64, error) {
	text, textErr := c.toDatetime.One()
	ago, agoErr := c.byDuration.One()
	if err := errors.Join(textErr, agoErr); err != nil {
		return 0, err
	}
	if c.has("to-datetime") {
		at, err := parseDatetime(text)
		return at.UnixMilli(), err
	}
	d, err := parseDuration(ago)
	return now.Add(-d).UnixMilli(), err
}
