package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// Offset checkpoints of a log directory: one line "topic partition offset" a partition.
const (
	// RecoveryPoints holds, by partition, the offset below which everything is synced.
	RecoveryPoints = "recovery-point-offset-checkpoint"
	// HighWatermarks holds, by partition, the high watermark.
	HighWatermarks = "replication-offset-checkpoint"
	// LogStarts holds the start of the partitions whose start is not the first offset of their first segment.
	LogStarts = "log-start-offset-checkpoint"
	// CleanerPoints holds, by compacted partition, the first offset that was not cleaned.
	CleanerPoints = "cleaner-offset-checkpoint"
)

// ReadOffsets reads an offset checkpoint. No file is no entry, as in a new directory.
func ReadOffsets(fsys vfs.FS, name string) (map[model.TopicPartition]model.Offset, error) {
	data, err := read(fsys, name)
	if absent(err) {
		return map[model.TopicPartition]model.Offset{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseOffsets(name, data)
}

// WriteOffsets replaces an offset checkpoint.
func WriteOffsets(fsys vfs.FS, name string, offsets map[model.TopicPartition]model.Offset) error {
	return Replace(fsys, name, appendOffsets(nil, offsets))
}

// parseOffsets refuses negative offsets and repeated partitions, which no writer leaves: taking one of two high
// watermarks by chance could move it back.
func parseOffsets(name string, data []byte) (map[model.TopicPartition]model.Offset, error) {
	offsets := map[model.TopicPartition]model.Offset{}
	err := parseLines(name, data, 3, func(fields []string) error {
		partition, err := parseNumber("partition", fields[1], 32)
		if err != nil {
			return err
		}
		offset, err := parseNumber("offset", fields[2], 64)
		if err != nil {
			return err
		}
		tp := model.TopicPartition{Topic: fields[0], Partition: int32(partition)}
		if _, twice := offsets[tp]; twice {
			return fmt.Errorf("%s stands twice", tp)
		}
		offsets[tp] = model.Offset(offset)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return offsets, nil
}

// appendOffsets sorts the lines, so that equal content is equal bytes.
func appendOffsets(dst []byte, offsets map[model.TopicPartition]model.Offset) []byte {
	dst = appendFrame(dst, len(offsets))
	for _, tp := range slices.SortedFunc(maps.Keys(offsets), model.TopicPartition.Compare) {
		dst = append(dst, tp.Topic...)
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, int64(tp.Partition), 10)
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, int64(offsets[tp]), 10)
		dst = append(dst, '\n')
	}
	return dst
}
