package dumplog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"troupe/codec/batch"
)

const (
	// leastRecord is the least length a batch or an old message can have; less means that the file is corrupt.
	leastRecord = 14
	bootstrap   = "bootstrap.checkpoint"
)

// log shows a segment or a checkpoint.
func (d *dumper) log(ctx context.Context, file string) error {
	heading, err := title(filepath.Base(file))
	if err != nil {
		return err
	}
	d.emit(note{heading})
	last := int64(-1)
	valid, err := eachBatch(file, 0, d.maxBytes, func(v batch.View, position int64) error {
		d.emit(newBatchLine(v, position))
		if !d.deep {
			return ctx.Err()
		}
		return d.records(v, file, &last)
	})
	if err != nil {
		return err
	}
	// What stands behind the last whole batch is counted after the walk: a log that is being written may have grown.
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	// With --max-bytes the rest was not meant to be read and is not invalid.
	if trailing := info.Size() - valid; trailing > 0 && d.maxBytes == math.MaxInt32 {
		d.emit(note{fmt.Sprintf("Found %d invalid bytes at the end of %s", trailing, filepath.Base(file))})
	}
	return nil
}

// title is the line under a file's name, from what the name says.
func title(name string) (string, error) {
	stem, _, _ := strings.Cut(name, ".")
	if name == bootstrap {
		return "KRaft bootstrap snapshot", nil
	}
	if strings.HasSuffix(name, ".log") {
		offset, err := strconv.ParseInt(stem, 10, 64)
		if err != nil {
			return "", fmt.Errorf("the name of %s is not the offset it starts at", name)
		}
		return fmt.Sprintf("Log starting offset: %d", offset), nil
	}
	end, term, _ := strings.Cut(stem, "-")
	offset, err := strconv.ParseInt(end, 10, 64)
	epoch, epochErr := strconv.ParseInt(term, 10, 32)
	if err := errors.Join(err, epochErr); err != nil {
		return "", fmt.Errorf("the name of %s is not an end offset and an epoch", name)
	}
	return fmt.Sprintf("Snapshot end offset: %d, epoch: %d", offset, epoch), nil
}

// eachBatch reads whole batches from a position on and gives the position after the last. A batch that ends past the
// file, or past limit, ends the reading and is no error.
func eachBatch(file string, from, limit int64, f func(v batch.View, position int64) error) (int64, error) {
	in, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer in.Close() // only read
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	// The file may grow meanwhile; only what was there at the beginning is read.
	end := min(info.Size(), from+limit)
	header := make([]byte, batch.MagicEnd)
	var buf []byte
	for position := from; ; {
		if position+int64(len(header)) >= end {
			return position, nil
		}
		if _, err := in.ReadAt(header, position); err != nil {
			return position, err
		}
		// The length stands at byte 8 and counts what follows it (facts/storage-format.md 2).
		length := int64(int32(binary.BigEndian.Uint32(header[8:])))
		if length < leastRecord {
			return position, fmt.Errorf("Found record size %d smaller than minimum record overhead (%d) in file %s.", length, leastRecord, file)
		}
		size := length + batch.LengthEnd
		// A batch cut off by a crash or still being written: a broker would cut it off when it recovers.
		if position+size > end {
			return position, nil
		}
		if int64(cap(buf)) < size {
			buf = make([]byte, size)
		}
		buf = buf[:size]
		if _, err := io.ReadFull(io.NewSectionReader(in, position, size), buf); err != nil {
			return position, err
		}
		v, _, err := batch.First(buf)
		if err != nil {
			return position, fmt.Errorf("%s, position %d: %w", file, position, err)
		}
		if err := f(v, position); err != nil {
			return position, err
		}
		position += size
	}
}

// records shows the records of a batch and notes where offsets are not consecutive.
func (d *dumper) records(v batch.View, file string, last *int64) error {
	return v.Each(func(r batch.Record) error {
		offset := int64(r.Offset)
		if offset != *last+1 {
			d.problems.gap(file, *last, offset)
		}
		*last = offset
		var l recordLine
		if !d.contentsOnly {
			l.Metadata = &recordMetadata{
				Offset: offset, TimestampType: timestampType(v), Timestamp: r.Timestamp,
				KeySize: size(r.Key), ValueSize: size(r.Value), Sequence: sequence(v, offset), HeaderKeys: []string{},
			}
			for _, h := range r.Headers {
				l.Metadata.HeaderKeys = append(l.Metadata.HeaderKeys, h.Key)
			}
			if v.Control() {
				l.Metadata.Control = control(r.Key, r.Value)
			}
		}
		if d.contents && !v.Control() {
			var err error
			if l.Key, l.Payload, err = d.decode(r); err != nil {
				return err
			}
		}
		d.emit(l)
		return nil
	})
}

// size is the length of a key or value; null is -1.
func size(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// sequence is a record's sequence number, which goes on from 2^31-1 at 0; -1 is none.
func sequence(v batch.View, offset int64) int32 {
	base := int64(v.BaseSequence())
	if base < 0 {
		return int32(base)
	}
	return int32((base + offset - int64(v.BaseOffset())) & math.MaxInt32)
}
